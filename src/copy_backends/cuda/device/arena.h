/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory for the tables of layouts and batches. It comes from the driver in chunks, which stay, and memory that
 * is given back is used again when all jobs have ended that were in flight then.
 */
#ifndef DTC_CUDA_ARENA_H
#define DTC_CUDA_ARENA_H

#include "device_context.h"

/* What memory is given out in, and the least that the driver is asked for. */
#define DTC_CUDA_ARENA_GRAIN_BYTES ((size_t)4 << 10)
#define DTC_CUDA_ARENA_CHUNK_BYTES ((size_t)4 << 20)

/* So much memory may lie idle in chunks; chunks beyond that go back to the driver. */
#define DTC_CUDA_ARENA_IDLE_BYTES ((size_t)64 << 20)

struct dtc_cuda_chunk;

struct dtc_cuda_arena {
	pthread_mutex_t lock; /* never held round a driver call */
	struct dtc_cuda_chunk *chunks;
};

/*
 * Take memory, aligned to 256 bytes or more. No driver call if a chunk has room. Any stream may use it at once: no job
 * reads it any more.
 */
CUresult dtc_cuda_arena_take(struct dtc_cuda_context *context, size_t bytes,
			     CUdeviceptr *memory);

/*
 * Give memory back, or 0. Jobs in flight may still read it, also in streams of the caller's; new ones do not. Makes no
 * driver call, unless a chunk goes back and the allocator refuses the deferred call.
 */
void dtc_cuda_arena_put(struct dtc_cuda_context *context, CUdeviceptr memory);

/*
 * Work has been enqueued whose completion cannot be observed. Use none of the memory again; its chunks go back to the
 * driver, which waits for the work, when they are empty.
 */
void dtc_cuda_arena_retire(struct dtc_cuda_context *context);

#endif
