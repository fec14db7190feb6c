/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms: a function that is called behind a job in flight, for a thread that sleeps until then. After a device error
 * none is called, so the thread has to wake up by itself now and then.
 */
#ifndef DTC_ALARM_H
#define DTC_ALARM_H

#include <stdbool.h>

struct dtc_event;
struct dtconv_context;

struct dtc_alarm {
	/* Called by any thread. It must not block, nor call the library or a driver. */
	void (*ring)(void *arg);
	void *arg; /* says whose alarm it is */
};

/*
 * Have the alarm rung once when a job in flight has completed, or one that was started before or shortly after it: look
 * at the event then, and set the alarm again. If the same alarm is set behind the same stream, nothing happens. False:
 * it cannot be set, so the event has to be polled. Any thread; may block while the driver's queue is full.
 */
bool dtc_event_set_alarm(const struct dtc_event *event, const struct dtc_alarm *alarm);

/* Cancel all alarms of @arg; after that none of them is called. None may be set meanwhile. */
void dtc_alarms_cancel(struct dtconv_context *context, const void *arg);

#endif
