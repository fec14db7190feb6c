/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline between a device and pinned memory: pieces of device memory, and the streams and events that pass
 * them between kernels and the copy engine.
 */
#ifndef DTC_CUDA_PINNED_PIPELINE_H
#define DTC_CUDA_PINNED_PIPELINE_H

#include <pthread.h>

#include "copy_backends/backend.h"
#include "copy_backends/cuda/device/device_context.h"

/* So many pieces of so many bytes: together they stay in the device's cache. */
#define DTC_CUDA_PIPELINE_PIECES      4
#define DTC_CUDA_PIPELINE_PIECE_BYTES ((size_t)8 << 20)

/* Copies take turns on them, so that one begins while the end of another is noted. */
#define DTC_CUDA_COPY_STREAMS 2

/* One for each direction: packs and unpacks use the bus at the same time. */
struct dtc_cuda_pipeline {
	pthread_mutex_t lock; /* held while a job is handed to the streams */
	bool opened; /* or it was tried */
	bool ready;  /* and did not fail */
	bool used;   /* by a job that waited until it was cleared; all others come after it */
	CUdeviceptr memory;
	CUstream copies[DTC_CUDA_COPY_STREAMS];
	CUevent full
		[DTC_CUDA_PIPELINE_PIECES]; /* the first half of a piece's way is done */
	CUevent empty[DTC_CUDA_PIPELINE_PIECES]; /* the second */
	CUevent begun;  /* what was in the caller's stream before the job */
	uint64_t count; /* of the pieces that jobs had so far */
	/* The last job's stream and flag. */
	CUstream stream;
	uint32_t slot;
	uint64_t value;
	bool recorded; /* by the slot's event, not by its word */
};

static inline struct dtc_cuda_pipeline *dtc_cuda_pipeline_of(
	const struct dtc_cuda_context *context, enum dtc_direction direction)
{
	struct dtc_cuda_pipeline *pipelines = context->parts[DTC_CUDA_PART_pipeline];

	return &pipelines[direction];
}

/* Make what a first job of either direction would make. Without it, jobs are one kernel each. */
void dtc_cuda_pipeline_prepare(struct dtc_cuda_context *context);

#endif
