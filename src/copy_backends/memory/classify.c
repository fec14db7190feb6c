/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classifies memory with as few queries as possible: one if the buffer is in one allocation, else one
 * for each allocation.
 */
#include "config.h"

#include "classify.h"

#include "base/base.h"
#include "datatype/runs.h"

static bool is_same(const struct dtc_memory *a, const struct dtc_memory *b)
{
	return a->kind == b->kind && a->device == b->device && a->shift == b->shift &&
	       a->denied == b->denied && a->read_only == b->read_only;
}

/*
 * The ends of host allocations are unknown, so assume that bytes that begin in host memory stay there.
 * The ends of device allocations are known; query the memory behind them.
 */
uint64_t dtc_classify_contiguous(struct dtconv_context *context, const char *start,
				 uint64_t bytes, struct dtc_memory *memory)
{
	uintptr_t first = (uintptr_t)start;
	uintptr_t end = first + (uintptr_t)bytes;

	dtc_memory_query(context, start, memory);
	uintptr_t reached = memory->end;
	while (memory->kind != DTCONV_MEMORY_HOST && reached > first && reached < end) {
		struct dtc_memory next;

		dtc_memory_query(context, (const void *)reached, &next);
		if (!is_same(&next, memory) || next.end <= reached)
			break;
		reached = next.end;
		memory->end = reached;
		memory->several = true;
	}
	if (memory->kind == DTCONV_MEMORY_HOST || reached >= end || reached <= first)
		return bytes;
	return reached - first;
}

/* ---- scattered spans --------------------------------------------------------------------- */

/* Whether a run is in memory like @memory. @last caches the last query. */
static bool lies_in(struct dtconv_context *context, uintptr_t low, uint64_t bytes,
		    const struct dtc_memory *memory, struct dtc_memory *last)
{
	if (dtc_memory_holds(last, low, low + (uintptr_t)bytes))
		return is_same(last, memory);
	return dtc_classify_contiguous(context, (const char *)low, bytes, last) ==
		       bytes &&
	       is_same(last, memory);
}

static uint64_t next_by_runs(struct dtconv_context *context,
			     const struct dtc_user_buffer *buffer, uint64_t bytes,
			     struct dtc_memory *memory)
{
	struct dtc_cursor cursor;
	struct dtc_runs runs;
	struct dtc_run run;
	uint64_t like = 0;

	dtc_cursor_copy(&cursor, buffer->cursor);
	dtc_runs_init(&runs, &cursor, bytes);
	struct dtc_memory last = dtc_memory_host();
	while (dtc_runs_next(&runs, &run)) {
		uintptr_t low = (uintptr_t)buffer->user + (uintptr_t)run.disp;

		if (!like) {
			like = dtc_classify_contiguous(context, (const char *)low,
						       run.bytes, memory);
			last = *memory;
			if (like < run.bytes)
				break;
			continue;
		}
		if (!lies_in(context, low, run.bytes, memory, &last))
			break;
		like += run.bytes;
	}
	memory->base = memory->end = 0;
	return like;
}

/* ------------------------------------------------------------------------------------------ */

uint64_t dtc_classify_stream(struct dtconv_context *context,
			     const struct dtc_user_buffer *buffer, uint64_t bytes,
			     struct dtc_memory *memory)
{
	const struct dtc_cursor *cursor = buffer->cursor;
	intptr_t far = (intptr_t)(cursor->count - 1) * (intptr_t)cursor->layout->extent;
	uintptr_t low = (uintptr_t)buffer->user + (uintptr_t)buffer->bounds->true_lb +
			(uintptr_t)DTC_MIN(far, 0);
	uintptr_t high = (uintptr_t)buffer->user + (uintptr_t)buffer->bounds->true_ub +
			 (uintptr_t)DTC_MAX(far, 0);

	dtc_memory_query(context, (const void *)low, memory);
	if (memory->kind == DTCONV_MEMORY_HOST ? buffer->user != NULL
					       : dtc_memory_holds(memory, low, high))
		return bytes;
	return next_by_runs(context, buffer, bytes, memory);
}
