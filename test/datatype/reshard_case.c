/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random placements and their oracle: indices one by one, no intersections.
 */
#include "config.h"

#include "reshard_case.h"

#include <stdlib.h>
#include <string.h>

#include "support/marks.h"
#include "support/random_type.h"
#include "support/t.h"

enum { GUARD = 0xe7 };

/* ---- elements -------------------------------------------------------------------------- */

struct element {
	const char *text;
	size_t extent, size, places[CASE_ELEMENT];
};

static const struct element elements[] = {
	{ "char", 1, 1, { 0 } },
	{ "short", 2, 2, { 0, 1 } },
	{ "int", 4, 4, { 0, 1, 2, 3 } },
	{ "double", 8, 8, { 0, 1, 2, 3, 4, 5, 6, 7 } },
	{ "resized(struct([1,1], [0,6], [short,char]), 0, 8)", 8, 3, { 0, 1, 6 } },
	{ "resized(hindexed([1], [4], int), 0, 12)", 12, 4, { 4, 5, 6, 7 } },
};

static void choose_element(struct reshard_case *one, struct random_stream *random)
{
	const struct element *element =
		&elements[random_below(random, COUNT_OF(elements))];

	one->element = t_parse(element->text);
	one->extent = element->extent;
	one->size = element->size;
	memcpy(one->places, element->places, sizeof(one->places));
}

/* ---- boxes ----------------------------------------------------------------------------- */

static void choose_array(struct reshard_case *one, struct random_stream *random)
{
	static const size_t most[] = { 200, 24, 9, 6, 4 };

	one->ndims = 1 + random_below(random, CASE_NDIMS);
	one->elements = 1;
	for (size_t d = 0; d < one->ndims; d++) {
		one->sizes[d] = 1 + random_below(random, most[one->ndims - 1]);
		one->elements *= one->sizes[d];
	}
	one->rank_count = 1 + random_below(random, CASE_RANKS);
}

static struct case_box *add_box(struct case_placement *placement, size_t rank,
				const struct case_box *like)
{
	struct case_box *box = &placement->boxes[placement->count];

	if (placement->count == CASE_BOXES)
		return NULL;
	placement->count++;
	*box = *like;
	box->box.rank = rank;
	return box;
}

/* The box to up to @most distinct ranks, of the first @ranks. */
static void give_out(struct case_placement *placement, struct random_stream *random,
		     size_t ranks, size_t most, const struct case_box *box)
{
	const size_t copies = 1 + random_below(random, most < ranks ? most : ranks);
	const size_t first = random_below(random, ranks);

	for (size_t i = 0; i < copies; i++)
		add_box(placement, (first + i) % ranks, box);
}

/* Split a box in two along some dimension, again and again, until there are @count boxes; returns their number. */
static size_t split(const struct reshard_case *one, struct random_stream *random,
		    size_t count, struct case_box *boxes)
{
	size_t made = 1;

	memset(&boxes[0], 0, sizeof(boxes[0]));
	memcpy(boxes[0].sizes, one->sizes, sizeof(one->sizes));
	for (size_t tries = 0; made < count && tries < 4 * count; tries++) {
		struct case_box *box = &boxes[random_below(random, made)];
		const size_t d = random_below(random, one->ndims);

		if (box->sizes[d] < 2)
			continue;
		const size_t cut = 1 + random_below(random, box->sizes[d] - 1);
		boxes[made] = *box;
		boxes[made].lower[d] += cut;
		boxes[made++].sizes[d] -= cut;
		box->sizes[d] = cut;
	}
	return made;
}

/* Boxes between cuts that go through the whole array, as of a grid of processes. */
static size_t cut_grid(const struct reshard_case *one, struct random_stream *random,
		       struct case_box *boxes)
{
	size_t made = 1;

	memset(&boxes[0], 0, sizeof(boxes[0]));
	memcpy(boxes[0].sizes, one->sizes, sizeof(one->sizes));
	for (size_t d = 0; d < one->ndims && made <= 16; d++) {
		const size_t parts = 1 + random_below(random, 4), before = made;
		const size_t part = (one->sizes[d] + parts - 1) / parts;

		for (size_t i = 0; i < before; i++)
			boxes[i].sizes[d] = part;
		for (size_t lower = part; lower < one->sizes[d]; lower += part) {
			for (size_t i = 0; i < before; i++) {
				boxes[made] = boxes[i];
				boxes[made].lower[d] = lower;
				if (one->sizes[d] - lower < part)
					boxes[made].sizes[d] = one->sizes[d] - lower;
				made++;
			}
		}
	}
	return made;
}

static size_t partition(const struct reshard_case *one, struct random_stream *random,
			struct case_box *boxes)
{
	return random_once_in(random, 2)
		       ? cut_grid(one, random, boxes)
		       : split(one, random, 1 + random_below(random, 12), boxes);
}

/* Ghost cells: a box grows in all dimensions, as far as the array reaches. */
static void grow(const struct reshard_case *one, struct random_stream *random,
		 struct case_box *box)
{
	const size_t width = random_below(random, 3);

	for (size_t d = 0; d < one->ndims; d++) {
		const size_t below = box->lower[d] < width ? box->lower[d] : width;
		const size_t end = box->lower[d] + box->sizes[d];
		const size_t above = one->sizes[d] - end < width ? one->sizes[d] - end
								 : width;

		box->lower[d] -= below;
		box->sizes[d] += below + above;
	}
}

static void choose_source(struct reshard_case *one, struct random_stream *random)
{
	const bool ghosts = random_once_in(random, 3);
	static struct case_box boxes[64];
	const size_t count = partition(one, random, boxes);
	const size_t replicas = 1 + random_below(random, 3);

	for (size_t i = 0; i < count; i++) {
		if (ghosts)
			grow(one, random, &boxes[i]);
		give_out(&one->source, random, one->rank_count, replicas, &boxes[i]);
	}
	/* Whatever boxes, and some without elements. */
	for (size_t more = random_below(random, 4); more > 0; more--) {
		struct case_box box = boxes[random_below(random, count)];
		const size_t d = random_below(random, one->ndims);

		box.lower[d] = random_below(random, one->sizes[d]);
		box.sizes[d] = random_below(random, one->sizes[d] - box.lower[d] + 1);
		give_out(&one->source, random, one->rank_count, 2, &box);
	}
}

static void choose_target(struct reshard_case *one, struct random_stream *random)
{
	const size_t ranks = 1 + random_below(random, one->rank_count);
	const size_t replicas = random_once_in(random, 3) ? 4 : 1;
	static struct case_box boxes[64];
	const size_t count = partition(one, random, boxes);

	for (size_t i = 0; i < count; i++)
		if (!random_once_in(random, 8))
			give_out(&one->target, random, ranks, replicas, &boxes[i]);
}

/* ---- storage --------------------------------------------------------------------------- */

static void shuffle_order(const struct reshard_case *one, struct random_stream *random,
			  size_t *order)
{
	for (size_t d = 0; d < one->ndims; d++)
		order[d] = d;
	for (size_t d = one->ndims; d > 1; d--) {
		const size_t other = random_below(random, d);
		const size_t kept = order[d - 1];

		order[d - 1] = order[other];
		order[other] = kept;
	}
}

/* Strides in some order, the fastest last, with @padding after each row, plane, and so on. */
static void set_strides(const struct reshard_case *one, struct random_stream *random,
			bool padded, struct case_box *box)
{
	ptrdiff_t stride = (ptrdiff_t)one->extent;

	for (size_t i = one->ndims; i-- > 0;) {
		const size_t d = box->order[i];
		const bool backwards = padded && random_once_in(random, 5);

		if (padded)
			stride += (ptrdiff_t)random_below(random, 3) *
					  (ptrdiff_t)one->extent +
				  (ptrdiff_t)(random_once_in(random, 4) * 3);
		box->strides[d] = backwards ? -stride : stride;
		stride *= (ptrdiff_t)box->sizes[d];
	}
}

static bool has_elements(const struct reshard_case *one, const struct case_box *box)
{
	for (size_t d = 0; d < one->ndims; d++)
		if (box->sizes[d] == 0)
			return false;
	return true;
}

/* Put the box behind those that its rank's buffer has already. */
static void place(const struct reshard_case *one, struct random_stream *random,
		  struct case_placement *placement, struct case_box *box)
{
	size_t *bytes = &placement->bytes[box->box.rank];
	ptrdiff_t low = 0, high = (ptrdiff_t)one->extent;

	for (size_t d = 0; d < one->ndims && has_elements(one, box); d++) {
		const ptrdiff_t reach = box->strides[d] * (ptrdiff_t)(box->sizes[d] - 1);

		*(reach < 0 ? &low : &high) += reach;
	}
	*bytes += random_below(random, 5);
	box->box.offset =
		(ptrdiff_t)*bytes - low - (ptrdiff_t)placement->begin[box->box.rank];
	*bytes += (size_t)(high - low);
}

static void store(const struct reshard_case *one, struct random_stream *random,
		  struct case_placement *placement, size_t i)
{
	struct case_box *box = &placement->boxes[i];
	const bool padded = random_once_in(random, 2);
	const bool c_order = random_once_in(random, 3);

	shuffle_order(one, random, box->order);
	if (c_order)
		for (size_t d = 0; d < one->ndims; d++)
			box->order[d] = d;
	set_strides(one, random, padded, box);
	place(one, random, placement, box);
	box->box.lower = box->lower;
	box->box.sizes = box->sizes;
	box->box.strides = padded ? box->strides : NULL;
	box->box.order = padded || c_order ? NULL : box->order;
	placement->list[i] = box->box;
}

static void store_all(struct reshard_case *one, struct random_stream *random,
		      struct case_placement *placement)
{
	for (size_t rank = 0; rank < one->rank_count; rank++)
		placement->begin[rank] = random_below(random, 20);
	for (size_t i = 0; i < placement->count; i++)
		store(one, random, placement, i);
	for (size_t rank = 0; rank < one->rank_count; rank++)
		placement->buffers[rank] = malloc(placement->bytes[rank] + 32);
}

/* ---- cases ----------------------------------------------------------------------------- */

void reshard_case_create(struct reshard_case *one, uint64_t seed)
{
	struct random_stream random = { seed };

	memset(one, 0, sizeof(*one));
	one->seed = seed;
	choose_element(one, &random);
	choose_array(one, &random);
	choose_source(one, &random);
	choose_target(one, &random);
	store_all(one, &random, &one->source);
	store_all(one, &random, &one->target);
}

void reshard_case_destroy(struct reshard_case *one)
{
	dtconv_type_unref(one->element);
	for (size_t rank = 0; rank < one->rank_count; rank++) {
		free(one->source.buffers[rank]);
		free(one->target.buffers[rank]);
	}
}

struct dtconv_reshard_params reshard_case_params(struct reshard_case *one)
{
	return (struct dtconv_reshard_params){
		.struct_size = sizeof(struct dtconv_reshard_params),
		.rank_count = one->rank_count,
		.ndims = one->ndims,
		.sizes = one->sizes,
		.element = one->element,
		.source = { one->source.count, one->source.list },
		.target = { one->target.count, one->target.list },
	};
}

/* ---- the oracle ------------------------------------------------------------------------ */

/* The index of an element in each dimension. */
static void index_of(const struct reshard_case *one, size_t element, size_t *index)
{
	for (size_t d = one->ndims; d-- > 0;) {
		index[d] = element % one->sizes[d];
		element /= one->sizes[d];
	}
}

static bool holds(const struct reshard_case *one, const struct case_box *box,
		  const size_t *index)
{
	for (size_t d = 0; d < one->ndims; d++)
		if (index[d] < box->lower[d] || index[d] >= box->lower[d] + box->sizes[d])
			return false;
	return true;
}

/* Where a byte of an element lies in its rank's buffer. */
static size_t place_of(const struct reshard_case *one,
		       const struct case_placement *placement, const struct case_box *box,
		       const size_t *index, size_t byte)
{
	ptrdiff_t disp = box->box.offset + (ptrdiff_t)placement->begin[box->box.rank];

	for (size_t d = 0; d < one->ndims; d++)
		disp += (ptrdiff_t)(index[d] - box->lower[d]) * box->strides[d];
	return (size_t)disp + one->places[byte];
}

static unsigned char contents(size_t element, size_t byte)
{
	return (unsigned char)((element * 8 + byte) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

void reshard_case_fill(struct reshard_case *one, bool ranks)
{
	size_t index[CASE_NDIMS];

	for (size_t i = 0; i < one->source.count; i++) {
		const struct case_box *box = &one->source.boxes[i];

		for (size_t element = 0; element < one->elements; element++) {
			index_of(one, element, index);
			for (size_t byte = 0; byte < one->size && holds(one, box, index);
			     byte++)
				one->source.buffers[box->box.rank][place_of(
					one, &one->source, box, index, byte)] =
					ranks ? (unsigned char)box->box.rank
					      : contents(element, byte);
		}
	}
}

void reshard_case_guard(struct reshard_case *one)
{
	for (size_t rank = 0; rank < one->rank_count; rank++)
		memset(one->target.buffers[rank], GUARD, one->target.bytes[rank] + 32);
}

/* Whether a box is in one source box of its rank. */
static bool is_at_home(const struct reshard_case *one, const struct case_box *target)
{
	for (size_t i = 0; i < one->source.count; i++) {
		const struct case_box *box = &one->source.boxes[i];
		bool inside = box->box.rank == target->box.rank;

		for (size_t d = 0; d < one->ndims; d++)
			inside = inside && box->lower[d] <= target->lower[d] &&
				 box->lower[d] + box->sizes[d] >=
					 target->lower[d] + target->sizes[d];
		if (inside)
			return true;
	}
	return false;
}

/* The documented order of target boxes. */
static bool is_before(const struct reshard_case *one, const struct case_box *a,
		      const struct case_box *b)
{
	for (size_t d = 0; d < one->ndims; d++)
		if (a->lower[d] != b->lower[d])
			return a->lower[d] < b->lower[d];
	for (size_t d = 0; d < one->ndims; d++)
		if (a->sizes[d] != b->sizes[d])
			return a->sizes[d] < b->sizes[d];
	return a->box.rank < b->box.rank;
}

static size_t number_of(const struct reshard_case *one, const struct case_box *target)
{
	size_t number = 0;

	for (size_t i = 0; i < one->target.count; i++) {
		const struct case_box *box = &one->target.boxes[i];

		number += is_before(one, box, target) && !is_at_home(one, box);
	}
	return number;
}

/* The rank that sends an element of the target box with this number. */
static size_t sender_of(const struct reshard_case *one, const struct case_box *target,
			size_t number, const size_t *index)
{
	bool held[CASE_RANKS] = { false };
	size_t holders = 0, rank = 0;

	for (size_t i = 0; i < one->source.count; i++)
		if (holds(one, &one->source.boxes[i], index))
			held[one->source.boxes[i].box.rank] = true;
	if (held[target->box.rank])
		return target->box.rank;
	for (size_t i = 0; i < one->rank_count; i++)
		holders += held[i];
	ck_assert_uint_gt(holders, 0);
	for (size_t skip = number % holders; !held[rank] || skip > 0; rank++)
		skip -= held[rank];
	return rank;
}

static void expect_box(const struct reshard_case *one, const struct case_box *target,
		       bool ranks, unsigned char *expected)
{
	const size_t number = number_of(one, target);
	size_t index[CASE_NDIMS];

	for (size_t element = 0; element < one->elements; element++) {
		index_of(one, element, index);
		if (!holds(one, target, index))
			continue;
		const size_t sender = ranks ? sender_of(one, target, number, index) : 0;
		for (size_t byte = 0; byte < one->size; byte++)
			expected[place_of(one, &one->target, target, index, byte)] =
				ranks ? (unsigned char)sender : contents(element, byte);
	}
}

bool reshard_case_is_right(const struct reshard_case *one, bool ranks)
{
	bool right = true;

	for (size_t rank = 0; rank < one->rank_count && right; rank++) {
		const size_t bytes = one->target.bytes[rank] + 32;
		unsigned char *expected = malloc(bytes);

		memset(expected, GUARD, bytes);
		for (size_t i = 0; i < one->target.count; i++)
			if (one->target.boxes[i].box.rank == rank)
				expect_box(one, &one->target.boxes[i], ranks, expected);
		right = memcmp(expected, one->target.buffers[rank], bytes) == 0;
		free(expected);
	}
	return right;
}
