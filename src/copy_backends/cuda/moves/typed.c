/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed jobs (conversion, operations) by kernels. Packed memory that the device cannot access goes through the
 * staging ring, in pieces of whole units; such jobs block, because CPU threads do half of the work.
 */
#include "config.h"

#include "copy_backends/typed.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "moves.h"
#include "staging.h"

/* ---- launching ------------------------------------------------------------------------- */

static struct dtc_gpu_typed_job describe_job(const struct dtc_typed_job *typed,
					     const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = &typed->job;
	const struct dtc_cuda_flags *flags = dtc_cuda_flags_of(submission->context);
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
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	struct dtc_gpu_typed_job job = describe_job(typed, submission);
	CUdeviceptr image;

	int status = dtc_gpu_plan_typed(&job, launch);
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	status = dtc_cuda_image_find(job.job.layout, submission->context, &reader,
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
		"%s: the stream is being captured, but a graph launch cannot report "
		"integers that do not fit into a narrower type",
		typed->job.caller);
}

/* Bytes of packed memory are the stream's; the user's are found by the typemap's own. */
static bool is_reached(const struct dtc_typed_job *typed,
		       const struct dtc_cuda_submission *submission)
{
	struct dtc_cursor cursor;

	dtc_cursor_copy(&cursor, typed->job.cursor);
	dtc_cursor_seek(&cursor, typed->begin.native);
	return dtc_cuda_can_access(submission->context, &typed->job, &cursor,
				   typed->end.native - typed->begin.native);
}

static int launch_units(const struct dtc_typed_job *typed, struct dtc_event *event)
{
	struct dtc_cuda_submission submission;
	struct dtc_gpu_launch launch;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend,
					       &typed->job, event);
	if (status)
		return status;
	if (!dtc_cuda_typed_kernels_can_run(submission.context, submission.capturing) ||
	    !is_reached(typed, &submission))
		status = DTCONV_ERR_LIMIT;
	if (!status)
		status = refuse_capture(typed, &submission);
	if (!status)
		status = plan(typed, &submission, &launch);
	if (status) {
		dtc_cuda_submission_drop(&submission);
		return status;
	}
	bool flag = dtc_cuda_kernel_writes_flag(&launch);

	return dtc_cuda_submission_end(&submission,
				       dtc_cuda_launch(&submission, &launch, flag),
				       "cuLaunchKernel", !flag);
}

/* ---- through pinned pieces --------------------------------------------------------------- */

struct staged {
	struct dtc_cuda_pieces pieces;
	const struct dtc_typed_job *job;
	uint64_t piece_units;
};

/* The units of a piece, with its stage as their packed memory. */
static struct dtc_typed_job piece_at(const struct staged *staged, uint64_t number)
{
	struct dtc_typed_job piece = *staged->job;
	uint64_t unit = piece.begin.unit + number * staged->piece_units;
	uint64_t end = DTC_MIN(unit + staged->piece_units, piece.end.unit);

	piece.begin = dtc_gpu_units_at(piece.units, unit);
	piece.end = dtc_gpu_units_at(piece.units, end);
	piece.job.bytes = piece.end.wire - piece.begin.wire;
	piece.job.packed = dtc_cuda_staging_slot(&staged->pieces, number);
	piece.job.packed_memory = dtc_cuda_staging_memory(&staged->pieces);
	piece.job.started = false;
	return piece;
}

static char *packed_of(const struct staged *staged, const struct dtc_typed_job *piece)
{
	return staged->job->job.packed + (piece->begin.wire - staged->job->begin.wire);
}

static int device(struct dtc_cuda_pieces *pieces, uint64_t number, struct dtc_event *event)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct dtc_typed_job piece = piece_at(staged, number);

	return launch_units(&piece, event);
}

static void host(const struct dtc_cuda_pieces *pieces, uint64_t number, uint32_t part)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct dtc_typed_job piece = piece_at(staged, number);
	char *packed = packed_of(staged, &piece);
	bool pack = piece.job.direction == DTC_PACK;

	dtc_cuda_staging_copy(pieces, pack ? packed : piece.job.packed,
			      pack ? piece.job.packed : packed, piece.job.bytes, part);
}

/* Small enough that a few pieces overlap; whole words of packed memory where units are small. */
static uint64_t choose_piece(const struct dtc_typed_job *job)
{
	uint64_t most = DTC_CUDA_STAGING_SLOT_BYTES / job->units->wire_bytes_most;
	uint64_t quarter = (job->end.unit - job->begin.unit) / DTC_CUDA_STAGING_SLOTS;

	return DTC_MIN(DTC_MAX(quarter / 1024 * 1024, UINT64_C(16384)), most);
}

static int submit_staged(const struct dtc_typed_job *job, struct dtc_event *event)
{
	uint64_t piece_units = choose_piece(job);
	struct staged staged = {
		.pieces = { .count = dtc_divide_up(job->end.unit - job->begin.unit,
						    piece_units),
			    .bytes = job->job.bytes,
			    .device_first = job->job.direction == DTC_PACK,
			    .device = device,
			    .host = host },
		.job = job,
		.piece_units = piece_units
	};

	event->backend = NULL;
	return dtc_cuda_staging_move(&job->job, &staged.pieces);
}

static bool is_staged(const struct dtc_job *job)
{
	return job->packed_memory.kind == DTCONV_MEMORY_HOST;
}

const struct dtc_backend_ops *dtc_cuda_typed_backend(const struct dtc_job *job)
{
	return is_staged(job) ? &dtc_cuda_staged_backend : &dtc_cuda_kernel_backend;
}

int dtc_cuda_submit_typed(const struct dtc_typed_job *job, struct dtc_event *event)
{
	if (is_staged(&job->job))
		return submit_staged(job, event);
	return launch_units(job, event);
}
