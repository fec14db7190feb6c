/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes alarms to the backend of the job, or to the vendors.
 */
#include "config.h"

#include "alarm.h"

#include "backend.h"
#include "memory/vendor.h"

bool dtc_event_set_alarm(const struct dtc_event *event, const struct dtc_alarm *alarm)
{
	const struct dtc_backend_ops *backend = event->backend;

	return backend && backend->set_alarm && backend->set_alarm(event, alarm);
}

void dtc_alarms_cancel(struct dtconv_context *context, const void *arg)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		dtc_vendors[i]->cancel_alarms(context, arg);
}
