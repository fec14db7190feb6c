/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching and landing flights. All flights of a convertor use its cursor, which is at a flight's fragment only while
 * the flight is launched.
 */
#include "config.h"

#include "flight.h"

#include <dtconv/flight.h>

#include "advance.h"
#include "base/base.h"
#include "base/log.h"
#include "copy_backends/mover.h"
#include "host_move.h"
#include "position.h"

static void link_flight(struct dtconv_convertor *convertor, struct dtc_flight *flight)
{
	flight->next = convertor->in_flight;
	flight->place = &convertor->in_flight;
	if (flight->next)
		flight->next->place = &flight->next;
	convertor->in_flight = flight;
}

static void unlink_flight(struct dtc_flight *flight)
{
	if (!flight->place)
		return;
	*flight->place = flight->next;
	if (flight->next)
		flight->next->place = flight->place;
}

static int land(struct dtc_flight *flight, int status)
{
	struct dtconv_convertor *convertor = flight->convertor;

	unlink_flight(flight);
	dtc_advance_end(convertor, flight, status);
	if (status)
		flight->moved = 0;
	flight->status = status;
	convertor->flights--;
	if (!convertor->mover)
		convertor->mover = dtc_convertor_mover(convertor);
	return status;
}

/* What was moved before the failure counts if all of it arrives. */
static int fail(struct dtc_flight *flight, int status)
{
	(void)land(flight, dtc_advance_wait(flight));
	flight->status = status;
	return status;
}

/* Nothing of it is in flight. */
static void complete(struct dtc_flight *flight)
{
	flight->event.backend = NULL;
	flight->checksum.event.backend = NULL;
	flight->checksum.sum.on = false;
	flight->status = 0;
}

/*
 * A whole stream in host memory, by the layout's mover: of a message in one fragment, most of the time goes into the
 * cursor and the choice of a kernel otherwise (P4: 90 ns of 325). False if the flight is anything else.
 */
static bool move_stream(struct dtconv_convertor *convertor, struct dtc_flight *flight,
			char *packed, size_t bytes)
{
	const struct dtc_mover *mover = dtc_convertor_stream_mover(convertor);

	if (!mover || bytes < mover->bytes ||
	    !dtc_move_is_on_host(convertor->type->context, &convertor->placement,
				 convertor->user, packed))
		return false;
	dtc_cursor_finish(&convertor->cursor);
	flight->moved = mover->bytes;
	dtc_mover_move(mover, convertor->user, packed, convertor->direction);
	dtc_count_host_call(convertor->type->context, convertor->direction, mover->bytes);
	complete(flight);
	return true;
}

int dtc_flight_launch(struct dtconv_convertor *convertor, struct dtc_flight *flight,
		      size_t position, void *packed, size_t bytes, const char *caller)
{
	size_t before = dtc_convertor_position(convertor);

	flight->convertor = convertor;
	flight->position = position;
	flight->place = NULL;
	if (!position && move_stream(convertor, flight, packed, bytes))
		return 0;
	convertor->flights++;
	convertor->mover = NULL;
	dtc_convertor_go_to(convertor, position);
	int status = dtc_advance_start(convertor, packed, bytes, flight, caller);
	if (status == DTCONV_ERR_AGAIN)
		dtc_convertor_go_to(convertor, before);
	if (status)
		return fail(flight, status);
	flight->status = DTCONV_INPROGRESS;
	if (!flight->event.backend && !flight->checksum.event.backend)
		return land(flight, 0);
	link_flight(convertor, flight);
	return 0;
}

int dtc_flight_test(struct dtc_flight *flight)
{
	if (flight->status != DTCONV_INPROGRESS)
		return flight->status;
	int status = dtc_advance_test(flight);

	return status == DTCONV_INPROGRESS ? status : land(flight, status);
}

int dtc_flight_wait(struct dtc_flight *flight)
{
	if (flight->status != DTCONV_INPROGRESS)
		return flight->status;
	return land(flight, dtc_advance_wait(flight));
}

/* The checksum is behind the move, in the same stream. */
bool dtc_flight_set_alarm(const struct dtc_flight *flight, const struct dtc_alarm *alarm)
{
	const struct dtc_event *move = &flight->event, *sum = &flight->checksum.event;

	return dtc_event_set_alarm(sum->backend ? sum : move, alarm);
}

size_t dtc_flight_granularity(const struct dtconv_convertor *convertor)
{
	return convertor->typed
		       ? dtc_typed_granularity(convertor->typed, convertor->direction)
		       : 1;
}

/* ---- for callers -------------------------------------------------------------------------- */

_Static_assert(sizeof(struct dtc_flight) <= sizeof(struct dtconv_flight),
	       "a flight fits into the caller's memory");
_Static_assert(_Alignof(struct dtc_flight) <= _Alignof(struct dtconv_flight),
	       "the caller's memory is aligned for a flight");

static struct dtc_flight *flight_in(struct dtconv_flight *memory)
{
	return (struct dtc_flight *)(void *)memory;
}

static int check_start(const struct dtconv_convertor *convertor, size_t position,
		       size_t bytes, const char *caller)
{
	struct dtconv_context *context = convertor->type->context;
	size_t size = dtc_convertor_size(convertor);

	if (convertor->request.in_flight)
		return DTC_FAIL(
			context, DTCONV_ERR_STATE,
			"%s: an operation is in flight; test or wait for it first",
			caller);
	if (position > size || bytes > size - position)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: %zu bytes (argument 5) at position %zu (argument 3) "
				"do not end within the stream of %zu bytes",
				caller, bytes, position, size);
	return 0;
}

int dtconv_flight_start(struct dtconv_convertor *convertor, struct dtconv_flight *flight,
			size_t position, void *packed, size_t bytes)
{
	if (!convertor || !flight)
		return DTCONV_ERR_INVAL;
	int status = check_start(convertor, position, bytes, __func__);

	return status ? status
		      : dtc_flight_launch(convertor, flight_in(flight), position, packed,
					  bytes, __func__);
}

static int report(const struct dtc_flight *flight, int status, size_t *moved)
{
	if (moved && status != DTCONV_INPROGRESS)
		*moved = flight->moved;
	return status;
}

int dtconv_flight_test(struct dtconv_flight *flight, size_t *moved)
{
	if (!flight)
		return DTCONV_ERR_INVAL;
	struct dtc_flight *it = flight_in(flight);

	return report(it, dtc_flight_test(it), moved);
}

int dtconv_flight_wait(struct dtconv_flight *flight, size_t *moved)
{
	if (!flight)
		return DTCONV_ERR_INVAL;
	struct dtc_flight *it = flight_in(flight);

	return report(it, dtc_flight_wait(it), moved);
}

int dtconv_flight_test_many(struct dtconv_flight *const flights[], size_t count,
			    int status[], size_t *ended)
{
	size_t all = 0;

	if (count && (!flights || !status))
		return DTCONV_ERR_INVAL;
	for (size_t i = 0; i < count; i++)
		if (!flights[i])
			return DTCONV_ERR_INVAL;
	for (size_t i = 0; i < count; i++) {
		status[i] = dtc_flight_test(flight_in(flights[i]));
		all += status[i] != DTCONV_INPROGRESS;
	}
	if (ended)
		*ended = all;
	return 0;
}

int dtconv_flight_granularity(const struct dtconv_convertor *convertor, size_t *bytes)
{
	if (!convertor || !bytes)
		return DTCONV_ERR_INVAL;
	*bytes = dtc_flight_granularity(convertor);
	return 0;
}
