/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another. If one side is contiguous, it is the packed stream of the other
 * side. If a device can access both sides, one launch copies. Otherwise bytes go through a small host
 * buffer, or through scratch memory of a device. So do all copies with an operation whose source is not contiguous: the
 * source is packed, and the target unpacks with the operation.
 */
#include "config.h"

#include "copy.h"

#include <dtconv/convertor.h>
#include <dtconv/operation.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/layout_copy.h"
#include "copy_backends/memory/classify.h"
#include "copy_relay.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "device_move.h"
#include "host_move.h"
#include "packed_stream.h"
#include "typed_device.h"

/*
 * Bytes packed between two layouts at a time. They stay in the first-level cache, and fit into a stack frame. Each piece
 * begins two walks, so shorter ones take longer (262128 bytes of vector(10922, 3, 5, double) to
 * vector(16383, 2, 3, double) on an AMD EPYC, in us: 17.1 by 2048 bytes, 12.0 by 4096, 9.4 by 7680, 8.9 by 16384).
 */
#define COPY_BYTES 7680

static struct dtconv_context *context_of(const struct dtc_copy *copy)
{
	return copy->source.type->context;
}

bool dtc_copy_is_ordinary(const struct dtc_copy *copy)
{
	return dtc_memory_is_ordinary(context_of(copy), copy->source.data,
				      copy->target.data);
}

static int start_move(const struct dtc_move *move, struct dtc_event *event, size_t *moved)
{
	if (DTC_UNLIKELY(
		    !dtc_memory_is_ordinary(move->context, move->user, move->packed)) ||
	    dtc_is_host_forbidden(move->context, 0))
		return dtc_device_start(move, event, moved);
	int status = dtc_host_move_bytes(move->cursor, move->user, move->packed,
					 move->bytes, move->direction, moved);
	dtc_count_job(move->context, DTC_HOST_INDEX, *moved);
	return status;
}

/* Combine whole units with those of the target. */
static int start_combining(const struct dtc_copy *copy, const struct dtc_move *move,
			   struct dtc_event *event, size_t *moved)
{
	const struct dtc_typed_move host = { .cursor = move->cursor,
					     .user = move->user,
					     .packed = move->packed,
					     .bytes = move->bytes,
					     .caller = move->caller };

	if (DTC_UNLIKELY(
		    !dtc_memory_is_ordinary(move->context, move->user, move->packed)) ||
	    dtc_is_host_forbidden(move->context, 0))
		return dtc_typed_device_start(copy->typed, move, event, moved);
	int status = dtc_typed_unpack(copy->typed, &host, moved);
	dtc_count_job(move->context, DTC_HOST_INDEX, *moved);
	return status;
}

/* Unpack into the target, or pack the source. */
static int start_side(const struct dtc_copy *copy, const struct dtc_move *move,
		      struct dtc_event *event, size_t *moved)
{
	return copy->typed && move->direction == DTC_UNPACK
		       ? start_combining(copy, move, event, moved)
		       : start_move(move, event, moved);
}

static int move_now(const struct dtc_copy *copy, const struct dtc_move *move,
		    size_t *moved)
{
	struct dtc_event event = { .backend = NULL };
	int status = start_side(copy, move, &event, moved);

	if (status)
		return status;
	status = dtc_device_wait(&event);
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status)
		*moved = 0;
	return status;
}

/* ---- one hop ------------------------------------------------------------------------------- */

bool dtc_copy_is_row(const struct dtc_copy_end *end)
{
	return end->cursor.size && end->cursor.layout->dense;
}

char *dtc_copy_row(const struct dtc_copy_end *end)
{
	return (char *)((uintptr_t)end->data +
			(uintptr_t)end->cursor.layout->program->ops[0].disp);
}

/* Between @end and the other side, which is the row. */
static int start_hop_to_row(const struct dtc_copy *copy, struct dtc_copy_end *end,
			    const struct dtc_copy_end *row, enum dtc_direction direction,
			    struct dtc_event *event, size_t *copied)
{
	const uint64_t bytes = dtc_copy_left(copy);
	char *packed =
		(char *)((uintptr_t)dtc_copy_row(row) + (uintptr_t)(copy->end - bytes));
	const struct dtc_move move =
		dtc_copy_move(copy, end, packed, DTCONV_MEMORY_UNKNOWN, bytes, direction);

	return start_side(copy, &move, event, copied);
}

/* ---- one launch ---------------------------------------------------------------------------- */

/* The memory of both sides where they begin, and how many bytes of both are in such memory. */
struct memories {
	struct dtc_memory source, target;
	uint64_t bytes;
};

static uint64_t classify(const struct dtc_copy_end *end, uint64_t bytes,
			 struct dtc_memory *memory)
{
	const struct dtc_user_buffer buffer = { &end->cursor, &end->type->bounds,
						end->data };

	return dtc_classify_stream(end->type->context, &buffer, bytes, memory);
}

static void find_memories(const struct dtc_copy *copy, struct memories *memories)
{
	uint64_t bytes = dtc_copy_left(copy);

	bytes = classify(&copy->source, bytes, &memories->source);
	memories->bytes = classify(&copy->target, bytes, &memories->target);
}

/* Without a stream, the host copies between pinned and managed memory. */
static bool is_for_device(const struct dtc_copy *copy, const struct memories *memories)
{
	const struct dtc_memory *source = &memories->source, *target = &memories->target;

	return dtc_memory_is_device_seen(source) && dtc_memory_is_device_seen(target) &&
	       !source->denied && !target->denied &&
	       (copy->placement.on_stream || source->kind == DTCONV_MEMORY_DEVICE ||
		target->kind == DTCONV_MEMORY_DEVICE);
}

/* LIMIT, without a sentence, if it is not possible. */
static int start_launch(struct dtc_copy *copy, const struct memories *memories,
			bool may_relay, struct dtc_event *event, size_t *copied)
{
	const struct dtc_copy_job job = {
		.source = { &copy->source.cursor, copy->source.data, memories->source },
		.target = { &copy->target.cursor, copy->target.data, memories->target },
		.bytes = memories->bytes,
		.context = context_of(copy),
		.on_stream = copy->placement.on_stream,
		.started = copy->started,
		.may_relay = may_relay,
		.stream = copy->placement.stream,
		.caller = copy->caller,
	};

	if (copy->typed || memories->bytes < dtc_copy_left(copy) ||
	    !is_for_device(copy, memories))
		return DTCONV_ERR_LIMIT;
	int status = dtc_layout_copy_submit(&job, event);
	if (!status)
		*copied = (size_t)job.bytes;
	return status;
}

/* ---- two hops on the host ------------------------------------------------------------------ */

/* Pack into a small buffer and unpack from it, until either side ends. */
static DTC_NOINLINE int copy_through(struct dtc_copy *copy, size_t *copied)
{
	_Alignas(64) char buffer[COPY_BYTES];
	size_t packed, unpacked;
	int status = 0;

	while (!status && dtc_copy_left(copy)) {
		const struct dtc_move pack = dtc_copy_move(
			copy, &copy->source, buffer, DTCONV_MEMORY_HOST,
			dtc_copy_next_bytes(copy, sizeof(buffer)), DTC_PACK);

		status = move_now(copy, &pack, &packed);
		if (status)
			break;
		const struct dtc_move unpack = dtc_copy_move(copy, &copy->target, buffer,
							     DTCONV_MEMORY_HOST, packed,
							     DTC_UNPACK);
		status = move_now(copy, &unpack, &unpacked);
		*copied += unpacked;
	}
	return status;
}

/* Bytes through the host backend, which counts a job. */
static int move_on_host(struct dtc_copy_end *end, char *packed, size_t bytes,
			enum dtc_direction direction, size_t *moved)
{
	int status = dtc_host_move_bytes(&end->cursor, end->data, packed, bytes,
					 direction, moved);

	dtc_count_job(end->type->context, DTC_HOST_INDEX, *moved);
	return status;
}

static int combine_on_host(struct dtc_copy *copy, char *packed, size_t bytes,
			   size_t *moved)
{
	const struct dtc_typed_move move = { .cursor = &copy->target.cursor,
					     .user = copy->target.data,
					     .packed = packed,
					     .bytes = bytes,
					     .caller = copy->caller };
	int status = dtc_typed_unpack(copy->typed, &move, moved);

	dtc_count_job(context_of(copy), DTC_HOST_INDEX, *moved);
	return status;
}

/* The same between ordinary host memories, which need no classification. */
static DTC_NOINLINE int copy_ordinary(struct dtc_copy *copy, size_t *copied)
{
	_Alignas(64) char buffer[COPY_BYTES];
	size_t packed, unpacked;
	int status = 0;

	while (!status && dtc_copy_left(copy)) {
		status = move_on_host(&copy->source, buffer,
				      dtc_copy_next_bytes(copy, sizeof(buffer)), DTC_PACK,
				      &packed);
		if (status)
			break;
		if (DTC_UNLIKELY(copy->typed))
			status = combine_on_host(copy, buffer, packed, &unpacked);
		else
			status = move_on_host(&copy->target, buffer, packed, DTC_UNPACK,
					      &unpacked);
		*copied += unpacked;
	}
	return status;
}

/* ---- all ways ------------------------------------------------------------------------------ */

/* A graph that runs later would use a buffer that others use by then. */
static int refuse_capture(const struct dtc_copy *copy)
{
	const struct dtc_placement *placement = &copy->placement;

	if (!placement->on_stream ||
	    !dtc_stream_is_captured(context_of(copy), placement->stream))
		return 0;
	return DTC_FAIL(context_of(copy), DTCONV_ERR_UNSUPPORTED,
			"%s: the stream is being captured, but a copy between these "
			"layouts and memories needs a staging buffer, which a graph "
			"cannot keep",
			copy->caller);
}

static void log_operation(const struct dtc_copy *copy)
{
	if (copy->typed)
		DTC_LOG(context_of(copy), DTCONV_LOG_DEBUG,
			"%s: %zu bytes: packed, and unpacked with %s", copy->caller,
			(size_t)dtc_copy_left(copy), dtconv_op_name(copy->typed->op));
}

/* A device may see a side, and the source is no row; nor is the target, if bytes are stored. */
static int start_with_device(struct dtc_copy *copy, struct dtc_event *event,
			     size_t *copied)
{
	struct memories memories;

	find_memories(copy, &memories);
	const bool may_relay = !copy->started && !copy->in_one_step &&
			       !copy->placement.on_stream;
	int status = start_launch(copy, &memories, may_relay, event, copied);
	if (status != DTCONV_ERR_LIMIT || copy->in_one_step)
		return status;
	status = refuse_capture(copy);
	if (status)
		return status;
	log_operation(copy);
	if (dtc_copy_relay(copy, &memories.source, &memories.target, &status, copied))
		return status;
	/* The device has no scratch memory left. */
	status = start_launch(copy, &memories, false, event, copied);
	return status == DTCONV_ERR_LIMIT ? copy_through(copy, copied) : status;
}

static int start_all(struct dtc_copy *copy, struct dtc_event *event, size_t *copied)
{
	struct dtc_copy_end *source = &copy->source, *target = &copy->target;

	if (dtc_copy_is_row(source))
		return start_hop_to_row(copy, target, source, DTC_UNPACK, event, copied);
	if (dtc_copy_is_row(target) && !copy->typed)
		return start_hop_to_row(copy, source, target, DTC_PACK, event, copied);
	if (DTC_LIKELY(dtc_copy_is_ordinary(copy)))
		return DTC_LIKELY(!dtc_is_host_forbidden(context_of(copy), 0))
			       ? copy_ordinary(copy, copied)
			       : copy_through(copy, copied);
	return start_with_device(copy, event, copied);
}

/* ---- ranges -------------------------------------------------------------------------------- */

static void go_to(struct dtc_copy *copy, uint64_t position)
{
	if (copy->source.cursor.position != position)
		dtc_cursor_seek(&copy->source.cursor, position);
	if (copy->typed)
		dtc_typed_seek(copy->typed, position);
	else if (copy->target.cursor.position != position)
		dtc_cursor_seek(&copy->target.cursor, position);
}

bool dtc_copy_describe(struct dtc_copy *copy, struct dtc_stretch *stretch)
{
	struct memories memories;

	if (copy->typed)
		return false;
	go_to(copy, copy->position);
	find_memories(copy, &memories);
	*stretch = (struct dtc_stretch){ .layout = copy->source.cursor.layout,
					 .count = copy->source.cursor.count,
					 .target = copy->target.cursor.layout,
					 .target_count = copy->target.cursor.count,
					 .bytes = memories.bytes,
					 .user = copy->source.data,
					 .packed = copy->target.data,
					 .user_memory = memories.source,
					 .packed_memory = memories.target };
	return memories.bytes == dtc_copy_left(copy) && is_for_device(copy, &memories);
}

/*
 * Whole units: of those that the range cuts, the ones whose last byte is in it. So fragments of a stream combine each
 * unit once, in whatever order they come, and none has to be kept for another.
 */
static int start_units(struct dtc_copy *copy, struct dtc_event *event, size_t *copied)
{
	struct dtc_typed *typed = copy->typed;
	const uint64_t position = copy->position, end = copy->end;
	const uint64_t first = dtc_typed_boundary_at(typed, position);
	int status = 0;

	copy->end = dtc_typed_boundary_at(typed, end);
	if (first < copy->end && typed->op != DTCONV_OP_NO_OP) {
		go_to(copy, first);
		status = start_all(copy, event, copied);
	}
	copy->end = end;
	if (!status)
		*copied = (size_t)(end - position);
	else
		*copied -= DTC_MIN(*copied, (size_t)(position - first));
	return status;
}

static int start(struct dtc_copy *copy, struct dtc_event *event, size_t *copied)
{
	if (copy->position >= copy->end)
		return 0;
	if (DTC_UNLIKELY(copy->typed))
		return start_units(copy, event, copied);
	go_to(copy, copy->position);
	return start_all(copy, event, copied);
}

int dtc_copy_start(struct dtc_copy *copy, struct dtc_event *event, size_t *copied)
{
	event->backend = NULL;
	*copied = 0;
	int status = start(copy, event, copied);
	if (status)
		event->backend = NULL;
	return status;
}

int dtc_copy_run(struct dtc_copy *copy, size_t *copied)
{
	struct dtc_event event;
	int status = dtc_copy_start(copy, &event, copied);

	if (!event.backend)
		return status;
	status = dtc_device_wait(&event);
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status)
		*copied = 0;
	return status;
}

/* ---- checking and ending ------------------------------------------------------------------- */

static int check_signatures(struct dtc_copy *copy, size_t source_count,
			    size_t target_count)
{
	enum dtconv_signature_relation relation;
	int status = dtconv_type_compare_signature(copy->source.type, source_count,
						   copy->target.type, target_count,
						   &relation);

	if (status || relation != DTCONV_SIGNATURE_DIFFERENT)
		return status;
	return DTC_FAIL(context_of(copy), DTCONV_ERR_SIGNATURE,
			"%s: the source's signature differs from the target's",
			copy->caller);
}

static void select_range(struct dtc_copy *copy, uint64_t position, uint64_t bytes)
{
	const uint64_t size = copy->target.cursor.size;

	copy->position = position;
	copy->end = DTC_MIN(position + bytes, size);
	copy->truncated = position + bytes > size;
}

int dtc_copy_check(struct dtc_copy *copy, size_t source_count, size_t target_count)
{
	struct dtc_copy_end *source = &copy->source, *target = &copy->target;

	if (source->type->context != target->type->context)
		return DTC_FAIL(source->type->context, DTCONV_ERR_INVAL,
				"%s: %s was made in another context", copy->caller,
				target->type_name);
	int status = dtc_packed_stream_begin(&source->cursor, source->type, source_count,
					     copy->caller, source->type_name);
	if (!status)
		status = dtc_packed_stream_begin(&target->cursor, target->type,
						 target_count, copy->caller,
						 target->type_name);
	if (status)
		return status;
	select_range(copy, 0, source->cursor.size);
	return check_signatures(copy, source_count, target_count);
}

int dtc_copy_select(struct dtc_copy *copy, size_t position, size_t bytes)
{
	const uint64_t size = copy->source.cursor.size;

	if (position > size)
		return DTC_FAIL(context_of(copy), DTCONV_ERR_INVAL,
				"%s: position is %zu, past the end of the source's "
				"stream at %zu",
				copy->caller, position, (size_t)size);
	select_range(copy, position, DTC_MIN(size - position, (uint64_t)bytes));
	return 0;
}

int dtc_copy_end(const struct dtc_copy *copy, int status, size_t copied)
{
	dtc_count_call(context_of(copy), DTC_PACK, copied);
	dtc_count_call(context_of(copy), DTC_UNPACK, copied);
	if (status || !copy->truncated)
		return status;
	return DTC_FAIL(
		context_of(copy), DTCONV_ERR_TRUNCATE,
		"%s: the source packs to %zu bytes, but the target has room for %zu",
		copy->caller, (size_t)copy->source.cursor.size,
		(size_t)copy->target.cursor.size);
}

int dtconv_copy(struct dtconv_type *source_type, size_t source_count, const void *source,
		struct dtconv_type *target_type, size_t target_count, void *target,
		size_t *moved)
{
	if (!source_type || !target_type)
		return DTCONV_ERR_INVAL;
	struct dtc_copy copy;
	size_t copied = 0;

	if (moved)
		*moved = 0;
	dtc_copy_set_end(&copy.source, source_type, DTC_COPY_SOURCE_TYPE, source);
	dtc_copy_set_end(&copy.target, target_type, DTC_COPY_TARGET_TYPE, target);
	dtc_copy_init(&copy, false, __func__);
	int status = dtc_copy_check(&copy, source_count, target_count);
	if (status)
		return status;
	status = dtc_copy_run(&copy, &copied);
	if (moved)
		*moved = copied;
	return dtc_copy_end(&copy, status, copied);
}
