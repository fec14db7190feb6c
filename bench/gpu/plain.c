/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiling, launching and timing plain kernels on the bench's stream.
 */
#include "config.h"

#include "bench/gpu/plain.h"

#include <stdlib.h>

#include "bench/gpu/compile.h"

#define TRIES 4

const unsigned plain_thread_counts[PLAIN_THREAD_COUNTS] = { 128, 256, 512 };

bool plain_refused(struct engine *e, struct gpu *gpu)
{
	engine_problem(e, "%s", gpu->problem);
	gpu->problem[0] = '\0';
	return false;
}

bool plain_arch(struct gpu *gpu, int *arch)
{
	int major = 0, minor = 0;

	if (!GPU_CALL(gpu, DeviceGetAttribute(
				   &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				   gpu->device)) ||
	    !GPU_CALL(gpu, DeviceGetAttribute(
				   &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				   gpu->device)))
		return false;
	*arch = 10 * major + minor;
	return true;
}

void plain_need_compiler(struct engine *e)
{
	char why[ENGINE_PROBLEM_ROOM];

	if (e->absent || compile_can(why, sizeof(why)))
		return;
	engine_problem(e, "%s", why);
	e->absent = true;
}

bool plain_load(struct engine *e, struct gpu *gpu, const char *source,
		const char *const *options, int count, CUmodule *module)
{
	char why[ENGINE_PROBLEM_ROOM];
	size_t bytes;
	void *image = compile_kernels(source, options, count, &bytes, why, sizeof(why));
	bool loaded;

	if (!image) {
		engine_problem(e, "%s", why);
		return false;
	}
	loaded = GPU_CALL(gpu, ModuleLoadData(module, image));
	free(image);
	return loaded || plain_refused(e, gpu);
}

bool plain_upload(struct engine *e, struct gpu *gpu, const void *table, size_t bytes,
		  CUdeviceptr *to)
{
	return (GPU_CALL(gpu, MemAlloc(to, bytes)) &&
		gpu_copy(gpu, (void *)(uintptr_t)*to, table, bytes)) ||
	       plain_refused(e, gpu);
}

bool plain_queue(struct gpu *gpu, const struct plain_kernel *kernel, void **arguments)
{
	return GPU_CALL(gpu, LaunchKernel(kernel->function, kernel->blocks, 1, 1,
					  kernel->threads, 1, 1, 0, gpu->stream,
					  arguments, NULL));
}

int plain_await(struct engine *e, struct gpu *gpu, bool queued)
{
	uint64_t value = *gpu->flag + 1;

	if (!queued || !gpu_store_flag(gpu, value)) {
		plain_refused(e, gpu);
		return -1;
	}
	gpu_wait_flag(gpu, value);
	return 0;
}

/* Nanoseconds, the best of a few; 0 if the launch fails. */
static double time_kernel(struct gpu *gpu, const struct plain_kernel *kernel,
			  void **arguments)
{
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		float ms = 0;

		if (!GPU_CALL(gpu, EventRecord(gpu->begin, gpu->stream)) ||
		    !plain_queue(gpu, kernel, arguments) ||
		    !GPU_CALL(gpu, EventRecord(gpu->end, gpu->stream)) ||
		    !GPU_CALL(gpu, EventSynchronize(gpu->end)) ||
		    !GPU_CALL(gpu, EventElapsedTime(&ms, gpu->begin, gpu->end)))
			return 0;
		if (best <= 0 || ms * 1e6 < best)
			best = ms * 1e6;
	}
	return best;
}

bool plain_try(struct gpu *gpu, CUfunction function, uint64_t threads, void **arguments,
	       struct plain_kernel *best, double *best_ns)
{
	bool kept = false;

	for (size_t i = 0; i < PLAIN_THREAD_COUNTS; i++) {
		struct plain_kernel kernel = { .function = function,
					       .threads = plain_thread_counts[i] };
		double ns;

		kernel.blocks =
			(unsigned)((threads + kernel.threads - 1) / kernel.threads);
		ns = time_kernel(gpu, &kernel, arguments);
		if (ns > 0 && (*best_ns <= 0 || ns < *best_ns)) {
			*best_ns = ns;
			*best = kernel;
			kept = true;
		}
	}
	return kept;
}
