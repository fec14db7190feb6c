/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes of a message have arrived: disjoint ranges in order. In a message that comes in order it is one range;
 * the set allocates only when there are more than a few.
 */
#ifndef DTC_ARRIVED_H
#define DTC_ARRIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtconv_context;

struct dtc_range {
	uint64_t low, high;
};

#define DTC_ARRIVED_FEW 4

struct dtc_arrived {
	struct dtc_range few[DTC_ARRIVED_FEW];
	struct dtc_range *many; /* NULL: few */
	size_t count, capacity;
};

/* Empty the set; what it has allocated stays. */
static inline void dtc_arrived_clear(struct dtc_arrived *arrived)
{
	arrived->count = 0;
}

void dtc_arrived_free(struct dtconv_context *context, struct dtc_arrived *arrived);

/* The first range in [low, high) that has not arrived; false if all of it has. */
bool dtc_arrived_find_gap(const struct dtc_arrived *arrived, uint64_t low, uint64_t high,
			  struct dtc_range *gap);

/* Add a range that is a gap or part of one. False if the allocator has no memory. */
bool dtc_arrived_add(struct dtconv_context *context, struct dtc_arrived *arrived,
		     const struct dtc_range *range);

#endif
