/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the constructors (build_*.c) share: checks that end in one sentence, and the making of
 * a type with one child.
 */
#ifndef DTC_BUILD_H
#define DTC_BUILD_H

#include "datatype/type.h"

#include "base/context.h"
#include "base/log.h"

/* Most values of small argument lists that are handed over as plain arrays. */
#define DTC_BUILD_BATCH 256

/*
 * Make a type of @plan with the one child @oldtype, whose signature is the child's
 * @element_count times, and store the arguments.
 */
int dtc_build_from_one(const struct dtc_type_plan *plan, struct dtconv_type *oldtype,
		       size_t copies, const int64_t counts[], const int64_t displacements[],
		       struct dtconv_type **newtype);

/* Fail with OVERFLOW: the type's size or bounds leave their types. */
int dtc_build_overflow(struct dtconv_context *context, const char *caller, const char *what);

/* Fail with INVAL because a pointer argument is NULL. */
int dtc_build_null(struct dtconv_context *context, const char *caller, const char *argument,
		   int position);

/* Where the index of an unnamed pair stands, as in a C struct. */
ptrdiff_t dtc_value_index_disp(const struct dtconv_type *value,
			       const struct dtconv_type *index);

/* The narrowest width for an array of size_t or ptrdiff_t values. */
unsigned dtc_build_width(size_t n, const int64_t values[]);

#endif
