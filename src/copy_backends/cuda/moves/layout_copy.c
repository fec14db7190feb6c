/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another by one launch, on a device that may access both sides.
 */
#include "config.h"

#include "copy_backends/layout_copy.h"

#include <inttypes.h>

#include "base/log.h"
#include "copy_backends/cuda/launch/copy_plan.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "copy_backends/cuda/planning/cost_model.h"
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
	status = dtc_cuda_copy_plan(&submission, copy, &launch, reason);
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

	if (dtc_cuda_is_relay_faster(copy)) {
		log_way(copy, "packed and unpacked", "short blocks across a link");
		return DTCONV_ERR_LIMIT;
	}
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

const char *dtc_cuda_foresee_copy(const struct dtc_stretch *copy, const char **reason)
{
	const struct dtc_gpu_copy_job job = {
		.source = { .layout = copy->layout,
			    .count = copy->count,
			    .user = (uint64_t)(uintptr_t)copy->user +
				    (uint64_t)copy->user_memory.shift },
		.target = { .layout = copy->target,
			    .count = copy->target_count,
			    .user = (uint64_t)(uintptr_t)copy->packed +
				    (uint64_t)copy->packed_memory.shift },
		.end = copy->bytes,
	};
	struct dtc_gpu_launch launch;

	return dtc_gpu_foresee_copy(&job, &launch, reason)
		       ? NULL
		       : dtc_gpu_kernel_label(launch.kernel);
}

bool dtc_cuda_is_captured(struct dtconv_context *context, void *stream)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(context)->driver;
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

	return !driver->StreamIsCapturing((CUstream)stream, &capture) &&
	       capture != CU_STREAM_CAPTURE_STATUS_NONE;
}
