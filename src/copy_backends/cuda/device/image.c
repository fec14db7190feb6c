/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device copy of a type's layout program. The first job that needs it makes it; it lives as long as the layout.
 * Its jobs are ordered behind its upload by their streams, so none waits on the host.
 */
#include "config.h"

#include "image.h"

#include "arena.h"
#include "base/context.h"
#include "base/log.h"

struct image {
	struct dtc_layout_image base;
	struct dtc_cuda_context *context;
	CUdeviceptr memory;
	uint64_t upload; /* its number */
};

void dtc_cuda_image_drop(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	dtc_cuda_arena_put(context, memory);
}

static void release(struct dtc_layout_image *base)
{
	struct image *image = (struct image *)base;
	struct dtc_cuda_context *context = image->context;

	dtc_cuda_image_drop(context, image->memory);
	dtc_free(context->cuda->context, image);
}

static const struct image *find(const struct dtc_layout *layout,
				const struct dtc_cuda_context *context)
{
	struct dtc_layout_image *base =
		atomic_load_explicit(&layout->images, memory_order_acquire);

	for (; base; base = base->next)
		if (base->release == release && ((struct image *)base)->context == context)
			return (const struct image *)base;
	return NULL;
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

CUresult dtc_cuda_image_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			       const void *bytes, size_t length)
{
	const struct dtc_cuda_table table = { .source = bytes, .bytes = length };
	uint64_t number = 0;
	CUresult result = dtc_cuda_upload(context, memory, &table, NULL, &number);

	return result ? result : dtc_cuda_upload_wait(context, number);
}

CUresult dtc_cuda_image_begin(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, const struct dtc_cuda_reader *reader,
			      CUdeviceptr *memory, uint64_t *upload)
{
	const struct dtc_cuda_table table = { .source = bytes, .bytes = length };
	CUresult result = dtc_cuda_arena_take(context, length, memory);

	return result ? result
		      : dtc_cuda_upload(context, *memory, &table, reader, upload);
}

CUresult dtc_cuda_image_place(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, CUdeviceptr *memory)
{
	uint64_t upload = 0;
	CUresult result =
		dtc_cuda_image_begin(context, bytes, length, NULL, memory, &upload);

	return result ? result : dtc_cuda_upload_wait(context, upload);
}

static void write_image(const void *source, void *to)
{
	dtc_gpu_image_write(source, to);
}

/* By way of the host's memory, because the ring is too short. */
static int upload_long(struct image *image, const struct dtc_program *program,
		       const struct dtc_cuda_reader *reader, const char *caller,
		       CUresult *result)
{
	struct dtc_cuda_context *context = image->context;
	struct dtconv_context *owner = context->cuda->context;
	const size_t bytes = dtc_gpu_image_bytes(program);
	void *scratch = dtc_alloc(owner, bytes);
	const struct dtc_cuda_table table = { .source = scratch, .bytes = bytes };

	if (!scratch)
		return DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes for a layout program",
				caller, bytes);
	dtc_gpu_image_write(program, scratch);
	*result = dtc_cuda_upload(context, image->memory, &table, reader, &image->upload);
	dtc_free(owner, scratch);
	return 0;
}

/* Take memory and begin the upload. */
static int fill(struct image *image, const struct dtc_program *program,
		const struct dtc_cuda_reader *reader, const char *caller)
{
	struct dtc_cuda_context *context = image->context;
	const struct dtc_cuda_table table = { .write = write_image,
					      .source = program,
					      .bytes = dtc_gpu_image_bytes(program) };
	int status = 0;

	CUresult result = dtc_cuda_arena_take(context, table.bytes, &image->memory);
	if (!result && table.bytes <= DTC_CUDA_UPLOAD_WHOLE_BYTES)
		result = dtc_cuda_upload(context, image->memory, &table, reader,
					 &image->upload);
	else if (!result)
		status = upload_long(image, program, reader, caller, &result);
	return result ? dtc_cuda_fail(context, result,
				      "copying a layout program to the device", caller)
		      : status;
}

static int make(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		const struct dtc_cuda_reader *reader, const char *caller,
		const struct image **made)
{
	struct dtconv_context *owner = context->cuda->context;
	struct image *image = dtc_alloc(owner, sizeof(*image));

	if (!image)
		return DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes for a layout program",
				caller, sizeof(*image));
	*image = (struct image){ .base = { .release = release }, .context = context };
	int status = fill(image, layout->program, reader, caller);
	if (status) {
		release(&image->base);
		return status;
	}
	*made = image;
	dtc_cuda_image_hang_in(layout, &image->base);
	return 0;
}

int dtc_cuda_image_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			const struct dtc_cuda_reader *reader, const char *caller,
			CUdeviceptr *memory)
{
	struct dtconv_context *owner = context->cuda->context;
	const struct image *image = find(layout, context);
	const bool found = image;

	int status = found ? 0 : make(layout, context, reader, caller, &image);
	if (status)
		return status;
	dtc_context_count(owner, found ? DTC_COUNT_IMAGES_FOUND : DTC_COUNT_IMAGES_MADE,
			  1);
	CUresult result = dtc_cuda_upload_order(context, image->upload, reader);
	if (result)
		return dtc_cuda_fail(context, result, "waiting for a layout program",
				     caller);
	*memory = image->memory;
	return 0;
}
