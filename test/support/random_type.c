/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random trees of constructor calls. A tree is grown from the leaves, with the oracle's
 * typemap of each part at hand, so that sizes stay in bounds and blocks can be laid side by
 * side when overlap is forbidden.
 */
#include "config.h"

#include "support/random_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_tree.h"
#include "support/ref_predefined.h"
#include "support/ref_typemap.h"

/* ---- numbers ------------------------------------------------------------------------- */

uint64_t random_next(struct random_stream *stream)
{
	uint64_t x = stream->state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

size_t random_below(struct random_stream *stream, size_t n)
{
	uint64_t x = random_next(stream);

	return n == 0 ? 0 : (size_t)(x % n);
}

ptrdiff_t random_between(struct random_stream *stream, ptrdiff_t low, ptrdiff_t high)
{
	return low + (ptrdiff_t)random_below(stream, (size_t)(high - low) + 1);
}

bool random_once_in(struct random_stream *stream, size_t n)
{
	return random_below(stream, n) == 0;
}

uint64_t random_seed(uint64_t otherwise)
{
	const char *text = getenv("DTCONV_TEST_SEED");

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- growing ------------------------------------------------------------------------- */

/* A part of the tree and its typemap. */
struct part {
	struct random_tree *tree;
	struct ref_typemap map;
};

struct grower {
	struct random_stream stream;
	struct random_limits limits;
};

static struct random_limits with_defaults(const struct random_limits *limits)
{
	struct random_limits result = limits ? *limits : (struct random_limits){ 0 };

	if (result.depth == 0)
		result.depth = 4;
	if (result.max_blocks == 0)
		result.max_blocks = 6;
	if (result.max_count == 0)
		result.max_count = 8;
	if (result.max_entries == 0)
		result.max_entries = 2000;
	if (result.max_span == 0)
		result.max_span = 65536;
	if (result.instances == 0)
		result.instances = 2;
	return result;
}

static bool map_of(const struct random_tree *tree, const struct ref_typemap *const old[],
		   const struct random_limits *limits, struct ref_typemap *map)
{
	if (tree->combiner == DTCONV_COMBINER_NAMED)
		return ref_typemap_predefined(tree->predefined, map) == 0;
	struct ref_constructor constructor = { .combiner = tree->combiner,
					       .counts = tree->counts,
					       .displacements = tree->displacements,
					       .oldtypes = old,
					       .padding = limits->padding };
	return ref_typemap_apply(&constructor, limits->max_entries, map) == 0;
}

/* Bytes that so many instances reach over. */
static bool fits(const struct ref_typemap *map, const struct random_limits *limits)
{
	ptrdiff_t extent = ref_typemap_extent(map);
	ptrdiff_t span = ref_typemap_high(map, limits->instances) -
			 ref_typemap_low(map, limits->instances);
	ptrdiff_t most = (ptrdiff_t)limits->max_span;

	if (span > most || extent > most || extent < -most || map->true_lb > most ||
	    map->true_lb < -most || map->lb > most || map->lb < -most)
		return false;
	return !limits->distinct || !ref_typemap_overlaps(map, limits->instances);
}

static struct part leaf(struct grower *g)
{
	static const enum dtconv_predefined usual[] = {
		DTCONV_INT8,  DTCONV_INT16,  DTCONV_INT,        DTCONV_FLOAT,
		DTCONV_INT64, DTCONV_DOUBLE, DTCONV_DOUBLE_INT, DTCONV_SHORT_INT,
		DTCONV_CHAR,  DTCONV_BYTE,   DTCONV_LONG_DOUBLE
	};
	struct part part = { .tree = random_tree_new(DTCONV_COMBINER_NAMED, 0, 0, 0) };

	if (random_once_in(&g->stream, 3))
		part.tree->predefined = (enum dtconv_predefined)random_below(
			&g->stream, DTCONV_PREDEFINED_COUNT);
	else
		part.tree->predefined =
			usual[random_below(&g->stream, sizeof(usual) / sizeof(usual[0]))];
	if (!map_of(part.tree, NULL, &g->limits, &part.map))
		abort();
	return part;
}

/* A Fortran kind that exists. */
static struct part fortran_leaf(struct grower *g)
{
	static const enum dtconv_combiner kinds[] = { DTCONV_COMBINER_F90_REAL,
						      DTCONV_COMBINER_F90_COMPLEX,
						      DTCONV_COMBINER_F90_INTEGER };
	enum dtconv_combiner kind = kinds[random_below(&g->stream, 3)];
	bool integer = kind == DTCONV_COMBINER_F90_INTEGER;
	struct part part = { .tree = random_tree_new(kind, integer ? 1 : 2, 0, 0) };

	part.tree->counts[0] = random_below(&g->stream, integer ? 39 : 34);
	if (!integer)
		part.tree->counts[1] = random_once_in(&g->stream, 2)
					       ? DTCONV_UNDEFINED
					       : random_below(&g->stream, 4932);
	if (!map_of(part.tree, NULL, &g->limits, &part.map))
		abort();
	return part;
}

static size_t pick_count(struct grower *g, size_t most)
{
	if (random_once_in(&g->stream, 12))
		return 0;
	return 1 + random_below(&g->stream,
				most < g->limits.max_count ? most : g->limits.max_count);
}

/* How many copies of a part keep the whole within bounds. */
static size_t room(const struct grower *g, const struct ref_typemap *map)
{
	size_t copies = g->limits.max_entries / (map->count + 1);

	return copies == 0 ? 1 : copies;
}

static ptrdiff_t ceil_div(ptrdiff_t value, ptrdiff_t divisor)
{
	return value / divisor + (value % divisor > 0);
}

/*
 * The least displacement, in units, from which a block of `blocklength` lies wholly at or
 * above the byte `from`.
 */
static ptrdiff_t place(const struct ref_typemap *map, size_t blocklength, ptrdiff_t unit,
		       ptrdiff_t from)
{
	ptrdiff_t bytes = from - ref_typemap_low(map, blocklength);

	if (unit == 0)
		return 0;
	return unit > 0 ? ceil_div(bytes, unit) : -ceil_div(bytes, -unit);
}

static ptrdiff_t wild_displacement(struct grower *g, ptrdiff_t unit)
{
	ptrdiff_t reach = unit == 1 ? 200 : 12;

	return random_between(&g->stream, -reach, reach);
}

static void swap_blocks(struct random_tree *tree, size_t i, size_t j)
{
	ptrdiff_t disp = tree->displacements[i];

	tree->displacements[i] = tree->displacements[j];
	tree->displacements[j] = disp;
	if (tree->combiner == DTCONV_COMBINER_INDEXED ||
	    tree->combiner == DTCONV_COMBINER_HINDEXED ||
	    tree->combiner == DTCONV_COMBINER_STRUCT) {
		size_t blocklength = tree->counts[1 + i];
		tree->counts[1 + i] = tree->counts[1 + j];
		tree->counts[1 + j] = blocklength;
	}
	if (tree->combiner == DTCONV_COMBINER_STRUCT) {
		struct random_tree *child = tree->children[i];
		tree->children[i] = tree->children[j];
		tree->children[j] = child;
	}
}

/* Which old type's map goes with block i. */
static const struct ref_typemap *map_for(const struct random_tree *tree,
					 const struct ref_typemap *const old[], size_t i)
{
	return old[tree->combiner == DTCONV_COMBINER_STRUCT ? i : 0];
}

static size_t length_of(const struct random_tree *tree, size_t i)
{
	bool one = tree->combiner == DTCONV_COMBINER_INDEXED_BLOCK ||
		   tree->combiner == DTCONV_COMBINER_HINDEXED_BLOCK;

	return tree->counts[one ? 1 : 1 + i];
}

/*
 * Choose the displacements of a list of blocks: side by side with gaps, then sometimes
 * shuffled; or wild, if overlap is allowed.
 */
static void place_blocks(struct grower *g, struct random_tree *tree,
			 const struct ref_typemap *const old[])
{
	bool elements = tree->combiner == DTCONV_COMBINER_INDEXED ||
			tree->combiner == DTCONV_COMBINER_INDEXED_BLOCK;
	bool wild = !g->limits.distinct && random_once_in(&g->stream, 4);
	bool even = random_once_in(&g->stream, 2);
	ptrdiff_t from = random_between(&g->stream, -20, 20);

	for (size_t i = 0; i < tree->displacement_count; i++) {
		const struct ref_typemap *map = map_for(tree, old, i);
		ptrdiff_t unit = elements ? ref_typemap_extent(map) : 1;
		ptrdiff_t gap = even ? 8 : random_between(&g->stream, 0, 20);

		tree->displacements[i] =
			wild ? wild_displacement(g, unit)
			     : place(map, length_of(tree, i), unit, from + gap);
		from = tree->displacements[i] * unit +
		       ref_typemap_high(map, length_of(tree, i));
	}
	if (!random_once_in(&g->stream, 3))
		return;
	for (size_t i = tree->displacement_count; i > 1; i--)
		swap_blocks(tree, i - 1, random_below(&g->stream, i));
}

static void fill_vector(struct grower *g, struct random_tree *tree,
			const struct ref_typemap *map)
{
	ptrdiff_t unit =
		tree->combiner == DTCONV_COMBINER_VECTOR ? ref_typemap_extent(map) : 1;
	size_t most = room(g, map);

	tree->counts[0] = pick_count(g, most);
	tree->counts[1] = pick_count(g, most / (tree->counts[0] + 1));
	ptrdiff_t span = ref_typemap_high(map, tree->counts[1]) -
			 ref_typemap_low(map, tree->counts[1]);
	ptrdiff_t gap = random_between(&g->stream, 0, 20);
	ptrdiff_t stride = unit == 0 ? 1 : ceil_div(span + gap, unit < 0 ? -unit : unit);

	if (!g->limits.distinct && random_once_in(&g->stream, 4))
		stride = wild_displacement(g, unit);
	tree->displacements[0] = random_once_in(&g->stream, 4) ? -stride : stride;
}

static void fill_list(struct grower *g, struct random_tree *tree,
		      const struct ref_typemap *const old[])
{
	size_t blocks = tree->displacement_count;

	tree->counts[0] = blocks;
	for (size_t i = 1; i < tree->count_count; i++)
		tree->counts[i] =
			pick_count(g, room(g, map_for(tree, old, i - 1)) / (blocks + 1));
	place_blocks(g, tree, old);
}

static void fill_subarray(struct grower *g, struct random_tree *tree)
{
	size_t ndims = (tree->count_count - 2) / 3;
	size_t *sizes = &tree->counts[1];

	tree->counts[0] = ndims;
	for (size_t i = 0; i < ndims; i++) {
		sizes[i] = 1 + random_below(&g->stream, g->limits.max_blocks);
		sizes[ndims + i] = 1 + random_below(&g->stream, sizes[i]);
		sizes[2 * ndims + i] =
			random_below(&g->stream, sizes[i] - sizes[ndims + i] + 1);
	}
	sizes[3 * ndims] = random_below(&g->stream, 2);
}

static void fill_darray_dimension(struct grower *g, size_t *gsize, size_t *distribution,
				  size_t *darg, size_t *psize)
{
	*gsize = 1 + random_below(&g->stream, g->limits.max_blocks);
	*distribution = random_below(&g->stream, 3);
	*psize = *distribution == DTCONV_DISTRIBUTE_NONE
			 ? 1
			 : 1 + random_below(&g->stream, 3);
	*darg = DTCONV_DISTRIBUTE_DFLT_DARG;
	if (random_once_in(&g->stream, 2))
		return;
	if (*distribution == DTCONV_DISTRIBUTE_BLOCK)
		*darg = (*gsize + *psize - 1) / *psize + random_below(&g->stream, 2);
	else if (*distribution == DTCONV_DISTRIBUTE_CYCLIC)
		*darg = 1 + random_below(&g->stream, 3);
}

static void fill_darray(struct grower *g, struct random_tree *tree)
{
	size_t ndims = (tree->count_count - 4) / 4;
	size_t *gsizes = &tree->counts[3], *psizes = gsizes + 3 * ndims;
	size_t processes = 1;

	tree->counts[2] = ndims;
	for (size_t i = 0; i < ndims; i++) {
		fill_darray_dimension(g, &gsizes[i], &gsizes[ndims + i],
				      &gsizes[2 * ndims + i], &psizes[i]);
		processes *= psizes[i];
	}
	psizes[ndims] = random_below(&g->stream, 2);
	tree->counts[0] = processes;
	tree->counts[1] = random_below(&g->stream, processes);
}

static void fill_resized(struct grower *g, struct random_tree *tree,
			 const struct ref_typemap *map)
{
	ptrdiff_t span = map->true_ub - map->true_lb;
	ptrdiff_t extent = span + random_between(&g->stream, 0, 24);

	if (!g->limits.distinct && random_once_in(&g->stream, 3))
		extent = random_between(&g->stream, 0, span + 1);
	tree->displacements[0] = map->true_lb + random_between(&g->stream, -9, 9);
	tree->displacements[1] = random_once_in(&g->stream, 5) ? -extent : extent;
}

/* Mostly short lists, sometimes ones that are long enough to be kept as tables. */
static size_t pick_blocks(struct grower *g)
{
	size_t most = g->limits.max_blocks;

	if (random_once_in(&g->stream, 4))
		most *= 5;
	return random_below(&g->stream, most + 1);
}

static struct random_tree *new_derived(struct grower *g)
{
	size_t blocks = pick_blocks(g);
	size_t ndims = 1 + random_below(&g->stream, 4);

	switch (random_below(&g->stream, 14)) {
	case 0:
		return random_tree_new(DTCONV_COMBINER_CONTIGUOUS, 1, 0, 1);
	case 1:
		return random_tree_new(DTCONV_COMBINER_VECTOR, 2, 1, 1);
	case 2:
		return random_tree_new(DTCONV_COMBINER_HVECTOR, 2, 1, 1);
	case 3:
		return random_tree_new(DTCONV_COMBINER_INDEXED, 1 + blocks, blocks, 1);
	case 4:
		return random_tree_new(DTCONV_COMBINER_HINDEXED, 1 + blocks, blocks, 1);
	case 5:
		return random_tree_new(DTCONV_COMBINER_INDEXED_BLOCK, 2, blocks, 1);
	case 6:
		return random_tree_new(DTCONV_COMBINER_HINDEXED_BLOCK, 2, blocks, 1);
	case 7:
		return random_tree_new(DTCONV_COMBINER_SUBARRAY, 2 + 3 * ndims, 0, 1);
	case 8:
		return random_tree_new(DTCONV_COMBINER_DARRAY, 4 + 4 * ndims, 0, 1);
	case 9:
	case 10:
		return random_tree_new(DTCONV_COMBINER_RESIZED, 0, 2, 1);
	case 11:
		return random_tree_new(DTCONV_COMBINER_DUP, 0, 0, 1);
	default:
		blocks = random_below(&g->stream, g->limits.max_blocks + 1);
		return random_tree_new(DTCONV_COMBINER_STRUCT, 1 + blocks, blocks,
				       blocks);
	}
}

static void fill(struct grower *g, struct random_tree *tree,
		 const struct ref_typemap *const old[])
{
	switch (tree->combiner) {
	case DTCONV_COMBINER_CONTIGUOUS:
		tree->counts[0] = pick_count(g, room(g, old[0]));
		break;
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		fill_vector(g, tree, old[0]);
		break;
	case DTCONV_COMBINER_SUBARRAY:
		fill_subarray(g, tree);
		break;
	case DTCONV_COMBINER_DARRAY:
		fill_darray(g, tree);
		break;
	case DTCONV_COMBINER_RESIZED:
		fill_resized(g, tree, old[0]);
		break;
	case DTCONV_COMBINER_DUP:
		break;
	default:
		fill_list(g, tree, old);
	}
}

static struct part grow(struct grower *g, unsigned depth);

/* Give the old types of `tree` a growth of their own, and it its arguments. */
static bool grow_derived(struct grower *g, struct random_tree *tree, unsigned depth,
			 struct ref_typemap *map)
{
	size_t n = tree->child_count;
	struct ref_typemap *maps = calloc(n + 1, sizeof(*maps));
	const struct ref_typemap **old =
		calloc(n + 1, sizeof(const struct ref_typemap *));

	if (!maps || !old)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct part child = grow(g, depth - 1);

		tree->children[i] = child.tree;
		maps[i] = child.map;
		old[i] = &maps[i];
	}
	fill(g, tree, old);
	/* A shuffle may have moved struct members; ask for the map afresh. */
	bool good = random_tree_map(tree, &g->limits, map);
	for (size_t i = 0; i < n; i++)
		ref_typemap_free(&maps[i]);
	free(maps);
	free(old);
	return good && fits(map, &g->limits);
}

/* Grow a part; one that leaves the limits is dropped for a leaf. */
static struct part grow(struct grower *g, unsigned depth)
{
	if (depth == 0 || random_once_in(&g->stream, 10))
		return random_once_in(&g->stream, 12) ? fortran_leaf(g) : leaf(g);
	for (unsigned attempt = 0; attempt < 4; attempt++) {
		struct part part = { .tree = new_derived(g) };

		if (grow_derived(g, part.tree, depth, &part.map))
			return part;
		ref_typemap_free(&part.map);
		random_tree_destroy(part.tree);
	}
	return leaf(g);
}

bool random_tree_map(const struct random_tree *tree, const struct random_limits *limits,
		     struct ref_typemap *map)
{
	size_t n = tree->child_count;
	struct ref_typemap *maps = calloc(n + 1, sizeof(*maps));
	const struct ref_typemap **old =
		calloc(n + 1, sizeof(const struct ref_typemap *));
	bool good = true;

	if (!maps || !old)
		abort();
	for (size_t i = 0; i < n; i++) {
		good = good && random_tree_map(tree->children[i], limits, &maps[i]);
		old[i] = &maps[i];
	}
	good = good && map_of(tree, old, limits, map);
	for (size_t i = 0; i < n; i++)
		ref_typemap_free(&maps[i]);
	free(maps);
	free(old);
	return good;
}

bool random_tree_allowed(const struct random_tree *tree,
			 const struct random_limits *limits)
{
	struct random_limits full = with_defaults(limits);
	struct ref_typemap map = { 0 };
	bool allowed = random_tree_map(tree, &full, &map) && fits(&map, &full);

	ref_typemap_free(&map);
	return allowed;
}

struct random_tree *random_tree_create(uint64_t seed, const struct random_limits *limits)
{
	struct grower g = { .stream = { seed }, .limits = with_defaults(limits) };
	struct part part = grow(&g, g.limits.depth);

	ref_typemap_free(&part.map);
	return part.tree;
}

int random_type(struct dtconv_context *context, uint64_t seed,
		const struct random_limits *limits, struct dtconv_type **type)
{
	struct random_tree *tree = random_tree_create(seed, limits);
	struct dtconv_type *made = NULL;
	int status = random_tree_build(tree, context, &made);

	random_tree_destroy(tree);
	if (status == 0)
		status = dtconv_type_commit(made);
	if (status)
		dtconv_type_unref(made);
	else
		*type = made;
	return status;
}
