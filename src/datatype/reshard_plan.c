/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of one rank: its pieces, sorted into messages, and the checks of what it receives. It does not know who
 * sends what; reshard_share.c decides that.
 */
#include "config.h"

#include "reshard.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/log.h"
#include "base/text.h"
#include "type.h"

/* All messages of one direction. */
struct messages {
	size_t count;
	size_t bytes;
	struct dtconv_reshard_message *all;
};

struct dtconv_reshard_plan {
	struct dtconv_context *context;
	struct messages sends;
	struct messages recvs;
};

/* The pieces of a rank, while they are collected. */
struct collecting {
	const struct dtconv_reshard *reshard;
	const char *caller;
	size_t rank;
	struct dtc_vec pieces;
};

static void start(struct collecting *collecting, const struct dtconv_reshard *reshard,
		  const char *caller, size_t rank)
{
	*collecting =
		(struct collecting){ .reshard = reshard,
				     .caller = caller,
				     .rank = rank,
				     .pieces.width = dtc_piece_bytes(reshard->ndims) };
}

static void end(struct collecting *collecting)
{
	dtc_free(collecting->reshard->context, collecting->pieces.items);
}

/* ---- checks ---------------------------------------------------------------------------- */

static int overlapping(const struct collecting *collecting, const struct dtc_shard *a,
		       const struct dtc_shard *b)
{
	return DTC_FAIL(collecting->reshard->context, DTCONV_ERR_INVAL,
			"%s: params.target.boxes[%zu] and [%zu] of rank %zu overlap",
			collecting->caller, DTC_MIN(a->number, b->number),
			DTC_MAX(a->number, b->number), collecting->rank);
}

/* Another box of the same rank in a group, or NULL. */
static const struct dtc_shard *other_in_group(const struct dtc_shards *target,
					      size_t group, const struct dtc_shard *shard)
{
	const struct dtc_shard *found = dtc_shards_find(target, group, shard->rank);

	if (found != shard)
		return found;
	/* The next one has the same corners, if it is of the group. */
	return found + 1 < target->all + target->groups[group + 1] &&
			       found[1].rank == shard->rank
		       ? found + 1
		       : NULL;
}

static int check_alone(const struct collecting *collecting, const struct dtc_shard *shard)
{
	const struct dtc_shards *target = &collecting->reshard->target;
	struct dtc_search search = { .shards = target, .corners = shard->corners };
	size_t group;

	while (dtc_search_next(&search, &group)) {
		const struct dtc_shard *other = other_in_group(target, group, shard);

		if (other)
			return overlapping(collecting, shard, other);
	}
	return 0;
}

static int missing(const struct collecting *collecting, const struct dtc_shard *target,
		   size_t held)
{
	const size_t ndims = target->ndims;
	size_t index[DTCONV_RESHARD_NDIMS_MAX];
	char room[160] = "unknown";
	struct dtc_text text;

	if (dtc_reshard_find_missing(collecting->reshard, target->corners, index)) {
		dtc_text_init(&text, room, sizeof(room));
		for (size_t d = 0; d < ndims; d++)
			dtc_text_printf(&text, "%s%zu", d ? ", " : "", index[d]);
	}
	return DTC_FAIL(collecting->reshard->context, DTCONV_ERR_INVAL,
			"%s: no rank of the source holds %zu of the %zu elements of "
			"params.target.boxes[%zu] of rank %zu; index of the first: (%s)",
			collecting->caller,
			dtc_corners_elements(ndims, target->corners) - held,
			dtc_corners_elements(ndims, target->corners), target->number,
			target->rank, room);
}

/* ---- what the rank receives ------------------------------------------------------------ */

static int collect_target(struct collecting *collecting, const struct dtc_shard *target)
{
	const struct dtconv_reshard *reshard = collecting->reshard;
	struct dtc_search search = { .shards = &reshard->source,
				     .corners = target->corners };
	const size_t first = collecting->pieces.count;
	size_t group, held = 0;
	int status = check_alone(collecting, target);

	while (!status && dtc_search_next(&search, &group))
		status = dtc_reshard_share(reshard, collecting->caller, group, target,
					   &collecting->pieces);
	if (status)
		return status;
	for (size_t i = first; i < collecting->pieces.count; i++) {
		struct dtc_piece *piece = dtc_piece_at(&collecting->pieces, i);

		piece->peer = piece->source->rank;
		held += dtc_corners_elements(reshard->ndims, piece->corners);
	}
	return held == dtc_corners_elements(reshard->ndims, target->corners)
		       ? 0
		       : missing(collecting, target, held);
}

static int collect_recvs(struct collecting *collecting)
{
	const struct dtc_shards *target = &collecting->reshard->target;
	size_t count;
	const size_t first = dtc_shards_of(target, collecting->rank, &count);
	int status = 0;

	for (size_t i = first; i < first + count && !status; i++)
		status = collect_target(collecting, target->ranks[i]);
	return status;
}

/* ---- what it sends --------------------------------------------------------------------- */

/* Keep the pieces from the first one on that this box sends. */
static void keep_own(struct collecting *collecting, size_t first,
		     const struct dtc_shard *source)
{
	struct dtc_vec *pieces = &collecting->pieces;
	size_t kept = first;

	for (size_t i = first; i < pieces->count; i++) {
		struct dtc_piece *piece = dtc_piece_at(pieces, i);

		if (piece->source != source)
			continue;
		piece->peer = piece->target->rank;
		memmove(dtc_piece_at(pieces, kept++), piece, pieces->width);
	}
	pieces->count = kept;
}

static int collect_source(struct collecting *collecting, const struct dtc_shard *source)
{
	const struct dtc_shards *target = &collecting->reshard->target;
	struct dtc_search search = { .shards = target, .corners = source->corners };
	size_t group;
	int status = 0;

	while (!status && dtc_search_next(&search, &group)) {
		for (size_t i = target->groups[group];
		     i < target->groups[group + 1] && !status; i++) {
			const size_t first = collecting->pieces.count;

			status = dtc_reshard_share(collecting->reshard,
						   collecting->caller, source->group,
						   &target->all[i], &collecting->pieces);
			if (!status)
				keep_own(collecting, first, source);
		}
	}
	return status;
}

static int collect_sends(struct collecting *collecting)
{
	const struct dtc_shards *source = &collecting->reshard->source;
	size_t count;
	const size_t first = dtc_shards_of(source, collecting->rank, &count);
	int status = 0;

	for (size_t i = first; i < first + count && !status; i++)
		status = collect_source(collecting, source->ranks[i]);
	return status;
}

/* ---- messages -------------------------------------------------------------------------- */

static int by_peer(const void *left, const void *right)
{
	const struct dtc_piece *a = left, *b = right;

	if (a->peer != b->peer)
		return a->peer < b->peer ? -1 : 1;
	/* Pieces of a message do not overlap, so their first elements differ. */
	for (size_t d = 0; d < a->ndims; d++)
		if (a->corners[d] != b->corners[d])
			return a->corners[d] < b->corners[d] ? -1 : 1;
	return 0;
}

static size_t pieces_of_peer(const struct dtc_vec *pieces, size_t first)
{
	const size_t peer = dtc_piece_at(pieces, first)->peer;
	size_t end = first;

	while (end < pieces->count && dtc_piece_at(pieces, end)->peer == peer)
		end++;
	return end - first;
}

static size_t count_peers(const struct dtc_vec *pieces)
{
	size_t peers = 0;

	for (size_t i = 0; i < pieces->count; i += pieces_of_peer(pieces, i))
		peers++;
	return peers;
}

static int allocate(struct collecting *collecting, struct messages *messages)
{
	const size_t count = count_peers(&collecting->pieces);

	/* Each message has a piece, so the product fits where the pieces do. */
	messages->all = dtc_alloc(collecting->reshard->context,
				  (count + 1) * sizeof(messages->all[0]));
	return messages->all ? 0
			     : DTC_FAIL(collecting->reshard->context, DTCONV_ERR_NOMEM,
					"%s: cannot allocate %zu messages",
					collecting->caller, count);
}

static int add_message(struct collecting *collecting, size_t first, size_t count,
		       bool of_source, struct messages *messages)
{
	struct dtconv_reshard_message message = {
		.peer = dtc_piece_at(&collecting->pieces, first)->peer,
		.pieces = count,
	};
	int status = dtc_reshard_type(collecting->reshard, collecting->caller,
				      &collecting->pieces, first, count, of_source,
				      &message.type);

	if (status)
		return status;
	message.bytes = message.type->bounds.size;
	messages->all[messages->count++] = message;
	if (dtc_add_size(messages->bytes, message.bytes, &messages->bytes))
		return DTC_FAIL(
			collecting->reshard->context, DTCONV_ERR_OVERFLOW,
			"%s: the messages of rank %zu have more bytes than size_t "
			"can count",
			collecting->caller, collecting->rank);
	return 0;
}

/* Make messages of the pieces, and forget these. */
static int make_messages(struct collecting *collecting, bool of_source,
			 struct messages *messages)
{
	struct dtc_vec *pieces = &collecting->pieces;
	int status = allocate(collecting, messages);

	if (pieces->count)
		qsort(pieces->items, pieces->count, pieces->width, by_peer);
	for (size_t i = 0, count; i < pieces->count && !status; i += count) {
		count = pieces_of_peer(pieces, i);
		status = add_message(collecting, i, count, of_source, messages);
	}
	pieces->count = 0;
	return status;
}

/* ---- the interface --------------------------------------------------------------------- */

int dtconv_reshard_check(const struct dtconv_reshard *reshard)
{
	struct collecting collecting;
	int status = 0;

	if (!reshard)
		return DTCONV_ERR_INVAL;
	start(&collecting, reshard, __func__, 0);
	for (size_t i = 0; i < reshard->target.count && !status; i++) {
		collecting.rank = reshard->target.ranks[i]->rank;
		collecting.pieces.count = 0;
		status = collect_target(&collecting, reshard->target.ranks[i]);
	}
	end(&collecting);
	return status;
}

static int fill_plan(struct collecting *collecting, struct dtconv_reshard_plan *plan)
{
	int status = collect_recvs(collecting);

	if (!status)
		status = make_messages(collecting, false, &plan->recvs);
	if (!status)
		status = collect_sends(collecting);
	if (!status)
		status = make_messages(collecting, true, &plan->sends);
	return status;
}

int dtconv_reshard_plan_create(const struct dtconv_reshard *reshard, size_t rank,
			       struct dtconv_reshard_plan **plan)
{
	struct collecting collecting;

	if (!reshard || !plan)
		return DTCONV_ERR_INVAL;
	if (rank >= reshard->rank_count)
		return DTC_FAIL(reshard->context, DTCONV_ERR_INVAL,
				"%s: rank (argument 2) is %zu, but rank_count is %zu",
				__func__, rank, reshard->rank_count);
	struct dtconv_reshard_plan *made =
		dtc_alloc_zeroed(reshard->context, sizeof(*made));
	if (!made)
		return DTC_FAIL(reshard->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the plan", __func__);
	made->context = reshard->context;
	start(&collecting, reshard, __func__, rank);
	int status = fill_plan(&collecting, made);
	end(&collecting);
	if (status) {
		dtconv_reshard_plan_destroy(made);
		return status;
	}
	*plan = made;
	return 0;
}

int dtconv_reshard_plan_query(const struct dtconv_reshard_plan *plan,
			      struct dtconv_reshard_plan_attr *attr)
{
	if (!plan || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(plan->context, __func__, "attr",
					    "dtconv_reshard_plan_attr");
	const struct dtconv_reshard_plan_attr all = { .struct_size = attr->struct_size,
						      .send_count = plan->sends.count,
						      .recv_count = plan->recvs.count,
						      .send_bytes = plan->sends.bytes,
						      .recv_bytes = plan->recvs.bytes };

	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

static int query_message(const struct dtconv_reshard_plan *plan, const char *caller,
			 const struct messages *messages, size_t index,
			 struct dtconv_reshard_message *message)
{
	if (index >= messages->count)
		return DTC_FAIL(
			plan->context, DTCONV_ERR_INVAL,
			"%s: index (argument 2) is %zu, but the plan has %zu messages",
			caller, index, messages->count);
	if (message->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(plan->context, caller, "message",
					    "dtconv_reshard_message");
	struct dtconv_reshard_message all = messages->all[index];

	all.struct_size = message->struct_size;
	memcpy(message, &all, DTC_MIN(message->struct_size, sizeof(all)));
	return 0;
}

int dtconv_reshard_plan_query_send(const struct dtconv_reshard_plan *plan, size_t index,
				   struct dtconv_reshard_message *message)
{
	if (!plan || !message)
		return DTCONV_ERR_INVAL;
	return query_message(plan, __func__, &plan->sends, index, message);
}

int dtconv_reshard_plan_query_recv(const struct dtconv_reshard_plan *plan, size_t index,
				   struct dtconv_reshard_message *message)
{
	if (!plan || !message)
		return DTCONV_ERR_INVAL;
	return query_message(plan, __func__, &plan->recvs, index, message);
}

static void drop_messages(struct dtconv_context *context, struct messages *messages)
{
	for (size_t i = 0; i < messages->count; i++)
		dtconv_type_unref(messages->all[i].type);
	dtc_free(context, messages->all);
}

void dtconv_reshard_plan_destroy(struct dtconv_reshard_plan *plan)
{
	if (!plan)
		return;
	struct dtconv_context *context = plan->context;

	drop_messages(context, &plan->sends);
	drop_messages(context, &plan->recvs);
	dtc_free(context, plan);
}
