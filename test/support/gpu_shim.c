/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running GPU kernels on the host.
 */
#include "config.h"

#include "support/gpu_shim.h"

#include "support/gpu_shim_device.h"

#include "kernels/gpu_classes.cu.h"

#include "support/gpu_shim_run.h"

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

int shim_run(const char *kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
	     const void *params)
{
	const struct shim_kernel *found = find(kernel);

	return found ? shim_run_kernel(found, grid, block, shared_bytes, params) : -1;
}
