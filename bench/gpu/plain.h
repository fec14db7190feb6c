/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain kernels of the bench's own: compiled when they are wanted, cut into blocks in several ways, and timed
 * to find the best of them.
 */
#ifndef BENCH_GPU_PLAIN_H
#define BENCH_GPU_PLAIN_H

#include "bench/gpu/gpu.h"
#include "bench/harness/engine.h"

/* One launch: which kernel, and how it is cut. */
struct plain_kernel {
	CUfunction function;
	unsigned blocks, threads;
};

/* Threads a block that are tried, largest last. */
extern const unsigned plain_thread_counts[];
#define PLAIN_THREAD_COUNTS 3

/* Compute capability of the device, times 10. */
bool plain_arch(struct gpu *gpu, int *arch);

/* Without NVRTC the engine is absent. */
void plain_need_compiler(struct engine *engine);

/*
 * These return whether it was done, with the sentence in engine->problem if not. @options are NVRTC's. A table goes into
 * device memory of its own.
 */
bool plain_load(struct engine *engine, struct gpu *gpu, const char *source,
		const char *const *options, int count, CUmodule *module);
bool plain_upload(struct engine *engine, struct gpu *gpu, const void *table, size_t bytes,
		  CUdeviceptr *to);

/* The driver's sentence goes to the engine; false. */
bool plain_refused(struct engine *engine, struct gpu *gpu);

bool plain_queue(struct gpu *gpu, const struct plain_kernel *kernel, void **arguments);

/*
 * Work was @queued on the device's stream, or refused: await its completion by a flag that a kernel behind it stores, or
 * tell the driver's problem. Returns 0 or -1.
 */
int plain_await(struct engine *engine, struct gpu *gpu, bool queued);

/*
 * Try a function with each number of threads a block, for @threads in all, and keep the fastest in @best, which is
 * so far of @best_ns nanoseconds; 0: there is none yet. Returns whether it is kept.
 */
bool plain_try(struct gpu *gpu, CUfunction function, uint64_t threads, void **arguments,
	       struct plain_kernel *best, double *best_ns);

#endif
