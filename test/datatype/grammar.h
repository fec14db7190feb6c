/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of the exhaustive test: all ways to call each constructor with small numbers.
 * It knows no types, only arguments.
 */
#ifndef TEST_DATATYPE_GRAMMAR_H
#define TEST_DATATYPE_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

/** Longest arrays: a darray of three dimensions, lists of three blocks. */
enum { GRAMMAR_MAX_COUNTS = 16, GRAMMAR_MAX_BLOCKS = 3 };

/** The leaves: int8, int16 at byte 1, double, double_int. */
enum { GRAMMAR_LEAVES = 4 };

/** One call of a constructor, in the order of the contents. */
struct grammar_choice {
	enum dtconv_combiner combiner;
	unsigned char count_count;
	unsigned char displacement_count;
	unsigned char type_count;
	bool scaled
		[GRAMMAR_MAX_BLOCKS]; /**< the displacement counts extents of its old type,
					      although the constructor wants bytes */
	unsigned char members
		[GRAMMAR_MAX_BLOCKS]; /**< old types: 0 the inner tree, else a leaf,
						      counted from 1 */
	size_t counts[GRAMMAR_MAX_COUNTS];
	ptrdiff_t displacements[GRAMMAR_MAX_BLOCKS];
};

/** Receives the choices one by one. */
typedef void (*grammar_visit_fn)(const struct grammar_choice *choice, void *arg);

/** The constructors of the grammar: all but the Fortran kinds and value_index. */
enum { GRAMMAR_CONSTRUCTORS = 12 };

/** Its k-th constructor. */
enum dtconv_combiner grammar_constructor(size_t k);

/** Every choice for one constructor. Members of structs are leaves. */
void grammar_visit(enum dtconv_combiner combiner, grammar_visit_fn visit, void *arg);

/**
 * Choices for one constructor on top of an inner tree, evenly taken from all those that make
 * at most `copies` copies of it; structs have one or two members, of which one or both are
 * the inner tree.
 * @param most   how many choices to take at most.
 * @param choices [out] room for `most`.
 * @return how many were taken.
 */
size_t grammar_sample(enum dtconv_combiner combiner, size_t copies, size_t most,
		      struct grammar_choice choices[]);

/** The grammar in words, several lines. */
extern const char grammar_text[];

#endif
