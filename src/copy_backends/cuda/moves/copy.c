/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_copy: the driver's copies, one call for a run or a strip of runs. Right for long runs; for many short ones
 * it is the fallback where no kernel can run.
 */
#include "config.h"

#include "moves.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "copy_backends/cuda/launch/alarms.h"
#include "copy_backends/cuda/launch/copies.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_backends/cuda/launch/submission.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "copy_backends/plan_log.h"
#include "datatype/runs.h"
#include "via_device.h"

/* ---- planning -------------------------------------------------------------------------- */

/* Copies from host to host would be synchronous in the driver. */
static bool can(const struct dtc_question *question, const char **reason)
{
	if (question->user_kind > DTCONV_MEMORY_PINNED ||
	    question->packed_kind > DTCONV_MEMORY_PINNED)
		return true;
	*reason = "neither side is device memory";
	return false;
}

/* Whether it is one strip, whose rows the driver copies in one call. */
static bool is_strip(const struct dtc_question *question)
{
	const struct dtc_program *program = question->layout->program;

	return !question->is_run && !question->is_mapped && question->count == 1 &&
	       program->op_count == 1 && program->ops[0].kind == DTC_OP_STRIP;
}

/* A fragment has its share of the whole stream's calls. */
static double calls_of(const struct dtc_question *question)
{
	const struct dtc_layout *layout = question->layout;

	if (dtc_cuda_is_run(question) || is_strip(question) || !layout->size)
		return 1;
	double each = (double)(question->is_mapped ? dtc_layout_runs(layout)
						   : dtc_layout_strips(layout));
	double calls = each * (double)question->bytes / (double)layout->size;
	return DTC_MAX(calls, 1.0);
}

static double rate_of(const struct dtc_question *question)
{
	if (dtc_cuda_is_run(question))
		return dtc_cuda_copy_rate(question);
	return dtc_cuda_rows_rate(question, dtc_cuda_run_bytes(question));
}

/*
 * For pageable memory the driver copies inside the call, once the stream reaches it, so a started job would block in
 * submit. The penalty is longer than any job takes: such a job comes here only if no other backend may move it.
 */
#define WAITING_NS 1e12

static bool waits_in_call(const struct dtc_question *question)
{
	return question->started && question->on_stream &&
	       dtc_question_has_ordinary(question);
}

static double estimate(const struct dtc_question *question)
{
	return dtc_cuda_copies_ns(question, calls_of(question)) +
	       (double)question->bytes / rate_of(question) +
	       (waits_in_call(question) ? WAITING_NS : 0);
}

static void detail(const struct dtc_question *question, struct dtc_text *text)
{
	if (dtc_cuda_is_run(question))
		dtc_text_puts(text, "one copy");
	else if (is_strip(question))
		dtc_text_printf(text, "one copy of rows of %" PRIu64 " bytes",
				question->layout->program->ops[0].unit_bytes);
	else
		dtc_text_printf(text, "%.0f copies, one for each block or strip",
				calls_of(question));
}

/* ---- submitting ---------------------------------------------------------------------- */

/*
 * Of two devices the one that has the bytes sends them, where it is free to: 1 MiB took 11.5 us from one
 * H200 to the other, and 21.5 when it was fetched.
 */
static bool is_sent(const struct dtc_job *job)
{
	return job->direction == DTC_UNPACK && !dtc_job_is_ordered(job) &&
	       job->user_memory.owner && job->packed_memory.owner &&
	       dtc_memory_is_between(&job->user_memory, &job->packed_memory);
}

/*
 * A graph would copy pageable memory each time it is launched, when the caller's buffer, or a buffer of ours, may no
 * longer exist.
 */
static int check_capture(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	int status = 0;

	if (submission->capturing && (job->user_memory.kind == DTCONV_MEMORY_HOST ||
				      job->packed_memory.kind == DTCONV_MEMORY_HOST))
		status = dtc_cuda_submission_refuse_capture(job);
	if (status)
		dtc_cuda_submission_drop(submission);
	return status;
}

static int submit(const struct dtc_job *given, struct dtc_event *event)
{
	struct dtc_job sent = *given;
	const struct dtc_job *job = &sent;
	struct dtc_cuda_submission submission;

	sent.at_packed |= is_sent(given);
	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_copy_backend, job,
					       event);
	if (!status)
		status = check_capture(&submission);
	if (status)
		return status;
	if (dtc_cuda_is_closed(&submission))
		return dtc_cuda_copy_via_device(&submission);
	return dtc_cuda_submission_end(
		&submission, dtc_cuda_copy_blocks(&submission, "no kernel was chosen"),
		"a driver copy", true);
}

const struct dtc_backend_ops dtc_cuda_copy_backend = {
	.name = "cuda_copy",
	.what = "copies by the CUDA driver",
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.detail = detail,
	.submit = submit,
	.test = dtc_cuda_event_test,
	.set_alarm = dtc_cuda_event_set_alarm,
};
