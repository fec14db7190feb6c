/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of a type, kept on a device. The first job of a direction and of an alignment modulo 16 bytes makes the
 * list; it is immutable after that and freed with the type's layout.
 */
#include "config.h"

#include "part_list.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/image.h"

/* Buffers are mostly aligned alike; a type moved at every address there is does not fill the device. */
#define KEPT_MOST 16

struct kept {
	struct dtc_layout_image base;
	struct dtc_cuda_context *context;
	enum dtc_direction direction;
	uint64_t user, packed; /* of the job that was planned */
	uint64_t upload;       /* of the parts */
	struct dtc_gpu_sequence sequence;
	struct dtc_gpu_part parts[];
};

static void release(struct dtc_layout_image *base)
{
	struct kept *kept = (struct kept *)base;

	dtc_cuda_image_drop(kept->context, (CUdeviceptr)kept->sequence.device);
	dtc_free(kept->context->cuda->context, kept);
}

static const struct kept *find(const struct dtc_gpu_job *model,
			       const struct dtc_cuda_context *context, unsigned *others)
{
	const struct dtc_layout_image *base =
		atomic_load_explicit(&model->layout->images, memory_order_acquire);

	*others = 0;
	for (; base; base = base->next) {
		const struct kept *kept = (const struct kept *)base;

		if (base->release != release || kept->context != context)
			continue;
		if (kept->direction == model->direction && kept->user == model->user &&
		    kept->packed == model->packed)
			return kept;
		++*others;
	}
	return NULL;
}

/* Parts into @kept, which has room for @capacity of them. */
static int list_parts(struct kept *kept, const struct dtc_gpu_job *model,
		      uint32_t capacity, CUdeviceptr device,
		      struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_parts parts = { kept->parts, capacity, device };
	uint32_t needed;
	int status = dtc_gpu_plan_many(model, 1, &parts, launch, &needed);

	if (status)
		return status;
	kept->sequence = (struct dtc_gpu_sequence){ .parts = kept->parts,
						    .count = capacity,
						    .tiles = launch->grid,
						    .device = device };
	return 0;
}

static int make(const struct dtc_gpu_job *model, struct dtc_cuda_context *context,
		uint32_t capacity, const struct dtc_cuda_reader *reader,
		const char *caller, struct dtc_gpu_launch *launch)
{
	struct dtconv_context *owner = context->cuda->context;
	size_t bytes = capacity * sizeof(struct dtc_gpu_part);
	struct kept *kept = dtc_alloc_zeroed(owner, sizeof(*kept) + bytes);
	CUdeviceptr device = 0;

	if (!kept)
		return DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a part list of %u parts", caller,
				capacity);
	kept->base.release = release;
	kept->context = context;
	kept->direction = model->direction;
	kept->user = model->user;
	kept->packed = model->packed;
	int status = list_parts(kept, model, capacity, 0, launch);
	if (!status) {
		CUresult result = dtc_cuda_image_begin(context, kept->parts, bytes,
						       reader, &device, &kept->upload);

		kept->sequence.device = device;
		if (result)
			status = dtc_cuda_fail(context, result,
					       "copying a part list to the device",
					       caller);
	}
	if (status)
		release(&kept->base);
	else
		dtc_cuda_image_hang_in(model->layout, &kept->base);
	return status;
}

/* The program of the job's type, for the reader's work. */
static int find_program(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
			const struct dtc_cuda_reader *reader, const char *caller)
{
	CUdeviceptr image;
	int status = dtc_cuda_image_find(job->layout, context, reader, caller, &image);

	if (!status)
		job->image = image;
	return status;
}

/* How many parts there are; the type's program is found if they need it. */
static int count_parts(struct dtc_gpu_job *model, struct dtc_cuda_context *context,
		       const struct dtc_cuda_reader *reader, const char *caller,
		       struct dtc_gpu_launch *launch, uint32_t *needed)
{
	int status = dtc_gpu_plan_many(model, 1, NULL, launch, needed);

	if (status == DTCONV_ERR_UNSUPPORTED) {
		status = find_program(model, context, reader, caller);
		if (status)
			return status;
		status = dtc_gpu_plan_many(model, 1, NULL, launch, needed);
	}
	return status == DTCONV_ERR_LIMIT ? 0 : status;
}

static int walk(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
		const struct dtc_cuda_reader *reader, const char *caller,
		struct dtc_gpu_launch *launch)
{
	int status = find_program(job, context, reader, caller);

	if (status)
		return status;
	return dtc_gpu_plan_general(job, "more parts than are kept", launch);
}

/* The parts' list, and the program that they may need, come before the reader's work. */
static int order(const struct kept *kept, const struct dtc_cuda_reader *reader,
		 const char *caller)
{
	CUresult result = dtc_cuda_upload_order(kept->context, kept->upload, reader);

	return result ? dtc_cuda_fail(kept->context, result, "waiting for a part list",
				      caller)
		      : 0;
}

int dtc_cuda_part_list_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
			    const struct dtc_cuda_reader *reader, const char *caller,
			    struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_job model = dtc_gpu_sequence_job(job);
	const struct kept *kept = NULL;
	unsigned others = KEPT_MOST;
	uint32_t needed;
	int status = 0;

	if (job->count == 1)
		kept = find(&model, context, &others);
	if (!kept && others == KEPT_MOST)
		return walk(job, context, reader, caller, launch);
	if (!kept) {
		status = count_parts(&model, context, reader, caller, launch, &needed);
		/* The whole needs no list, but the fragment's cut makes more parts of it than a launch takes. */
		if (!status && !needed)
			return walk(job, context, reader, caller, launch);
		if (!status)
			status = make(&model, context, needed, reader, caller, launch);
		if (status)
			return status;
		kept = find(&model, context, &others);
	}
	status = order(kept, reader, caller);
	if (!status)
		dtc_gpu_plan_sequence(job, &kept->sequence, launch);
	return status;
}
