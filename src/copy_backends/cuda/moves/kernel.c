/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_kernel: one launch moves a job of any shape. Either side may be memory of the device, of a peer that it may
 * access, or pinned memory.
 */
#include "config.h"

#include "moves.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/launch/alarms.h"
#include "copy_backends/cuda/launch/batch.h"
#include "copy_backends/cuda/launch/copies.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_backends/cuda/launch/graphs.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/resident.h"
#include "copy_backends/cuda/launch/special_kernels.h"
#include "copy_backends/cuda/launch/submission.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "via_device.h"

static bool can(const struct dtc_question *question, const char **reason)
{
	if (dtc_question_has_ordinary(question)) {
		*reason = "the device cannot access pageable host memory";
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

/* Assume allocation alignment, and a program and a map that are already on the device. */
#define ALIGNED UINT64_C(0x10000000000)

static void imagine_map(struct dtc_gpu_job *job)
{
	struct dtc_gpu_map_form form;

	job->map_state = DTC_GPU_MAP_ANSWERED;
	if (!dtc_gpu_map_of_layout(job->layout, &form))
		return;
	bool sorted = dtc_gpu_job_map_order(job) != DTC_GPU_MAP_PACKED && !form.ascends;
	job->map = (struct dtc_gpu_map){
		.form = form, .unit = form.unit, .sorted = sorted, .memory = ALIGNED
	};
}

static int imagine(const struct dtc_question *question, struct dtc_gpu_launch *launch,
		   uint32_t *parts)
{
	struct dtc_gpu_job job = { .layout = question->layout,
				   .count = question->count,
				   .user = ALIGNED,
				   .packed = ALIGNED,
				   .end = question->bytes,
				   .direction = question->direction,
				   .image = ALIGNED,
				   .one_block = dtc_cuda_resident_may(question),
				   .map_state = DTC_GPU_MAP_OPEN };
	int status = dtc_gpu_plan(&job, NULL, launch, parts);

	if (status != DTCONV_ERR_AGAIN)
		return status;
	imagine_map(&job);
	return dtc_gpu_plan(&job, NULL, launch, parts);
}

static void put_reason(const struct dtc_gpu_launch *launch, struct dtc_text *text)
{
	dtc_text_printf(text, "general kernel (%s", launch->reason);
	if (launch->map_units)
		dtc_text_printf(text, ": %" PRIu64 " units", launch->map_units);
	dtc_text_puts(text, ")");
}

static void detail(const struct dtc_question *question, struct dtc_text *text)
{
	struct dtc_gpu_launch launch;
	uint32_t parts;

	if (!question->bytes) {
		dtc_text_puts(text, "no data to move");
		return;
	}
	int status = imagine(question, &launch, &parts);
	if (status == DTCONV_ERR_LIMIT)
		dtc_text_printf(text, "batch kernel, %u parts", parts);
	else if (status)
		dtc_text_puts(
			text,
			"more tiles than one launch can have, copies block by block");
	else if (launch.class == DTC_GPU_CLASS_GENERAL)
		put_reason(&launch, text);
	else if (launch.class == DTC_GPU_CLASS_MANY)
		dtc_text_puts(text, "batch kernel");
	else if (dtc_gpu_is_staged(launch.kernel))
		dtc_text_printf(text, "%s kernel, staged bytes",
				dtc_gpu_class_name(launch.class));
	else
		dtc_text_printf(text, "%s kernel, %u-byte words",
				dtc_gpu_class_name(launch.class), launch.word);
	if (!status && dtc_cuda_resident_may(question) && dtc_cuda_resident_does(&launch))
		dtc_text_puts(text, ", by the resident kernel");
	else if (status != DTCONV_ERR_UNSUPPORTED && question->context->devices.graphs &&
		 !question->on_stream)
		dtc_text_puts(text, ", through a graph");
	else if (!status)
		dtc_cuda_special_kernel_explain(question->context, &launch, text);
}

/* ---- submitting ---------------------------------------------------------------------- */

/* Without a kernel, for the reason that is counted. */
static int copy_instead(struct dtc_cuda_submission *submission, enum dtc_counter counter,
			const char *reason)
{
	dtc_context_count(submission->job->context, counter, 1);
	return dtc_cuda_submission_end(submission,
				       dtc_cuda_copy_blocks(submission, reason),
				       "a driver copy", true);
}

/* A side is another device's, and closed to this one. */
static int go_round(struct dtc_cuda_submission *submission)
{
	int status = dtc_cuda_via_device(submission);

	if (status == DTCONV_ERR_LIMIT)
		return copy_instead(
			submission, DTC_COUNT_FALLBACKS_LIMITS,
			"the device has no peer access to the other device's memory");
	return status;
}

static int move(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_gpu_launch launch;

	if (!dtc_cuda_kernels_are_loaded(submission->context))
		return copy_instead(submission, DTC_COUNT_FALLBACKS_LOADING,
				    "the kernels are not loaded");
	if (!dtc_cuda_can_access(submission->context, job, job->cursor, job->bytes))
		return go_round(submission);
	int status = dtc_cuda_submission_plan(submission, &launch);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return copy_instead(submission, DTC_COUNT_FALLBACKS_LIMITS,
				    "it has more tiles than one launch can have");
	if (status) {
		dtc_cuda_submission_drop(submission);
		return status;
	}
	bool flag = dtc_cuda_kernel_writes_flag(&launch);
	CUresult result = CUDA_SUCCESS;
	if (dtc_cuda_resident_ring(submission->context, job, &launch, submission->event))
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

static int submit_batch(struct dtc_batch_job *many, struct dtc_event *event)
{
	return dtc_cuda_batch_submit(&dtc_cuda_kernel_backend, many, event);
}

const struct dtc_backend_ops dtc_cuda_kernel_backend = {
	.name = "cuda_kernel",
	.what = "kernels on a CUDA device",
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.detail = detail,
	.submit = submit,
	.submit_batch = submit_batch,
	.forget = dtc_cuda_batch_forget,
	.test = dtc_cuda_event_test,
	.set_alarm = dtc_cuda_event_set_alarm,
};
