/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts a job into slices, each with its own cursor. Slices write different bytes, unless the type itself
 * writes bytes twice, so threads need no synchronisation.
 */
#include "config.h"

#include "parallel.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/threads.h"

/* Slices for each thread: a slow thread leaves its share to the others. */
#define SLICES_A_THREAD 4

/* A job in slices: the first may be longer than the others, the last shorter. */
struct split {
	const struct dtc_job *job;
	uint64_t first_bytes;
	uint64_t slice_bytes;
	size_t slices;
	size_t thread_count; /* threads that share them */
};

/* ---- where to cut -------------------------------------------------------------------------- */

/* Packed bytes of iterations that are adjacent in memory, one cache line wide. */
static uint64_t tile_of(const struct dtc_op *loop, const struct dtc_op *strip)
{
	return dtc_tile_width((size_t)strip->unit_bytes) * loop->unit_bytes;
}

/*
 * The largest unit of a transposing loop nest, up to @most bytes, that keeps tiles whole; 0 if there is
 * none. Neighbours in memory are in different iterations there, so a cut inside a tile makes two threads
 * read or write the same cache lines.
 */
static uint64_t transposing_unit(struct dtc_cursor *cursor, uint64_t most)
{
	const struct dtc_op *op = dtc_cursor_root(cursor);
	const struct dtc_op *body = cursor->program->ops;
	uint64_t unit = 0;

	while (op->kind == DTC_OP_LOOP && op->body == body->body + 1) {
		uint64_t next = op->unit_bytes;

		if (body->kind == DTC_OP_STRIP) {
			if (dtc_magnitude(op->stride) >= dtc_magnitude(body->stride))
				return 0;
			next = tile_of(op, body);
			return unit ? unit : next <= most ? next : 0;
		}
		if (!unit && next <= most)
			unit = next;
		op = body++;
	}
	return 0;
}

/* Cut into about @slices slices: between tiles, or else between cache lines of the packed side. */
static void cut(struct split *split, const struct dtc_job *job, uint64_t slices,
		uint64_t cut_bytes)
{
	uint64_t even = (job->bytes - 1) / slices + 1;
	uint64_t unit = transposing_unit(job->cursor, even);
	uint64_t start = job->cursor->position;

	if (!unit) {
		unit = cut_bytes;
		start = (uintptr_t)job->packed;
	}
	split->job = job;
	split->slice_bytes = (even + unit - 1) / unit * unit;
	split->first_bytes = split->slice_bytes + (unit - start % unit) % unit;
	split->slices = 1;
	if (job->bytes > split->first_bytes)
		split->slices += (size_t)((job->bytes - split->first_bytes - 1) /
					  split->slice_bytes) +
				 1;
}

/* ---- moving -------------------------------------------------------------------------------- */

static uint64_t slice_begin(const struct split *split, size_t index)
{
	if (index == 0)
		return 0;
	return DTC_MIN(split->first_bytes + (index - 1) * split->slice_bytes,
		       split->job->bytes);
}

/*
 * The slice of a task. Slices that run at the same time are far apart, because a core prefetches lines
 * that its neighbour writes.
 */
static size_t slice_of(const struct split *split, size_t task)
{
	size_t rank = task % split->thread_count;
	size_t rest = split->slices % split->thread_count;

	return rank * (split->slices / split->thread_count) + DTC_MIN(rank, rest) +
	       task / split->thread_count;
}

static void move_slice(void *arg, size_t task)
{
	const struct split *split = arg;
	size_t index = slice_of(split, task);
	const struct dtc_job *whole = split->job;
	uint64_t begin = slice_begin(split, index);
	struct dtc_cursor cursor;
	struct dtc_job job = *whole;

	job.cursor = &cursor;
	job.packed += begin;
	job.bytes = slice_begin(split, index + 1) - begin;
	dtc_cursor_copy(&cursor, whole->cursor);
	dtc_cursor_seek(&cursor, cursor.position + begin);
	struct dtc_event none;
	int status = dtc_host_backend.submit(&job, &none);
	assert(!status); /* moves between host memories cannot fail */
	(void)status;
}

bool dtc_parallel_move(struct dtconv_context *context, const struct dtc_job *job)
{
	const struct dtc_threads *threads = &context->threads;
	uint64_t shares = job->bytes / threads->share_bytes;
	size_t thread_count = (size_t)DTC_MIN(shares, (uint64_t)threads->most);
	struct split split;

	if (thread_count < 2)
		return false;
	split.thread_count = thread_count;
	cut(&split, job, DTC_MIN(thread_count * SLICES_A_THREAD, (size_t)DTC_THREADS_MAX),
	    threads->cut_bytes);
	if (split.slices < 2 ||
	    !dtc_threads_run(context, thread_count, split.slices, move_slice, &split))
		return false;
	dtc_cursor_seek(job->cursor, job->cursor->position + job->bytes);
	dtc_context_count(context, DTC_COUNT_PARALLEL_MOVES, 1);
	return true;
}
