/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device copy of a type's layout program. The first job that needs it makes it; it lives as long as the layout,
 * and the worker frees it.
 */
#include "config.h"

#include "image.h"

#include "base/context.h"
#include "base/log.h"
#include "worker.h"

struct image {
	struct dtc_layout_image base;
	struct dtc_cuda_context *context;
	CUdeviceptr memory;
};

/* Runs in the worker: a free waits until the device is idle. */
static void free_memory(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	context->cuda->driver.MemFree(memory);
}

void dtc_cuda_image_drop(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	if (memory)
		dtc_cuda_worker_give_back(context, free_memory, memory);
}

static void release(struct dtc_layout_image *base)
{
	struct image *image = (struct image *)base;
	struct dtc_cuda_context *context = image->context;

	dtc_cuda_image_drop(context, image->memory);
	dtc_free(context->cuda->context, image);
}

static CUdeviceptr find(const struct dtc_layout *layout, const struct dtc_cuda_context *context)
{
	struct dtc_layout_image *base =
		atomic_load_explicit(&layout->images, memory_order_acquire);

	for (; base; base = base->next)
		if (base->release == release && ((struct image *)base)->context == context)
			return ((struct image *)base)->memory;
	return 0;
}

/* Immutable to everyone else, a layout has a list of images that is made for growing. */
void dtc_cuda_image_hang_in(const struct dtc_layout *layout,
			    struct dtc_layout_image *image)
{
	struct dtc_layout *open = (struct dtc_layout *)(uintptr_t)layout;
	struct dtc_layout_image *first =
		atomic_load_explicit(&open->images, memory_order_relaxed);

	do
		image->next = first;
	while (!atomic_compare_exchange_weak(&open->images, &first, image));
}

/* ---- making ---------------------------------------------------------------------------- */

/* A stream of our own that waits for no other: the caller's may wait for something, or be captured. */
CUresult dtc_cuda_image_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			       const void *bytes, size_t length)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUresult result = driver->MemcpyAsync(memory, (CUdeviceptr)(uintptr_t)bytes, length,
					      context->uploads);

	if (result)
		return result;
	do
		result = driver->StreamQuery(context->uploads);
	while (result == CUDA_ERROR_NOT_READY);
	return result;
}

static CUresult allocate(struct dtc_cuda_context *context, CUdeviceptr *memory, size_t bytes)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->MemAlloc(memory, bytes);
	driver->CtxPopCurrent(&popped);
	return result;
}

CUresult dtc_cuda_image_place(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, CUdeviceptr *memory)
{
	CUresult result = allocate(context, memory, length);

	return result ? result : dtc_cuda_image_upload(context, *memory, bytes, length);
}

static int make(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		const char *caller, CUdeviceptr *memory)
{
	struct dtconv_context *owner = context->cuda->context;
	size_t bytes = dtc_gpu_image_bytes(layout->program);
	struct image *image = dtc_alloc(owner, sizeof(*image));
	void *scratch = dtc_alloc(owner, bytes);
	int status = 0;

	if (image)
		*image = (struct image){ .base = { .release = release }, .context = context };
	if (image && scratch) {
		dtc_gpu_image_write(layout->program, scratch);
		CUresult result =
			dtc_cuda_image_place(context, scratch, bytes, &image->memory);
		if (result)
			status = dtc_cuda_fail(context, result,
					       "copying a layout program to the device",
					       caller);
	} else {
		status = DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				  "%s: cannot allocate %zu bytes for a layout program",
				  caller, bytes);
	}
	dtc_free(owner, scratch);
	if (status) {
		if (image)
			release(&image->base);
		return status;
	}
	*memory = image->memory;
	dtc_cuda_image_hang_in(layout, &image->base);
	return 0;
}

int dtc_cuda_image_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			const char *caller, CUdeviceptr *memory)
{
	struct dtconv_context *owner = context->cuda->context;

	*memory = find(layout, context);
	if (*memory) {
		dtc_context_count(owner, DTC_COUNT_IMAGES_FOUND, 1);
		return 0;
	}
	int status = make(layout, context, caller, memory);
	if (!status)
		dtc_context_count(owner, DTC_COUNT_IMAGES_MADE, 1);
	return status;
}
