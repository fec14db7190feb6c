/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pass over a table, in stretches of constant length, of which compilers make vectors. A table is new with each
 * message, so it comes from memory or the last cache: it is prefetched.
 */
#include "config.h"

#include "page_numbers.h"

#include "base/base.h"
#include "kernels.h"

/* Entries that are looked at together. */
#define STRETCH 64

/* Bytes: 65,536 numbers of 64 bits from the last cache take 19 us; two passes without prefetching took 42 (Xeon). */
#define AHEAD 8192

/* Prefetch what lies AHEAD bytes behind; that may be past the table's end. */
static void prefetch_ahead(const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += DTC_CACHE_LINE)
		__builtin_prefetch((const void *)((uintptr_t)from + AHEAD + at));
}

/*
 * Whether a stretch has a number that is negative or more than @last: then it, or the difference, has the sign bit. All
 * compilers know that in vectors, and no baseline has comparisons without a sign.
 */
static bool has_bad_64(const dtc_page_number_64 *numbers, uint64_t last)
{
	uint64_t signs = 0;

	prefetch_ahead(numbers, STRETCH * sizeof(*numbers));
	for (int i = 0; i < STRETCH; i++)
		signs |= numbers[i] | (last - numbers[i]);
	return signs >> 63;
}

static bool has_bad_32(const dtc_page_number_32 *numbers, uint32_t last)
{
	uint32_t signs = 0;

	prefetch_ahead(numbers, STRETCH * sizeof(*numbers));
	for (int i = 0; i < STRETCH; i++)
		signs |= numbers[i] | (last - numbers[i]);
	return signs >> 31;
}

uint64_t dtc_page_numbers_find_bad(const void *table, bool wide, uint64_t i, uint64_t end,
				   uint64_t pages)
{
	const uint64_t most = wide ? pages : DTC_MIN(pages, UINT64_C(1) << 31);

	while (end - i >= STRETCH &&
	       !(wide ? has_bad_64((const dtc_page_number_64 *)table + i, most - 1)
		      : has_bad_32((const dtc_page_number_32 *)table + i,
				   (uint32_t)(most - 1))))
		i += STRETCH;
	while (i < end && dtc_page_number(table, wide, i) < most)
		i++;
	return i;
}

/* ---- narrowing ------------------------------------------------------------------------- */

static uint64_t narrow_stretch(const dtc_page_number_64 *restrict from, uint64_t last,
			       dtc_page_number_32 *restrict to)
{
	uint64_t signs = 0;

	prefetch_ahead(from, STRETCH * sizeof(*from));
	for (int i = 0; i < STRETCH; i++) {
		signs |= from[i] | (last - from[i]);
		to[i] = (uint32_t)from[i];
	}
	return signs;
}

static uint32_t copy_stretch(const dtc_page_number_32 *restrict from, uint32_t last,
			     dtc_page_number_32 *restrict to)
{
	uint32_t signs = 0;

	prefetch_ahead(from, STRETCH * sizeof(*from));
	for (int i = 0; i < STRETCH; i++) {
		signs |= from[i] | (last - from[i]);
		to[i] = from[i];
	}
	return signs;
}

bool dtc_page_numbers_narrow(const void *from, bool wide, uint64_t count, uint64_t pages,
			     void *to)
{
	const dtc_page_number_64 *numbers = from;
	const dtc_page_number_32 *narrow = from;
	dtc_page_number_32 *out = to;
	uint64_t signs = 0, i = 0;
	bool fine = true;

	/* The sign bit of 32 bits becomes that of 64. */
	for (; count - i >= STRETCH; i += STRETCH)
		signs |= wide ? narrow_stretch(numbers + i, pages - 1, out + i)
			      : (uint64_t)copy_stretch(narrow + i, (uint32_t)(pages - 1),
						       out + i)
					 << 32;
	for (; i < count; i++) {
		const uint64_t number = dtc_page_number(from, wide, i);

		fine &= number < pages;
		out[i] = (uint32_t)number;
	}
	return fine && !(signs >> 63);
}
