/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prebuilt kernels, loaded into a device context by the worker.
 */
#ifndef DTC_CUDA_KERNEL_MODULE_H
#define DTC_CUDA_KERNEL_MODULE_H

#include "copy_backends/cuda/device/device_context.h"
#include "kernels/launch/launch.h"

struct dtc_cuda_kernel_module {
	_Atomic bool loaded;     /* the kernels are there */
	_Atomic bool unloadable; /* they cannot be had */
	CUmodule module;
	CUfunction functions[DTC_GPU_KERNELS];
};

static inline struct dtc_cuda_kernel_module *dtc_cuda_kernel_module_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_kernel_module];
}

/* Whether they can be launched; until then, jobs go another way. */
static inline bool dtc_cuda_kernels_are_loaded(const struct dtc_cuda_context *context)
{
	return atomic_load_explicit(&dtc_cuda_kernel_module_of(context)->loaded,
				    memory_order_acquire);
}

#endif
