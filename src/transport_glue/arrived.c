/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of ranges: searching for gaps and adding to it.
 */
#include "config.h"

#include "arrived.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"

static const struct dtc_range *ranges_of(const struct dtc_arrived *arrived)
{
	return arrived->many ? arrived->many : arrived->few;
}

/* Index of the first range that ends behind @at. */
static size_t find(const struct dtc_arrived *arrived, uint64_t at)
{
	const struct dtc_range *ranges = ranges_of(arrived);
	size_t low = 0, high = arrived->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].high > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool dtc_arrived_find_gap(const struct dtc_arrived *arrived, uint64_t low, uint64_t high,
			  struct dtc_range *gap)
{
	const struct dtc_range *ranges = ranges_of(arrived);
	size_t i = find(arrived, low);

	/* Ranges do not touch, so behind one there is a gap. */
	if (i < arrived->count && ranges[i].low <= low)
		low = ranges[i++].high;
	if (low >= high)
		return false;
	*gap = (struct dtc_range){ low, i < arrived->count ? DTC_MIN(high, ranges[i].low)
							   : high };
	return true;
}

static bool make_room(struct dtconv_context *context, struct dtc_arrived *arrived)
{
	const size_t capacity = arrived->many ? arrived->capacity : DTC_ARRIVED_FEW;

	if (arrived->count < capacity)
		return true;
	struct dtc_range *more = dtc_alloc(context, 2 * capacity * sizeof(*more));
	if (!more)
		return false;
	memcpy(more, ranges_of(arrived), arrived->count * sizeof(*more));
	dtc_free(context, arrived->many);
	arrived->many = more;
	arrived->capacity = 2 * capacity;
	return true;
}

/* It may join the range before it, the one behind it, or both. */
bool dtc_arrived_add(struct dtconv_context *context, struct dtc_arrived *arrived,
		     const struct dtc_range *range)
{
	struct dtc_range *ranges = arrived->many ? arrived->many : arrived->few;
	size_t i = find(arrived, range->low);
	bool joins_before = i && ranges[i - 1].high == range->low;
	bool joins_behind = i < arrived->count && ranges[i].low == range->high;

	if (joins_before && joins_behind) {
		ranges[i - 1].high = ranges[i].high;
		arrived->count--;
		memmove(ranges + i, ranges + i + 1,
			(arrived->count - i) * sizeof(*ranges));
	} else if (joins_before) {
		ranges[i - 1].high = range->high;
	} else if (joins_behind) {
		ranges[i].low = range->low;
	} else {
		if (!make_room(context, arrived))
			return false;
		ranges = arrived->many ? arrived->many : arrived->few;
		memmove(ranges + i + 1, ranges + i,
			(arrived->count - i) * sizeof(*ranges));
		ranges[i] = *range;
		arrived->count++;
	}
	return true;
}

void dtc_arrived_free(struct dtconv_context *context, struct dtc_arrived *arrived)
{
	dtc_free(context, arrived->many);
	arrived->many = NULL;
}
