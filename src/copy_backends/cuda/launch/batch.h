/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches: many stretches in one submission; see struct dtc_backend_ops.
 */
#ifndef DTC_CUDA_BATCH_H
#define DTC_CUDA_BATCH_H

#include "copy_backends/backend.h"

/* The event is the @backend's. */
int dtc_cuda_batch_submit(const struct dtc_backend_ops *backend,
			  struct dtc_batch_job *many, struct dtc_event *event);
void dtc_cuda_batch_forget(void *kept);

#endif
