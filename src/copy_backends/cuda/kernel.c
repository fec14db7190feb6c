/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving by kernels: one launch moves a job, whatever its shape; either side may be memory of a
 * device, of another one that it sees, or pinned memory of the host.
 */
#include "config.h"

#include "cuda.h"

#include "context.h"
#include "image.h"
#include "log.h"
#include "many.h"
#include "rates.h"
#include "state.h"
#include "submit.h"

static bool can(const struct dtc_question *question, const char **reason)
{
	if (question->user_kind == DTCONV_MEMORY_HOST ||
	    question->packed_kind == DTCONV_MEMORY_HOST) {
		*reason = "the device does not see ordinary host memory";
		return false;
	}
	return true;
}

static double estimate(const struct dtc_question *question)
{
	return DTC_CUDA_WAKE_NS + DTC_CUDA_KERNEL_NS +
	       (double)question->bytes / dtc_cuda_kernel_rate(question);
}

/* ---- launching ------------------------------------------------------------------------- */

static struct dtc_gpu_job describe_job(const struct dtc_job *job)
{
	const struct dtc_cursor *cursor = job->cursor;

	return (struct dtc_gpu_job){
		.layout = cursor->layout,
		.count = cursor->count,
		.user = (uint64_t)(uintptr_t)job->user + (uint64_t)job->user_memory.shift,
		.packed = (uint64_t)(uintptr_t)job->packed + (uint64_t)job->packed_memory.shift,
		.begin = cursor->position,
		.end = cursor->position + job->bytes,
		.direction = job->direction,
	};
}

/* Without the program on the device, if that will do: most types have no tables. */
static int plan(const struct dtc_cuda_submission *submission, struct dtc_gpu_launch *launch)
{
	const struct dtc_job *job = submission->job;
	struct dtc_gpu_job gpu = describe_job(job);
	uint32_t parts;
	CUdeviceptr image;

	int status = dtc_gpu_plan(&gpu, NULL, launch, &parts);
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	status = dtc_cuda_image_find(gpu.layout, submission->context, job->caller, &image);
	if (status)
		return status;
	gpu.image = image;
	return dtc_gpu_plan(&gpu, NULL, launch, &parts);
}

static void set_flag(const struct dtc_cuda_submission *submission, struct dtc_gpu_launch *launch)
{
	const struct dtc_cuda_flags *flags = &submission->context->flags;
	const struct dtc_event *event = submission->event;
	uint64_t word = event->slot * sizeof(uint64_t);

	if (!submission->capturing)
		launch->params.done = (struct dtc_gpu_done){ .flag = flags->device + word,
							     .value = event->value,
							     .counter = flags->counters + word };
}

CUresult dtc_cuda_launch(const struct dtc_cuda_submission *submission,
			 struct dtc_gpu_launch *launch, bool flag)
{
	void *params[] = { &launch->params };

	launch->params.done = (struct dtc_gpu_done){ .flag = 0 };
	if (flag)
		set_flag(submission, launch);
	return submission->driver->LaunchKernel(submission->context->functions[launch->kernel],
						launch->grid, 1, 1, DTC_GPU_BLOCK, 1, 1,
						launch->shared_bytes, submission->stream, params,
						NULL);
}

static int move(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_gpu_launch launch;

	if (!atomic_load_explicit(&submission->context->loaded, memory_order_acquire))
		return dtc_cuda_submission_end(submission, dtc_cuda_copy_blocks(submission),
					       "the driver's copy", true);
	int status = plan(submission, &launch);
	if (status == DTCONV_ERR_LIMIT)
		return dtc_cuda_submission_end(submission, dtc_cuda_copy_blocks(submission),
					       "the driver's copy", true);
	if (status) {
		dtc_cuda_submission_drop(submission);
		return status;
	}
	CUresult result = dtc_cuda_launch(submission, &launch, true);
	if (!result)
		dtc_cursor_seek(job->cursor, job->cursor->position + job->bytes);
	return dtc_cuda_submission_end(submission, result, "cuLaunchKernel", false);
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	struct dtc_cuda_submission submission;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend, job, event);

	return status ? status : move(&submission);
}

const struct dtc_backend_ops dtc_cuda_kernel_backend = {
	.name = "cuda_kernel",
	.what = "kernels on a CUDA device",
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.submit_many = dtc_cuda_many_submit,
	.forget = dtc_cuda_many_forget,
	.test = dtc_cuda_event_test,
};
