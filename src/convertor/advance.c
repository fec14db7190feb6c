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

/*
 * Start a move on a device and the checksum of its bytes. If the checksum fails, the move counts
 * nothing.
 */
static int start_on_device(struct dtconv_convertor *convertor,
			   const struct dtc_move *move, struct dtc_flight *flight)
{
	size_t position = dtc_convertor_position(convertor);
	struct dtc_event *event = &flight->event;
	int status = convertor->typed ? dtc_typed_device_start(convertor->typed, move,
							       event, &flight->moved)
				      : dtc_device_start(move, event, &flight->moved);

	flight->checksum =
		(struct dtc_pending_checksum){ .sum = { .on = convertor->checksum.on } };
	if (!convertor->checksum.on)
		return status;
	struct dtc_move done = *move;
	/* Elements that have been combined cannot be moved again. */
	done.no_wait = move->no_wait && !convertor->typed;
	int summed = dtc_pending_checksum_start(&flight->checksum, &done, done.packed,
						position, flight->moved, event);
	if (summed) {
		(void)dtc_advance_wait(flight);
		flight->checksum.sum.on = false;
		dtc_convertor_go_to(convertor, position);
		flight->moved = 0;
	}
	if (summed == DTCONV_ERR_AGAIN && convertor->typed)
		return DTCONV_ERR_LIMIT;
	return summed ? summed : status;
}

/* Wait for the move and for its checksum, also after a failure: both use the flight. */
int dtc_advance_wait(struct dtc_flight *flight)
{
	int status = dtc_device_wait(&flight->event);
	int summed = dtc_device_wait(&flight->checksum.event);

	return status ? status : summed;
}

void dtc_advance_end(struct dtconv_convertor *convertor, struct dtc_flight *flight,
		     int status)
{
	if (!flight->checksum.sum.on || status)
		return;
	dtc_pending_checksum_finish(&flight->checksum);
	dtc_checksum_join(&convertor->checksum, &flight->checksum.sum);
}

static int move_on_device_checked(struct dtconv_convertor *convertor, char *packed,
				  size_t bytes, size_t *moved, const char *caller)
{
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);
	size_t position = dtc_convertor_position(convertor);
	struct dtc_flight flight;

	int started = start_on_device(convertor, &move, &flight);
	int status = dtc_advance_wait(&flight);
	dtc_advance_end(convertor, &flight, status);
	if (status)
		dtc_convertor_go_to(convertor, position);
	*moved = status ? 0 : flight.moved;
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

/* What a started move has changed before a resource was missing. */
static void take_back(struct dtconv_convertor *convertor, struct dtc_flight *flight,
		      size_t position, const struct dtc_row *row)
{
	(void)dtc_advance_wait(flight);
	flight->checksum.sum.on = false;
	flight->moved = 0;
	dtc_convertor_go_to(convertor, position);
	convertor->row = *row;
}

/* Start a move on a device. The host moves its bytes before this returns. */
int dtc_advance_start(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      struct dtc_flight *flight, const char *caller)
{
	size_t position = dtc_convertor_position(convertor);
	const struct dtc_row row = convertor->row;

	flight->event.backend = NULL;
	flight->checksum.event.backend = NULL;
	flight->checksum.sum.on = false;
	if (is_on_host(convertor, packed))
		return dtc_advance(convertor, packed, bytes, &flight->moved, caller);
	struct dtc_move move = next_move(convertor, packed, bytes, caller);

	move.started = move.no_wait = true;
	int status = start_on_device(convertor, &move, flight);
	if (status == DTCONV_ERR_AGAIN)
		take_back(convertor, flight, position, &row);
	else
		dtc_count_call(move.context, convertor->direction, flight->moved);
	return status;
}

static int test_event(struct dtc_event *event)
{
	int status = event->backend ? event->backend->test(event) : 0;

	if (status != DTCONV_INPROGRESS)
		event->backend = NULL;
	return status;
}

/* If the move has failed, its checksum is not worth waiting for, but its event has to come. */
int dtc_advance_test(struct dtc_flight *flight)
{
	int status = test_event(&flight->event);

	if (status == DTCONV_INPROGRESS)
		return status;
	if (status) {
		(void)dtc_device_wait(&flight->checksum.event);
		return status;
	}
	return test_event(&flight->checksum.event);
}

int dtc_advance_surplus(const struct dtconv_convertor *convertor, size_t bytes,
			size_t moved, const char *caller)
{
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 3) is %zu, but only %zu bytes of the stream "
			"were left",
			caller, bytes, moved);
}
