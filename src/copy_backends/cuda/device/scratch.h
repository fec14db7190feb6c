/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch memory on the device: one buffer for each purpose, borrowed by one thread at a time.
 */
#ifndef DTC_CUDA_SCRATCH_H
#define DTC_CUDA_SCRATCH_H

#include "copy_backends/memory/memory.h"
#include "device_context.h"

/*
 * Small enough to stay in the cache of the device. Lock order: a thread that holds scratch memory for a copy between
 * layouts may wait for another device's scratch memory for a copy via that device, never the other way round.
 */
#define DTC_CUDA_SCRATCH_BYTES ((size_t)8 << 20)

enum dtc_cuda_scratch_purpose {
	DTC_CUDA_SCRATCH_COPIES,
	DTC_CUDA_SCRATCH_VIA_DEVICE,
	DTC_CUDA_SCRATCH_PURPOSES
};

struct dtc_cuda_scratch {
	pthread_mutex_t lock; /* held by the borrower */
	CUdeviceptr memory;   /* 0 until first used */
};

/* For copies between layouts; see dtc_scratch_acquire. */
bool dtc_cuda_scratch_borrow(struct dtconv_context *context,
			     const struct dtc_memory *near, struct dtc_scratch *borrowed);

/* The same for another purpose. */
bool dtc_cuda_scratch_borrow_for(struct dtconv_context *context,
				 const struct dtc_memory *near,
				 enum dtc_cuda_scratch_purpose purpose,
				 struct dtc_scratch *borrowed);

#endif
