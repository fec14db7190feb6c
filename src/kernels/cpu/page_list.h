/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of one length at the places that a list of numbers selects. The numbers are the caller's own, in 32 or 64
 * bits, and have been checked.
 */
#ifndef DTC_KERNELS_CPU_PAGE_LIST_H
#define DTC_KERNELS_CPU_PAGE_LIST_H

#include "block.h"
#include "kernels.h"
#include "stream.h"

/* Prefetch so many bytes ahead in packed order, at least one block; of each block so many, the hardware fetches the rest. */
#define PAGES_AHEAD 1024
#define PAGES_LEAD  256

DTC_INLINE char *page_of(const struct dtc_page_list *list, uint64_t i)
{
	const uint64_t number = list->wide ? ((const dtc_8_bytes *)list->numbers)[i]
					   : ((const dtc_4_bytes *)list->numbers)[i];

	/* Addresses, because displacements may be absolute. */
	return (char *)((uintptr_t)list->user + (uintptr_t)(number * list->stride));
}

DTC_INLINE void prefetch_page(const char *block, size_t bytes, bool unpack)
{
	for (size_t at = 0; at < bytes; at += DTC_CACHE_LINE) {
		if (unpack)
			__builtin_prefetch(block + at, 1);
		else
			__builtin_prefetch(block + at, 0);
	}
}

/* The branches on the list's members are foretold; one copy of the code for all lists is short. */
static void copy_pages(const struct dtc_page_list *given)
{
	/* Of its own, so that stores to the pages cannot change it. */
	const struct dtc_page_list list = *given;
	const bool unpack = list.direction == DTC_UNPACK;
	const uint64_t ahead = PAGES_AHEAD / list.block + 1;
	const size_t lead = DTC_MIN(list.block, (size_t)PAGES_LEAD);
	char *packed = list.packed;

	for (uint64_t i = 0; i < list.count; i++, packed += list.block) {
		char *page = page_of(&list, i);

		if (list.prefetch && list.count - i > ahead)
			prefetch_page(page_of(&list, i + ahead), lead, unpack);
		dtc_copy_block(unpack ? page : packed, unpack ? packed : page,
			       list.block);
	}
}

static void stream_pages(const struct dtc_page_list *given)
{
	const struct dtc_page_list list = *given;
	const bool unpack = list.direction == DTC_UNPACK;
	char *packed = list.packed;

	for (uint64_t i = 0; i < list.count; i++, packed += list.block) {
		char *page = page_of(&list, i);
		const char *next =
			unpack ? packed + list.block
			       : page_of(&list, DTC_MIN(i + 1, list.count - 1));

		dtc_stream_run(unpack ? page : packed, unpack ? packed : page, list.block,
			       next);
	}
}

static void dtc_move_pages(const struct dtc_page_list *list)
{
	if (dtc_passes_caches(list->stream))
		stream_pages(list);
	else
		copy_pages(list);
}

#endif
