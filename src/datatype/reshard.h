/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resharding inside the library: indexed placements, pieces of messages, and the functions that the
 * planner's files call of each other. Everything is arithmetic on indices and strides.
 */
#ifndef DTC_RESHARD_H
#define DTC_RESHARD_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/reshard.h>

#include "base/base.h"
#include "base/context.h"
#include "base/vec.h"

/* The most pieces into which overlapping source boxes may cut the intersection of two boxes. */
#define DTC_RESHARD_PIECES_MAX 65536

/* Children of a node of the search tree, as a power of two, and the most levels of nodes. */
#define DTC_SHARDS_FAN    3
#define DTC_SHARDS_LEVELS 22

/*
 * Corners of a box: the index of its first element, then that behind its last one, both in all dimensions.
 * A box of an array without dimensions has no corners and one element.
 */
#define DTC_CORNERS_MAX (2 * DTCONV_RESHARD_NDIMS_MAX)

/* A box of one rank that has elements, with all defaults filled in. */
struct dtc_shard {
	size_t ndims;
	const size_t *corners;
	const ptrdiff_t *strides;
	ptrdiff_t offset;
	size_t rank;
	size_t number; /* in the caller's list */
	size_t group;  /* of shards with the same corners */
	size_t spread; /* of a target: selects one of several holders */
};

/* All boxes of a placement, indexed. */
struct dtc_shards {
	size_t ndims;
	size_t count;
	struct dtc_shard *all;    /* by corners, then rank, then number */
	struct dtc_shard **ranks; /* by rank, then number */
	size_t group_count;
	size_t *groups; /* the first shard of each group, and the end */
	void *numbers;  /* memory of corners and strides */
	/* Bounding boxes of 8 groups, of 64, and so on; level 0 is unused. */
	unsigned levels;
	size_t *bounds;
	size_t *level[DTC_SHARDS_LEVELS];
};

struct dtconv_reshard {
	struct dtconv_context *context;
	struct dtconv_type *element;
	size_t rank_count;
	size_t ndims;
	struct dtc_shards source;
	struct dtc_shards target;
};

/* A box of elements that one rank sends to another. */
struct dtc_piece {
	size_t ndims;
	size_t dimension; /* along which pieces are being joined */
	size_t peer;
	const struct dtc_shard *source;
	const struct dtc_shard *target;
	size_t corners[];
};

/* ---- corners ------------------------------------------------------------------------- */

static inline bool dtc_corners_meet(size_t ndims, const size_t *a, const size_t *b)
{
	for (size_t d = 0; d < ndims; d++)
		if (a[d] >= b[ndims + d] || b[d] >= a[ndims + d])
			return false;
	return true;
}

static inline bool dtc_corners_contain(size_t ndims, const size_t *outer,
				       const size_t *inner)
{
	for (size_t d = 0; d < ndims; d++)
		if (inner[d] < outer[d] || inner[ndims + d] > outer[ndims + d])
			return false;
	return true;
}

static inline void dtc_corners_intersect(size_t ndims, const size_t *a, const size_t *b,
					 size_t *both)
{
	for (size_t d = 0; d < ndims; d++) {
		both[d] = DTC_MAX(a[d], b[d]);
		both[ndims + d] = DTC_MIN(a[ndims + d], b[ndims + d]);
	}
}

/* Of a box that somebody stores, so it does not overflow. */
static inline size_t dtc_corners_elements(size_t ndims, const size_t *corners)
{
	size_t elements = 1;

	for (size_t d = 0; d < ndims; d++)
		elements *= corners[ndims + d] - corners[d];
	return elements;
}

/* ---- reshard_index.c ----------------------------------------------------------------- */

/* Sort and index the shards that the caller has filled in. False if memory ran out. */
bool dtc_shards_index(struct dtconv_context *context, struct dtc_shards *shards,
		      bool drop_copies);

void dtc_shards_drop(struct dtconv_context *context, struct dtc_shards *shards);

/* A search for the groups that intersect a box, in ascending order. */
struct dtc_search {
	const struct dtc_shards *shards;
	const size_t *corners;
	size_t next;
};

bool dtc_search_next(struct dtc_search *search, size_t *group);

/* The shard of a rank in a group, or NULL. */
const struct dtc_shard *dtc_shards_find(const struct dtc_shards *shards, size_t group,
					size_t rank);

/* The first of a rank's shards in shards->ranks, and their number. */
size_t dtc_shards_of(const struct dtc_shards *shards, size_t rank, size_t *count);

/* ---- reshard_share.c ----------------------------------------------------------------- */

size_t dtc_piece_bytes(size_t ndims);

static inline struct dtc_piece *dtc_piece_at(const struct dtc_vec *pieces, size_t i)
{
	return (struct dtc_piece *)(void *)((char *)pieces->items + i * pieces->width);
}

/*
 * Append the pieces of a target box that the ranks of a source group send from their boxes of that group. Fails
 * with LIMIT and NOMEM.
 */
int dtc_reshard_share(const struct dtconv_reshard *reshard, const char *caller,
		      size_t group, const struct dtc_shard *target,
		      struct dtc_vec *pieces);

/*
 * Find the first element of a box that no rank of the source holds. False if there is none, or if memory ran out
 * or the limit was reached before it was found.
 */
bool dtc_reshard_find_missing(const struct dtconv_reshard *reshard, const size_t *box,
			      size_t *index);

/* ---- reshard_type.c ------------------------------------------------------------------ */

/* Make the committed type of consecutive pieces, over the buffer of their source or of their target. */
int dtc_reshard_type(const struct dtconv_reshard *reshard, const char *caller,
		     const struct dtc_vec *pieces, size_t first, size_t count,
		     bool of_source, struct dtconv_type **type);

#endif
