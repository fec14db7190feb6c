/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading the prebuilt kernels. The worker loads them, because cuModuleLoadData blocks while a kernel runs; the
 * first job waits a limited time, later ones fall back to copies until they are loaded.
 */
#include "config.h"

#include "kernel_module.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernels/images/images.h"

/* Runs in the worker. */
static void load_kernels(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_kernel_module *kernels = dtc_cuda_kernel_module_of(context);
	const struct dtc_gpu_image *image = dtc_gpu_image_for(context->arch);
	CUresult result = image ? dtc_cuda_context_synchronise(context)
				: CUDA_ERROR_NO_BINARY_FOR_GPU;

	if (!result)
		result = driver->ModuleLoadData(&kernels->module, image->data);
	for (unsigned i = 0; !result && i < DTC_GPU_KERNELS; i++)
		result = driver->ModuleGetFunction(
			&kernels->functions[i], kernels->module, dtc_gpu_kernel_name(i));
	if (result) {
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot load the kernels (%s); each block takes a "
			"driver copy of its own",
			context->device, dtc_cuda_result_name(driver, result));
		atomic_store_explicit(&kernels->unloadable, true, memory_order_release);
		return;
	}
	atomic_store_explicit(&kernels->loaded, true, memory_order_release);
}

/* How long a first job waits for kernels; a busy device may keep them away for ever. */
#define LOADING_NS UINT64_C(400000000)

static void await_kernels(struct dtc_cuda_context *context)
{
	struct dtc_cuda_kernel_module *kernels = dtc_cuda_kernel_module_of(context);
	const struct timespec nap = { .tv_nsec = 50000 };
	uint64_t end = dtc_now_ns() + LOADING_NS;

	while (!atomic_load_explicit(&kernels->loaded, memory_order_acquire) &&
	       !atomic_load_explicit(&kernels->unloadable, memory_order_acquire) &&
	       dtc_now_ns() < end)
		nanosleep(&nap, NULL);
}

static void unload_kernels(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_kernel_module *kernels = dtc_cuda_kernel_module_of(context);

	if (kernels->module)
		context->cuda->driver.ModuleUnload(kernels->module);
}

const struct dtc_cuda_feature dtc_cuda_kernel_module_feature = {
	.name = "kernel_module",
	.bytes = sizeof(struct dtc_cuda_kernel_module),
	.load = load_kernels,
	.await = await_kernels,
	.close = unload_kernels,
};
