/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel for one shape as a shared object for the host: what stands before this line in the file that
 * is compiled is what dtc_gpu_special_write has written.
 */
#include "support/gpu_shim_device.h"

#include "kernels/gpu/classes.cu.h"

#include "support/gpu_shim_run.h"

#define DTC_GPU_PHASE(params, phase, number)                        \
	static void phase_##number(const void *given, void *shared, \
				   struct dtc_gpu_at at)            \
	{                                                           \
		struct params p = *(const struct params *)given;    \
		DTC_GPU_SHAPE                                       \
		phase(&p, shared, at);                              \
	}
#define DTC_GPU_OBJECT(name, params, ...)                                 \
	const size_t shim_special_params_bytes = sizeof(struct params);   \
	static const struct shim_kernel kernel = { #name,                 \
						   sizeof(struct params), \
						   { __VA_ARGS__ } };

#define DTC_GPU_ENTRY1(name, params, a) \
	DTC_GPU_PHASE(params, a, 0)     \
	DTC_GPU_OBJECT(name, params, phase_0)
#define DTC_GPU_ENTRY2(name, params, a, b) \
	DTC_GPU_PHASE(params, a, 0)        \
	DTC_GPU_PHASE(params, b, 1)        \
	DTC_GPU_OBJECT(name, params, phase_0, phase_1)
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	DTC_GPU_PHASE(params, a, 0)           \
	DTC_GPU_PHASE(params, b, 1)           \
	DTC_GPU_PHASE(params, c, 2)           \
	DTC_GPU_OBJECT(name, params, phase_0, phase_1, phase_2)

DTC_GPU_ONLY

int shim_special_run(const void *params, uint32_t grid, uint32_t block,
		     size_t shared_bytes)
{
	return shim_run_kernel(&kernel, grid, block, shared_bytes, params);
}
