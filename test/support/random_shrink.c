/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction of failing types: try every small edit of the tree, keep the first that still
 * fails, start again, until none does.
 */
#include "config.h"

#include "support/random_tree.h"

#include <stdlib.h>
#include <string.h>

static bool lists_blocks(const struct random_tree *tree)
{
	return tree->displacement_count > 0 &&
	       tree->combiner != DTCONV_COMBINER_RESIZED &&
	       tree->combiner != DTCONV_COMBINER_VECTOR &&
	       tree->combiner != DTCONV_COMBINER_HVECTOR;
}

static bool has_length_per_block(const struct random_tree *tree)
{
	return lists_blocks(tree) && tree->combiner != DTCONV_COMBINER_INDEXED_BLOCK &&
	       tree->combiner != DTCONV_COMBINER_HINDEXED_BLOCK;
}

/* ---- edits of one node, each true if it changed something ---------------------------- */

/* The node becomes its i-th child. */
static bool become_child(struct random_tree **node, size_t i)
{
	struct random_tree *child = (*node)->children[i];

	(*node)->children[i] = NULL;
	random_tree_destroy(*node);
	*node = child;
	return true;
}

static bool become_byte(struct random_tree **node)
{
	if ((*node)->combiner == DTCONV_COMBINER_NAMED &&
	    (*node)->predefined == DTCONV_INT8)
		return false;
	random_tree_destroy(*node);
	*node = random_tree_new(DTCONV_COMBINER_NAMED, 0, 0, 0);
	(*node)->predefined = DTCONV_INT8;
	return true;
}

static bool drop_block(struct random_tree *node, size_t i)
{
	size_t after = node->displacement_count - i - 1;
	bool lengths = has_length_per_block(node);

	memmove(&node->displacements[i], &node->displacements[i + 1],
		after * sizeof(node->displacements[0]));
	node->displacement_count--;
	if (lengths) {
		memmove(&node->counts[1 + i], &node->counts[2 + i],
			after * sizeof(node->counts[0]));
		node->count_count--;
	}
	node->counts[0]--;
	if (node->combiner == DTCONV_COMBINER_STRUCT) {
		random_tree_destroy(node->children[i]);
		memmove(&node->children[i], &node->children[i + 1],
			after * sizeof(node->children[0]));
		node->child_count--;
	}
	return true;
}

/* The arrays of a subarray or darray: where they begin, and how many dimensions they have. */
static size_t arrays_of(const struct random_tree *node, size_t *first, size_t *ndims)
{
	*first = node->combiner == DTCONV_COMBINER_DARRAY ? 3 : 1;
	*ndims = 0;
	if (node->combiner == DTCONV_COMBINER_SUBARRAY ||
	    node->combiner == DTCONV_COMBINER_DARRAY)
		*ndims = node->counts[*first - 1];
	return node->combiner == DTCONV_COMBINER_DARRAY ? 4 : 3;
}

static size_t droppable_dimensions(const struct random_tree *node)
{
	size_t first, ndims;

	arrays_of(node, &first, &ndims);
	return ndims > 1 ? ndims : 0;
}

/* The process keeps its coordinates in the other dimensions. */
static void leave_grid(struct random_tree *node, size_t dimension)
{
	size_t ndims = node->counts[2], *psizes = &node->counts[3 + 3 * ndims], after = 1;

	for (size_t i = dimension + 1; i < ndims; i++)
		after *= psizes[i];
	node->counts[1] = node->counts[1] / (after * psizes[dimension]) * after +
			  node->counts[1] % after;
	node->counts[0] /= psizes[dimension];
}

static bool drop_dimension(struct random_tree *node, size_t dimension)
{
	size_t first, ndims, arrays = arrays_of(node, &first, &ndims);

	if (node->combiner == DTCONV_COMBINER_DARRAY)
		leave_grid(node, dimension);
	for (size_t a = arrays; a-- > 0;) {
		size_t at = first + a * ndims + dimension;

		memmove(&node->counts[at], &node->counts[at + 1],
			(node->count_count - at - 1) * sizeof(node->counts[0]));
		node->count_count--;
	}
	node->counts[first - 1]--;
	return true;
}

/* Counts that say how long an array is are not for halving. */
static bool is_length(const struct random_tree *node, size_t i)
{
	if (node->combiner == DTCONV_COMBINER_SUBARRAY)
		return i == 0;
	if (node->combiner == DTCONV_COMBINER_DARRAY)
		return i == 2;
	return i == 0 && lists_blocks(node);
}

static bool lower_count(struct random_tree *node, size_t i, bool halve)
{
	size_t count = node->counts[i];

	if (count == 0 || is_length(node, i))
		return false;
	node->counts[i] = halve ? count / 2 : count - 1;
	return true;
}

static bool lower_displacement(struct random_tree *node, size_t i, unsigned how)
{
	ptrdiff_t disp = node->displacements[i];

	if (disp == 0)
		return false;
	if (how == 0)
		node->displacements[i] = 0;
	else if (how == 1)
		node->displacements[i] = disp / 2;
	else
		node->displacements[i] = disp > 0 ? disp - 1 : disp + 1;
	return true;
}

/* ---- all edits, numbered ------------------------------------------------------------- */

/* Do the k-th edit of this node; false if it has fewer (then k loses them) or it is void. */
static bool edit_node(struct random_tree **node, size_t *k, bool *found)
{
	struct random_tree *tree = *node;
	size_t children = tree->child_count;
	size_t drops = lists_blocks(tree) ? tree->displacement_count : 0;
	size_t dimensions = droppable_dimensions(tree);
	size_t counts = 2 * tree->count_count, places = 3 * tree->displacement_count;

	*found = true;
	if (*k < children)
		return become_child(node, *k);
	*k -= children;
	if (*k < 1)
		return become_byte(node);
	*k -= 1;
	if (*k < drops)
		return drop_block(tree, *k);
	*k -= drops;
	if (*k < dimensions)
		return drop_dimension(tree, *k);
	*k -= dimensions;
	if (*k < counts)
		return lower_count(tree, *k / 2, *k % 2 == 0);
	*k -= counts;
	if (*k < places)
		return lower_displacement(tree, *k / 3, (unsigned)(*k % 3));
	*k -= places;
	*found = false;
	return false;
}

static bool edit_tree(struct random_tree **node, size_t *k, bool *found)
{
	bool changed = edit_node(node, k, found);

	for (size_t i = 0; !*found && i < (*node)->child_count; i++)
		changed = edit_tree(&(*node)->children[i], k, found);
	return changed;
}

struct hunt {
	struct dtconv_context *context;
	const struct random_limits *limits;
	random_fails_fn fails;
	void *arg;
};

static bool still_fails(const struct hunt *hunt, const struct random_tree *tree)
{
	struct dtconv_type *type = NULL;
	bool fails;

	if (random_tree_build(tree, hunt->context, &type))
		return false;
	fails = random_tree_allowed(tree, hunt->limits) &&
		dtconv_type_commit(type) == 0 && hunt->fails(type, hunt->arg);
	dtconv_type_unref(type);
	return fails;
}

/* The first edit that still fails, or NULL if there is none. */
static struct random_tree *reduce_once(const struct hunt *hunt,
				       const struct random_tree *tree)
{
	for (size_t edit = 0;; edit++) {
		struct random_tree *copy = random_tree_clone(tree);
		size_t k = edit;
		bool found = false;

		if (edit_tree(&copy, &k, &found) && still_fails(hunt, copy))
			return copy;
		random_tree_destroy(copy);
		if (!found)
			return NULL;
	}
}

struct random_tree *random_tree_shrink(const struct random_tree *tree,
				       struct dtconv_context *context,
				       const struct random_limits *limits,
				       random_fails_fn fails, void *arg)
{
	struct hunt hunt = { context, limits, fails, arg };
	struct random_tree *best = random_tree_clone(tree);

	for (;;) {
		struct random_tree *smaller = reduce_once(&hunt, best);

		if (!smaller)
			return best;
		random_tree_destroy(best);
		best = smaller;
	}
}
