/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages in memory that the host accesses: packs, unpacks, and copies from one list's pages to another's, with the
 * context's threads if that is faster. The tables have been checked.
 */
#include "config.h"

#include "paging.h"

#include "base/base.h"
#include "base/context.h"
#include "base/threads.h"
#include "convertor/host_move.h"
#include "convertor/parallel.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/plan.h"
#include "kernels/cpu/kernels.h"

/* The size of a core's own caches: beyond it, pages are prefetched. */
#define PREFETCH_BYTES (1 << 20)

/* Shorter rows are not written with non-temporal stores, nor are shorter calls. */
#define STREAM_ROW_BYTES  1024
#define STREAM_CALL_BYTES 32768

/* Slices for each thread: a slow thread leaves its share to the others. */
#define SLICES_A_THREAD 4

/* ---- places ---------------------------------------------------------------------------- */

static char *plane_of(const struct dtc_paging *paging, size_t plane)
{
	const struct dtconv_pages *pages = &paging->pages;
	const ptrdiff_t layer = (ptrdiff_t)(plane / pages->part_count);
	const ptrdiff_t part = (ptrdiff_t)(plane % pages->part_count);

	return (char *)((uintptr_t)paging->pool + (uintptr_t)pages->offset +
			(uintptr_t)(layer * pages->layer_stride) +
			(uintptr_t)(part * pages->part_stride));
}

char *dtc_paging_page(const struct dtc_paging *paging, uint64_t number)
{
	return (char *)((uintptr_t)plane_of(paging,
					    paging->position / paging->pages.bytes) +
			(uintptr_t)(number * paging->pages.page_stride));
}

/* ---- moving ---------------------------------------------------------------------------- */

static char *page_in(const struct dtc_paging *paging, char *plane, size_t entry)
{
	return (char *)((uintptr_t)plane +
			(uintptr_t)(dtc_paging_number(&paging->pages, entry) *
				    paging->pages.page_stride));
}

static void move_run(const struct dtc_paging *paging, char *user, char *packed,
		     size_t bytes)
{
	const struct dtc_cpu_kernels *kernels = paging->context->cpu;

	if (paging->direction == DTC_PACK)
		dtc_cpu_run(kernels, packed, user, bytes);
	else
		dtc_cpu_run(kernels, user, packed, bytes);
}

static void move_rows(const struct dtc_paging *paging, char *user, char *packed,
		      size_t rows)
{
	const struct dtc_grid_side one = { .inner = (ptrdiff_t)paging->pages.row_stride };
	const struct dtc_grid_side other = { .inner =
						     (ptrdiff_t)paging->pages.row_bytes };
	const bool packs = paging->direction == DTC_PACK;
	const struct dtc_grid grid = {
		.to = packs ? packed : user,
		.from = packs ? user : packed,
		.to_strides = packs ? other : one,
		.from_strides = packs ? one : other,
		.outer = 1,
		.inner = rows,
		.block = paging->pages.row_bytes,
		.stream = paging->stream,
	};

	paging->context->cpu->grid(&grid);
}

/* Bytes [inside, inside + bytes) of one page. */
static void move_piece(const struct dtc_paging *paging, char *plane, size_t entry,
		       size_t inside, char *packed, size_t bytes)
{
	const size_t row_bytes = paging->pages.row_bytes;
	char *row = page_in(paging, plane, entry) +
		    inside / row_bytes * paging->pages.row_stride;
	const size_t column = inside % row_bytes;

	if (column) {
		const size_t head = DTC_MIN(row_bytes - column, bytes);

		move_run(paging, row + column, packed, head);
		row += paging->pages.row_stride;
		packed += head;
		bytes -= head;
	}
	const size_t rows = bytes / row_bytes;
	if (rows)
		move_rows(paging, row, packed, rows);
	if (bytes % row_bytes)
		move_run(paging, row + rows * paging->pages.row_stride,
			 packed + rows * row_bytes, bytes % row_bytes);
}

static void move_pages_of_rows(const struct dtc_paging *paging, char *plane, size_t entry,
			       size_t count, char *packed)
{
	const size_t page_bytes = paging->pages.page_bytes;

	for (size_t i = 0; i < count; i++)
		move_rows(paging, page_in(paging, plane, entry + i),
			  packed + i * page_bytes, page_bytes / paging->pages.row_bytes);
}

static void move_whole(const struct dtc_paging *paging, char *plane, size_t entry,
		       size_t count, char *packed)
{
	const struct dtconv_pages *pages = &paging->pages;
	const bool wide = pages->number == DTCONV_PAGE_NUMBER_64;
	const struct dtc_page_list list = {
		.numbers = (const char *)pages->table + entry * (wide ? 8 : 4),
		.wide = wide,
		.prefetch = paging->prefetch,
		.count = count,
		.stride = pages->page_stride,
		.block = pages->page_bytes,
		.packed = packed,
		.user = plane,
		.direction = paging->direction,
		.stream = paging->stream,
	};

	paging->context->cpu->pages(&list);
}

/* Bytes [at, at + bytes) of one plane. */
static void move_in_plane(const struct dtc_paging *paging, char *plane, size_t at,
			  char *packed, size_t bytes)
{
	const size_t page_bytes = paging->pages.page_bytes;
	size_t entry = at / page_bytes;
	const size_t inside = at % page_bytes;

	if (inside) {
		const size_t head = DTC_MIN(page_bytes - inside, bytes);

		move_piece(paging, plane, entry++, inside, packed, head);
		packed += head;
		bytes -= head;
	}
	const size_t whole = bytes / page_bytes;
	if (whole && paging->pages.row_bytes < page_bytes)
		move_pages_of_rows(paging, plane, entry, whole, packed);
	else if (whole)
		move_whole(paging, plane, entry, whole, packed);
	if (bytes % page_bytes)
		move_piece(paging, plane, entry + whole, 0, packed + whole * page_bytes,
			   bytes % page_bytes);
}

/* ---- copying --------------------------------------------------------------------------- */

/* Where a byte of the stream is, and the bytes that follow it in the same row, page and plane. */
struct spot {
	char *address;
	size_t row, page;
	bool begins; /* its row */
};

static struct spot spot_of(const struct dtc_paging *paging, size_t position)
{
	const struct dtconv_pages *pages = &paging->pages;
	const size_t at = position % pages->bytes;
	const size_t inside = at % pages->page_bytes;
	const size_t column = inside % pages->row_bytes;
	char *plane = plane_of(paging, position / pages->bytes);

	return (struct spot){
		.address = page_in(paging, plane, at / pages->page_bytes) +
			   inside / pages->row_bytes * pages->row_stride + column,
		.row = pages->row_bytes - column,
		.page = DTC_MIN(pages->page_bytes - inside, pages->bytes - at),
		.begins = column == 0,
	};
}

/* How many blocks of that length follow each other at the distance *stride: in a row, or rows in a page. */
static size_t count_blocks(const struct dtc_paging *paging, const struct spot *spot,
			   size_t block, ptrdiff_t *stride)
{
	*stride = (ptrdiff_t)block;
	if (spot->begins && spot->row == block) {
		*stride = (ptrdiff_t)paging->pages.row_stride;
		return spot->page / block;
	}
	return DTC_MIN(spot->row, spot->page) / block;
}

/* At most @bytes from a position on; returns how many. */
static size_t copy_some(const struct dtc_paging *paging, size_t position, size_t bytes)
{
	const struct spot from = spot_of(paging, position);
	const struct spot to = spot_of(paging->to, position);
	const size_t block = DTC_MIN(DTC_MIN(DTC_MIN(from.row, from.page), bytes),
				     DTC_MIN(to.row, to.page));
	struct dtc_grid grid = { .to = to.address,
				 .from = from.address,
				 .outer = 1,
				 .block = block,
				 .stream = paging->stream };
	const size_t one = count_blocks(paging, &from, block, &grid.from_strides.inner);
	const size_t other = count_blocks(paging->to, &to, block, &grid.to_strides.inner);

	grid.inner = DTC_MIN(DTC_MIN(one, other), bytes / block);
	paging->context->cpu->grid(&grid);
	return grid.inner * block;
}

static void copy_part(const struct dtc_paging *paging, size_t first, size_t end)
{
	while (first < end)
		first += copy_some(paging, paging->position + first, end - first);
}

/* ---- parts ----------------------------------------------------------------------------- */

static void move_in_planes(const struct dtc_paging *paging, size_t first, size_t end)
{
	const size_t plane_bytes = paging->pages.bytes;

	while (first < end) {
		const size_t position = paging->position + first;
		const size_t at = position % plane_bytes;
		const size_t bytes = DTC_MIN(plane_bytes - at, end - first);

		move_in_plane(paging, plane_of(paging, position / plane_bytes), at,
			      paging->packed + first, bytes);
		first += bytes;
	}
}

/* Bytes [first, end) of the call's part. */
static void move_part(const struct dtc_paging *paging, size_t first, size_t end)
{
	if (paging->to)
		copy_part(paging, first, end);
	else
		move_in_planes(paging, first, end);
	dtc_end_stream(paging->stream);
}

/* ---- several threads ------------------------------------------------------------------- */

struct slices {
	const struct dtc_paging *paging;
	size_t bytes;
};

static void move_slice(void *arg, size_t index)
{
	const struct slices *slices = arg;
	const size_t first = index * slices->bytes;

	move_part(slices->paging, first,
		  DTC_MIN(first + slices->bytes, slices->paging->bytes));
}

/* False, with nothing moved, if one thread is the better choice. Slices are cut between pages that are written or packed. */
static bool move_in_threads(const struct dtc_paging *paging)
{
	const struct dtc_threads *threads = &paging->context->threads;
	const size_t page_bytes = paging->to ? paging->to->pages.page_bytes
					     : paging->pages.page_bytes;
	const size_t thread_count =
		DTC_MIN(paging->bytes / threads->share_bytes, (size_t)threads->most);

	if (thread_count < 2)
		return false;
	const size_t most =
		DTC_MIN(thread_count * SLICES_A_THREAD, (size_t)DTC_THREADS_MAX);
	const size_t even = (paging->bytes - 1) / most + 1;
	const struct slices slices = {
		.paging = paging,
		.bytes = (size_t)dtc_divide_up(even, page_bytes) * page_bytes,
	};
	const size_t count = (size_t)dtc_divide_up(paging->bytes, slices.bytes);

	if (count < 2 || !dtc_threads_run(paging->context, thread_count, count,
					  move_slice, (void *)(uintptr_t)&slices))
		return false;
	dtc_context_count(paging->context, DTC_COUNT_PARALLEL_MOVES, 1);
	return true;
}

/* ---- one call -------------------------------------------------------------------------- */

/* The shortest run that is written. */
static size_t shortest_row(const struct dtc_paging *paging)
{
	const size_t row_bytes = paging->pages.row_bytes;

	return paging->to ? DTC_MIN(row_bytes, paging->to->pages.row_bytes) : row_bytes;
}

/* How the move treats the caches, as the host backend does for tables. */
static void choose_stores(struct dtc_paging *paging)
{
	const uint64_t least = paging->context->tuning.stream_bytes;
	const bool is_packed = paging->direction == DTC_PACK && !paging->to;
	const size_t target = is_packed ? paging->bytes : paging->total;

	paging->prefetch = paging->total > PREFETCH_BYTES;
	paging->stream = DTC_STREAM_NONE;
	if (target >= least && paging->bytes >= STREAM_CALL_BYTES &&
	    shortest_row(paging) >= STREAM_ROW_BYTES)
		paging->stream = is_packed ? DTC_STREAM_PACKED : DTC_STREAM_USER;
}

/* A copy is counted as both, as that from a layout to another. */
static void count(const struct dtc_paging *paging)
{
	dtc_count_host_call(paging->context, paging->direction, paging->bytes);
	if (paging->to && paging->context->counting)
		dtc_count_call(paging->context, DTC_UNPACK, paging->bytes);
}

int dtc_paging_move_on_host(struct dtc_paging *paging)
{
	if (dtc_is_host_forbidden(paging->context, 0))
		return dtc_plan_refuse_host(paging->context, 0, paging->caller);
	choose_stores(paging);
	if (!dtc_parallel_is_worth(paging->context, paging->bytes) ||
	    !move_in_threads(paging))
		move_part(paging, 0, paging->bytes);
	count(paging);
	return 0;
}
