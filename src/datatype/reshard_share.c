/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sends what of a target box. Both ends of a message call this with the same source group and target box and
 * get the same pieces. Source boxes that overlap cut an intersection into cells whose elements have the same
 * holders; each cell goes to the one holder that sends it, and a holder's cells are joined again.
 */
#include "config.h"

#include "reshard.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/log.h"

/* The intersection of a source group and a target box, while it is shared out. */
struct sharing {
	const struct dtconv_reshard *reshard;
	const char *caller;
	const struct dtc_shard *target;
	size_t corners[DTC_CORNERS_MAX];
	struct dtc_vec groups; /* size_t: all that intersect it */
	struct dtc_vec cells;  /* corners */
	struct dtc_vec
		holders; /* of a cell: const struct dtc_shard *, by rank and number */
};

static void start(struct sharing *sharing, const struct dtconv_reshard *reshard)
{
	*sharing = (struct sharing){
		.reshard = reshard,
		.groups.width = sizeof(size_t),
		.cells.width = DTC_MAX(2 * reshard->ndims, (size_t)1) * sizeof(size_t),
		.holders.width = sizeof(const struct dtc_shard *),
	};
}

static void end(struct sharing *sharing)
{
	struct dtconv_context *context = sharing->reshard->context;

	dtc_free(context, sharing->groups.items);
	dtc_free(context, sharing->cells.items);
	dtc_free(context, sharing->holders.items);
}

static int no_memory(const struct sharing *sharing)
{
	return DTC_FAIL(sharing->reshard->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate the pieces of target box %zu of rank %zu",
			sharing->caller, sharing->target->number, sharing->target->rank);
}

static int too_many(const struct sharing *sharing)
{
	return DTC_FAIL(
		sharing->reshard->context, DTCONV_ERR_LIMIT,
		"%s: %zu source boxes that overlap cut target box %zu of rank %zu into "
		"more than %d pieces",
		sharing->caller, sharing->groups.count, sharing->target->number,
		sharing->target->rank, DTC_RESHARD_PIECES_MAX);
}

static const size_t *corners_of_group(const struct dtconv_reshard *reshard, size_t group)
{
	return reshard->source.all[reshard->source.groups[group]].corners;
}

static bool find_groups(struct sharing *sharing)
{
	struct dtc_search search = { .shards = &sharing->reshard->source,
				     .corners = sharing->corners };
	size_t group;

	while (dtc_search_next(&search, &group))
		if (!dtc_vec_push(sharing->reshard->context, &sharing->groups, &group))
			return false;
	return true;
}

static size_t group_at(const struct sharing *sharing, size_t i)
{
	return ((const size_t *)sharing->groups.items)[i];
}

/* ---- cells ----------------------------------------------------------------------------- */

static size_t *cell_at(const struct sharing *sharing, size_t i)
{
	return (size_t *)sharing->cells.items + i * sharing->cells.width / sizeof(size_t);
}

static int push_cell(struct sharing *sharing, const size_t *corners)
{
	if (sharing->cells.count == DTC_RESHARD_PIECES_MAX)
		return DTCONV_ERR_LIMIT;
	return dtc_vec_push(sharing->reshard->context, &sharing->cells, corners)
		       ? 0
		       : DTCONV_ERR_NOMEM;
}

/* Cut off what lies outside of a box; the cell keeps what is inside. */
static int cut_cell(struct sharing *sharing, size_t i, const size_t *box)
{
	const size_t ndims = sharing->reshard->ndims;
	size_t inside[DTC_CORNERS_MAX], outside[DTC_CORNERS_MAX];
	int status = 0;

	memcpy(inside, cell_at(sharing, i), 2 * ndims * sizeof(inside[0]));
	for (size_t d = 0; d < ndims && !status; d++) {
		if (inside[d] < box[d]) {
			memcpy(outside, inside, 2 * ndims * sizeof(inside[0]));
			outside[ndims + d] = inside[d] = box[d];
			status = push_cell(sharing, outside);
		}
		if (!status && inside[ndims + d] > box[ndims + d]) {
			memcpy(outside, inside, 2 * ndims * sizeof(inside[0]));
			outside[d] = inside[ndims + d] = box[ndims + d];
			status = push_cell(sharing, outside);
		}
	}
	memcpy(cell_at(sharing, i), inside, 2 * ndims * sizeof(inside[0]));
	return status;
}

/* Cut all cells, so that each is inside or outside of the box. */
static int cut_by(struct sharing *sharing, const size_t *box)
{
	const size_t ndims = sharing->reshard->ndims;
	const size_t count = sharing->cells.count;
	int status = 0;

	for (size_t i = 0; i < count && !status; i++)
		if (dtc_corners_meet(ndims, cell_at(sharing, i), box) &&
		    !dtc_corners_contain(ndims, box, cell_at(sharing, i)))
			status = cut_cell(sharing, i, box);
	return status;
}

static int cut_by_groups(struct sharing *sharing)
{
	int status = push_cell(sharing, sharing->corners);

	for (size_t i = 0; i < sharing->groups.count && !status; i++)
		status = cut_by(sharing,
				corners_of_group(sharing->reshard, group_at(sharing, i)));
	return status;
}

/* ---- holders --------------------------------------------------------------------------- */

static int by_rank(const void *left, const void *right)
{
	const struct dtc_shard *a = *(const struct dtc_shard *const *)left;
	const struct dtc_shard *b = *(const struct dtc_shard *const *)right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* The sender among the holders in a group, which are sorted by rank and of different ranks. */
static const struct dtc_shard *choose_in_group(const struct dtc_shards *source,
					       size_t group,
					       const struct dtc_shard *target)
{
	const size_t first = source->groups[group], end = source->groups[group + 1];
	const struct dtc_shard *own = dtc_shards_find(source, group, target->rank);

	return own ? own : &source->all[first + target->spread % (end - first)];
}

/* Of a rank that holds a cell in several boxes, keep the first one. */
static size_t keep_ranks(const struct dtc_shard **holders, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept == 0 || holders[kept - 1]->rank != holders[i]->rank)
			holders[kept++] = holders[i];
	return kept;
}

static const struct dtc_shard *choose(const struct dtc_shard *const *holders,
				      size_t count, const struct dtc_shard *target)
{
	for (size_t i = 0; i < count; i++)
		if (holders[i]->rank == target->rank)
			return holders[i];
	assert(count > 0);
	return holders[target->spread % count];
}

static bool add_holders(struct sharing *sharing, size_t group)
{
	const struct dtc_shards *source = &sharing->reshard->source;

	for (size_t i = source->groups[group]; i < source->groups[group + 1]; i++) {
		const struct dtc_shard *holder = &source->all[i];

		if (!dtc_vec_push(sharing->reshard->context, &sharing->holders, &holder))
			return false;
	}
	return true;
}

/* The sender of a cell, which some group contains; NULL if memory ran out. */
static const struct dtc_shard *sender_of(struct sharing *sharing, const size_t *cell)
{
	const struct dtconv_reshard *reshard = sharing->reshard;

	sharing->holders.count = 0;
	for (size_t i = 0; i < sharing->groups.count; i++) {
		const size_t group = group_at(sharing, i);

		if (dtc_corners_contain(reshard->ndims, corners_of_group(reshard, group),
					cell) &&
		    !add_holders(sharing, group))
			return NULL;
	}
	const struct dtc_shard **holders = sharing->holders.items;
	qsort(holders, sharing->holders.count, sizeof(holders[0]), by_rank);
	return choose(holders, keep_ranks(holders, sharing->holders.count),
		      sharing->target);
}

/* ---- pieces ---------------------------------------------------------------------------- */

size_t dtc_piece_bytes(size_t ndims)
{
	return sizeof(struct dtc_piece) + 2 * ndims * sizeof(size_t);
}

/* What a piece is before it is filled in. */
static const char no_piece[sizeof(struct dtc_piece) + DTC_CORNERS_MAX * sizeof(size_t)];

static bool push_piece(const struct sharing *sharing, const struct dtc_shard *sender,
		       const size_t *corners, struct dtc_vec *pieces)
{
	const size_t ndims = sharing->reshard->ndims;

	if (!dtc_vec_push(sharing->reshard->context, pieces, no_piece))
		return false;
	struct dtc_piece *piece = dtc_piece_at(pieces, pieces->count - 1);
	piece->ndims = ndims;
	piece->source = sender;
	piece->target = sharing->target;
	memcpy(piece->corners, corners, 2 * ndims * sizeof(corners[0]));
	return true;
}

/* Pieces of one sender that may be neighbours in a dimension follow each other. */
static int by_neighbours(const void *left, const void *right)
{
	const struct dtc_piece *a = left, *b = right;
	const size_t d = a->dimension;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	for (size_t i = 0; i < 2 * a->ndims; i++)
		if (i != d && i != a->ndims + d && a->corners[i] != b->corners[i])
			return a->corners[i] < b->corners[i] ? -1 : 1;
	return (a->corners[d] > b->corners[d]) - (a->corners[d] < b->corners[d]);
}

static bool are_neighbours(const struct dtc_piece *a, const struct dtc_piece *b)
{
	const size_t d = a->dimension;

	for (size_t i = 0; i < 2 * a->ndims; i++)
		if (i != d && i != a->ndims + d && a->corners[i] != b->corners[i])
			return false;
	return a->source == b->source && a->corners[a->ndims + d] == b->corners[d];
}

static void join_along(struct dtc_vec *pieces, size_t first, size_t d)
{
	size_t kept = first;

	for (size_t i = first; i < pieces->count; i++)
		dtc_piece_at(pieces, i)->dimension = d;
	qsort(dtc_piece_at(pieces, first), pieces->count - first, pieces->width,
	      by_neighbours);
	for (size_t i = first + 1; i < pieces->count; i++) {
		struct dtc_piece *last = dtc_piece_at(pieces, kept);
		struct dtc_piece *piece = dtc_piece_at(pieces, i);

		if (are_neighbours(last, piece))
			last->corners[last->ndims + d] = piece->corners[last->ndims + d];
		else
			memmove(dtc_piece_at(pieces, ++kept), piece, pieces->width);
	}
	pieces->count = kept + 1;
}

/* Join the pieces from the first one on, the last dimension first. */
static void join(const struct sharing *sharing, struct dtc_vec *pieces, size_t first)
{
	for (size_t d = sharing->reshard->ndims; d-- > 0 && pieces->count > first + 1;)
		join_along(pieces, first, d);
}

/* ---- sharing --------------------------------------------------------------------------- */

static int share_cells(struct sharing *sharing, size_t group, struct dtc_vec *pieces)
{
	const size_t first = pieces->count;

	for (size_t i = 0; i < sharing->cells.count; i++) {
		const size_t *cell = cell_at(sharing, i);
		const struct dtc_shard *sender = sender_of(sharing, cell);

		if (!sender)
			return DTCONV_ERR_NOMEM;
		if (sender->group == group && !push_piece(sharing, sender, cell, pieces))
			return DTCONV_ERR_NOMEM;
	}
	join(sharing, pieces, first);
	return 0;
}

static int share(struct sharing *sharing, size_t group, struct dtc_vec *pieces)
{
	if (!find_groups(sharing))
		return DTCONV_ERR_NOMEM;
	/* No other box holds any of it. */
	if (sharing->groups.count == 1)
		return push_piece(sharing,
				  choose_in_group(&sharing->reshard->source, group,
						  sharing->target),
				  sharing->corners, pieces)
			       ? 0
			       : DTCONV_ERR_NOMEM;
	int status = cut_by_groups(sharing);
	return status ? status : share_cells(sharing, group, pieces);
}

int dtc_reshard_share(const struct dtconv_reshard *reshard, const char *caller,
		      size_t group, const struct dtc_shard *target,
		      struct dtc_vec *pieces)
{
	struct sharing sharing;

	start(&sharing, reshard);
	sharing.caller = caller;
	sharing.target = target;
	dtc_corners_intersect(reshard->ndims, corners_of_group(reshard, group),
			      target->corners, sharing.corners);
	int status = share(&sharing, group, pieces);
	if (status == DTCONV_ERR_NOMEM)
		status = no_memory(&sharing);
	else if (status == DTCONV_ERR_LIMIT)
		status = too_many(&sharing);
	end(&sharing);
	return status;
}

/* ---- elements that nobody holds -------------------------------------------------------- */

static bool is_held(const struct sharing *sharing, const size_t *cell)
{
	for (size_t i = 0; i < sharing->groups.count; i++)
		if (dtc_corners_contain(sharing->reshard->ndims,
					corners_of_group(sharing->reshard,
							 group_at(sharing, i)),
					cell))
			return true;
	return false;
}

static bool is_before(size_t ndims, const size_t *a, const size_t *b)
{
	for (size_t d = 0; d < ndims; d++)
		if (a[d] != b[d])
			return a[d] < b[d];
	return false;
}

bool dtc_reshard_find_missing(const struct dtconv_reshard *reshard, const size_t *box,
			      size_t *index)
{
	const size_t ndims = reshard->ndims;
	struct sharing sharing;
	bool found = false;

	start(&sharing, reshard);
	memcpy(sharing.corners, box, 2 * ndims * sizeof(box[0]));
	if (find_groups(&sharing) && cut_by_groups(&sharing) == 0) {
		for (size_t i = 0; i < sharing.cells.count; i++) {
			const size_t *cell = cell_at(&sharing, i);

			if (is_held(&sharing, cell) ||
			    (found && !is_before(ndims, cell, index)))
				continue;
			memcpy(index, cell, ndims * sizeof(index[0]));
			found = true;
		}
	}
	end(&sharing);
	return found;
}
