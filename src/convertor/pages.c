/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: reads and checks a list, and packs and unpacks a part of its stream. There is no type and no cursor; a
 * position is a plane (one part of one layer), and a byte in it. pages_host.c moves in host memory, pages_device.c what a
 * device can access.
 */
#include "config.h"

#include "paging.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/memory/memory.h"
#include "kernels/cpu/page_numbers.h"

static const struct dtc_paging_names pages_names = { "pages", "pages.table", "pool",
						     "pages.fault" };

/* ---- the list -------------------------------------------------------------------------- */

static int read_pages(const struct dtconv_pages *given, struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;

	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(paging->context, paging->caller,
					    paging->names->list, "dtconv_pages");
	memcpy(pages, given, DTC_MIN(given->struct_size, sizeof(*pages)));
	if (pages->row_bytes == 0)
		pages->row_bytes = pages->page_bytes;
	if (pages->row_stride == 0)
		pages->row_stride = pages->row_bytes;
	if (pages->layer_count == 0)
		pages->layer_count = 1;
	if (pages->part_count == 0)
		pages->part_count = 1;
	return 0;
}

static int invalid(const struct dtc_paging *paging, const char *member, size_t value,
		   const char *rule)
{
	return DTC_FAIL(paging->context, DTCONV_ERR_INVAL, "%s: %s.%s is %zu, %s",
			paging->caller, paging->names->list, member, value, rule);
}

static int check_values(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;

	if (pages->page_bytes == 0)
		return invalid(paging, "page_bytes", 0, "but a page has bytes");
	if ((unsigned)pages->number > DTCONV_PAGE_NUMBER_64)
		return invalid(paging, "number", (size_t)pages->number,
			       "not a value of enum dtconv_page_number");
	if (pages->count && !pages->table)
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: %s.count is %zu, but %s is NULL", paging->caller,
				paging->names->list, pages->count, paging->names->table);
	if (pages->flags & ~(unsigned)(DTCONV_PAGES_STREAM | DTCONV_PAGES_WAIT))
		return invalid(paging, "flags", pages->flags, "which has unknown bits");
	return 0;
}

/* Contiguous rows become one. */
static int check_rows(struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;

	if (pages->page_bytes % pages->row_bytes)
		return invalid(paging, "row_bytes", pages->row_bytes,
			       "but page_bytes has to be a multiple of it");
	if (pages->row_stride < pages->row_bytes)
		return invalid(paging, "row_stride", pages->row_stride,
			       "less than row_bytes");
	if (pages->row_stride == pages->row_bytes ||
	    pages->row_bytes == pages->page_bytes)
		pages->row_bytes = pages->row_stride = pages->page_bytes;
	return 0;
}

static int overflows(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;

	return DTC_FAIL(paging->context, DTCONV_ERR_OVERFLOW,
			"%s: %zu pages of a pool of %zu, %zu bytes each, in %zu x %zu "
			"layers and parts: lengths exceed size_t or displacements "
			"ptrdiff_t",
			paging->caller, pages->count, pages->pool_pages,
			pages->page_bytes, pages->layer_count, pages->part_count);
}

/* By default, pages follow one another as their rows do. */
static int check_stride(struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;
	const size_t rows = pages->page_bytes / pages->row_bytes;

	if (dtc_mul_size(rows - 1, pages->row_stride, &paging->span) ||
	    dtc_add_size(paging->span, pages->row_bytes, &paging->span))
		return overflows(paging);
	if (pages->page_stride == 0 &&
	    dtc_mul_size(rows, pages->row_stride, &pages->page_stride))
		return overflows(paging);
	if (pages->page_stride < paging->span && rows == 1)
		return invalid(paging, "page_stride", pages->page_stride,
			       "less than page_bytes");
	if (pages->page_stride < paging->span)
		return invalid(paging, "page_stride", pages->page_stride,
			       "less than a page's rows reach over");
	return 0;
}

static int check_stream(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;
	const char *list = paging->names->list;

	if ((pages->stream || pages->fault) && !(pages->flags & DTCONV_PAGES_STREAM))
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: %s.%s is set, which needs DTCONV_PAGES_STREAM in "
				"%s.flags",
				paging->caller, list, pages->stream ? "stream" : "fault",
				list);
	if (pages->flags & DTCONV_PAGES_WAIT &&
	    (pages->fault || !(pages->flags & DTCONV_PAGES_STREAM)))
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: %s.flags has DTCONV_PAGES_WAIT, which needs "
				"DTCONV_PAGES_STREAM and no fault word",
				paging->caller, list);
	if ((uintptr_t)pages->fault % sizeof(*pages->fault))
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: %s is %p, which is not aligned to %zu bytes",
				paging->caller, paging->names->fault,
				(void *)pages->fault, sizeof(*pages->fault));
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

static bool displacements_overflow(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;
	const size_t last = pages->pool_pages ? pages->pool_pages - 1 : 0;
	ptrdiff_t low = pages->offset, high = low;

	return pages->page_stride > PTRDIFF_MAX || paging->span > PTRDIFF_MAX ||
	       extend(last, (ptrdiff_t)pages->page_stride, &low, &high) ||
	       extend(pages->layer_count - 1, pages->layer_stride, &low, &high) ||
	       extend(pages->part_count - 1, pages->part_stride, &low, &high) ||
	       extend(1, (ptrdiff_t)paging->span, &low, &high);
}

static int measure(struct dtc_paging *paging)
{
	struct dtconv_pages *pages = &paging->pages;
	size_t most, planes;

	if (displacements_overflow(paging) ||
	    dtc_mul_size(pages->count, pages->page_bytes, &most) ||
	    dtc_mul_size(pages->layer_count, pages->part_count, &planes))
		return overflows(paging);
	if (pages->bytes > most)
		return DTC_FAIL(
			paging->context, DTCONV_ERR_INVAL,
			"%s: %s.bytes is %zu, but %zu pages of %zu bytes have %zu",
			paging->caller, paging->names->list, pages->bytes, pages->count,
			pages->page_bytes, most);
	if (pages->bytes == 0)
		pages->bytes = most;
	if (dtc_mul_size(planes, pages->bytes, &paging->total))
		return DTC_FAIL(paging->context, DTCONV_ERR_OVERFLOW,
				"%s: %zu layers x %zu parts x %zu bytes overflow size_t",
				paging->caller, pages->layer_count, pages->part_count,
				pages->bytes);
	return 0;
}

int dtc_paging_prepare(struct dtconv_context *context, const char *caller,
		       const struct dtc_paging_names *names,
		       const struct dtconv_pages *given, struct dtc_paging *paging)
{
	*paging = (struct dtc_paging){ .context = context,
				       .caller = caller,
				       .names = names };
	int status = read_pages(given, paging);

	if (!status)
		status = check_values(paging);
	if (!status)
		status = check_rows(paging);
	if (!status)
		status = check_stride(paging);
	if (!status)
		status = check_stream(paging);
	if (!status)
		status = check_hints(paging);
	return status ? status : measure(paging);
}

/* ---- the table ------------------------------------------------------------------------- */

static bool is_wide(const struct dtconv_pages *pages)
{
	return pages->number == DTCONV_PAGE_NUMBER_64;
}

uint64_t dtc_paging_number(const struct dtconv_pages *pages, size_t i)
{
	return dtc_page_number(pages->table, is_wide(pages), i);
}

int dtc_paging_refuse_number(const struct dtc_paging *paging, size_t i, int64_t number)
{
	return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
			"%s: %s[%zu] is %lld, but the pool has %zu pages", paging->caller,
			paging->names->table, i, (long long)number,
			paging->pages.pool_pages);
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

static int check_entries(const struct dtc_paging *paging, size_t first, size_t end)
{
	const struct dtconv_pages *pages = &paging->pages;
	const size_t bad = (size_t)dtc_page_numbers_find_bad(
		pages->table, is_wide(pages), first, end, pages->pool_pages);

	if (bad == end)
		return 0;
	const uint64_t number = dtc_paging_number(pages, bad);
	return dtc_paging_refuse_number(paging, bad,
					is_wide(pages) ? (int64_t)number
						       : (int32_t)(uint32_t)number);
}

int dtc_paging_check_table(const struct dtc_paging *paging)
{
	size_t first, end;

	dtc_paging_entries(paging, &first, &end);
	return check_entries(paging, first, end);
}

int dtc_paging_check_first(const struct dtc_paging *paging)
{
	size_t first, end;

	dtc_paging_entries(paging, &first, &end);
	return check_entries(paging, first, first + 1);
}

uint64_t dtc_paging_first_number(const struct dtc_paging *paging)
{
	return dtc_paging_number(&paging->pages, paging->position % paging->pages.bytes /
							 paging->pages.page_bytes);
}

/* ---- one call -------------------------------------------------------------------------- */

bool dtc_paging_is_plain(const struct dtc_paging *paging)
{
	const struct dtconv_pages *pages = &paging->pages;

	return pages->table_memory <= DTCONV_MEMORY_HOST &&
	       pages->pool_memory <= DTCONV_MEMORY_HOST &&
	       dtc_memory_is_ordinary(paging->context, pages->table, paging->pool);
}

/* Whether all memory is ordinary host memory, so that no driver is queried. */
static bool is_plain(const struct dtc_paging *paging)
{
	return dtc_paging_is_plain(paging) &&
	       paging->pages.packed_memory <= DTCONV_MEMORY_HOST &&
	       dtc_memory_is_ordinary(paging->context, paging->packed, paging->packed);
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
	int status = dtc_paging_prepare(context, caller, &pages_names, pages, &paging);
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
	int status = dtc_paging_prepare(context, __func__, &pages_names, pages, &paging);
	if (!status)
		*bytes = paging.total;
	return status;
}
