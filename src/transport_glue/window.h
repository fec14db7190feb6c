/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flights of an operation: a fixed number of slots, those in use in the order in which they were launched.
 */
#ifndef DTC_WINDOW_H
#define DTC_WINDOW_H

#include "convertor/flight.h"

/* The most flights of an operation at a time. */
#define DTC_WINDOW_MAX 16

struct dtc_slot {
	struct dtc_slot *next;
	void *cargo; /* what the flight fills or empties */
	struct dtc_flight flight;
};

struct dtc_window {
	struct dtc_slot *free;
	struct dtc_slot *first, **last; /* in flight */
	unsigned in_flight;
	struct dtc_slot slots[DTC_WINDOW_MAX];
};

static inline void dtc_window_clear(struct dtc_window *window)
{
	window->free = NULL;
	for (unsigned i = DTC_WINDOW_MAX; i--;) {
		window->slots[i].next = window->free;
		window->free = &window->slots[i];
	}
	window->first = NULL;
	window->last = &window->first;
	window->in_flight = 0;
}

/*
 * Launch a flight in a free slot, of which there must be one. DTCONV_ERR_AGAIN and failures leave the slot free.
 */
static inline int dtc_window_launch(struct dtc_window *window,
				    struct dtconv_convertor *convertor, size_t position,
				    void *packed, size_t bytes, void *cargo,
				    const char *caller)
{
	struct dtc_slot *slot = window->free;
	int status = dtc_flight_launch(convertor, &slot->flight, position, packed, bytes,
				       caller);

	if (status)
		return status;
	window->free = slot->next;
	slot->cargo = cargo;
	slot->next = NULL;
	*window->last = slot;
	window->last = &slot->next;
	window->in_flight++;
	return 0;
}

/*
 * Take a flight that has ended out of the window: the first one, or with @any also a later one. NULL if there is
 * none. The slot stays intact until the next launch.
 */
static inline struct dtc_slot *dtc_window_land(struct dtc_window *window, bool any,
					       int *status)
{
	struct dtc_slot **place = &window->first, *slot;

	for (; (slot = *place); place = &slot->next) {
		*status = dtc_flight_test(&slot->flight);
		if (*status != DTCONV_INPROGRESS)
			break;
		if (!any)
			return NULL;
	}
	if (!slot)
		return NULL;
	*place = slot->next;
	if (window->last == &slot->next)
		window->last = place;
	slot->next = window->free;
	window->free = slot;
	window->in_flight--;
	return slot;
}

/* Have the alarm rung when flights end; false if one of them cannot ring it, or none is in flight. */
static inline bool dtc_window_set_alarm(const struct dtc_window *window,
					const struct dtc_alarm *alarm)
{
	bool is_set = window->first;

	for (const struct dtc_slot *slot = window->first; slot; slot = slot->next)
		is_set &= dtc_flight_set_alarm(&slot->flight, alarm);
	return is_set;
}

/* Whether a flight has ended that was not taken out yet. */
static inline bool dtc_window_has_landed(struct dtc_window *window)
{
	for (struct dtc_slot *slot = window->first; slot; slot = slot->next)
		if (dtc_flight_test(&slot->flight) != DTCONV_INPROGRESS)
			return true;
	return false;
}

#endif
