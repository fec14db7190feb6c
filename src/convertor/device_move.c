/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts a move into jobs, each in one kind of memory on each side.
 */
#include "config.h"

#include "device_move.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/classify.h"
#include "copy_backends/plan.h"
#include "datatype/type.h"
#include "parallel.h"

/*
 * Memory of the kind that the caller declared, without a query. If no device's driver is in the
 * process, a kind other than host memory becomes unknown.
 */
static struct dtc_memory as_told(struct dtconv_context *context,
				 enum dtconv_memory_kind kind)
{
	if (kind != DTCONV_MEMORY_HOST && !dtc_memory_has_driver(context))
		kind = DTCONV_MEMORY_UNKNOWN;
	return (struct dtc_memory){ .kind = kind, .device = -1 };
}

/* ---- jobs ------------------------------------------------------------------------------ */

uint64_t dtc_device_find_user(const struct dtc_move *move, uint64_t bytes,
			      struct dtc_memory *memory)
{
	const struct dtc_user_buffer buffer = { move->cursor, move->bounds, move->user };

	if (!move->placement.user)
		return dtc_classify_stream(move->context, &buffer, bytes, memory);
	*memory = as_told(move->context, move->placement.user);
	return bytes;
}

uint64_t dtc_device_find_packed(const struct dtc_move *move, const char *packed,
				uint64_t bytes, struct dtc_memory *memory)
{
	if (!move->placement.packed)
		return dtc_classify_contiguous(move->context, packed, bytes, memory);
	*memory = as_told(move->context, move->placement.packed);
	return bytes;
}

uint64_t dtc_device_find_both(const struct dtc_move *move, size_t done,
			      struct dtc_memory *user, struct dtc_memory *packed)
{
	uint64_t bytes = dtc_device_find_user(move, move->bytes - done, user);

	return dtc_device_find_packed(move, move->packed + done, bytes, packed);
}

int dtc_device_check(const struct dtc_job *job)
{
	bool unknown = !job->user_memory.kind || !job->packed_memory.kind;
	int status = unknown ? dtc_memory_refused(job->context, job->caller) : 0;

	if (status)
		return status;
	if (unknown)
		return DTC_FAIL(
			job->context, DTCONV_ERR_BACKEND,
			"%s: cannot determine the kind of the %s memory: it is not "
			"mapped, or the driver does not report it",
			job->caller, job->user_memory.kind ? "packed" : "user");
	if (job->user_memory.denied || job->packed_memory.denied)
		return DTC_FAIL(job->context, DTCONV_ERR_INVAL,
				"%s: no device can access the %s memory", job->caller,
				job->user_memory.denied ? "user" : "packed");
	return 0;
}

static bool is_host(const struct dtc_job *job)
{
	return job->user_memory.kind == DTCONV_MEMORY_HOST &&
	       job->packed_memory.kind == DTCONV_MEMORY_HOST;
}

/* Host memory is shared among threads in processes that use a device, too. */
static bool move_in_parallel(const struct dtc_job *job)
{
	return !dtc_is_host_forbidden(job->context, job->forbidden) &&
	       dtc_parallel_is_worth(job->context, (size_t)job->bytes) &&
	       dtc_parallel_move(job->context, job);
}

static int start_job(const struct dtc_move *move, size_t done, struct dtc_event *event)
{
	struct dtc_job job = { .cursor = move->cursor,
			       .user = move->user,
			       .packed = move->packed + done,
			       .row_bytes = dtc_move_row(move),
			       .direction = move->direction,
			       .context = move->context,
			       .type = move->type,
			       .on_stream = move->placement.on_stream,
			       .started = move->started,
			       .no_wait = move->no_wait,
			       .stream = move->placement.stream,
			       .forbidden = move->placement.forbidden,
			       .caller = move->caller };

	job.bytes =
		dtc_device_find_both(move, done, &job.user_memory, &job.packed_memory);
	int status = dtc_device_check(&job);
	if (status)
		return status;
	if (is_host(&job) && move_in_parallel(&job)) {
		dtc_count_job(job.context, DTC_HOST_INDEX, job.bytes);
		return 0;
	}
	return dtc_plan_submit(&job, event);
}

int dtc_device_wait(struct dtc_event *event)
{
	uint32_t looks = 0;
	int status;

	if (!event->backend)
		return 0;
	while ((status = event->backend->test(event)) == DTCONV_INPROGRESS)
		dtc_rest(&looks);
	event->backend = NULL;
	return status;
}

int dtc_device_start(const struct dtc_move *move, struct dtc_event *event, size_t *moved)
{
	uint64_t start = move->cursor->position;
	int status = 0;

	*event = (struct dtc_event){ .backend = NULL };
	*moved = 0;
	while (!status && *moved < move->bytes) {
		status = dtc_device_wait(event);
		/* A failed job counts no bytes: which of them it moved is unknown. */
		if (status)
			*moved = 0;
		else
			status = start_job(move, *moved, event);
		if (!status)
			*moved = (size_t)(move->cursor->position - start);
	}
	if (status)
		dtc_cursor_seek(move->cursor, start + *moved);
	return status;
}

int dtc_device_move(const struct dtc_move *move, size_t *moved)
{
	uint64_t start = move->cursor->position;
	struct dtc_event event;

	int status = dtc_device_start(move, &event, moved);
	if (status)
		return status;
	status = dtc_device_wait(&event);
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status) {
		dtc_cursor_seek(move->cursor, start);
		*moved = 0;
	}
	return status;
}

/* ---- rows ------------------------------------------------------------------------------ */

int dtc_device_copy_contiguous(const struct dtc_move *move, enum dtc_direction direction,
			       char *packed, char *buffer, size_t bytes)
{
	const struct dtconv_type *byte =
		dtconv_type_predefined(move->context, DTCONV_BYTE);
	struct dtc_placement placement = move->placement;
	struct dtc_cursor cursor;
	size_t moved;

	placement.user = move->placement.packed;
	placement.packed = DTCONV_MEMORY_HOST;
	dtc_cursor_init(&cursor, dtc_type_layout(byte), bytes);
	/* The packed memory takes the place of the user's buffer. */
	const struct dtc_move row = { .context = move->context,
				      .cursor = &cursor,
				      .bounds = &byte->bounds,
				      .user = packed,
				      .packed = buffer,
				      .bytes = bytes,
				      .direction = direction == DTC_PACK ? DTC_UNPACK
									 : DTC_PACK,
				      .placement = placement,
				      .caller = move->caller };
	return dtc_device_move(&row, &moved);
}

/* Pieces of this size stay in a core's cache, and the number of copies costs little. */
#define BOUNCE_BYTES UINT64_C(65536)

char *dtc_device_bounce_buffer(const struct dtc_move *move, uint64_t bytes, size_t *room)
{
	*room = (size_t)DTC_MIN(bytes, BOUNCE_BYTES);
	char *buffer = dtc_alloc(move->context, *room);

	if (!buffer)
		DTC_FAIL(move->context, DTCONV_ERR_NOMEM, "%s: cannot allocate %zu bytes",
			 move->caller, *room);
	return buffer;
}
