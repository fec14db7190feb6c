/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running a kernel's phases on the host, block after block. Comes after the kernels' sources; the shim
 * has all kernels, an object of special_object_compile one.
 */
#ifndef TEST_SUPPORT_GPU_SHIM_RUN_H
#define TEST_SUPPORT_GPU_SHIM_RUN_H

#include <stdbool.h>

/* The most shared memory that a block has without being asked twice. */
#define SHARED_BYTES 49152

typedef void (*phase_fn)(const void *params, void *shared, struct dtc_gpu_at at);

struct shim_kernel {
	const char *name;
	size_t params_bytes;
	phase_fn phases[3];
};

static void refuse_launch(const struct shim_kernel *kernel, uint32_t grid, uint32_t block,
			  size_t shared_bytes)
{
	if (grid && grid <= INT32_MAX && block == DTC_GPU_BLOCK &&
	    shared_bytes <= SHARED_BYTES)
		return;
	fprintf(stderr,
		"GPU shim: %s with %u blocks of %u threads and %zu bytes of shared memory\n",
		kernel->name, grid, block, shared_bytes);
	abort();
}

/* Memory of exactly that size, so that sanitizers see who goes beyond; its bytes are no zeros. */
static void *shared_memory(size_t bytes)
{
	void *memory = bytes ? aligned_alloc(16, (bytes + 15) / 16 * 16) : NULL;

	if (bytes && !memory) {
		fprintf(stderr, "GPU shim: no memory for %zu bytes\n", bytes);
		abort();
	}
	if (bytes)
		memset(memory, 0xa7, bytes);
	return memory;
}

static void run_block(const struct shim_kernel *kernel, const void *params, void *shared,
		      struct dtc_gpu_at at)
{
	for (size_t phase = 0; phase < 3 && kernel->phases[phase]; phase++)
		for (at.thread = 0; at.thread < DTC_GPU_BLOCK; at.thread++)
			kernel->phases[phase](params, shared, at);
}

/* All blocks of a kernel; @each of them ends as a launch's blocks do. */
static void run_blocks(const struct shim_kernel *kernel, const void *params,
		       size_t shared_bytes, uint32_t grid, bool each)
{
	void *shared = shared_memory(shared_bytes);

	for (struct dtc_gpu_at at = { 0, 0, grid }; at.block < grid; at.block++) {
		run_block(kernel, params, shared, at);
		if (each)
			dtc_gpu_finish(params, at);
	}
	free(shared);
}

static int shim_run_kernel(const struct shim_kernel *kernel, uint32_t grid,
			   uint32_t block, size_t shared_bytes, const void *params)
{
	refuse_launch(kernel, grid, block, shared_bytes);
	run_blocks(kernel, params, shared_bytes, grid, true);
	return 0;
}

#endif
