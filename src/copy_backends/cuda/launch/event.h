/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Testing and waiting for the end of a job.
 */
#ifndef DTC_CUDA_EVENT_H
#define DTC_CUDA_EVENT_H

#include "copy_backends/backend.h"

int dtc_cuda_event_test(struct dtc_event *event);
int dtc_cuda_event_wait(struct dtc_event *event);

#endif
