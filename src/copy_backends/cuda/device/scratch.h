/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch memory on the device: one buffer for each purpose, borrowed by one thread at a time.
 */
#ifndef DTC_CUDA_SCRATCH_H
#define DTC_CUDA_SCRATCH_H

#include "copy_backends/memory/memory.h"
#include "device_context.h"

struct dtc_cuda_scratch {
	pthread_mutex_t lock; /* held by the borrower */
	CUdeviceptr memory;   /* 0 until first used */
};

/* See dtc_scratch_acquire. */
bool dtc_cuda_scratch_borrow(struct dtconv_context *context,
			     const struct dtc_memory *near,
			     enum dtc_scratch_purpose purpose,
			     struct dtc_scratch *borrowed);

#endif
