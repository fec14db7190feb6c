/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device contexts that jobs have been submitted in: finding the one that a job belongs to, opening it
 * before its first job, and closing all of them.
 */
#ifndef DTC_CUDA_CONTEXTS_H
#define DTC_CUDA_CONTEXTS_H

#include "copy_backends/backend.h"
#include "device_context.h"

/* The device context that the job belongs in, opened; or a failure with its sentence. */
int dtc_cuda_context_choose(struct dtc_cuda *cuda, const struct dtc_job *job,
			    struct dtc_cuda_context **chosen);

/*
 * Whether a context of the device can be found without memory of the device: it is current on the calling thread, or
 * it is the primary context and active.
 */
bool dtc_cuda_context_exists(const struct dtc_cuda *cuda, int device);

/* Ordinal of the device whose context is current on the calling thread; -1: none is. */
int dtc_cuda_current_device(const struct dtc_cuda *cuda);

/*
 * The context of a device, opened as for a job; negative: of the calling thread's current one. UNSUPPORTED, without an
 * error text, if there is none yet.
 */
int dtc_cuda_context_of_device(struct dtc_cuda *cuda, int device, const char *caller,
			       struct dtc_cuda_context **chosen);

/* Close all of them, and end the worker. No job is in flight, and nobody else gives the worker work. */
void dtc_cuda_contexts_close(struct dtc_cuda *cuda);

/* In a forked child: give back memory of the host only. */
void dtc_cuda_contexts_forget(struct dtc_cuda *cuda);

#endif
