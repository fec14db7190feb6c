/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another by one launch, on a device that may access both sides.
 */
#include "config.h"

#include "copy_backends/layout_copy.h"

#include <inttypes.h>

#include "base/log.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/map.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "kernels/launch/layout_copy.h"
#include "moves.h"

/* As a job: the source is the user's side, the target the packed one. */
static struct dtc_job job_of(const struct dtc_copy_job *copy)
{
	return (struct dtc_job){ .cursor = copy->source.cursor,
				 .user = copy->source.user,
				 .packed = copy->target.user,
				 .bytes = copy->bytes,
				 .direction = DTC_PACK,
				 .context = copy->context,
				 .user_memory = copy->source.memory,
				 .packed_memory = copy->target.memory,
				 .on_stream = copy->on_stream,
				 .started = copy->started,
				 .stream = copy->stream,
				 .between_layouts = true,
				 .caller = copy->caller };
}

/* ---- planning ---------------------------------------------------------------------------- */

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
	struct dtc_gpu_copy_job gpu = { .source = end_of(&copy->source),
					.target = end_of(&copy->target),
					.begin = begin,
					.end = begin + copy->bytes };
	struct dtc_gpu_copy_needs needs;
	int status = dtc_gpu_plan_copy(&gpu, launch, &needs, reason);

	if (status != DTCONV_ERR_AGAIN)
		return status;
	status = find_need(submission, &gpu.source, needs.source, launch->word);
	if (!status)
		status = find_need(submission, &gpu.target, needs.target, launch->word);
	return status ? status : dtc_gpu_plan_copy(&gpu, launch, &needs, reason);
}

static int plan(const struct dtc_cuda_submission *submission,
		const struct dtc_copy_job *copy, struct dtc_gpu_launch *launch,
		const char **reason)
{
	*reason = "the kernels are not loaded";
	if (!dtc_cuda_kernels_are_loaded(submission->context))
		return DTCONV_ERR_LIMIT;
	*reason = "the device has no access to one side";
	if (!can_access_side(submission, &copy->source, copy->bytes) ||
	    !can_access_side(submission, &copy->target, copy->bytes))
		return DTCONV_ERR_LIMIT;
	int status = plan_launch(submission, copy, launch, reason);
	return status == DTCONV_ERR_UNSUPPORTED ? DTCONV_ERR_LIMIT : status;
}

/* ---- submitting -------------------------------------------------------------------------- */

static void log_way(const struct dtc_copy_job *copy, const char *way, const char *detail)
{
	DTC_LOG(copy->context, DTCONV_LOG_DEBUG,
		"%s: %" PRIu64 " bytes, %s to %s memory: %s (%s)", copy->caller,
		copy->bytes, dtc_memory_kind_name(copy->source.memory.kind),
		dtc_memory_kind_name(copy->target.memory.kind), way, detail);
}

static int launch_copy(struct dtc_cuda_submission *submission,
		       const struct dtc_copy_job *copy, struct dtc_gpu_launch *launch)
{
	bool flag = dtc_cuda_kernel_writes_flag(launch);
	CUresult result = dtc_cuda_launch(submission, launch, flag);

	if (!result) {
		const uint64_t end = copy->source.cursor->position + copy->bytes;

		log_way(copy, "one launch", dtc_gpu_kernel_label(launch->kernel));
		dtc_cursor_seek(copy->source.cursor, end);
		dtc_cursor_seek(copy->target.cursor, end);
	}
	return dtc_cuda_submission_end(submission, result, "cuLaunchKernel", !flag);
}

/* In the context that the job chooses. */
static int submit_in(const struct dtc_job *job, const struct dtc_copy_job *copy,
		     struct dtc_event *event, const char **reason)
{
	struct dtc_cuda_submission submission;
	struct dtc_gpu_launch launch;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend, job,
					       event);
	if (status)
		return status;
	status = plan(&submission, copy, &launch, reason);
	if (!status)
		return launch_copy(&submission, copy, &launch);
	dtc_cuda_submission_drop(&submission);
	return status;
}

/* Stores that cross to another device are posted, loads wait for their answers: the source's device comes first. */
int dtc_cuda_submit_copy(const struct dtc_copy_job *copy, struct dtc_event *event)
{
	struct dtc_job job = job_of(copy);
	const char *reason = NULL;

	int status = submit_in(&job, copy, event, &reason);
	if (status == DTCONV_ERR_LIMIT && !job.on_stream &&
	    dtc_memory_is_between(&job.user_memory, &job.packed_memory)) {
		job.at_packed = true;
		status = submit_in(&job, copy, event, &reason);
	}
	if (status == DTCONV_ERR_LIMIT)
		log_way(copy, "packed and unpacked", reason);
	return status;
}

bool dtc_cuda_is_captured(struct dtconv_context *context, void *stream)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(context)->driver;
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

	return !driver->StreamIsCapturing((CUstream)stream, &capture) &&
	       capture != CU_STREAM_CAPTURE_STATUS_NONE;
}
