/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prebuilt kernels, loaded into a device context by the worker: those that move bytes before the first job, those
 * that convert, combine and sum up before the first job that needs one.
 */
#ifndef DTC_CUDA_KERNEL_MODULE_H
#define DTC_CUDA_KERNEL_MODULE_H

#include "copy_backends/cuda/device/device_context.h"
#include "kernels/launch/launch.h"

enum dtc_cuda_kernel_state {
	DTC_CUDA_KERNELS_UNWANTED,
	DTC_CUDA_KERNELS_WANTED, /* the worker has been asked */
	DTC_CUDA_KERNELS_LOADED,
	DTC_CUDA_KERNELS_UNLOADABLE /* they cannot be had */
};

struct dtc_cuda_kernel_set {
	_Atomic int state; /* of enum dtc_cuda_kernel_state */
	_Atomic uint64_t
		patience_ns; /* until when jobs wait for a wanted set, by dtc_now_ns */
	CUmodule module;
};

struct dtc_cuda_kernel_module {
	struct dtc_cuda_kernel_set sets[DTC_GPU_SETS];
	CUfunction functions[DTC_GPU_KERNELS];
};

static inline struct dtc_cuda_kernel_module *dtc_cuda_kernel_module_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_kernel_module];
}

/* How long a call waits for what is loaded; a busy device may keep it away for ever. */
#define DTC_CUDA_LOADING_NS UINT64_C(400000000)

/* Whether a set can be launched; until then, jobs go another way. */
static inline bool dtc_cuda_kernel_set_is_loaded(const struct dtc_cuda_context *context,
						 enum dtc_gpu_set set)
{
	return atomic_load_explicit(&dtc_cuda_kernel_module_of(context)->sets[set].state,
				    memory_order_acquire) == DTC_CUDA_KERNELS_LOADED;
}

/* The same for kernels that move bytes. */
static inline bool dtc_cuda_kernels_are_loaded(const struct dtc_cuda_context *context)
{
	return dtc_cuda_kernel_set_is_loaded(context, DTC_GPU_SET_MOVING);
}

/*
 * The same for the others, which are loaded if this is the first job that needs them. It waits a while, because a
 * busy device may keep them away for ever. @captured: the job is being captured.
 */
bool dtc_cuda_typed_kernels_can_run(struct dtc_cuda_context *context, bool captured);

/* Before jobs that need a set: load it, also if that has failed before, and wait a while; whether it is loaded. */
bool dtc_cuda_kernel_set_prepare(struct dtc_cuda_context *context, enum dtc_gpu_set which,
				 bool captured);

#endif
