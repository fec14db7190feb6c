/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading the prebuilt kernels. The worker loads them, because cuModuleLoadData and cuModuleGetFunction block while a
 * kernel runs. Who needs a set first waits a limited time; until it is loaded, jobs fall back to copies or to the host.
 */
#include "config.h"

#include "kernel_module.h"

#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/log.h"
#include "copy_backends/cuda/device/worker.h"
#include "kernels/images/images.h"

static struct dtc_cuda_kernel_set *set_of(const struct dtc_cuda_context *context,
					  enum dtc_gpu_set set)
{
	return &dtc_cuda_kernel_module_of(context)->sets[set];
}

static bool is_settled(const struct dtc_cuda_kernel_set *set)
{
	return atomic_load_explicit(&set->state, memory_order_acquire) >=
	       DTC_CUDA_KERNELS_LOADED;
}

/* ---- loading, in the worker -------------------------------------------------------------- */

static CUresult load_functions(struct dtc_cuda_context *context, enum dtc_gpu_set which)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_kernel_module *kernels = dtc_cuda_kernel_module_of(context);
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; !result && i < DTC_GPU_KERNELS; i++)
		if (dtc_gpu_kernel_set(i) == which)
			result = driver->ModuleGetFunction(&kernels->functions[i],
							   kernels->sets[which].module,
							   dtc_gpu_kernel_name(i));
	return result;
}

/* What there is of a set that could not be loaded is kept for the next attempt. */
static CUresult load_module(struct dtc_cuda_context *context, enum dtc_gpu_set which,
			    const struct dtc_gpu_image *image)
{
	struct dtc_cuda_kernel_set *set = set_of(context, which);
	CUresult result = image ? dtc_cuda_context_synchronise(context)
				: CUDA_ERROR_NO_BINARY_FOR_GPU;

	if (!result && !set->module)
		result = context->cuda->driver.ModuleLoadData(&set->module, image->data);
	return result ? result : load_functions(context, which);
}

/* Asked anew, because the driver may not have answered when the context was opened. */
static const struct dtc_gpu_image *image_of(const struct dtc_cuda_context *context,
					    enum dtc_gpu_set which)
{
	uint32_t arch = dtc_cuda_context_arch(context);

	return which == DTC_GPU_SET_TYPED ? dtc_gpu_typed_for(arch)
					  : dtc_gpu_image_for(arch);
}

static void load_set(struct dtc_cuda_context *context, enum dtc_gpu_set which)
{
	static const char *const consequences[] = {
		[DTC_GPU_SET_MOVING] = "each block takes a driver copy of its own",
		[DTC_GPU_SET_TYPED] = "the host converts, combines and sums up",
	};
	struct dtc_cuda_kernel_set *set = set_of(context, which);

	if (is_settled(set))
		return;
	CUresult result = load_module(context, which, image_of(context, which));
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot load the kernels (%s); %s", context->device,
			dtc_cuda_result_name(&context->cuda->driver, result),
			consequences[which]);
	atomic_store_explicit(&set->state,
			      result ? DTC_CUDA_KERNELS_UNLOADABLE
				     : DTC_CUDA_KERNELS_LOADED,
			      memory_order_release);
}

/* All that are moved by the first job are loaded before it. */
static void load_moving(struct dtc_cuda_context *context)
{
	load_set(context, DTC_GPU_SET_MOVING);
}

#define CAPTURED 0x100

static void load_later(struct dtc_cuda_context *context, CUdeviceptr request)
{
	context->captured = request & CAPTURED;
	load_set(context, (enum dtc_gpu_set)(request & ~(CUdeviceptr)CAPTURED));
	context->captured = false;
}

/* ---- asking for a set, in the thread of a job -------------------------------------------- */

static void await_set(const struct dtc_cuda_kernel_set *set, uint64_t end_ns)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	while (!is_settled(set) && dtc_now_ns() < end_ns)
		nanosleep(&nap, NULL);
}

static int open_kernels(struct dtc_cuda_context *context, const char *caller)
{
	int unwanted = DTC_CUDA_KERNELS_UNWANTED;

	(void)caller;
	atomic_compare_exchange_strong(&set_of(context, DTC_GPU_SET_MOVING)->state,
				       &unwanted, DTC_CUDA_KERNELS_WANTED);
	return 0;
}

static void await_moving(struct dtc_cuda_context *context)
{
	await_set(set_of(context, DTC_GPU_SET_MOVING),
		  dtc_now_ns() + DTC_CUDA_LOADING_NS);
}

/* The worker may have been refused the context that it was to load into: then a wanted set never comes. */
static void forget_dropped(struct dtc_cuda_context *context)
{
	if (!atomic_exchange(&context->dropped, false))
		return;
	for (int i = 0; i < DTC_GPU_SETS; i++) {
		int wanted = DTC_CUDA_KERNELS_WANTED;

		atomic_compare_exchange_strong(
			&set_of(context, (enum dtc_gpu_set)i)->state, &wanted,
			DTC_CUDA_KERNELS_UNWANTED);
	}
}

/* One job asks the worker; one that the allocator refuses leaves it to the next. */
static void want(struct dtc_cuda_context *context, enum dtc_gpu_set which, bool captured)
{
	struct dtc_cuda_kernel_set *set = set_of(context, which);
	int unwanted = DTC_CUDA_KERNELS_UNWANTED;

	forget_dropped(context);
	if (atomic_load(&set->state) != DTC_CUDA_KERNELS_UNWANTED)
		return;
	atomic_store(&set->patience_ns, dtc_now_ns() + DTC_CUDA_LOADING_NS);
	/* Who sees that it is wanted finds it counted. */
	atomic_fetch_add(&context->loads, 1);
	if (atomic_compare_exchange_strong(&set->state, &unwanted,
					   DTC_CUDA_KERNELS_WANTED) &&
	    !dtc_cuda_worker_load(context, load_later, which | (captured ? CAPTURED : 0)))
		atomic_store(&set->state, DTC_CUDA_KERNELS_UNWANTED);
	atomic_fetch_sub(&context->loads, 1);
}

bool dtc_cuda_typed_kernels_can_run(struct dtc_cuda_context *context, bool captured)
{
	struct dtc_cuda_kernel_set *set = set_of(context, DTC_GPU_SET_TYPED);

	if (DTC_LIKELY(dtc_cuda_kernel_set_is_loaded(context, DTC_GPU_SET_TYPED)))
		return true;
	/* The worker is still waiting with the others, or has not been able to load them: the job has waited for that. */
	if (!dtc_cuda_kernels_are_loaded(context))
		return false;
	want(context, DTC_GPU_SET_TYPED, captured);
	if (atomic_load(&set->state) != DTC_CUDA_KERNELS_UNWANTED)
		await_set(set, atomic_load(&set->patience_ns));
	return dtc_cuda_kernel_set_is_loaded(context, DTC_GPU_SET_TYPED);
}

bool dtc_cuda_kernel_set_prepare(struct dtc_cuda_context *context, enum dtc_gpu_set which,
				 bool captured)
{
	struct dtc_cuda_kernel_set *set = set_of(context, which);
	int unloadable = DTC_CUDA_KERNELS_UNLOADABLE;

	atomic_compare_exchange_strong(&set->state, &unloadable,
				       DTC_CUDA_KERNELS_UNWANTED);
	want(context, which, captured);
	if (atomic_load(&set->state) != DTC_CUDA_KERNELS_UNWANTED)
		await_set(set, dtc_now_ns() + DTC_CUDA_LOADING_NS);
	return dtc_cuda_kernel_set_is_loaded(context, which);
}

static void unload_kernels(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_GPU_SETS; i++) {
		CUmodule module = set_of(context, (enum dtc_gpu_set)i)->module;

		if (module)
			context->cuda->driver.ModuleUnload(module);
	}
}

const struct dtc_cuda_feature dtc_cuda_kernel_module_feature = {
	.name = "kernel_module",
	.bytes = sizeof(struct dtc_cuda_kernel_module),
	.open = open_kernels,
	.load = load_moving,
	.await = await_moving,
	.close = unload_kernels,
};
