/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed jobs by kernels. Packed memory that the device does not see is reached through the pinned
 * pieces, of whole units each; that blocks, because the processor's half has nobody else to do it.
 */
#include "config.h"

#include "copy_backends/typed.h"

#include <string.h>

#include "context.h"
#include "cuda.h"
#include "image.h"
#include "log.h"
#include "state.h"
#include "submit.h"

/* ---- launching ------------------------------------------------------------------------- */

static struct dtc_gpu_typed_job describe_job(const struct dtc_typed_job *typed,
					     const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = &typed->job;
	const struct dtc_cuda_flags *flags = &submission->context->flags;
	uint64_t fault = DTC_CUDA_FLAGS + submission->event->slot;

	return (struct dtc_gpu_typed_job){
		.job = { .layout = job->cursor->layout,
			 .count = job->cursor->count,
			 .user = (uint64_t)(uintptr_t)job->user +
				 (uint64_t)job->user_memory.shift,
			 .packed = (uint64_t)(uintptr_t)job->packed +
				   (uint64_t)job->packed_memory.shift,
			 .begin = typed->begin.native,
			 .end = typed->end.native,
			 .direction = job->direction },
		.units = typed->units,
		.begin = typed->begin,
		.end = typed->end,
		.fault = flags->device + fault * sizeof(uint64_t),
	};
}

/* Without the program on the device, if that will do. */
static int plan(const struct dtc_typed_job *typed,
		const struct dtc_cuda_submission *submission,
		struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_typed_job job = describe_job(typed, submission);
	CUdeviceptr image;

	int status = dtc_gpu_plan_typed(&job, launch);
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	status = dtc_cuda_image_find(job.job.layout, submission->context,
				     typed->job.caller, &image);
	if (status)
		return status;
	job.job.image = image;
	return dtc_gpu_plan_typed(&job, launch);
}

/* A graph that is replayed has nobody to report a number to that does not fit. */
static int refuse_capture(const struct dtc_typed_job *typed,
			  const struct dtc_cuda_submission *submission)
{
	if (!submission->capturing || !typed->units->narrows[typed->job.direction])
		return 0;
	return DTC_FAIL(
		typed->job.context, DTCONV_ERR_UNSUPPORTED,
		"%s: the stream is being captured, and integers that are made narrower "
		"may not fit, which a graph reports to nobody",
		typed->job.caller);
}

static int launch_units(const struct dtc_typed_job *typed, struct dtc_event *event)
{
	struct dtc_cuda_submission submission;
	struct dtc_gpu_launch launch;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend,
					       &typed->job, event);
	if (status)
		return status;
	if (!atomic_load_explicit(&submission.context->loaded, memory_order_acquire))
		status = DTCONV_ERR_LIMIT;
	if (!status)
		status = refuse_capture(typed, &submission);
	if (!status)
		status = plan(typed, &submission, &launch);
	if (status) {
		dtc_cuda_submission_drop(&submission);
		return status;
	}
	return dtc_cuda_submission_end(&submission, dtc_cuda_launch(&submission, &launch, true),
				       "cuLaunchKernel", false);
}

/* ---- through pinned pieces --------------------------------------------------------------- */

struct staged {
	const struct dtc_typed_job *job;
	struct dtc_cuda_context *context;
	uint64_t piece_units;
	uint64_t begun, finished; /* units */
	struct dtc_event events[DTC_CUDA_STAGES];
};

static uint64_t slot_of(const struct staged *staged, uint64_t unit)
{
	return (unit - staged->job->begin.unit) / staged->piece_units % DTC_CUDA_STAGES;
}

static char *stage_of(const struct staged *staged, uint64_t unit)
{
	return staged->context->stages + slot_of(staged, unit) * DTC_CUDA_STAGE_BYTES;
}

/* The units of the piece that begins with @unit, with the stage as their packed memory. */
static struct dtc_typed_job piece_of(const struct staged *staged, uint64_t unit)
{
	struct dtc_typed_job piece = *staged->job;
	const struct dtc_cuda_context *context = staged->context;
	uint64_t end = DTC_MIN(unit + staged->piece_units, staged->job->end.unit);

	piece.begin = dtc_gpu_units_at(piece.units, unit);
	piece.end = dtc_gpu_units_at(piece.units, end);
	piece.job.bytes = piece.end.wire - piece.begin.wire;
	piece.job.packed = stage_of(staged, unit);
	piece.job.packed_memory = (struct dtc_memory){
		.kind = DTCONV_MEMORY_PINNED,
		.device = context->device,
		.owner = context->handle,
		.shift = (intptr_t)(context->device_stages - (uintptr_t)context->stages),
	};
	return piece;
}

static char *packed_of(const struct staged *staged, const struct dtc_typed_job *piece)
{
	return staged->job->job.packed + (piece->begin.wire - staged->job->begin.wire);
}

static int begin_piece(struct staged *staged)
{
	struct dtc_typed_job piece = piece_of(staged, staged->begun);

	if (piece.job.direction == DTC_UNPACK)
		memcpy(piece.job.packed, packed_of(staged, &piece),
		       (size_t)piece.job.bytes);
	int status =
		launch_units(&piece, &staged->events[slot_of(staged, staged->begun)]);
	if (!status)
		staged->begun = piece.end.unit;
	return status;
}

/* Wait for a slot's kernel; none of it is in flight after, whatever comes of it. */
static int await_slot(struct staged *staged, uint64_t slot)
{
	struct dtc_event *event = &staged->events[slot];

	if (!event->backend)
		return 0;
	event->backend = NULL;
	return dtc_cuda_event_wait(event);
}

static int finish_piece(struct staged *staged)
{
	struct dtc_typed_job piece = piece_of(staged, staged->finished);
	int status = await_slot(staged, slot_of(staged, staged->finished));

	if (!status && piece.job.direction == DTC_PACK)
		memcpy(packed_of(staged, &piece), piece.job.packed,
		       (size_t)piece.job.bytes);
	staged->finished = piece.end.unit;
	return status;
}

/* All pieces, some of them under way at once; after a failure those are waited for. */
static int move_pieces(struct staged *staged)
{
	uint64_t ahead = DTC_CUDA_STAGES * staged->piece_units,
		 end = staged->job->end.unit;
	int status = 0;

	while (!status && staged->finished < end) {
		while (!status && staged->begun < end &&
		       staged->begun - staged->finished < ahead)
			status = begin_piece(staged);
		if (!status)
			status = finish_piece(staged);
	}
	for (uint64_t slot = 0; slot < DTC_CUDA_STAGES; slot++)
		(void)await_slot(staged, slot);
	return status;
}

/* Small enough that a few pieces overlap; whole words of packed memory where units are small. */
static uint64_t choose_piece(const struct dtc_typed_job *job)
{
	uint64_t most = DTC_CUDA_STAGE_BYTES / job->units->wire_bytes_most;
	uint64_t quarter = (job->end.unit - job->begin.unit) / DTC_CUDA_STAGES;

	return DTC_MIN(DTC_MAX(quarter / 1024 * 1024, UINT64_C(16384)), most);
}

static int submit_staged(const struct dtc_typed_job *job, struct dtc_event *event)
{
	struct dtc_cuda *cuda = dtc_cuda_of(job->job.context);
	struct staged staged = { .job = job,
				 .piece_units = choose_piece(job),
				 .begun = job->begin.unit,
				 .finished = job->begin.unit };

	event->backend = NULL;
	int status = dtc_cuda_submission_refuse_capture(&job->job);
	if (!status)
		status = dtc_cuda_context_choose(cuda, &job->job, &staged.context);
	if (status)
		return status;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	pthread_mutex_lock(&staged.context->staging);
	status = dtc_cuda_stages_make(staged.context, job->job.caller);
	if (!status)
		status = move_pieces(&staged);
	pthread_mutex_unlock(&staged.context->staging);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}

int dtc_cuda_submit_typed(const struct dtc_typed_job *job, struct dtc_event *event)
{
	if (job->job.packed_memory.kind == DTCONV_MEMORY_HOST)
		return submit_staged(job, event);
	return launch_units(job, event);
}
