/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of constructor calls behind random types. Only their growth and their reduction use
 * it.
 */
#ifndef TEST_SUPPORT_RANDOM_TREE_H
#define TEST_SUPPORT_RANDOM_TREE_H

#include "support/random_type.h"
#include "support/ref_typemap.h"

struct random_tree {
	enum dtconv_combiner combiner;     /**< may be NAMED */
	enum dtconv_predefined predefined; /**< which, if NAMED */
	size_t count_count;                /**< as in struct dtconv_envelope */
	size_t displacement_count;         /**< as in struct dtconv_envelope */
	size_t child_count;                /**< type_count of the envelope */
	size_t *counts;                    /**< in the order of the contents */
	ptrdiff_t *displacements;          /**< in the order of the contents */
	struct random_tree **children;     /**< old types, owned */
};

/** A node with zeroed arrays of these lengths; aborts when memory is short. */
struct random_tree *random_tree_new(enum dtconv_combiner combiner, size_t count_count,
				    size_t displacement_count, size_t child_count);

/** A deep copy. */
struct random_tree *random_tree_clone(const struct random_tree *tree);

/** The tree of a type, which is not very deep; aborts when memory is short. */
struct random_tree *random_tree_of_type(const struct dtconv_type *type);

/** Expand a tree with the oracle; false if it leaves the limits. */
bool random_tree_map(const struct random_tree *tree, const struct random_limits *limits,
		     struct ref_typemap *map);

/** Does the tree keep to the limits? */
bool random_tree_allowed(const struct random_tree *tree,
			 const struct random_limits *limits);

#endif
