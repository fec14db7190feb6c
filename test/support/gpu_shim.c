/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running GPU kernels on the host.
 */
#include "config.h"

#include "support/gpu_shim.h"

#include <dlfcn.h>

#include "support/gpu_shim_device.h"

#include "kernels/gpu_classes.cu.h"

/* The most shared memory that a block has without being asked twice. */
#define SHARED_BYTES 49152

typedef void (*phase_fn)(const void *params, void *shared, struct dtc_gpu_at at);

/* Phases take parameters of their own kind; here they are all alike. */
#define DTC_GPU_PHASE(name, params, phase, number)                                           \
	static void shim_##name##_##number(const void *p, void *shared, struct dtc_gpu_at at) \
	{                                                                                    \
		phase((const struct params *)p, shared, at);                                 \
	}
#define DTC_GPU_ENTRY1(name, params, a) DTC_GPU_PHASE(name, params, a, 0)
#define DTC_GPU_ENTRY2(name, params, a, b) \
	DTC_GPU_ENTRY1(name, params, a)    \
	DTC_GPU_PHASE(name, params, b, 1)
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	DTC_GPU_ENTRY2(name, params, a, b)    \
	DTC_GPU_PHASE(name, params, c, 2)
#include "kernels/gpu_list.h"
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

struct shim_kernel {
	const char *name;
	size_t params_bytes;
	phase_fn phases[3];
};

#define DTC_GPU_ENTRY1(name, params, a) \
	{ "dtc_gpu_" #name, sizeof(struct params), { shim_##name##_0, NULL, NULL } },
#define DTC_GPU_ENTRY2(name, params, a, b) \
	{ "dtc_gpu_" #name, sizeof(struct params), { shim_##name##_0, shim_##name##_1, NULL } },
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	{ "dtc_gpu_" #name,                   \
	  sizeof(struct params),              \
	  { shim_##name##_0, shim_##name##_1, shim_##name##_2 } },

static const struct shim_kernel kernels[] = {
#include "kernels/gpu_list.h"
};

static const struct shim_kernel *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}

int shim_knows(const char *kernel, size_t *params_bytes)
{
	const struct shim_kernel *found = find(kernel);

	if (found)
		*params_bytes = found->params_bytes;
	return found != NULL;
}

static void refuse_launch(const struct shim_kernel *kernel, uint32_t grid, uint32_t block,
			  size_t shared_bytes)
{
	if (grid && grid <= INT32_MAX && block == DTC_GPU_BLOCK && shared_bytes <= SHARED_BYTES)
		return;
	fprintf(stderr, "GPU shim: %s with %u blocks of %u threads and %zu bytes of shared memory\n",
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
	at.thread = 0;
	dtc_gpu_finish((const struct dtc_gpu_done *)params, at);
}

static int run(const struct shim_kernel *kernel, uint32_t grid, uint32_t block,
	       size_t shared_bytes, const void *params)
{
	struct dtc_gpu_at at = { 0, 0, grid };

	refuse_launch(kernel, grid, block, shared_bytes);
	void *shared = shared_memory(shared_bytes);
	for (; at.block < grid; at.block++)
		run_block(kernel, params, shared, at);
	free(shared);
	return 0;
}

int shim_run(const char *kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
	     const void *params)
{
	const struct shim_kernel *found = find(kernel);

	return found ? run(found, grid, block, shared_bytes, params) : -1;
}

/* ---- kernels for one shape --------------------------------------------------------------------- */

int shim_special_open(struct shim_special *special, const char *object)
{
	static const char *const names[] = { "shim_phase_0", "shim_phase_1",
					     "shim_phase_2" };

	special->object = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; special->object && i < 3; i++)
		special->phases[i] = dlsym(special->object, names[i]);
	return special->object ? 0 : -1;
}

void shim_special_close(struct shim_special *special)
{
	dlclose(special->object);
}

int shim_special_run(const struct shim_special *special, uint32_t grid, uint32_t block,
		     size_t shared_bytes, const void *params)
{
	struct shim_kernel kernel = { .name = "a kernel for one shape" };

	memcpy(kernel.phases, special->phases, sizeof(kernel.phases));
	return run(&kernel, grid, block, shared_bytes, params);
}
