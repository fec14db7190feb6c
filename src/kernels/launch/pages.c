/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans lists of pages: the units that a stretch touches, and the arithmetic of a unit's place on either side.
 */
#include "config.h"

#include "pages.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "kernels/cpu/page_numbers.h"
#include "magic.h"

/* Shorter stretches have one unit a thread, so that they occupy more multiprocessors. */
#define SHORT_BYTES (UINT64_C(4) << 20)

/* Digits are below: pages of 16 GiB, and as many pages as no device has memory for. */
#define DIGIT_MOST (UINT64_C(1) << 30)

/* ---- limits ---------------------------------------------------------------------------------- */

static bool is_list_too_long(const struct dtc_gpu_pages_job *job,
			     const struct dtc_gpu_page_list *list)
{
	return list->page_bytes + 2 * (DTC_GPU_PIECE - 1) >=
		       (DIGIT_MOST + 1) * DTC_GPU_PIECE ||
	       list->page_bytes / list->row_bytes > DIGIT_MOST ||
	       dtc_divide_up(job->plane_bytes, list->page_bytes) > DIGIT_MOST;
}

static bool is_too_long(const struct dtc_gpu_pages_job *job)
{
	return is_list_too_long(job, &job->list) ||
	       (job->to && is_list_too_long(job, job->to)) ||
	       job->part_count > DIGIT_MOST || job->layer_count > DIGIT_MOST;
}

/* ---- alignment ------------------------------------------------------------------------------- */

/* All that places in the list are multiples of. Strides that are never taken have no alignment. */
static uint64_t bits_of_list(const struct dtc_gpu_pages_job *job,
			     const struct dtc_gpu_page_list *list)
{
	uint64_t all = list->pool | list->row_bytes | list->page_stride;

	if (list->page_bytes > list->row_bytes)
		all |= list->row_stride;
	if (job->layer_count > 1)
		all |= (uint64_t)list->layer_stride;
	if (job->part_count > 1)
		all |= (uint64_t)list->part_stride;
	return all;
}

static bool is_aligned(const struct dtc_gpu_pages_job *job)
{
	uint64_t all = bits_of_list(job, &job->list);

	all |= job->to ? bits_of_list(job, job->to) : job->packed - job->begin;
	if (job->layer_count > 1 || job->part_count > 1)
		all |= job->plane_bytes;
	return dtc_gpu_alignment(all) == DTC_GPU_PIECE;
}

/* ---- sides ----------------------------------------------------------------------------------- */

static struct dtc_gpu_digit digit(uint64_t count)
{
	uint8_t shift = 0;
	const uint32_t magic =
		count <= DIGIT_MOST ? dtc_gpu_magic((uint32_t)count, &shift) : 0;

	return (struct dtc_gpu_digit){ .by = dtc_gpu_divisor(count),
				       .count = (uint32_t)count,
				       .magic = magic,
				       .shift = shift };
}

static uint32_t form_of(const struct dtc_gpu_page_list *list)
{
	if (list->given)
		return DTC_GPU_PAGES_GIVEN;
	return list->wide ? DTC_GPU_PAGES_64 : DTC_GPU_PAGES_32;
}

static struct dtc_gpu_page_side side_of_list(const struct dtc_gpu_page_list *list)
{
	return (struct dtc_gpu_page_side){
		.memory = list->pool,
		.table = list->table,
		.fault = list->fault,
		.bias = list->fault_bias,
		.limit = list->wide ? list->pool_pages
				    : DTC_MIN(list->pool_pages, UINT64_C(1) << 31),
		.stride = list->page_stride,
		.layer_stride = list->layer_stride,
		.part_stride = list->part_stride,
		.row_bytes = list->row_bytes,
		.row_stride = list->row_stride,
		.by_row = dtc_gpu_divisor(list->row_bytes),
		.words = digit(dtc_divide_up(list->row_bytes, DTC_GPU_PIECE)),
		.rows = digit(list->page_bytes / list->row_bytes),
		.form = form_of(list),
	};
}

/* Take the numbers of a side along, behind @used others. */
static uint32_t give_numbers(const struct dtc_gpu_page_list *list, uint32_t used,
			     struct dtc_gpu_page_side *side, uint32_t numbers[])
{
	if (!list->given)
		return used;
	side->given = used - (uint32_t)list->given_first;
	(void)dtc_page_numbers_narrow(list->given, list->wide, list->given_count,
				      list->pool_pages, numbers + used);
	return used + (uint32_t)list->given_count;
}

static void set_sides(const struct dtc_gpu_pages_job *job,
		      struct dtc_gpu_pages_params *params)
{
	const struct dtc_gpu_page_side packed = { .memory = job->packed - job->begin };
	const struct dtc_gpu_page_side list = side_of_list(&job->list);
	const bool packs = job->direction == DTC_PACK;

	params->sides[0] = job->to || packs ? list : packed;
	params->sides[1] = job->to ? side_of_list(job->to) : packs ? packed : list;
	const uint32_t used = give_numbers(
		&job->list, 0, &params->sides[!job->to && !packs], params->numbers);
	if (job->to)
		(void)give_numbers(job->to, used, &params->sides[1], params->numbers);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* The unit of a byte, whose piece begins at most @before bytes before it. */
static uint64_t unit_of(const struct dtc_gpu_pages_job *job,
			const struct dtc_gpu_pages_params *params, uint64_t position,
			uint64_t before)
{
	return position / job->plane_bytes * params->plane_words +
	       (position % job->plane_bytes + before) / DTC_GPU_PIECE;
}

/* If pieces begin inside a word, the first one of a plane is shorter, and there is one more. */
static void set_units(const struct dtc_gpu_pages_job *job,
		      struct dtc_gpu_pages_params *params)
{
	params->aligned = is_aligned(job);
	params->ragged = (job->begin | job->end) % DTC_GPU_PIECE != 0;
	const uint64_t before = params->aligned ? 0 : DTC_GPU_PIECE - 1;

	params->plane_words = (job->plane_bytes - 1 + before) / DTC_GPU_PIECE + 1;
	params->planes = digit(params->plane_words);
	params->parts = digit(job->part_count);
	params->first = unit_of(job, params, job->begin, 0);
	params->last = unit_of(job, params, job->end - 1, before) + 1;
}

/* One block writes the flag itself, which saves more than several blocks gain. */
#define ONE_BLOCK_UNITS (UINT64_C(1) * DTC_GPU_PAGE_PIECES * DTC_GPU_BLOCK)

static bool is_short(uint64_t units)
{
	return units > ONE_BLOCK_UNITS && units < SHORT_BYTES / DTC_GPU_PIECE;
}

/*
 * Whether a thread moves one whole word, which it finds by 32-bit arithmetic. Between lists two numbers are loaded before a
 * word is, which more threads hide better than more words of each.
 */
static bool has_single_words(const struct dtc_gpu_pages_params *params, bool is_copy)
{
	const uint64_t units = params->last - params->first;

	return params->aligned && !params->ragged && params->last <= INT32_MAX &&
	       params->plane_words <= DIGIT_MOST &&
	       (is_short(units) || (is_copy && units > ONE_BLOCK_UNITS));
}

int dtc_gpu_plan_pages(const struct dtc_gpu_pages_job *job, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_pages_params *params = &launch->params.pages;

	if (is_too_long(job))
		return DTCONV_ERR_UNSUPPORTED;
	memset(launch, 0,
	       offsetof(struct dtc_gpu_launch, params) + sizeof(launch->params.pages));
	params->plane_bytes = job->plane_bytes;
	params->begin = job->begin;
	params->end = job->end;
	set_sides(job, params);
	set_units(job, params);
	const bool single = has_single_words(params, job->to);
	params->each = single || is_short(params->last - params->first)
			       ? 1
			       : DTC_GPU_PAGE_PIECES;
	const uint64_t blocks = dtc_divide_up(params->last - params->first,
					      (uint64_t)params->each * DTC_GPU_BLOCK);
	if (blocks > DTC_GPU_GRID_MOST)
		return DTCONV_ERR_UNSUPPORTED;
	launch->kernel = single ? DTC_GPU_page_words : DTC_GPU_pages;
	launch->class = DTC_GPU_CLASS_INDEXED;
	launch->grid = (uint32_t)blocks;
	launch->params_bytes = sizeof(*params);
	launch->word = params->aligned ? DTC_GPU_PIECE : 1;
	launch->bytes = job->end - job->begin;
	launch->run_bytes = job->list.row_bytes;
	return 0;
}
