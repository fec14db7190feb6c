/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flights: fragments of one convertor that are moved at the same time. There may be any number of them, at any
 * positions in any order, and they end in any order. Each has its own status, and its own part of the checksum, which
 * the convertor takes in when the flight has ended well.
 *
 * Threads: launch, test and wait use the convertor, which belongs to one thread at a time. Flights of different
 * convertors are independent. The memory of a flight is the caller's; it stays where it is until the flight has ended.
 */
#ifndef DTC_FLIGHT_H
#define DTC_FLIGHT_H

#include "convertor/flight_state.h"
#include "copy_backends/alarm.h"

/*
 * Start to move @bytes bytes of the stream at @position into or from @packed, as the convertor's direction says; less
 * at the end of the stream. 0: in flight, or done already. DTCONV_ERR_AGAIN: a resource is missing and nothing has
 * happened, neither to the convertor nor to the data. Otherwise it has failed: flight->moved bytes were moved before.
 * After all but AGAIN the convertor's position is behind these bytes. No operation of the convertor may be in flight
 * but flights.
 *
 * Moves of host memory have ended when this returns. Any cut of a stream is allowed; the units of a stream with a
 * representation or an operation that a cut divides are moved by the host, which blocks. Fragments between multiples
 * of dtc_flight_granularity have no such units.
 */
int dtc_flight_launch(struct dtconv_convertor *convertor, struct dtc_flight *flight,
		      size_t position, void *packed, size_t bytes, const char *caller);

/*
 * DTCONV_INPROGRESS, or the flight's status, again and again. Never blocks. A flight that has failed has moved 0 bytes
 * and adds nothing to the checksum; other flights are not affected. Cut units that it has completed stay stored.
 */
int dtc_flight_test(struct dtc_flight *flight);

int dtc_flight_wait(struct dtc_flight *flight);

/* Have the alarm rung when the flight, which is in progress, may have ended; see dtc_event_set_alarm. */
bool dtc_flight_set_alarm(const struct dtc_flight *flight, const struct dtc_alarm *alarm);

/*
 * Cuts of the stream at multiples of this divide no unit: 1 for native streams, the size of an element if all have the
 * same, else that of an instance of the type; 1 also if the stream is empty.
 */
size_t dtc_flight_granularity(const struct dtconv_convertor *convertor);

#endif
