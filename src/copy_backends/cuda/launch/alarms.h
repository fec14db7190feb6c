/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms behind jobs on a device; see copy_backends/alarm.h.
 */
#ifndef DTC_CUDA_ALARMS_H
#define DTC_CUDA_ALARMS_H

#include "copy_backends/alarm.h"

/* A backend's set_alarm, for events of dtc_cuda_event_test. */
bool dtc_cuda_event_set_alarm(const struct dtc_event *event,
			      const struct dtc_alarm *alarm);

void dtc_cuda_alarms_cancel(struct dtconv_context *context, const void *arg);

#endif
