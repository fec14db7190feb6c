/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares signatures; element by element only where their loops differ.
 */
#include "config.h"

#include "signature.h"

#include <string.h>

#include "base/base.h"
#include "walk.h"

/* The innermost loop if the walk is at the beginning of an iteration of it, else NULL. */
static struct dtc_walk_frame *trip_start(struct dtc_walk *walk)
{
	const struct dtc_signature_node *nodes = walk->signature->nodes;

	if (walk->depth == 0)
		return NULL;
	struct dtc_walk_frame *top = &walk->frames[walk->depth - 1];
	bool at_start = walk->node == top->node + 1 &&
			walk->left == nodes[walk->node].count;
	return at_start ? top : NULL;
}

/*
 * Skip the iterations that two equal loops have in common. Returns the number of elements
 * skipped.
 */
static uint64_t skip_equal_trips(struct dtc_walk *a, struct dtc_walk *b, uint64_t limit)
{
	struct dtc_walk_frame *loop_a = trip_start(a);
	struct dtc_walk_frame *loop_b = trip_start(b);

	if (!loop_a || !loop_b)
		return 0;
	const struct dtc_signature_node *head_a = &a->signature->nodes[loop_a->node];
	const struct dtc_signature_node *head_b = &b->signature->nodes[loop_b->node];
	if (!dtc_signature_same_unit(head_a, head_b))
		return 0;
	uint64_t trips = DTC_MIN(loop_a->trips_left, loop_b->trips_left);
	uint64_t trip_elements = head_a->element_count / head_a->count;
	trips = DTC_MIN(trips, limit / trip_elements);
	loop_a->trips_left -= trips;
	loop_b->trips_left -= trips;
	return trips * trip_elements;
}

static bool equal_elements(struct dtc_walk *a, struct dtc_walk *b, uint64_t element_count)
{
	while (element_count) {
		element_count -= skip_equal_trips(a, b, element_count);
		if (element_count == 0)
			return true;
		if (a->signature->nodes[a->node].basic !=
		    b->signature->nodes[b->node].basic)
			return false;
		uint64_t step = DTC_MIN(DTC_MIN(a->left, b->left), element_count);
		element_count -= step;
		a->left -= step;
		b->left -= step;
		if (element_count && a->left == 0)
			dtc_walk_next_run(a);
		if (element_count && b->left == 0)
			dtc_walk_next_run(b);
	}
	return true;
}

static enum dtconv_signature_relation relation_of_lengths(uint64_t a, uint64_t b)
{
	if (a == b)
		return DTCONV_SIGNATURE_EQUAL;
	return a < b ? DTCONV_SIGNATURE_PREFIX : DTCONV_SIGNATURE_EXTENDS;
}

enum dtconv_signature_relation dtc_signature_compare(const struct dtc_signature *a,
						     uint64_t count_a,
						     const struct dtc_signature *b,
						     uint64_t count_b)
{
	uint64_t length_a = a->element_count * count_a;
	uint64_t length_b = b->element_count * count_b;
	uint64_t shorter = DTC_MIN(length_a, length_b);
	uint64_t periods;
	struct dtc_walk walk_a, walk_b;

	if (shorter == 0)
		return relation_of_lengths(length_a, length_b);
	if (a->node_count == b->node_count && a->element_count == b->element_count &&
	    memcmp(a->nodes, b->nodes, a->node_count * sizeof(a->nodes[0])) == 0)
		return relation_of_lengths(length_a, length_b);
	/*
	 * Two periodic sequences that agree over the sum of their periods agree everywhere
	 * (Fine and Wilf, 1965), so longer counts need no comparison.
	 */
	if (!__builtin_add_overflow(a->element_count, b->element_count, &periods))
		shorter = DTC_MIN(shorter, periods);
	dtc_walk_init(&walk_a, a, NULL, count_a);
	dtc_walk_init(&walk_b, b, NULL, count_b);
	if (!equal_elements(&walk_a, &walk_b, shorter))
		return DTCONV_SIGNATURE_DIFFERENT;
	return relation_of_lengths(length_a, length_b);
}
