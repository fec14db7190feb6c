/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a copy from one layout to another as one launch: whether the device may access both sides, and what it needs
 * of them besides.
 */
#include "config.h"

#include "copy_plan.h"

#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/map.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "kernel_module.h"
#include "kernels/launch/layout_copy.h"

static bool can_access_side(const struct dtc_cuda_submission *submission,
			    const struct dtc_copy_side *side, uint64_t bytes)
{
	const struct dtc_job alone = { .user = side->user,
				       .bytes = bytes,
				       .context = submission->job->context,
				       .user_memory = side->memory,
				       .packed_memory = dtc_memory_host(),
				       .caller = submission->job->caller };

	return dtc_cuda_can_access(submission->context, &alone, side->cursor, bytes);
}

static struct dtc_gpu_copy_end end_of(const struct dtc_copy_side *side)
{
	return (struct dtc_gpu_copy_end){
		.layout = side->cursor->layout,
		.count = side->cursor->count,
		.user = (uint64_t)(uintptr_t)side->user + (uint64_t)side->memory.shift,
	};
}

static int find_need(const struct dtc_cuda_submission *submission,
		     struct dtc_gpu_copy_end *end, enum dtc_gpu_copy_need need,
		     uint32_t word)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	const char *caller = submission->job->caller;
	CUdeviceptr image = 0;
	int status = 0;

	if (need == DTC_GPU_COPY_NEEDS_IMAGE) {
		status = dtc_cuda_image_find(end->layout, submission->context, &reader,
					     caller, &image);
		end->image = image;
	} else if (need == DTC_GPU_COPY_NEEDS_MAP) {
		const struct dtc_cuda_map_request request = { .layout = end->layout,
							      .unit = word,
							      .order = DTC_GPU_MAP_PACKED,
							      .reader = &reader,
							      .caller = caller };

		status = dtc_cuda_map_find(submission->context, &request, &end->map);
		end->has_map = true;
	}
	return status;
}

/* Layouts that are no nests have more on the device than their data. */
static int plan_launch(const struct dtc_cuda_submission *submission,
		       const struct dtc_copy_job *copy, struct dtc_gpu_launch *launch,
		       const char **reason)
{
	const uint64_t begin = copy->source.cursor->position;
	struct dtc_gpu_copy_job gpu = {
		.source = end_of(&copy->source),
		.target = end_of(&copy->target),
		.begin = begin,
		.end = begin + copy->bytes,
		.is_part = copy->is_part,
		.is_between =
			dtc_memory_is_between(&copy->source.memory, &copy->target.memory)
	};
	struct dtc_gpu_copy_needs needs;
	int status = dtc_gpu_plan_copy(&gpu, launch, &needs, reason);

	if (status != DTCONV_ERR_AGAIN)
		return status;
	status = find_need(submission, &gpu.source, needs.source, launch->word);
	if (!status)
		status = find_need(submission, &gpu.target, needs.target, launch->word);
	return status ? status : dtc_gpu_plan_copy(&gpu, launch, &needs, reason);
}

bool dtc_cuda_copy_can_access(const struct dtc_cuda_submission *submission,
			      const struct dtc_copy_job *copy)
{
	return can_access_side(submission, &copy->source, copy->bytes) &&
	       can_access_side(submission, &copy->target, copy->bytes);
}

int dtc_cuda_copy_plan(const struct dtc_cuda_submission *submission,
		       const struct dtc_copy_job *copy, struct dtc_gpu_launch *launch,
		       const char **reason)
{
	*reason = "the kernels are not loaded";
	if (!dtc_cuda_kernels_are_loaded(submission->context))
		return DTCONV_ERR_LIMIT;
	*reason = "the device has no access to one side";
	if (!dtc_cuda_copy_can_access(submission, copy))
		return DTCONV_ERR_LIMIT;
	int status = plan_launch(submission, copy, launch, reason);
	return status == DTCONV_ERR_UNSUPPORTED ? DTCONV_ERR_LIMIT : status;
}
