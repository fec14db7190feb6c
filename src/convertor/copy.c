/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another. If one side is contiguous, it is the packed stream of the other
 * side. Otherwise bytes go through a small host buffer, or through scratch memory of a device.
 */
#include "config.h"

#include <dtconv/convertor.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/classify.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "device_move.h"
#include "host_move.h"
#include "packed_stream.h"

/* Bytes packed between two layouts at a time: they stay in the first-level cache. */
#define COPY_BYTES 2048

static int check_signatures(const struct dtconv_type *source_type, size_t source_count,
			    const struct dtconv_type *target_type, size_t target_count,
			    enum dtconv_signature_relation *relation)
{
	int status = dtconv_type_compare_signature(source_type, source_count, target_type,
						   target_count, relation);

	if (status || *relation != DTCONV_SIGNATURE_DIFFERENT)
		return status;
	return DTC_FAIL(source_type->context, DTCONV_ERR_SIGNATURE,
			"dtconv_copy: the source's signature differs from the target's");
}

/* One side of a copy. */
struct end {
	const struct dtconv_type *type;
	struct dtc_cursor cursor;
	char *data;
};

/* @kind is the known kind of the packed memory; the kind of the side's own memory is not known. */
static int move_end(struct end *end, char *packed, enum dtconv_memory_kind kind, uint64_t most,
		    enum dtc_direction direction, size_t *moved)
{
	struct dtc_cursor *cursor = &end->cursor;
	const struct dtc_move move = { .context = end->type->context,
				       .cursor = cursor,
				       .bounds = &end->type->bounds,
				       .type = end->type,
				       .user = end->data,
				       .packed = packed,
				       .bytes = (size_t)DTC_MIN(
					       most, cursor->size - cursor->position),
				       .direction = direction,
				       .placement = { .packed = kind },
				       .caller = "dtconv_copy" };

	if (DTC_UNLIKELY(!dtc_memory_is_ordinary(move.context, end->data, packed)) ||
	    dtc_is_host_forbidden(move.context, 0))
		return dtc_device_move(&move, moved);
	int status = dtc_host_move_bytes(cursor, end->data, packed, move.bytes, direction,
					 moved);
	dtc_count_job(move.context, DTC_HOST_INDEX, *moved);
	return status;
}

/* ---- one hop ------------------------------------------------------------------------------- */

/* Whether a side is contiguous: then it is the other side's packed stream. */
static bool is_row(const struct end *end)
{
	return end->cursor.size && end->cursor.layout->dense;
}

static char *row_of(const struct end *end)
{
	return (char *)((uintptr_t)end->data +
			(uintptr_t)end->cursor.layout->program->ops[0].disp);
}

/* ---- two hops on a device ------------------------------------------------------------------ */

/* Hops in flight. They are ordered by one stream, so only their number is limited. */
#define HOPS 16

struct hop {
	struct dtc_event event;
	size_t arrives; /* bytes copied once it has completed */
};

struct relay {
	struct dtc_scratch scratch;
	struct hop hops[HOPS];
	unsigned next;
	size_t copied;
};

static int end_hop(struct relay *relay, struct hop *hop, int failed)
{
	int status = dtc_device_wait(&hop->event);

	/* Hops behind a failed one in the stream have copied wrong bytes. */
	if (!status && !failed)
		relay->copied += hop->arrives;
	hop->arrives = 0;
	return failed ? failed : status;
}

static int start_hop(struct relay *relay, struct end *end, size_t bytes,
		     enum dtc_direction direction)
{
	struct hop *hop = &relay->hops[relay->next++ % HOPS];
	const struct dtc_move move = { .context = end->type->context,
				       .cursor = &end->cursor,
				       .bounds = &end->type->bounds,
				       .type = end->type,
				       .user = end->data,
				       .packed = relay->scratch.memory,
				       .bytes = bytes,
				       .direction = direction,
				       .placement = { .packed = DTCONV_MEMORY_DEVICE,
						      .on_stream = true,
						      .stream = relay->scratch.stream },
				       .caller = "dtconv_copy" };
	size_t moved;

	int status = end_hop(relay, hop, 0);
	if (!status)
		status = dtc_device_start(&move, &hop->event, &moved);
	if (!status && direction == DTC_UNPACK)
		hop->arrives = bytes;
	return status;
}

static uint64_t left_of(const struct end *end)
{
	return end->cursor.size - end->cursor.position;
}

static int copy_in_stream(struct relay *relay, struct end *source, struct end *target)
{
	int status = 0;

	while (!status && left_of(source) && left_of(target)) {
		size_t bytes = (size_t)DTC_MIN(DTC_MIN(left_of(source), left_of(target)),
					       (uint64_t)relay->scratch.bytes);

		status = start_hop(relay, source, bytes, DTC_PACK);
		if (!status)
			status = start_hop(relay, target, bytes, DTC_UNPACK);
	}
	for (unsigned i = 0; i < HOPS; i++)
		status = end_hop(relay, &relay->hops[(relay->next + i) % HOPS], status);
	return status;
}

/* The memory of the first byte of a side. */
static struct dtc_memory memory_of(const struct end *end)
{
	const struct dtc_user_buffer buffer = { &end->cursor, &end->type->bounds,
						end->data };
	struct dtc_memory memory = dtc_memory_host();

	if (end->cursor.size)
		dtc_classify_stream(end->type->context, &buffer, 1, &memory);
	return memory;
}

/* Acquire scratch memory of the device that owns a side. False if no device does, or it has none free. */
static bool borrow(const struct end *source, const struct end *target,
		   struct dtc_scratch *scratch)
{
	struct dtconv_context *context = source->type->context;

	if (dtc_memory_is_ordinary(context, source->data, target->data))
		return false;
	struct dtc_memory near = memory_of(source);
	const struct dtc_memory far = memory_of(target);
	bool between = dtc_memory_is_between(&near, &far);
	/* Memory of another device that no context owns may be accessible to its own device only. */
	if (between && !near.owner && !far.owner)
		return false;
	if (near.kind != DTCONV_MEMORY_DEVICE || (between && !far.owner))
		near = far;
	return near.kind == DTCONV_MEMORY_DEVICE && !near.denied &&
	       dtc_scratch_acquire(context, &near, scratch);
}

/* ---- two hops on the host ------------------------------------------------------------------ */

/* Pack into a small buffer and unpack from it, until either side ends. */
static DTC_NOINLINE int copy_through(struct end *source, struct end *target,
				     size_t *copied)
{
	const struct dtc_cursor *from = &source->cursor, *to = &target->cursor;
	char buffer[COPY_BYTES];
	size_t packed, unpacked;
	int status = 0;

	*copied = 0;
	while (!status && from->position < from->size && to->position < to->size) {
		size_t room = (size_t)DTC_MIN(to->size - to->position,
					      (uint64_t)sizeof(buffer));

		status = move_end(source, buffer, DTCONV_MEMORY_HOST, room, DTC_PACK, &packed);
		if (status)
			break;
		status = move_end(target, buffer, DTCONV_MEMORY_HOST, packed, DTC_UNPACK,
				  &unpacked);
		*copied += unpacked;
	}
	return status;
}

/* Take the most direct way that is possible. */
static int copy_between(struct end *source, struct end *target, size_t *copied)
{
	struct relay relay = { .next = 0 };

	*copied = 0;
	if (is_row(source))
		return move_end(target, row_of(source), DTCONV_MEMORY_UNKNOWN,
				source->cursor.size, DTC_UNPACK, copied);
	if (is_row(target))
		return move_end(source, row_of(target), DTCONV_MEMORY_UNKNOWN,
				target->cursor.size, DTC_PACK, copied);
	if (!borrow(source, target, &relay.scratch))
		return copy_through(source, target, copied);
	int status = copy_in_stream(&relay, source, target);
	dtc_scratch_release(&relay.scratch);
	*copied = relay.copied;
	return status;
}

int dtconv_copy(struct dtconv_type *source_type, size_t source_count, const void *source,
		struct dtconv_type *target_type, size_t target_count, void *target,
		size_t *moved)
{
	if (!source_type || !target_type)
		return DTCONV_ERR_INVAL;
	struct end from = { .type = source_type, .data = (char *)(uintptr_t)source };
	struct end to = { .type = target_type, .data = target };
	enum dtconv_signature_relation relation;
	size_t copied = 0;

	if (moved)
		*moved = 0;
	if (source_type->context != target_type->context)
		return DTC_FAIL(
			source_type->context, DTCONV_ERR_INVAL,
			"%s: target_type (argument 4) was made in another context",
			__func__);
	int status = dtc_packed_stream_begin(&from.cursor, source_type, source_count,
					     __func__, "source_type (argument 1)");
	if (!status)
		status = dtc_packed_stream_begin(&to.cursor, target_type, target_count,
						 __func__, "target_type (argument 4)");
	if (!status)
		status = check_signatures(source_type, source_count, target_type,
					  target_count, &relation);
	if (status)
		return status;
	status = copy_between(&from, &to, &copied);
	dtc_count_call(source_type->context, DTC_PACK, copied);
	dtc_count_call(source_type->context, DTC_UNPACK, copied);
	if (moved)
		*moved = copied;
	if (!status && relation == DTCONV_SIGNATURE_EXTENDS)
		return DTC_FAIL(
			source_type->context, DTCONV_ERR_TRUNCATE,
			"%s: the source packs to %zu bytes, but the target has room for %zu",
			__func__, (size_t)from.cursor.size, (size_t)to.cursor.size);
	return status;
}
