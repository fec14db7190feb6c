/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: reads and checks a list, and moves a part of its stream in host memory. There is no type and no cursor;
 * a position is a plane (one part of one layer), and a byte in it. pages_device.c moves what a device can access.
 */
#include "config.h"

#include "paging.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "base/threads.h"
#include "convertor/host_move.h"
#include "convertor/parallel.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/plan.h"
#include "kernels/cpu/kernels.h"

/* The size of a core's own caches: beyond it, pages are prefetched. */
#define PREFETCH_BYTES (1 << 20)

/* Shorter pages are not written with non-temporal stores, nor are shorter calls. */
#define STREAM_PAGE_BYTES 1024
#define STREAM_CALL_BYTES 32768

/* Slices for each thread: a slow thread leaves its share to the others. */
#define SLICES_A_THREAD 4

/* ---- the list -------------------------------------------------------------------------- */

static int read_pages(const struct dtconv_pages *given, struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;

	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(paging->context, paging->caller, "pages",
					    "dtconv_pages");
	memcpy(pages, given, DTC_MIN(given->struct_size, sizeof(*pages)));
	if (pages->page_stride == 0)
		pages->page_stride = pages->page_bytes;
	if (pages->layer_count == 0)
		pages->layer_count = 1;
	if (pages->part_count == 0)
		pages->part_count = 1;
	return 0;
}

static int invalid(const struct dtc_paging *paging, const char *member, size_t value,
		   const char *rule)
{
	return DTC_FAIL(paging->context, DTCONV_ERR_INVAL, "%s: pages.%s is %zu, %s",
			paging->caller, member, value, rule);
}

static int check_values(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;

	if (pages->page_bytes == 0)
		return invalid(paging, "page_bytes", 0, "but a page has bytes");
	if (pages->page_stride < pages->page_bytes)
		return invalid(paging, "page_stride", pages->page_stride,
			       "less than page_bytes");
	if ((unsigned)pages->number > DTCONV_PAGE_NUMBER_64)
		return invalid(paging, "number", (size_t)pages->number,
			       "not a value of enum dtconv_page_number");
	if (pages->count && !pages->table)
		return invalid(paging, "count", pages->count, "but pages.table is NULL");
	if (pages->flags & ~(unsigned)DTCONV_PAGES_STREAM)
		return invalid(paging, "flags", pages->flags, "which has unknown bits");
	return 0;
}

static int check_stream(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;
	const bool ordered = pages->flags & DTCONV_PAGES_STREAM;

	if (pages->stream && !ordered)
		return invalid(
			paging, "flags", pages->flags,
			"but pages.stream is set, which needs DTCONV_PAGES_STREAM");
	if (pages->fault && !ordered)
		return invalid(paging, "flags", pages->flags,
			       "but pages.fault is set, which needs DTCONV_PAGES_STREAM");
	if ((uintptr_t)pages->fault % sizeof(*pages->fault))
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: pages.fault is %p, which is not aligned to %zu "
				"bytes",
				paging->caller, (void *)pages->fault,
				sizeof(*pages->fault));
	return 0;
}

static int check_hint(const struct dtc_paging *paging, const char *member,
		      enum dtconv_memory_kind kind)
{
	if ((unsigned)kind > DTCONV_MEMORY_DEVICE)
		return invalid(paging, member, (size_t)kind,
			       "not a value of enum dtconv_memory_kind");
	return 0;
}

static int check_hints(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;
	int status = check_hint(paging, "table_memory", pages->table_memory);

	if (!status)
		status = check_hint(paging, "pool_memory", pages->pool_memory);
	return status ? status
		      : check_hint(paging, "packed_memory", pages->packed_memory);
}

/* ---- its size -------------------------------------------------------------------------- */

/* Extend [*low, *high] by @count steps of @stride; true on overflow. */
static bool extend(size_t steps, ptrdiff_t stride, ptrdiff_t *low, ptrdiff_t *high)
{
	ptrdiff_t *bound = stride < 0 ? low : high;
	ptrdiff_t way;

	return dtc_scale_disp(steps, stride, &way) || dtc_add_disp(*bound, way, bound);
}

static bool displacements_overflow(const struct dtconv_pages *pages)
{
	const size_t last = pages->pool_pages ? pages->pool_pages - 1 : 0;
	ptrdiff_t low = pages->offset, high = low;

	return pages->page_stride > PTRDIFF_MAX ||
	       extend(last, (ptrdiff_t)pages->page_stride, &low, &high) ||
	       extend(pages->layer_count - 1, pages->layer_stride, &low, &high) ||
	       extend(pages->part_count - 1, pages->part_stride, &low, &high) ||
	       extend(1, (ptrdiff_t)pages->page_bytes, &low, &high);
}

static int measure(struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;
	size_t most, planes;

	if (displacements_overflow(pages) ||
	    dtc_mul_size(pages->count, pages->page_bytes, &most) ||
	    dtc_mul_size(pages->layer_count, pages->part_count, &planes))
		return DTC_FAIL(
			paging->context, DTCONV_ERR_OVERFLOW,
			"%s: %zu pages of a pool of %zu, %zu bytes each, in %zu x %zu "
			"layers and parts: lengths exceed size_t or displacements "
			"ptrdiff_t",
			paging->caller, pages->count, pages->pool_pages,
			pages->page_bytes, pages->layer_count, pages->part_count);
	if (pages->bytes > most)
		return DTC_FAIL(
			paging->context, DTCONV_ERR_INVAL,
			"%s: pages.bytes is %zu, but %zu pages of %zu bytes have %zu",
			paging->caller, pages->bytes, pages->count, pages->page_bytes,
			most);
	if (pages->bytes == 0)
		pages->bytes = most;
	if (dtc_mul_size(planes, pages->bytes, &paging->total))
		return DTC_FAIL(paging->context, DTCONV_ERR_OVERFLOW,
				"%s: %zu layers x %zu parts x %zu bytes overflow size_t",
				paging->caller, pages->layer_count, pages->part_count,
				pages->bytes);
	return 0;
}

/* The list without defaults, and the length of its stream. */
static int prepare(struct dtconv_context *context, const char *caller,
		   const struct dtconv_pages *given, struct dtc_paging *paging)
{
	*paging = (struct dtc_paging){ .context = context, .caller = caller };
	int status = read_pages(given, paging);

	if (!status)
		status = check_values(paging);
	if (!status)
		status = check_stream(paging);
	if (!status)
		status = check_hints(paging);
	return status ? status : measure(paging);
}

/* ---- the table ------------------------------------------------------------------------- */

typedef uint32_t table_32 __attribute__((aligned(1), may_alias));
typedef uint64_t table_64 __attribute__((aligned(1), may_alias));

/* Negative numbers are large ones without a sign. */
static uint64_t number_at(const struct dtconv_pages *pages, size_t i)
{
	if (pages->number == DTCONV_PAGE_NUMBER_64)
		return ((const table_64 *)pages->table)[i];
	return ((const table_32 *)pages->table)[i];
}

/* The first entry of [i, end) that is out of range, or @end. Looks for a bad one in a stretch before it looks which. */
static size_t find_bad(const struct dtconv_pages *pages, size_t i, size_t end)
{
	const uint64_t most = pages->pool_pages;
	const uint64_t narrow = DTC_MIN(most, (uint64_t)INT32_MAX + 1);

	for (size_t stop; i < end; i = stop) {
		uint64_t bad = 0;

		stop = end - i > 64 ? i + 64 : end;
		if (pages->number == DTCONV_PAGE_NUMBER_64)
			for (size_t k = i; k < stop; k++)
				bad |= ((const table_64 *)pages->table)[k] >= most;
		else
			for (size_t k = i; k < stop; k++)
				bad |= ((const table_32 *)pages->table)[k] >= narrow;
		if (bad)
			break;
	}
	while (i < end &&
	       number_at(pages, i) <
		       (pages->number == DTCONV_PAGE_NUMBER_64 ? most : narrow))
		i++;
	return i;
}

int dtc_paging_refuse_number(const struct dtc_paging *paging, size_t i, int64_t number)
{
	return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
			"%s: pages.table[%zu] is %lld, but the pool has %zu pages",
			paging->caller, i, (long long)number, paging->pages.pool_pages);
}

void dtc_paging_entries(const struct dtc_paging *paging, size_t *first, size_t *end)
{
	const struct dtconv_pages *pages = &paging->pages;
	const size_t at = paging->position % pages->bytes;
	size_t last = pages->bytes;

	*first = 0;
	if (paging->bytes <= pages->bytes - at) {
		*first = at / pages->page_bytes;
		last = at + paging->bytes;
	}
	*end = (size_t)dtc_divide_up(last, pages->page_bytes);
}

int dtc_paging_check_table(const struct dtc_paging *paging)
{
	const bool wide = paging->pages.number == DTCONV_PAGE_NUMBER_64;
	size_t first, end;

	dtc_paging_entries(paging, &first, &end);
	const size_t bad = find_bad(&paging->pages, first, end);
	if (bad == end)
		return 0;
	const uint64_t number = number_at(&paging->pages, bad);
	return dtc_paging_refuse_number(
		paging, bad, wide ? (int64_t)number : (int32_t)(uint32_t)number);
}

uint64_t dtc_paging_first_number(const struct dtc_paging *paging)
{
	return number_at(&paging->pages, paging->position % paging->pages.bytes /
						 paging->pages.page_bytes);
}

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

/* Bytes [inside, inside + bytes) of one page. */
static void move_piece(const struct dtc_paging *paging, char *plane, size_t entry,
		       size_t inside, char *packed, size_t bytes)
{
	char *page = (char *)((uintptr_t)plane +
			      (uintptr_t)(number_at(&paging->pages, entry) *
					  paging->pages.page_stride) +
			      inside);

	if (paging->direction == DTC_PACK)
		paging->context->cpu->run(packed, page, bytes);
	else
		paging->context->cpu->run(page, packed, bytes);
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
	if (whole)
		move_whole(paging, plane, entry, whole, packed);
	if (bytes % page_bytes)
		move_piece(paging, plane, entry + whole, 0, packed + whole * page_bytes,
			   bytes % page_bytes);
}

/* Bytes [first, end) of the call's part. */
static void move_part(const struct dtc_paging *paging, size_t first, size_t end)
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

/* False, with nothing moved, if one thread is the better choice. Slices are cut between pages. */
static bool move_in_threads(const struct dtc_paging *paging)
{
	const struct dtc_threads *threads = &paging->context->threads;
	const size_t page_bytes = paging->pages.page_bytes;
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

/* How the move treats the caches, as the host backend does for tables. */
static void choose_stores(struct dtc_paging *paging)
{
	const uint64_t least = paging->context->tuning.stream_bytes;
	const size_t target = paging->direction == DTC_PACK ? paging->bytes
							    : paging->total;

	paging->prefetch = paging->total > PREFETCH_BYTES;
	paging->stream = DTC_STREAM_NONE;
	if (target >= least && paging->bytes >= STREAM_CALL_BYTES &&
	    paging->pages.page_bytes >= STREAM_PAGE_BYTES)
		paging->stream = paging->direction == DTC_PACK ? DTC_STREAM_PACKED
							       : DTC_STREAM_USER;
}

int dtc_paging_move_on_host(struct dtc_paging *paging)
{
	if (dtc_is_host_forbidden(paging->context, 0))
		return dtc_plan_refuse_host(paging->context, 0, paging->caller);
	choose_stores(paging);
	if (!dtc_parallel_is_worth(paging->context, paging->bytes) ||
	    !move_in_threads(paging))
		move_part(paging, 0, paging->bytes);
	dtc_count_host_call(paging->context, paging->direction, paging->bytes);
	return 0;
}

/* Whether all memory is ordinary host memory, so that no driver is queried. */
static bool is_plain(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;

	return pages->table_memory <= DTCONV_MEMORY_HOST &&
	       pages->pool_memory <= DTCONV_MEMORY_HOST &&
	       pages->packed_memory <= DTCONV_MEMORY_HOST &&
	       dtc_memory_is_ordinary(paging->context, pages->table, pages->table) &&
	       dtc_memory_is_ordinary(paging->context, paging->pool, paging->packed);
}

static int move_bytes(struct dtc_paging *paging)
{
	if (!is_plain(paging))
		return dtc_paging_move_anywhere(paging);
	int status = dtc_paging_check_table(paging);
	return status ? status : dtc_paging_move_on_host(paging);
}

/* The part of the stream that the call moves. */
static int set_part(struct dtc_paging *paging, size_t position, size_t bytes)
{
	if (position > paging->total)
		return DTC_FAIL(
			paging->context, DTCONV_ERR_INVAL,
			"%s: position (argument 4) is %zu, past the stream's end at "
			"%zu",
			paging->caller, position, paging->total);
	if (paging->direction == DTC_UNPACK && bytes > paging->total - position)
		return DTC_FAIL(
			paging->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 6) is %zu, but only %zu bytes of the "
			"stream follow the position",
			paging->caller, bytes, paging->total - position);
	paging->position = position;
	paging->bytes = DTC_MIN(bytes, paging->total - position);
	return 0;
}

static int move(struct dtc_paging *paging, size_t position, size_t bytes, size_t *moved)
{
	int status = set_part(paging, position, bytes);

	if (!status && paging->bytes)
		status = move_bytes(paging);
	if (moved)
		*moved = status ? 0 : paging->bytes;
	return status;
}

static int move_pages(struct dtconv_context *context, const char *caller,
		      const struct dtconv_pages *pages, char *pool, size_t position,
		      char *packed, size_t bytes, enum dtc_direction direction,
		      size_t *moved)
{
	struct dtc_paging paging;

	if (moved)
		*moved = 0;
	if (!context || !pages)
		return DTCONV_ERR_INVAL;
	int status = prepare(context, caller, pages, &paging);
	if (status)
		return status;
	paging.pool = pool;
	paging.packed = packed;
	paging.direction = direction;
	return move(&paging, position, bytes, moved);
}

int dtconv_pages_pack(struct dtconv_context *context, const struct dtconv_pages *pages,
		      const void *pool, size_t position, void *packed, size_t capacity,
		      size_t *moved)
{
	return move_pages(context, __func__, pages, (char *)(uintptr_t)pool, position,
			  packed, capacity, DTC_PACK, moved);
}

int dtconv_pages_unpack(struct dtconv_context *context, const struct dtconv_pages *pages,
			void *pool, size_t position, const void *packed, size_t bytes,
			size_t *moved)
{
	return move_pages(context, __func__, pages, pool, position,
			  (char *)(uintptr_t)packed, bytes, DTC_UNPACK, moved);
}

int dtconv_pages_query_bytes(struct dtconv_context *context,
			     const struct dtconv_pages *pages, size_t *bytes)
{
	struct dtc_paging paging;

	if (!context || !pages || !bytes)
		return DTCONV_ERR_INVAL;
	int status = prepare(context, __func__, pages, &paging);
	if (!status)
		*bytes = paging.total;
	return status;
}
