/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip of a type through its serialised form, shared by the tests, the fuzzers and
 * dtconv fuzz. Does not depend on the format.
 */
#ifndef TEST_SUPPORT_SERIALISED_H
#define TEST_SUPPORT_SERIALISED_H

#include <stddef.h>

struct dtconv_context;
struct dtconv_type;

/* Room for the sentence about what went wrong. */
#define SERIALISED_FAILURE 256

/* A stream in memory of its own, which begins at an odd address. */
struct serialised {
	unsigned char *memory; /* free it */
	unsigned char *bytes;
	size_t length;
};

/* Serialise a type: 0, or -1 with one sentence in failure (nothing to free then). */
int serialised_make(const struct dtconv_type *type, struct serialised *stream,
		    char failure[SERIALISED_FAILURE]);

/* Whether two types are the same in everything but their names: 0, or -1 with a sentence. */
int serialised_compare(const struct dtconv_type *a, const struct dtconv_type *b,
		       char failure[SERIALISED_FAILURE]);

/*
 * Serialise, deserialise in the context given, compare, serialise again: 0, or -1 with one
 * sentence in failure.
 */
int serialised_check(struct dtconv_context *context, const struct dtconv_type *type,
		     char failure[SERIALISED_FAILURE]);

#endif
