/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as the driver's copies: one call for a run, one for a strip of runs.
 */
#include "config.h"

#include "copies.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "base/context.h"
#include "copy_backends/plan_log.h"
#include "datatype/runs.h"

struct copies {
	const struct dtc_cuda_driver *driver;
	CUstream stream;
	CUdeviceptr user;
	CUdeviceptr packed;
	bool pack;
	bool rows;        /* the driver's copies of rows may be used */
	uint64_t *blocks; /* copied one by one so far */
};

static CUresult copy_run(const struct copies *copies, int64_t disp, uint64_t offset,
			 uint64_t bytes)
{
	CUdeviceptr user = copies->user + (CUdeviceptr)disp;
	CUdeviceptr packed = copies->packed + offset;

	return copies->driver->MemcpyAsync(copies->pack ? packed : user,
					   copies->pack ? user : packed, (size_t)bytes,
					   copies->stream);
}

/* The longest distance of rows that every device takes. */
#define PITCH_MAX INT64_C(0x40000000)

static bool is_rows(const struct copies *copies, const struct dtc_op *op)
{
	return copies->rows && op->kind == DTC_OP_STRIP &&
	       op->stride >= (int64_t)op->unit_bytes && op->stride <= PITCH_MAX;
}

/* Whole runs of a strip, as the rows of a matrix. */
static CUresult copy_rows(const struct copies *copies, const struct dtc_op *op,
			  int64_t disp, uint64_t offset, uint64_t rows)
{
	CUdeviceptr user = copies->user + (CUdeviceptr)disp;
	CUdeviceptr packed = copies->packed + offset;
	size_t block = (size_t)op->unit_bytes, stride = (size_t)op->stride;
	const CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = copies->pack ? user : packed,
		.srcPitch = copies->pack ? stride : block,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = copies->pack ? packed : user,
		.dstPitch = copies->pack ? block : stride,
		.WidthInBytes = block,
		.Height = (size_t)rows,
	};

	return copies->driver->Memcpy2DAsync(&copy, copies->stream);
}

/* The whole runs in the middle of a piece of a strip; its ends may be cut. */
static CUresult copy_strip(const struct copies *copies, const struct dtc_piece *piece,
			   uint64_t offset)
{
	const struct dtc_op *op = piece->op;
	uint64_t head =
		(op->unit_bytes - piece->offset % op->unit_bytes) % op->unit_bytes;
	uint64_t bytes = piece->bytes;
	uint64_t run = piece->offset / op->unit_bytes;
	int64_t disp = piece->base + op->disp + (int64_t)run * op->stride;
	CUresult result = CUDA_SUCCESS;

	head = DTC_MIN(head, bytes);
	if (head) {
		result = copy_run(copies,
				  disp + (int64_t)(piece->offset % op->unit_bytes),
				  offset, head);
		disp += op->stride;
	}
	uint64_t rows = (bytes - head) / op->unit_bytes;
	uint64_t tail = (bytes - head) % op->unit_bytes;
	if (!result && rows)
		result = copy_rows(copies, op, disp, offset + head, rows);
	if (!result && tail)
		result = copy_run(copies, disp + (int64_t)rows * op->stride,
				  offset + bytes - tail, tail);
	return result;
}

static CUresult copy_runs(const struct copies *copies, struct dtc_cursor *cursor,
			  uint64_t offset, uint64_t bytes)
{
	struct dtc_runs runs;
	struct dtc_run run;
	CUresult result = CUDA_SUCCESS;

	dtc_runs_init(&runs, cursor, bytes);
	while (!result && dtc_runs_next(&runs, &run)) {
		result = copy_run(copies, run.disp, offset, run.bytes);
		offset += run.bytes;
		++*copies->blocks;
	}
	return result;
}

static CUresult copy_stream(const struct copies *copies, struct dtc_cursor *cursor,
			    uint64_t bytes)
{
	uint64_t start = cursor->position, offset = 0;
	struct dtc_piece piece;
	CUresult result = CUDA_SUCCESS;

	while (!result && offset < bytes &&
	       dtc_cursor_next(cursor, bytes - offset, false, &piece)) {
		if (is_rows(copies, piece.op)) {
			result = copy_strip(copies, &piece, offset);
		} else {
			/* The runs are found by a walk of their own. */
			dtc_cursor_seek(cursor, start + offset);
			result = copy_runs(copies, cursor, offset, piece.bytes);
		}
		offset += piece.bytes;
	}
	return result;
}

/* So many copies of blocks are worth a line in the log. */
#define MANY_BLOCKS 64

static void tell_blocks(const struct dtc_job *job, uint64_t blocks, const char *reason)
{
	char what[60];

	if (blocks > 1)
		dtc_context_count(job->context, DTC_COUNT_FALLBACKS_BLOCKS, 1);
	if (blocks < MANY_BLOCKS)
		return;
	snprintf(what, sizeof(what), "%" PRIu64 " driver copies, one per block", blocks);
	dtc_plan_warn_slow(job, what, reason);
}

/* On two H200 rows into another device's mapping were refused where a run was taken. */
static bool is_far_mapping(const struct dtc_job *job)
{
	return job->packed_memory.mapped &&
	       dtc_memory_is_between(&job->user_memory, &job->packed_memory);
}

/*
 * Between two devices the current context is made the stream's: what one of them has no access to, the
 * driver copies for the other one's context only. Whether there is something to leave.
 */
static bool enter(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;

	return dtc_memory_is_between(&job->user_memory, &job->packed_memory) &&
	       !submission->driver->CtxPushCurrent(submission->context->handle);
}

static void leave(const struct dtc_cuda_submission *submission, bool entered)
{
	CUcontext popped;

	if (entered)
		submission->driver->CtxPopCurrent(&popped);
}

CUresult dtc_cuda_copy_blocks(const struct dtc_cuda_submission *submission,
			      const char *reason)
{
	const struct dtc_job *job = submission->job;
	uint64_t blocks = 0;
	/* The driver finds out by itself which side is whose, and so takes the process's addresses. */
	const struct copies copies = {
		.driver = submission->driver,
		.stream = submission->stream,
		.user = (CUdeviceptr)(uintptr_t)job->user,
		.packed = (CUdeviceptr)(uintptr_t)job->packed,
		.pack = job->direction == DTC_PACK,
		/* Where rows lie in several mappings, or round a hole, the driver refuses them. */
		.rows = !job->user_memory.mapped && !is_far_mapping(job),
		.blocks = &blocks,
	};

	bool entered = enter(submission);
	CUresult result = copy_stream(&copies, job->cursor, job->bytes);
	leave(submission, entered);
	tell_blocks(job, blocks, reason);
	return result;
}

int dtc_cuda_copy_row(const struct dtc_backend_ops *backend, const struct dtc_job *job,
		      char *stage, struct dtc_event *event)
{
	struct dtc_cuda_submission submission;
	bool pack = job->direction == DTC_PACK;

	int status = dtc_cuda_submission_begin(&submission, backend, job, event);
	if (status)
		return status;
	bool entered = enter(&submission);
	CUresult result = submission.driver->MemcpyAsync(
		(CUdeviceptr)(uintptr_t)(pack ? job->packed : stage),
		(CUdeviceptr)(uintptr_t)(pack ? stage : job->packed), (size_t)job->bytes,
		submission.stream);
	leave(&submission, entered);
	return dtc_cuda_submission_end(&submission, result, "cuMemcpyAsync", true);
}
