/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinned (page-locked) host memory that the device can access.
 */
#ifndef DTC_CUDA_PINNED_H
#define DTC_CUDA_PINNED_H

#include "device_context.h"

/*
 * Make memory of our own and register it: it stays readable when the device context is gone. The
 * context is current. Zeroed; @bytes are rounded up to pages.
 */
CUresult dtc_cuda_pinned_create(struct dtc_cuda_context *context, size_t bytes,
				void **memory, CUdeviceptr *device);

/* Give it back; waits until the device is idle. NULL is allowed. */
void dtc_cuda_pinned_destroy(struct dtc_cuda_context *context, void *memory,
			     size_t bytes);

#endif
