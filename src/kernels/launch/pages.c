/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans lists of pages: the units that a stretch touches, and the arithmetic of a unit's place.
 */
#include "config.h"

#include "pages.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "magic.h"

/* Shorter stretches have one piece a thread, so that they occupy more multiprocessors. */
#define SHORT_BYTES (UINT64_C(4) << 20)

/* Digits are below: pages of 16 GiB, and as many pages as no device has memory for. */
#define DIGIT_MOST (UINT64_C(1) << 30)

static struct dtc_gpu_digit digit(uint64_t count)
{
	uint8_t shift;
	const uint32_t magic = dtc_gpu_magic((uint32_t)count, &shift);

	return (struct dtc_gpu_digit){ .by = dtc_gpu_divisor(count),
				       .count = (uint32_t)count,
				       .magic = magic,
				       .shift = shift };
}

/* Strides that are never taken have no alignment. */
static bool is_aligned(const struct dtc_gpu_pages_job *job)
{
	uint64_t all = job->pool | job->page_bytes | job->page_stride |
		       (job->packed - job->begin);

	if (job->layer_count > 1)
		all |= (uint64_t)job->layer_stride | job->plane_bytes;
	if (job->part_count > 1)
		all |= (uint64_t)job->part_stride | job->plane_bytes;
	return dtc_gpu_alignment(all) == DTC_GPU_PIECE;
}

/* A page has one piece more if its pieces begin inside an aligned word. */
static uint64_t pieces_of_page(const struct dtc_gpu_pages_job *job, bool aligned)
{
	const uint64_t piece = DTC_GPU_PIECE;

	return (job->page_bytes + (aligned ? 0 : 2 * (piece - 1))) / piece;
}

/* The unit of a byte, whose piece begins at most @before bytes before it. */
static uint64_t unit_of(const struct dtc_gpu_pages_job *job,
			const struct dtc_gpu_pages_params *params, uint64_t position,
			uint64_t before)
{
	const uint64_t at = position % job->plane_bytes;
	const uint64_t entry = position / job->plane_bytes * params->entries.count +
			       at / job->page_bytes;

	return entry * params->pieces.count +
	       (at % job->page_bytes + before) / DTC_GPU_PIECE;
}

static bool is_too_long(const struct dtc_gpu_pages_job *job)
{
	return pieces_of_page(job, false) > DIGIT_MOST ||
	       dtc_divide_up(job->plane_bytes, job->page_bytes) > DIGIT_MOST ||
	       job->part_count > DIGIT_MOST || job->layer_count > DIGIT_MOST;
}

static void set_units(const struct dtc_gpu_pages_job *job,
		      struct dtc_gpu_pages_params *params)
{
	params->aligned = is_aligned(job);
	params->ragged = (job->begin | job->end) % DTC_GPU_PIECE != 0;
	params->pieces = digit(pieces_of_page(job, params->aligned));
	params->entries = digit(dtc_divide_up(job->plane_bytes, job->page_bytes));
	params->parts = digit(job->part_count);
	params->first = unit_of(job, params, job->begin, 0);
	params->last = unit_of(job, params, job->end - 1,
			       params->aligned ? 0 : DTC_GPU_PIECE - 1) +
		       1;
}

/* One block writes the flag itself, which saves more than several blocks gain. */
static uint32_t choose_pieces(uint64_t units)
{
	const uint64_t one_block = (uint64_t)DTC_GPU_PAGE_PIECES * DTC_GPU_BLOCK;

	return units <= one_block || units >= SHORT_BYTES / DTC_GPU_PIECE
		       ? DTC_GPU_PAGE_PIECES
		       : 1;
}

int dtc_gpu_plan_pages(const struct dtc_gpu_pages_job *job, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_pages_params *params = &launch->params.pages;

	if (is_too_long(job))
		return DTCONV_ERR_UNSUPPORTED;
	memset(launch, 0,
	       offsetof(struct dtc_gpu_launch, params) + sizeof(launch->params.pages));
	*params = (struct dtc_gpu_pages_params){
		.pool = job->pool,
		.packed = job->packed - job->begin,
		.table = job->table,
		.fault = job->fault,
		.limit = job->wide ? job->pool_pages
				   : DTC_MIN(job->pool_pages, UINT64_C(1) << 31),
		.stride = job->page_stride,
		.layer_stride = job->layer_stride,
		.part_stride = job->part_stride,
		.page_bytes = job->page_bytes,
		.plane_bytes = job->plane_bytes,
		.begin = job->begin,
		.end = job->end,
		.wide = job->wide,
		.direction = job->direction,
	};
	set_units(job, params);
	params->each = choose_pieces(params->last - params->first);
	const uint64_t blocks = dtc_divide_up(params->last - params->first,
					      (uint64_t)params->each * DTC_GPU_BLOCK);
	if (blocks > DTC_GPU_GRID_MOST)
		return DTCONV_ERR_UNSUPPORTED;
	launch->kernel = DTC_GPU_pages;
	launch->class = DTC_GPU_CLASS_INDEXED;
	launch->grid = (uint32_t)blocks;
	launch->params_bytes = sizeof(*params);
	launch->word = params->aligned ? DTC_GPU_PIECE : 1;
	launch->bytes = job->end - job->begin;
	launch->run_bytes = job->page_bytes;
	return 0;
}
