/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random types from a seed, and the reduction of one that fails. The same seed and limits
 * give the same type on every machine.
 */
#ifndef TEST_SUPPORT_RANDOM_TYPE_H
#define TEST_SUPPORT_RANDOM_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

/* ---- numbers ------------------------------------------------------------------------- */

/** A stream of random numbers (splitmix64). */
struct random_stream {
	uint64_t state; /**< start with any seed */
};

/** The next 64 bits. */
uint64_t random_next(struct random_stream *stream);

/** A number below `n`; 0 if n is 0. */
size_t random_below(struct random_stream *stream, size_t n);

/** A number from `low` to `high`, both included. */
ptrdiff_t random_between(struct random_stream *stream, ptrdiff_t low, ptrdiff_t high);

/** True once in `n` times. */
bool random_once_in(struct random_stream *stream, size_t n);

/** The seed of this run: the environment's DTCONV_TEST_SEED (any base), else `otherwise`. */
uint64_t random_seed(uint64_t otherwise);

/* ---- types --------------------------------------------------------------------------- */

/** What random types may be. Zero means the default given. */
struct random_limits {
	unsigned depth;     /**< most constructors above each other; 4 */
	size_t max_blocks;  /**< longest list of blocks, largest dimension; 6; one
				      list in four may be five times as long */
	size_t max_count;   /**< largest count and blocklength; 8 */
	size_t max_entries; /**< most basic elements; 2000 */
	size_t max_span;    /**< most bytes between the lowest and highest byte; 65536 */
	bool distinct;      /**< no byte twice in the typemap of `instances` in a row */
	size_t instances;   /**< for `distinct`; 2 */
	enum dtconv_padding padding; /**< of the context */
};

/** A tree of constructor calls, kept apart from the library so that it can be edited. */
struct random_tree;

/** Make a tree; never NULL (aborts when memory is short). */
struct random_tree *random_tree_create(uint64_t seed, const struct random_limits *limits);

/** Free a tree, or NULL. */
void random_tree_destroy(struct random_tree *tree);

/** Call the constructors; the first failing one's status. The type is not committed. */
int random_tree_build(const struct random_tree *tree, struct dtconv_context *context,
		      struct dtconv_type **type);

/** In one step: the committed type of a seed; a status. */
int random_type(struct dtconv_context *context, uint64_t seed,
		const struct random_limits *limits, struct dtconv_type **type);

/**
 * Says whether a committed type shows the failure that is hunted.
 * @param arg the pointer given to random_tree_shrink.
 */
typedef bool (*random_fails_fn)(struct dtconv_type *type, void *arg);

/**
 * Reduce a tree as long as it still fails: children for parents, fewer blocks, smaller
 * counts, smaller displacements. Trees that the constructors refuse, or that break
 * limits->distinct, are passed over.
 * @return the smallest tree found, a new one; `tree` is left alone.
 */
struct random_tree *random_tree_shrink(const struct random_tree *tree,
				       struct dtconv_context *context,
				       const struct random_limits *limits,
				       random_fails_fn fails, void *arg);

/** The text form of a tree's type, or why there is none; free it. */
char *random_tree_text(const struct random_tree *tree, struct dtconv_context *context);

/** The text form of a type; free it. */
char *random_type_text(const struct dtconv_type *type);

#endif
