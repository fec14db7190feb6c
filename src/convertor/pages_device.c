/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages in memory of any kinds: finds the kinds, and decides whether the host moves or a device. A device moves
 * if some of the memory is a device's, or if the move has an order with work on a device.
 */
#include "config.h"

#include "paging.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/memory/classify.h"
#include "copy_backends/pages.h"
#include "device_move.h"
#include "host_move.h"

/* A list: what the call works on, and where it is. */
struct list_places {
	const char *page; /* of the pool, at the part's begin */
	struct dtc_memory table, pool, fault;
};

struct places {
	struct list_places list, to;
	struct dtc_memory packed; /* or, in a copy, the pool that is written */
};

/* ---- kinds of memory ------------------------------------------------------------------- */

static int fail_unknown(const struct dtc_paging *paging, const char *what)
{
	int status = dtc_memory_refused(paging->context, paging->caller);

	return status ? status
		      : DTC_FAIL(paging->context, DTCONV_ERR_BACKEND,
				 "%s: a device's driver does not say what memory %s is",
				 paging->caller, what);
}

static int find_kind(const struct dtc_paging *paging, const char *what,
		     const void *address, enum dtconv_memory_kind hint,
		     struct dtc_memory *memory)
{
	*memory = dtc_memory_host();
	if (hint > DTCONV_MEMORY_HOST && dtc_memory_has_driver(paging->context))
		memory->kind = hint;
	else if (hint > DTCONV_MEMORY_HOST)
		memory->kind = DTCONV_MEMORY_UNKNOWN;
	else if (hint == DTCONV_MEMORY_UNKNOWN)
		dtc_memory_query(paging->context, address, memory);
	if (memory->kind == DTCONV_MEMORY_UNKNOWN)
		return fail_unknown(paging, what);
	if (memory->denied)
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: no device can access the memory of %s",
				paging->caller, what);
	return 0;
}

/* The pool is asked for where the part begins, or, if the host does not read the table, at page 0 of that plane. */
static int find_list(const struct dtc_paging *paging, struct list_places *places)
{
	const struct dtconv_pages *pages = &paging->pages;
	const struct dtc_paging_names *names = paging->names;
	int status = find_kind(paging, names->table, pages->table, pages->table_memory,
			       &places->table);

	if (status)
		return status;
	if (places->table.kind == DTCONV_MEMORY_HOST)
		status = dtc_paging_check_first(paging);
	if (status)
		return status;
	places->page = dtc_paging_page(paging, places->table.kind == DTCONV_MEMORY_HOST
						       ? dtc_paging_first_number(paging)
						       : 0);
	return find_kind(paging, names->pool, places->page, pages->pool_memory,
			 &places->pool);
}

static int find_places(const struct dtc_paging *paging, struct places *places)
{
	int status = find_list(paging, &places->list);

	if (!status && !paging->to)
		return find_kind(paging, "packed", paging->packed,
				 paging->pages.packed_memory, &places->packed);
	if (!status)
		status = find_list(paging->to, &places->to);
	places->packed = places->to.pool;
	return status;
}

/* ---- who moves ------------------------------------------------------------------------- */

static bool is_for_device(const struct dtc_paging *paging, const struct places *places)
{
	const struct dtc_memory *all[] = { &places->list.table, &places->list.pool,
					   &places->packed, &places->to.table };
	const size_t count = DTC_ARRAY_LENGTH(all) - !paging->to;
	const bool ordered = (dtc_paging_order(paging)->flags & DTCONV_PAGES_STREAM) ||
			     paging->context->devices.default_stream;

	for (size_t i = 0; i < count; i++)
		if (all[i]->kind == DTCONV_MEMORY_DEVICE ||
		    (ordered && dtc_memory_is_device_seen(all[i])))
			return true;
	return false;
}

static int refuse_pageable(const struct dtc_paging *paging, const char *what)
{
	return DTC_FAIL(paging->context, DTCONV_ERR_UNSUPPORTED,
			"%s: %s is pageable host memory, which the device that moves the "
			"list cannot access; use pinned memory",
			paging->caller, what);
}

static int check_table_place(const struct dtc_paging *paging,
			     const struct list_places *places)
{
	const size_t bytes = paging->pages.number == DTCONV_PAGE_NUMBER_64 ? 8 : 4;

	if (places->table.kind == DTCONV_MEMORY_HOST ||
	    (uintptr_t)paging->pages.table % bytes == 0)
		return 0;
	return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
			"%s: %s is %p, but numbers that a device reads are aligned to "
			"%zu bytes",
			paging->caller, paging->names->table, paging->pages.table, bytes);
}

static int find_fault(const struct dtc_paging *paging, struct list_places *places)
{
	const char *name = paging->names->fault;

	if (!paging->pages.fault)
		return 0;
	int status = find_kind(paging, name, paging->pages.fault, DTCONV_MEMORY_UNKNOWN,
			       &places->fault);
	if (!status && places->fault.kind == DTCONV_MEMORY_HOST)
		status = refuse_pageable(paging, name);
	return status;
}

/* What a kernel needs of a list. */
static int check_list(const struct dtc_paging *paging, struct list_places *places)
{
	if (places->pool.kind == DTCONV_MEMORY_HOST)
		return refuse_pageable(paging, paging->names->pool);
	int status = check_table_place(paging, places);
	return status ? status : find_fault(paging, places);
}

/* find_places has asked for one byte of the packed memory. */
static int check_packed(const struct dtc_paging *paging, struct places *places)
{
	if (places->packed.kind == DTCONV_MEMORY_HOST)
		return refuse_pageable(paging, "packed");
	if (!paging->pages.packed_memory &&
	    dtc_classify_contiguous(paging->context, paging->packed, paging->bytes,
				    &places->packed) < paging->bytes)
		return DTC_FAIL(paging->context, DTCONV_ERR_UNSUPPORTED,
				"%s: packed is memory of several kinds or devices; cut "
				"the stream there",
				paging->caller);
	return 0;
}

static int check_places(const struct dtc_paging *paging, struct places *places)
{
	int status = check_list(paging, &places->list);

	if (status)
		return status;
	return paging->to ? check_list(paging->to, &places->to)
			  : check_packed(paging, places);
}

/* ---- by a device ----------------------------------------------------------------------- */

static struct dtc_pages_list list_of(const struct dtc_paging *paging,
				     const struct list_places *places)
{
	size_t first, end;

	dtc_paging_entries(paging, &first, &end);
	return (struct dtc_pages_list){
		.pages = &paging->pages,
		.page = places->page,
		.first_entry = first,
		.end_entry = end,
		.table_memory = places->table,
		.fault_memory = places->fault,
	};
}

static struct dtc_job job_of(const struct dtc_paging *paging, const struct places *places)
{
	const struct dtconv_pages *order = dtc_paging_order(paging);

	return (struct dtc_job){
		.user = paging->pool,
		.packed = paging->to ? paging->to->pool : paging->packed,
		.bytes = paging->bytes,
		.direction = paging->direction,
		.context = paging->context,
		.user_memory = places->list.pool,
		.packed_memory = places->packed,
		.on_stream = order->flags & DTCONV_PAGES_STREAM,
		.unattended = order->flags == DTCONV_PAGES_STREAM,
		.stream = order->stream,
		.caller = paging->caller,
	};
}

/* The device says which entry is wrong; its number is in the table, if that can be copied. */
static int refuse_entry(const struct dtc_paging *paging, size_t entry)
{
	const bool wide = paging->pages.number == DTCONV_PAGE_NUMBER_64;
	const struct dtc_move move = {
		.context = paging->context,
		.placement = { .packed = paging->pages.table_memory },
		.caller = paging->caller
	};
	const char *at = (const char *)paging->pages.table + entry * (wide ? 8 : 4);
	int64_t number = 0;
	int32_t narrow = 0;

	if (dtc_device_copy_contiguous(&move, DTC_UNPACK, (char *)(uintptr_t)at,
				       wide ? (char *)&number : (char *)&narrow,
				       wide ? sizeof(number) : sizeof(narrow)))
		return DTC_FAIL(paging->context, DTCONV_ERR_INVAL,
				"%s: %s[%zu] is out of range: the pool has %zu pages",
				paging->caller, paging->names->table, entry,
				paging->pages.pool_pages);
	return dtc_paging_refuse_number(paging, entry, wide ? number : narrow);
}

static int refuse_answer(const struct dtc_paging *paging, uint64_t answer)
{
	if (answer >= DTC_PAGES_OF_TARGET)
		return refuse_entry(paging->to, (size_t)(answer - DTC_PAGES_OF_TARGET));
	return refuse_entry(paging, (size_t)answer);
}

/* Tables of host memory were checked while they were copied, which does not tell the wrong number: look for it. */
static int refuse_table(const struct dtc_paging *paging, const struct list_places *places)
{
	return places->table.kind == DTCONV_MEMORY_HOST ? dtc_paging_check_table(paging)
							: 0;
}

static int refuse_submit(const struct dtc_paging *paging, const struct places *places,
			 int status)
{
	int wrong = 0;

	if (status == DTCONV_ERR_INVAL)
		wrong = refuse_table(paging, &places->list);
	if (status == DTCONV_ERR_INVAL && !wrong && paging->to)
		wrong = refuse_table(paging->to, &places->to);
	return wrong ? wrong : status;
}

static void count(const struct dtc_paging *paging)
{
	dtc_count_call(paging->context, paging->direction, paging->bytes);
	if (paging->to)
		dtc_count_call(paging->context, DTC_UNPACK, paging->bytes);
}

/* Jobs in the caller's stream have no backend, and nothing to wait for. */
static int move_on_device(const struct dtc_paging *paging, const struct places *places)
{
	const struct dtc_pages_list to = paging->to ? list_of(paging->to, &places->to)
						    : (struct dtc_pages_list){ 0 };
	const struct dtc_pages_job job = {
		.job = job_of(paging, places),
		.list = list_of(paging, &places->list),
		.to = paging->to ? &to : NULL,
		.position = paging->position,
	};
	struct dtc_event event = { .answer = DTC_PAGES_FINE };
	int status = dtc_pages_submit(&job, &event);

	if (status)
		return refuse_submit(paging, places, status);
	if (event.backend) {
		status = dtc_device_wait(&event);
		if (!status && event.answer != DTC_PAGES_FINE)
			status = refuse_answer(paging, event.answer);
	}
	if (!status)
		count(paging);
	return status;
}

static int move_by_host(struct dtc_paging *paging)
{
	int status = dtc_paging_check_table(paging);

	if (!status && paging->to)
		status = dtc_paging_check_table(paging->to);
	return status ? status : dtc_paging_move_on_host(paging);
}

int dtc_paging_move_anywhere(struct dtc_paging *paging)
{
	struct places places = { .list = { .fault = { .device = -1 } },
				 .to = { .fault = { .device = -1 } } };
	int status = find_places(paging, &places);

	if (status)
		return status;
	if (!is_for_device(paging, &places))
		return move_by_host(paging);
	status = check_places(paging, &places);
	return status ? status : move_on_device(paging, &places);
}
