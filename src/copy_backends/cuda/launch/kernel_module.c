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

/* How long a first job waits for kernels; a busy device may keep them away for ever. */
#define LOADING_NS UINT64_C(400000000)

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

static void load_set(struct dtc_cuda_context *context, enum dtc_gpu_set which,
		     const struct dtc_gpu_image *image, const char *consequence)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_kernel_set *set = set_of(context, which);
	CUresult result = image ? dtc_cuda_context_synchronise(context)
				: CUDA_ERROR_NO_BINARY_FOR_GPU;

	if (!result)
		result = driver->ModuleLoadData(&set->module, image->data);
	if (!result)
		result = load_functions(context, which);
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot load the kernels (%s); %s", context->device,
			dtc_cuda_result_name(driver, result), consequence);
	atomic_store_explicit(&set->state,
			      result ? DTC_CUDA_KERNELS_UNLOADABLE
				     : DTC_CUDA_KERNELS_LOADED,
			      memory_order_release);
}

static void load_moving(struct dtc_cuda_context *context)
{
	load_set(context, DTC_GPU_SET_MOVING, dtc_gpu_image_for(context->arch),
		 "each block takes a driver copy of its own");
}

static void load_typed(struct dtc_cuda_context *context, CUdeviceptr captured)
{
	context->captured = captured;
	load_set(context, DTC_GPU_SET_TYPED, dtc_gpu_typed_for(context->arch),
		 "the host converts, combines and sums up");
	context->captured = false;
}

/* ---- waiting, in the thread of a job ----------------------------------------------------- */

static void await_set(const struct dtc_cuda_kernel_set *set, uint64_t end_ns)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	while (!is_settled(set) && dtc_now_ns() < end_ns)
		nanosleep(&nap, NULL);
}

void dtc_cuda_kernels_await(struct dtc_cuda_context *context)
{
	await_set(set_of(context, DTC_GPU_SET_MOVING), dtc_now_ns() + LOADING_NS);
}

/* One job asks the worker; one that the allocator refuses leaves it to the next. */
static void want_typed(struct dtc_cuda_context *context, bool captured)
{
	struct dtc_cuda_kernel_set *set = set_of(context, DTC_GPU_SET_TYPED);
	int unwanted = DTC_CUDA_KERNELS_UNWANTED;

	if (atomic_load(&set->state) != unwanted)
		return;
	atomic_store(&set->patience_ns, dtc_now_ns() + LOADING_NS);
	if (atomic_compare_exchange_strong(&set->state, &unwanted,
					   DTC_CUDA_KERNELS_WANTED) &&
	    !dtc_cuda_worker_defer(context, load_typed, captured))
		atomic_store(&set->state, DTC_CUDA_KERNELS_UNWANTED);
}

bool dtc_cuda_typed_kernels_can_run(struct dtc_cuda_context *context, bool captured)
{
	struct dtc_cuda_kernel_set *set = set_of(context, DTC_GPU_SET_TYPED);

	if (DTC_LIKELY(dtc_cuda_kernel_set_is_loaded(context, DTC_GPU_SET_TYPED)))
		return true;
	/* The worker is still waiting with the others, or has not been able to load them: the job has waited for that. */
	if (!dtc_cuda_kernels_are_loaded(context))
		return false;
	want_typed(context, captured);
	if (atomic_load(&set->state) != DTC_CUDA_KERNELS_UNWANTED)
		await_set(set, atomic_load(&set->patience_ns));
	return dtc_cuda_kernel_set_is_loaded(context, DTC_GPU_SET_TYPED);
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
	.load = load_moving,
	.await = dtc_cuda_kernels_await,
	.close = unload_kernels,
};
