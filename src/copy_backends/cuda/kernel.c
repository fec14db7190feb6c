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
#include "reach.h"
#include "sequence.h"
#include "special.h"
#include "state.h"
#include "submit.h"
#include "text.h"

static bool can(const struct dtc_question *question, const char **reason)
{
	if (dtc_question_has_ordinary(question)) {
		*reason = "the device does not see ordinary host memory";
		return false;
	}
	return true;
}

static double estimate(const struct dtc_question *question)
{
	if (dtc_cuda_resident_may(question))
		return dtc_cuda_resident_ns(question);
	return dtc_cuda_launch_ns(question) - dtc_cuda_graphs_gain_ns(question) +
	       (double)question->bytes / dtc_cuda_kernel_rate(question);
}

/* Buffers are thought to be as well aligned as allocations are, and the program to be there. */
#define ALIGNED UINT64_C(0x10000000000)

static int imagine(const struct dtc_question *question, struct dtc_gpu_launch *launch,
		   uint32_t *parts)
{
	const struct dtc_gpu_job job = { .layout = question->layout,
					 .count = question->count,
					 .user = ALIGNED,
					 .packed = ALIGNED,
					 .end = question->bytes,
					 .direction = question->direction,
					 .image = ALIGNED };

	return dtc_gpu_plan(&job, NULL, launch, parts);
}

static void detail(const struct dtc_question *question, struct dtc_text *text)
{
	struct dtc_gpu_launch launch;
	uint32_t parts;

	if (!question->bytes) {
		dtc_text_puts(text, "nothing to move");
		return;
	}
	int status = imagine(question, &launch, &parts);
	if (status == DTCONV_ERR_LIMIT)
		dtc_text_printf(text, "kernel for many parts, %u of them", parts);
	else if (status)
		dtc_text_puts(text, "more tiles than a launch takes, copies block by block");
	else if (launch.class == DTC_GPU_CLASS_GENERAL)
		dtc_text_printf(text, "general kernel (%s)", launch.reason);
	else if (launch.class == DTC_GPU_CLASS_MANY)
		dtc_text_puts(text, "kernel for many parts");
	else
		dtc_text_printf(text, "%s kernel, %u-byte words",
				dtc_gpu_class_name(launch.class), launch.word);
	if (!status && dtc_cuda_resident_may(question) && dtc_cuda_resident_does(&launch))
		dtc_text_puts(text, ", by the resident kernel");
	else if (status != DTCONV_ERR_UNSUPPORTED && question->context->devices.graphs &&
		 !question->on_stream)
		dtc_text_puts(text, ", in a graph");
	else if (!status)
		dtc_cuda_special_explain(question->context, &launch, text);
}

/* ---- launching ------------------------------------------------------------------------- */

/* Sectors of shorter streams are mostly in the last cache, and asking for them costs 5 to 15 %. */
#define LONG_BYTES (UINT64_C(32) << 20)

bool dtc_cuda_is_near(const struct dtc_cuda_context *context,
		      const struct dtc_memory *memory, uint64_t bytes)
{
	return bytes >= LONG_BYTES && memory->kind == DTCONV_MEMORY_DEVICE &&
	       (memory->device == context->device || memory->device < 0);
}

static struct dtc_gpu_job describe_job(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	const struct dtc_cursor *cursor = job->cursor;

	return (struct dtc_gpu_job){
		.layout = cursor->layout,
		.count = cursor->count,
		.user = (uint64_t)(uintptr_t)job->user + (uint64_t)job->user_memory.shift,
		.packed = (uint64_t)(uintptr_t)job->packed +
			  (uint64_t)job->packed_memory.shift,
		.begin = cursor->position,
		.end = cursor->position + job->bytes,
		.direction = job->direction,
		.near = dtc_cuda_is_near(submission->context, &job->user_memory,
					 job->bytes),
	};
}

int dtc_cuda_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context, const char *caller,
		  struct dtc_gpu_launch *launch)
{
	uint32_t parts;
	CUdeviceptr image;
	int status = dtc_gpu_plan(job, NULL, launch, &parts);

	/* Most types have no tables, and need nothing on the device. */
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	status = dtc_cuda_image_find(job->layout, context, caller, &image);
	if (status)
		return status;
	job->image = image;
	return dtc_gpu_plan(job, NULL, launch, &parts);
}

int dtc_cuda_submission_plan(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch)
{
	const struct dtc_job *job = submission->job;
	struct dtc_gpu_job gpu = describe_job(submission);
	int status = dtc_cuda_plan(&gpu, submission->context, job->caller, launch);

	if (status == DTCONV_ERR_LIMIT)
		status = dtc_cuda_sequence_plan(&gpu, submission->context, job->caller,
						launch);
	return status;
}

void dtc_cuda_set_flag(const struct dtc_cuda_submission *submission,
		       struct dtc_gpu_launch *launch)
{
	const struct dtc_cuda_flags *flags = &submission->context->flags;
	const struct dtc_event *event = submission->event;
	uint64_t word = event->slot * sizeof(uint64_t);

	if (!submission->capturing)
		launch->params.done = (struct dtc_gpu_done){ .flag = flags->device + word,
							     .value = event->value,
							     .counter = flags->counters + word };
}

static enum dtc_counter counter_of(enum dtc_gpu_class class)
{
	static const enum dtc_counter counters[] = {
		[DTC_GPU_CLASS_STRIDED] = DTC_COUNT_LAUNCHES_STRIDED,
		[DTC_GPU_CLASS_PERIODIC] = DTC_COUNT_LAUNCHES_PERIODIC,
		[DTC_GPU_CLASS_INDEXED] = DTC_COUNT_LAUNCHES_INDEXED,
		[DTC_GPU_CLASS_TRANSPOSING] = DTC_COUNT_LAUNCHES_TRANSPOSING,
		[DTC_GPU_CLASS_GENERAL] = DTC_COUNT_LAUNCHES_GENERAL,
		[DTC_GPU_CLASS_MANY] = DTC_COUNT_LAUNCHES_MANY,
		[DTC_GPU_CLASS_TYPED] = DTC_COUNT_LAUNCHES_TYPED,
	};

	return counters[class];
}

bool dtc_cuda_kernel_writes_flag(const struct dtc_gpu_launch *launch)
{
	return launch->grid == 1;
}

/* By the shape's own kernel, if there is one by now. */
static CUresult launch_plain(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch)
{
	CUfunction special = dtc_cuda_special_find(submission, launch);
	void *params[] = { &launch->params };

	CUresult result = submission->driver->LaunchKernel(
		special ? special : submission->context->functions[launch->kernel],
		launch->grid, 1, 1, DTC_GPU_BLOCK, 1, 1, launch->shared_bytes,
		submission->stream, params, NULL);
	if (!result && special)
		dtc_context_count(submission->job->context, DTC_COUNT_LAUNCHES_SPECIAL,
				  1);
	return result;
}

CUresult dtc_cuda_launch(const struct dtc_cuda_submission *submission,
			 struct dtc_gpu_launch *launch, bool flag)
{
	launch->params.done = (struct dtc_gpu_done){ .flag = 0 };
	if (flag)
		dtc_cuda_set_flag(submission, launch);
	CUresult result = CUDA_SUCCESS;
	if (!dtc_cuda_graphs_launch(submission, launch))
		result = launch_plain(submission, launch);
	if (!result)
		dtc_context_count(submission->job->context, counter_of(launch->class), 1);
	return result;
}

/* Without a kernel, for the reason that is counted. */
static int copy_instead(struct dtc_cuda_submission *submission, enum dtc_counter counter,
			const char *reason)
{
	dtc_context_count(submission->job->context, counter, 1);
	return dtc_cuda_submission_end(submission,
				       dtc_cuda_copy_blocks(submission, reason),
				       "the driver's copy", true);
}

/* A side is another device's, and closed to this one. */
static int go_round(struct dtc_cuda_submission *submission)
{
	int status = dtc_cuda_detour(submission);

	if (status == DTCONV_ERR_LIMIT)
		return copy_instead(
			submission, DTC_COUNT_FALLBACKS_LIMITS,
			"the device has no access to another device's memory");
	return status;
}

static int move(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_gpu_launch launch;

	if (!atomic_load_explicit(&submission->context->loaded, memory_order_acquire))
		return copy_instead(submission, DTC_COUNT_FALLBACKS_LOADING,
				    "no kernels are loaded");
	if (!dtc_cuda_reaches(submission->context, job, job->cursor, job->bytes))
		return go_round(submission);
	int status = dtc_cuda_submission_plan(submission, &launch);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return copy_instead(submission, DTC_COUNT_FALLBACKS_LIMITS,
				    "it has more tiles than a launch takes");
	if (status) {
		dtc_cuda_submission_drop(submission);
		return status;
	}
	bool flag = dtc_cuda_kernel_writes_flag(&launch);
	CUresult result = CUDA_SUCCESS;
	if (dtc_cuda_resident_ring(submission, &launch))
		flag = true;
	else
		result = dtc_cuda_launch(submission, &launch, flag);
	if (!result)
		dtc_cursor_seek(job->cursor, job->cursor->position + job->bytes);
	return dtc_cuda_submission_end(submission, result, "cuLaunchKernel", !flag);
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
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.detail = detail,
	.submit = submit,
	.submit_batch = dtc_cuda_many_submit,
	.forget = dtc_cuda_many_forget,
	.test = dtc_cuda_event_test,
};
