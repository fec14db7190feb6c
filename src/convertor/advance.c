/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next bytes of a convertor's stream: native, converted, combined or summed, on the host or on a
 * device.
 */
#include "config.h"

#include "advance.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/plan.h"
#include "native_move.h"
#include "position.h"
#include "typed_device.h"

/* The host sums in pieces of this size, while they are in the first-level cache. */
#define CHECKSUM_BYTES 16384

static int move_typed_on_host(struct dtconv_convertor *convertor, char *packed,
			      size_t bytes, size_t *moved, const char *caller)
{
	const struct dtc_typed_move move = { .cursor = &convertor->cursor,
					     .user = convertor->user,
					     .packed = packed,
					     .bytes = bytes,
					     .caller = caller };

	int status = convertor->direction == DTC_PACK
			     ? dtc_typed_pack(convertor->typed, &move, moved)
			     : dtc_typed_unpack(convertor->typed, &move, moved);
	dtc_count_job(convertor->type->context, DTC_HOST_INDEX, *moved);
	return status;
}

/*
 * Extend the run of consecutive packed memory, or begin a new one. Returns its length before this call.
 */
static inline size_t extend_row(struct dtc_row *row, const char *packed, size_t bytes)
{
	size_t before = (uintptr_t)packed == row->end ? row->bytes : 0;

	row->end = (uintptr_t)packed + bytes;
	row->bytes = before + bytes;
	return before;
}

/* The next bytes of the stream. */
static inline struct dtc_move next_move(struct dtconv_convertor *convertor, char *packed,
					size_t bytes, const char *caller)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	size_t left = dtc_convertor_size(convertor) - dtc_convertor_position(convertor);

	bytes = DTC_MIN(bytes, left);
	return (struct dtc_move){ .context = convertor->type->context,
				  .cursor = cursor,
				  .bounds = &convertor->type->bounds,
				  .type = convertor->type,
				  .user = convertor->user,
				  .packed = packed,
				  .bytes = bytes,
				  .row_before =
					  extend_row(&convertor->row, packed, bytes),
				  .direction = convertor->direction,
				  .placement = convertor->placement,
				  .caller = caller };
}

static inline bool is_on_host(const struct dtconv_convertor *convertor,
			      const char *packed)
{
	return dtc_move_is_on_host(convertor->type->context, &convertor->placement,
				   convertor->user, packed);
}

static int move_typed(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      size_t *moved, const char *caller)
{
	if (DTC_LIKELY(is_on_host(convertor, packed)))
		return move_typed_on_host(convertor, packed, bytes, moved, caller);
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);

	return dtc_typed_device_move(convertor->typed, &move, moved);
}

static int move_some(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		     size_t *moved, const char *caller)
{
	if (DTC_UNLIKELY(convertor->typed))
		return move_typed(convertor, packed, bytes, moved, caller);
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);

	return dtc_native_move(&move, moved);
}

static int check_host_allowed(const struct dtconv_convertor *convertor,
			      const char *packed, const char *caller)
{
	struct dtconv_context *context = convertor->type->context;

	if (!convertor->typed && !convertor->checksum.on)
		return 0;
	if (is_on_host(convertor, packed) &&
	    dtc_is_host_forbidden(context, convertor->placement.forbidden))
		return dtc_plan_refuse_host(context, convertor->placement.forbidden,
					    caller);
	return 0;
}

static int move_checked(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			size_t *moved, const char *caller)
{
	size_t some = 1;
	int status = 0;

	*moved = 0;
	while (!status && some && *moved < bytes) {
		size_t position = dtc_convertor_position(convertor);

		status = move_some(convertor, packed + *moved,
				   DTC_MIN(bytes - *moved, (size_t)CHECKSUM_BYTES), &some,
				   caller);
		dtc_checksum_add(&convertor->checksum, position, packed + *moved, some);
		*moved += some;
	}
	return status;
}

static void begin_checksum(struct dtconv_convertor *convertor)
{
	if (convertor->checksum.on)
		convertor->pending_checksum =
			(struct dtc_pending_checksum){ .checksum = &convertor->checksum,
						       .before = convertor->checksum };
}

/*
 * Start a move on a device and the checksum of its bytes. If the checksum fails, the move counts
 * nothing.
 */
static int start_on_device(struct dtconv_convertor *convertor,
			   const struct dtc_move *move, struct dtc_event *event,
			   size_t *moved)
{
	uint64_t position = dtc_convertor_position(convertor);
	int status = convertor->typed ? dtc_typed_device_start(convertor->typed, move,
							       event, moved)
				      : dtc_device_start(move, event, moved);

	if (!convertor->checksum.on)
		return status;
	int summed = dtc_pending_checksum_start(&convertor->pending_checksum, move,
						move->packed, position, *moved, event);
	if (summed) {
		(void)dtc_device_wait(event);
		dtc_pending_checksum_undo(&convertor->pending_checksum);
		dtc_convertor_seek_back(convertor, *moved);
		*moved = 0;
	}
	return summed ? summed : status;
}

/* Wait for the move, then for its checksum. */
int dtc_advance_wait(struct dtconv_convertor *convertor, struct dtc_event *event)
{
	int status = dtc_device_wait(event);

	if (!status && convertor->checksum.on)
		status = dtc_device_wait(&convertor->pending_checksum.event);
	return status;
}

/* Take in the checksum that was in flight; after a failure restore the one from before the call. */
void dtc_advance_end(struct dtconv_convertor *convertor, int status)
{
	if (!convertor->checksum.on)
		return;
	if (status)
		dtc_pending_checksum_undo(&convertor->pending_checksum);
	else
		dtc_pending_checksum_finish(&convertor->pending_checksum);
}

static int move_on_device_checked(struct dtconv_convertor *convertor, char *packed,
				  size_t bytes, size_t *moved, const char *caller)
{
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);
	struct dtc_event event;

	begin_checksum(convertor);
	int started = start_on_device(convertor, &move, &event, moved);
	int status = dtc_advance_wait(convertor, &event);
	dtc_advance_end(convertor, status);
	if (status) {
		dtc_convertor_seek_back(convertor, *moved);
		*moved = 0;
	}
	return status ? status : started;
}

int dtc_advance(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		size_t *moved, const char *caller)
{
	int status = check_host_allowed(convertor, packed, caller);

	*moved = 0;
	if (!status && DTC_UNLIKELY(convertor->checksum.on))
		status = is_on_host(convertor, packed)
				 ? move_checked(convertor, packed, bytes, moved, caller)
				 : move_on_device_checked(convertor, packed, bytes, moved,
							  caller);
	else if (!status)
		status = move_some(convertor, packed, bytes, moved, caller);

	dtc_count_call(convertor->type->context, convertor->direction, *moved);
	return status;
}

/* Start a move on a device. The host moves its bytes before this returns. */
int dtc_advance_start(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      const char *caller)
{
	struct dtc_request *request = &convertor->request;

	begin_checksum(convertor);
	if (is_on_host(convertor, packed))
		return dtc_advance(convertor, packed, bytes, &request->moved, caller);
	struct dtc_move move = next_move(convertor, packed, bytes, caller);

	move.started = true;
	int status = start_on_device(convertor, &move, &request->event, &request->moved);

	dtc_count_call(convertor->type->context, convertor->direction, request->moved);
	return status;
}

static int test_event(struct dtc_event *event)
{
	int status = event->backend ? event->backend->test(event) : 0;

	if (status != DTCONV_INPROGRESS)
		event->backend = NULL;
	return status;
}

int dtc_advance_test(struct dtconv_convertor *convertor)
{
	int status = test_event(&convertor->request.event);

	if (!status && convertor->checksum.on)
		status = test_event(&convertor->pending_checksum.event);
	return status;
}

int dtc_advance_surplus(const struct dtconv_convertor *convertor, size_t bytes,
			size_t moved, const char *caller)
{
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 3) is %zu, but only %zu bytes of the stream "
			"were left",
			caller, bytes, moved);
}
