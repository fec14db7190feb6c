/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A type as an array of 64-bit words, from which another process can build the same type. It is
 * made from envelope and contents alone, and does not depend on how the library stores a type.
 *
 * Nodes are consecutive; each is behind the nodes that it consists of, and the root is last. A
 * node is a header and the three arrays of dtconv_type_query_contents. A type in the third
 * array is the number of its node.
 */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/type.h>

struct tree {
	uint64_t *words;
	size_t word_count;
	size_t node_count;
};

/* One node, with pointers to its arrays in the words. */
struct tree_node {
	enum dtconv_combiner combiner;
	enum dtconv_predefined predefined;
	size_t size;
	int64_t extent;
	size_t alignment;
	size_t count_count;
	size_t displacement_count;
	size_t type_count;
	const uint64_t *counts;
	const int64_t *displacements;
	const uint64_t *types;
};

/* Flatten a type. Returns 0 or a status; the caller frees the words. */
int tree_make(const struct dtconv_type *type, struct tree *tree);
void tree_free(struct tree *tree);

/* Read the node at word `at`; returns the word after it, 0 if the words end before. */
size_t tree_read(const uint64_t *words, size_t word_count, size_t at,
		 struct tree_node *node);

#endif
