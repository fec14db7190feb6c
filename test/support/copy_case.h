/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A typed case whose elements come from another layout of the same signature, for tests of copies with an operation.
 */
#ifndef TEST_SUPPORT_COPY_CASE_H
#define TEST_SUPPORT_COPY_CASE_H

#include "support/stage.h"
#include "support/typed_case.h"

/* How the source lies in memory. */
enum copy_source {
	COPY_SCATTERED, /* elements anywhere */
	COPY_DENSE,     /* contiguous */
	COPY_ALIKE,     /* as the target */
	COPY_SOURCES
};

struct copy_case {
	struct typed_case tc; /* the target */
	struct stage
		from; /* the source: the case's stream, and a reference to its type */
};

/* A struct with the signature of @type, its elements anywhere, or without gaps. */
struct dtconv_type *copy_scattered(const struct dtconv_type *type,
				   struct choices *choices);
struct dtconv_type *copy_dense(const struct dtconv_type *type);

/* False, and nothing made, if the type is not fit: see typed_case_open. */
bool copy_case_open(struct copy_case *cc, struct dtconv_type *type, size_t count,
		    enum dtconv_op op, enum copy_source source, struct choices *choices);
void copy_case_close(struct copy_case *cc);

/* Bytes of the memory that the target lies in. */
size_t copy_case_target_bytes(const struct copy_case *cc);

/* New values in the target; then, after copying ranges that cover the stream, the oracle's judgement. */
void copy_case_restart(struct copy_case *cc, struct choices *choices);
void copy_case_must_be_right(struct copy_case *cc, size_t bytes);

/* A range of a stream. */
struct copy_range {
	size_t position, bytes;
};

#define COPY_RANGES 12

/* Cut @bytes into ranges in any order, some of them empty. Returns how many. */
size_t copy_ranges(struct copy_range ranges[COPY_RANGES], size_t bytes,
		   struct choices *choices);

#endif
