/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of a placement. Boxes are sorted by their corners, boxes with equal corners form a group, and a tree
 * of bounding boxes over the sorted groups finds those that intersect a box. Sorted boxes of a grid are neighbours
 * in its last dimensions, so bounding boxes are small.
 */
#include "config.h"

#include "reshard.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/checked.h"

/* ---- order ----------------------------------------------------------------------------- */

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_corners(size_t ndims, const size_t *a, const size_t *b)
{
	for (size_t i = 0; i < 2 * ndims; i++)
		if (a[i] != b[i])
			return compare(a[i], b[i]);
	return 0;
}

static int compare_ranks(const struct dtc_shard *a, const struct dtc_shard *b)
{
	const int order = compare(a->rank, b->rank);

	return order ? order : compare(a->number, b->number);
}

static int by_corners(const void *left, const void *right)
{
	const struct dtc_shard *a = left, *b = right;
	const int order = compare_corners(a->ndims, a->corners, b->corners);

	return order ? order : compare_ranks(a, b);
}

static int by_rank(const void *left, const void *right)
{
	return compare_ranks(*(struct dtc_shard *const *)left,
			     *(struct dtc_shard *const *)right);
}

/* ---- groups ---------------------------------------------------------------------------- */

static bool have_equal_corners(const struct dtc_shard *a, const struct dtc_shard *b)
{
	return compare_corners(a->ndims, a->corners, b->corners) == 0;
}

/* A rank that lists a box twice sends it from the first place. */
static void drop_second_copies(struct dtc_shards *shards)
{
	size_t kept = 0;

	for (size_t i = 0; i < shards->count; i++) {
		const struct dtc_shard *shard = &shards->all[i];

		if (kept && shards->all[kept - 1].rank == shard->rank &&
		    have_equal_corners(&shards->all[kept - 1], shard))
			continue;
		shards->all[kept++] = *shard;
	}
	shards->count = kept;
}

static void group_shards(struct dtc_shards *shards)
{
	for (size_t i = 0; i < shards->count; i++) {
		if (i == 0 || !have_equal_corners(&shards->all[i - 1], &shards->all[i]))
			shards->groups[shards->group_count++] = i;
		shards->all[i].group = shards->group_count - 1;
		shards->ranks[i] = &shards->all[i];
	}
	shards->groups[shards->group_count] = shards->count;
}

/* ---- the tree -------------------------------------------------------------------------- */

static size_t nodes_at(const struct dtc_shards *shards, unsigned level)
{
	const size_t below = ((size_t)1 << (level * DTC_SHARDS_FAN)) - 1;

	return (shards->group_count >> (level * DTC_SHARDS_FAN)) +
	       ((shards->group_count & below) != 0);
}

static const size_t *corners_at(const struct dtc_shards *shards, unsigned level,
				size_t node)
{
	if (level == 0)
		return shards->all[shards->groups[node]].corners;
	return shards->level[level] + node * 2 * shards->ndims;
}

static void bound(const struct dtc_shards *shards, unsigned level, size_t node)
{
	const size_t ndims = shards->ndims;
	const size_t first = node << DTC_SHARDS_FAN;
	const size_t end =
		DTC_MIN((node + 1) << DTC_SHARDS_FAN, nodes_at(shards, level - 1));
	size_t *corners = shards->level[level] + node * 2 * ndims;

	if (ndims)
		memcpy(corners, corners_at(shards, level - 1, first),
		       2 * ndims * sizeof(corners[0]));
	for (size_t i = first + 1; i < end; i++) {
		const size_t *child = corners_at(shards, level - 1, i);

		for (size_t d = 0; d < ndims; d++) {
			corners[d] = DTC_MIN(corners[d], child[d]);
			corners[ndims + d] =
				DTC_MAX(corners[ndims + d], child[ndims + d]);
		}
	}
}

static bool grow_tree(struct dtconv_context *context, struct dtc_shards *shards)
{
	size_t nodes = 0;

	for (shards->levels = 1; nodes_at(shards, shards->levels - 1) > 1;
	     shards->levels++)
		nodes += nodes_at(shards, shards->levels);
	shards->bounds =
		dtc_alloc(context, (nodes * 2 * shards->ndims + 1) * sizeof(size_t));
	if (!shards->bounds)
		return false;
	size_t *corners = shards->bounds;
	for (unsigned level = 1; level < shards->levels; level++) {
		shards->level[level] = corners;
		for (size_t node = 0; node < nodes_at(shards, level); node++)
			bound(shards, level, node);
		corners += nodes_at(shards, level) * 2 * shards->ndims;
	}
	return true;
}

/* ---- create and drop ------------------------------------------------------------------- */

bool dtc_shards_index(struct dtconv_context *context, struct dtc_shards *shards,
		      bool drop_copies)
{
	/* The products fit: the shards, which are longer, are in memory. */
	shards->ranks =
		dtc_alloc(context, (shards->count + 1) * sizeof(shards->ranks[0]));
	shards->groups = dtc_alloc(context, (shards->count + 1) * sizeof(size_t));
	if (!shards->ranks || !shards->groups)
		return false;
	if (shards->count)
		qsort(shards->all, shards->count, sizeof(shards->all[0]), by_corners);
	if (drop_copies)
		drop_second_copies(shards);
	group_shards(shards);
	if (shards->count)
		qsort(shards->ranks, shards->count, sizeof(shards->ranks[0]), by_rank);
	return grow_tree(context, shards);
}

void dtc_shards_drop(struct dtconv_context *context, struct dtc_shards *shards)
{
	dtc_free(context, shards->all);
	dtc_free(context, shards->ranks);
	dtc_free(context, shards->groups);
	dtc_free(context, shards->numbers);
	dtc_free(context, shards->bounds);
}

/* ---- search ---------------------------------------------------------------------------- */

/* The highest level at which a node begins with this group. */
static unsigned level_of(const struct dtc_shards *shards, size_t group)
{
	unsigned level = 0;

	while (level + 1 < shards->levels &&
	       (group & (((size_t)1 << ((level + 1) * DTC_SHARDS_FAN)) - 1)) == 0)
		level++;
	return level;
}

/* Whether the group intersects the box; otherwise go on behind the largest node that does not. */
static bool visit(struct dtc_search *search)
{
	const struct dtc_shards *shards = search->shards;

	for (unsigned level = level_of(shards, search->next) + 1; level-- > 0;) {
		const unsigned shift = level * DTC_SHARDS_FAN;
		const size_t node = search->next >> shift;

		if (!dtc_corners_meet(shards->ndims, search->corners,
				      corners_at(shards, level, node))) {
			search->next = (node + 1) << shift;
			return false;
		}
	}
	return true;
}

bool dtc_search_next(struct dtc_search *search, size_t *group)
{
	while (search->next < search->shards->group_count) {
		if (visit(search)) {
			*group = search->next++;
			return true;
		}
	}
	return false;
}

const struct dtc_shard *dtc_shards_find(const struct dtc_shards *shards, size_t group,
					size_t rank)
{
	size_t first = shards->groups[group], end = shards->groups[group + 1];

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (shards->all[middle].rank < rank)
			first = middle + 1;
		else
			end = middle;
	}
	return first < shards->groups[group + 1] && shards->all[first].rank == rank
		       ? &shards->all[first]
		       : NULL;
}

/* The first of the shards by rank whose rank is not below @rank. */
static size_t lower_bound(const struct dtc_shards *shards, size_t rank)
{
	size_t first = 0, end = shards->count;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (shards->ranks[middle]->rank < rank)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

size_t dtc_shards_of(const struct dtc_shards *shards, size_t rank, size_t *count)
{
	const size_t first = lower_bound(shards, rank);

	/* Ranks are below rank_count, so the next one does not wrap around. */
	*count = lower_bound(shards, rank + 1) - first;
	return first;
}
