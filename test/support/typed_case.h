/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A type with memory round it, for tests of representations and operations: source and target
 * hold elements that the oracle chose, and the oracle says what a move makes of them.
 */
#ifndef TEST_SUPPORT_TYPED_CASE_H
#define TEST_SUPPORT_TYPED_CASE_H

#include <stdbool.h>

#include <dtconv/dtconv.h>

#include "support/choices.h"
#include "support/ref_typemap.h"

struct typed_case {
	struct dtconv_type *type;
	size_t count;
	const struct dtconv_representation *representation; /* NULL: native */
	enum dtconv_op op;
	struct ref_typemap map;
	ptrdiff_t low;
	size_t span;
	unsigned char *source, *target, *expected; /* at displacement 0 */
	unsigned char *source_memory, *target_memory, *expected_memory;
	size_t bytes;           /* of the wire stream */
	unsigned char *wire;    /* the oracle's */
	unsigned char *arrived; /* a mark for each byte of it */
};

/*
 * Takes a reference to the committed type. False, and nothing made, if the type is not fit:
 * too large, or with elements that overlap (what conversion makes of those is nobody's
 * promise).
 */
bool typed_case_open(struct typed_case *tc, struct dtconv_type *type, size_t count,
		     const struct dtconv_representation *representation,
		     enum dtconv_op op, struct choices *choices);
void typed_case_close(struct typed_case *tc);

struct dtconv_convertor_params typed_case_params(const struct typed_case *tc);

/* New values in the target, of which nothing has arrived. */
void typed_case_restart(struct typed_case *tc, struct choices *choices);

/* Note that a range of the wire stream has been given to an unpacking convertor. */
void typed_case_arrived(struct typed_case *tc, size_t from, size_t bytes);

/*
 * Whether the target is what the oracle makes of what arrived, gaps and guards untouched;
 * @wrong is the first displacement that is not.
 */
bool typed_case_is_right(struct typed_case *tc, ptrdiff_t *wrong);

#endif
