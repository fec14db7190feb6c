/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts a typed move into parts. Device kernels move whole units whose two sides the device can access.
 * The host engine moves ordinary host memory, and units that a fragment cuts.
 */
#include "config.h"

#include "typed_device.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/typed.h"
#include "datatype/type.h"
#include "device_move.h"

/* ---- through the host --------------------------------------------------------------------- */

/* The host engine works on pieces of packed bytes; cut units are copied to the stack. */
static int move_by_engine(struct dtc_typed *typed, const struct dtc_move *move,
			  char *packed, size_t bytes, bool on_device, size_t *moved)
{
	const struct dtc_typed_move host = { .cursor = move->cursor,
					     .user = move->user,
					     .packed = packed,
					     .bytes = bytes,
					     .caller = move->caller,
					     .device_move = on_device ? move : NULL };

	return move->direction == DTC_PACK ? dtc_typed_pack(typed, &host, moved)
					   : dtc_typed_unpack(typed, &host, moved);
}

/* Do not count packed bytes whose copy to the packed memory failed. */
static int pack_piece(struct dtc_typed *typed, const struct dtc_move *move, char *packed,
		      char *buffer, size_t bytes, size_t *moved)
{
	uint64_t start = typed->position;
	int status = move_by_engine(typed, move, buffer, bytes, true, moved);
	int copied = *moved ? dtc_device_copy_contiguous(move, DTC_PACK, packed, buffer,
							 *moved)
			    : 0;

	if (copied) {
		dtc_typed_seek(typed, start);
		*moved = 0;
	}
	return status ? status : copied;
}

static int unpack_piece(struct dtc_typed *typed, const struct dtc_move *move,
			char *packed, char *buffer, size_t bytes, size_t *moved)
{
	int status = dtc_device_copy_contiguous(move, DTC_UNPACK, packed, buffer, bytes);

	return status ? status : move_by_engine(typed, move, buffer, bytes, true, moved);
}

/* Move a piece from or to @buffer with the host engine. @moved is valid even if the call fails. */
static int move_piece(struct dtc_typed *typed, const struct dtc_move *move, char *packed,
		      char *buffer, size_t bytes, size_t *moved)
{
	*moved = 0;
	return move->direction == DTC_PACK
		       ? pack_piece(typed, move, packed, buffer, bytes, moved)
		       : unpack_piece(typed, move, packed, buffer, bytes, moved);
}

static int move_pieces(struct dtc_typed *typed, const struct dtc_move *move, char *packed,
		       size_t bytes, size_t *moved)
{
	size_t room, piece = 0;
	char *buffer = dtc_device_bounce_buffer(move, bytes, &room);
	int status = 0;

	*moved = 0;
	if (!buffer)
		return DTCONV_ERR_NOMEM;
	while (!status && *moved < bytes) {
		status = move_piece(typed, move, packed + *moved, buffer,
				    DTC_MIN(room, bytes - *moved), &piece);
		*moved += piece;
	}
	dtc_free(move->context, buffer);
	return status;
}

/* Move some bytes of one unit. */
static int move_cut(struct dtc_typed *typed, const struct dtc_move *move, char *packed,
		    size_t bytes, size_t *moved)
{
	char buffer[DTC_ELEMENT_BYTES];

	return move_piece(typed, move, packed, buffer, bytes, moved);
}

/* ---- what a device is told ---------------------------------------------------------------- */

/* Packing applies no operation. */
static struct dtc_gpu_typing typing_of(const struct dtc_typed *typed,
				       enum dtc_direction direction)
{
	bool pack = direction == DTC_PACK;

	return (struct dtc_gpu_typing){ .signature = typed->type->signature,
					.count = typed->count,
					.to_wire = typed->to_wire,
					.op = pack ? DTCONV_OP_REPLACE : typed->op,
					.couples = !pack && typed->couples,
					.value = typed->couple.basic,
					.index = typed->index };
}

/* The first move makes them; @reason says why a stream has none. */
static int make_units(struct dtc_typed *typed, const struct dtc_move *move,
		      const char **reason)
{
	const struct dtc_gpu_typing typing = typing_of(typed, move->direction);

	*reason = NULL;
	if (typed->units)
		return 0;
	struct dtc_gpu_units *units = dtc_alloc(move->context, sizeof(*units));
	if (!units)
		return DTC_FAIL(move->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes", move->caller,
				sizeof(*units));
	*reason = dtc_gpu_units_make(&typing, units);
	if (*reason)
		dtc_free(move->context, units);
	else
		typed->units = units;
	return 0;
}

/* ---- parts -------------------------------------------------------------------------------- */

/* Classify both sides and cut the job to the units that are in one kind of memory on each. */
static void find_memory(const struct dtc_move *move, struct dtc_typed_job *part)
{
	struct dtc_job *job = &part->job;
	uint64_t native =
		dtc_device_find_user(move, part->end.native - part->begin.native, &job->user_memory);
	uint64_t wire = dtc_device_find_packed(move, job->packed, part->end.wire - part->begin.wire,
					       &job->packed_memory);
	struct dtc_gpu_unit_place by_native =
		dtc_gpu_units_at_native(part->units, part->begin.native + native);
	struct dtc_gpu_unit_place by_wire =
		dtc_gpu_units_at_wire(part->units, part->begin.wire + wire);

	part->end = by_native.unit < by_wire.unit ? by_native : by_wire;
}

/* The host can access pinned memory, but does not synchronise with a stream, and may be forbidden. */
static bool is_processors(const struct dtc_job *job)
{
	enum dtconv_memory_kind most = dtc_job_is_ordered(job) ? DTCONV_MEMORY_HOST
							       : DTCONV_MEMORY_PINNED;

	return !dtc_is_host_forbidden(job->context, job->forbidden) &&
	       job->user_memory.kind <= most && job->packed_memory.kind <= most;
}

static struct dtc_typed_job describe_part(const struct dtc_typed *typed,
					  const struct dtc_move *move, char *packed,
					  uint64_t end)
{
	struct dtc_typed_job part = { .units = typed->units };

	part.begin = dtc_gpu_units_at_wire(part.units, typed->position);
	part.end = dtc_gpu_units_at_wire(part.units, end);
	part.job = (struct dtc_job){ .cursor = move->cursor,
				     .user = move->user,
				     .packed = packed,
				     .row_bytes = end - typed->position,
				     .direction = move->direction,
				     .context = move->context,
				     .on_stream = move->placement.on_stream,
				     .started = move->started,
				     .no_wait = move->no_wait,
				     .stream = move->placement.stream,
				     .forbidden = move->placement.forbidden,
				     .caller = move->caller };
	return part;
}

/* Move units with the host engine. @on_device: a side is not host memory. */
static int move_by_host(struct dtc_typed *typed, const struct dtc_move *move,
			const struct dtc_job *job, bool on_device)
{
	size_t bytes = (size_t)job->bytes, moved = 0;

	if (dtc_is_host_forbidden(job->context, job->forbidden))
		return dtc_typed_refuse(job, &dtc_host_backend);
	int status = on_device ? move_pieces(typed, move, job->packed, bytes, &moved)
			       : move_by_engine(typed, move, job->packed, bytes, false,
						&moved);
	dtc_count_job(job->context, DTC_HOST_INDEX, moved);
	return status;
}

/* Move whole units from the position on, at most up to byte @end of the stream. */
static int start_part(struct dtc_typed *typed, const struct dtc_move *move, char *packed,
		      uint64_t end, struct dtc_event *event)
{
	struct dtc_typed_job part = describe_part(typed, move, packed, end);
	size_t moved;

	dtc_cursor_seek(move->cursor, part.begin.native);
	find_memory(move, &part);
	int status = dtc_device_check(&part.job);
	if (status)
		return status;
	part.job.bytes = part.end.wire - part.begin.wire;
	/* The next unit spans two kinds of memory. */
	if (!part.job.bytes)
		return move_cut(typed, move, packed, dtc_typed_unit_bytes(typed), &moved);
	if (is_processors(&part.job))
		return move_by_host(typed, move, &part.job, false);
	if (part.job.user_memory.kind == DTCONV_MEMORY_HOST)
		return move_by_host(typed, move, &part.job, true);
	status = dtc_typed_submit(&part, event);
	if (status == DTCONV_ERR_LIMIT)
		return move_by_host(typed, move, &part.job, true);
	if (!status)
		dtc_typed_seek(typed, part.end.wire);
	return status;
}

/* ---- moves -------------------------------------------------------------------------------- */

/* Move the rest of the unit at the position, or as much as the move has. */
static int move_head(struct dtc_typed *typed, const struct dtc_move *move, uint64_t end)
{
	uint64_t first = dtc_typed_boundary(typed);
	size_t moved;

	if (first == typed->position)
		return 0;
	end = DTC_MIN(end, first + dtc_typed_unit_bytes(typed));
	return move_cut(typed, move, move->packed, (size_t)(end - typed->position),
			&moved);
}

/* Move the first bytes of the last unit. The position stays; @end becomes the end of the whole units. */
static int move_tail(struct dtc_typed *typed, const struct dtc_move *move, uint64_t start,
		     uint64_t *end)
{
	uint64_t kept = typed->position, stop = *end;
	size_t moved;
	int status = 0;

	dtc_typed_seek(typed, stop);
	*end = DTC_MAX(dtc_typed_boundary(typed), kept);
	if (*end < stop) {
		dtc_typed_seek(typed, *end);
		status = move_cut(typed, move, move->packed + (*end - start),
				  (size_t)(stop - *end), &moved);
	}
	dtc_typed_seek(typed, kept);
	return status;
}

/*
 * Start the parts from the position to @end. Units that have been combined cannot be moved again: if anything has been
 * moved before, at @start or as @cut units, a missing resource is waited for where that is possible.
 */
static int start_parts(struct dtc_typed *typed, const struct dtc_move *whole,
		       uint64_t start, uint64_t end, bool cut, struct dtc_event *event)
{
	struct dtc_move move = *whole;
	int status = 0;

	while (!status && typed->position < end) {
		move.no_wait = whole->no_wait && !cut && typed->position == start;
		status = dtc_device_wait(event);
		/* A failure counts no bytes, as in the last part. */
		if (status)
			dtc_typed_seek(typed, start);
		else
			status = start_part(typed, &move,
					    move.packed + (typed->position - start), end,
					    event);
	}
	return status;
}

/*
 * Move cut units first: that blocks, but on nothing that this move has started. After a failure the
 * position is where it happened. AGAIN means that nothing has been moved.
 */
static int start_units(struct dtc_typed *typed, const struct dtc_move *move,
		       struct dtc_event *event)
{
	uint64_t start = typed->position, stop = start + move->bytes, end = stop;
	bool cut = dtc_typed_boundary(typed) != start;
	int status = move_head(typed, move, stop);

	if (!status)
		status = move_tail(typed, move, start, &end);
	cut = cut || end != stop;
	if (!status)
		status = start_parts(typed, move, start, end, cut, event);
	if (status == DTCONV_ERR_AGAIN && (cut || typed->position != start))
		return DTCONV_ERR_LIMIT;
	if (!status)
		dtc_typed_seek(typed, stop);
	return status;
}

/* Move a stream from or to ordinary host memory; the packed memory may be of any kind. */
static int move_untold(struct dtc_typed *typed, const struct dtc_move *move,
		       const char *reason)
{
	uint64_t native = move->cursor->size;
	struct dtc_job job = { .packed = move->packed,
			       .bytes = move->bytes,
			       .context = move->context,
			       .forbidden = move->placement.forbidden,
			       .caller = move->caller };
	const struct dtc_memory *user = &job.user_memory;

	dtc_cursor_seek(move->cursor, 0);
	if (dtc_device_find_user(move, native, &job.user_memory) == native &&
	    user->kind && !user->denied && user->kind <= DTCONV_MEMORY_PINNED) {
		dtc_device_find_packed(move, job.packed, job.bytes, &job.packed_memory);
		return move_by_host(typed, move, &job, true);
	}
	return DTC_FAIL(move->context, DTCONV_ERR_UNSUPPORTED,
			"%s: %s %s device memory is not supported: %s", move->caller,
			dtconv_op_name(typed->op),
			move->direction == DTC_PACK ? "from" : "into", reason);
}

/* Move unchanged bytes. */
static int start_native(struct dtc_typed *typed, const struct dtc_move *move,
			struct dtc_event *event)
{
	size_t moved;

	dtc_cursor_seek(move->cursor, typed->position);
	int status = dtc_device_start(move, event, &moved);
	dtc_typed_seek(typed, typed->position + moved);
	return status;
}

static int start(struct dtc_typed *typed, const struct dtc_move *move,
		 struct dtc_event *event)
{
	const char *reason;

	if (typed->native && move->direction == DTC_PACK)
		return start_native(typed, move, event);
	if (typed->op == DTCONV_OP_NO_OP && move->direction == DTC_UNPACK) {
		dtc_typed_seek(typed, typed->position + move->bytes);
		return 0;
	}
	int status = make_units(typed, move, &reason);
	if (status)
		return status;
	return reason ? move_untold(typed, move, reason)
		      : start_units(typed, move, event);
}

int dtc_typed_device_start(struct dtc_typed *typed, const struct dtc_move *move,
			   struct dtc_event *event, size_t *moved)
{
	uint64_t before = typed->position;
	int status = 0;

	*event = (struct dtc_event){ .backend = NULL };
	if (move->bytes)
		status = start(typed, move, event);
	*moved = (size_t)(typed->position - before);
	return status;
}

int dtc_typed_device_move(struct dtc_typed *typed, const struct dtc_move *move,
			  size_t *moved)
{
	uint64_t before = typed->position;
	struct dtc_event event;

	int status = dtc_typed_device_start(typed, move, &event, moved);
	if (status)
		return status;
	status = dtc_device_wait(&event);
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status) {
		dtc_typed_seek(typed, before);
		*moved = 0;
	}
	return status;
}
