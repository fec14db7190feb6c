/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Page numbers in the host's memory: tables of 32 or 64 bits (@wide) at any address. A number is in range if it is not
 * negative and below the number of pages, of which there are at most 2^63.
 */
#ifndef DTC_KERNELS_CPU_PAGE_NUMBERS_H
#define DTC_KERNELS_CPU_PAGE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Of any alignment, and of whatever type the caller's are. */
typedef uint32_t dtc_page_number_32 __attribute__((aligned(1), may_alias));
typedef uint64_t dtc_page_number_64 __attribute__((aligned(1), may_alias));

/* Entry @i. Negative numbers are large ones without a sign. */
static inline uint64_t dtc_page_number(const void *table, bool wide, uint64_t i)
{
	return wide ? ((const dtc_page_number_64 *)table)[i]
		    : ((const dtc_page_number_32 *)table)[i];
}

/* The first entry of [i, end) that is out of range, or @end. */
uint64_t dtc_page_numbers_find_bad(const void *table, bool wide, uint64_t i, uint64_t end,
				   uint64_t pages);

/*
 * Make 32-bit numbers of @count numbers, for which @pages is at most 2^31. Returns whether all are in range. @to needs no
 * alignment and is elsewhere.
 */
bool dtc_page_numbers_narrow(const void *from, bool wide, uint64_t count, uint64_t pages,
			     void *to);

#endif
