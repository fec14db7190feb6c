/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes by a kernel that runs after the move. The result is in pinned memory before the
 * completion word is written.
 */
#include "config.h"

#include "copy_backends/checksum.h"

#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "kernels/launch/checksum.h"
#include "moves.h"

/* The stream that the move ended in, if that is one of the library's and not its lane. */
static CUstream stream_behind(const struct dtc_cuda_submission *submission,
			      const struct dtc_event *moving)
{
	const bool is_own = moving->backend && moving->recorded &&
			    moving->owner == submission->context &&
			    !submission->job->on_stream;

	return is_own ? moving->stream : submission->stream;
}

/* Two streams have no order between them. */
static int follow(struct dtc_cuda_submission *submission, struct dtc_event *moving)
{
	const struct dtc_backend_ops *backend = moving->backend;
	int status;

	submission->stream = stream_behind(submission, moving);
	submission->event->stream = submission->stream;
	if (!backend || moving->stream == submission->stream)
		return 0;
	do
		status = backend->test(moving);
	while (status == DTCONV_INPROGRESS);
	moving->backend = NULL;
	return status;
}

/* Where kernels may not go, or there are none yet. */
static int check(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;

	if (submission->capturing)
		return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
				"%s: the stream is being captured, but a graph launch "
				"cannot return a checksum",
				job->caller);
	if (!dtc_cuda_typed_kernels_can_run(submission->context, false) ||
	    dtc_cuda_submission_is_far(submission, &job->packed_memory))
		return DTCONV_ERR_LIMIT;
	return 0;
}

static int plan(const struct dtc_cuda_submission *submission,
		struct dtc_gpu_launch *launch)
{
	const struct dtc_job *job = submission->job;
	const struct dtc_cuda_flags *flags = dtc_cuda_flags_of(submission->context);
	const struct dtc_gpu_checksum_job checksum = {
		.packed = (uint64_t)(uintptr_t)job->packed +
			  (uint64_t)job->packed_memory.shift,
		.bytes = job->bytes,
		.counter = flags->counters +
			   (DTC_CUDA_FLAGS + submission->event->slot) * sizeof(uint64_t),
		.result = flags->device +
			  (DTC_CUDA_ANSWERS + submission->event->slot) * sizeof(uint64_t),
	};

	return dtc_gpu_plan_checksum(&checksum, launch);
}

int dtc_cuda_submit_checksum(const struct dtc_job *job, struct dtc_event *moving,
			     struct dtc_event *event)
{
	struct dtc_cuda_submission submission;
	struct dtc_gpu_launch launch;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend, job,
					       event);
	if (status)
		return status;
	status = check(&submission);
	if (!status)
		status = plan(&submission, &launch);
	if (!status)
		status = follow(&submission, moving);
	if (status) {
		dtc_cuda_submission_drop(&submission);
		return status;
	}
	bool flag = dtc_cuda_kernel_writes_flag(&launch);
	return dtc_cuda_submission_end(&submission,
				       dtc_cuda_launch(&submission, &launch, flag),
				       "cuLaunchKernel", !flag);
}
