/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the constructors (build_*.c): checks with their error texts, and types with one
 * child.
 */
#ifndef DTC_BUILD_H
#define DTC_BUILD_H

#include "datatype/type.h"

#include "base/context.h"
#include "base/log.h"

/* Maximum number of values in short argument lists, which are passed as plain arrays. */
#define DTC_BUILD_BATCH 256

/*
 * Create a type of @plan with the one child @oldtype, repeat the child's signature
 * @element_count times, and store the arguments.
 */
int dtc_build_from_one(const struct dtc_type_plan *plan, struct dtconv_type *oldtype,
		       size_t copies, const int64_t counts[], const int64_t displacements[],
		       struct dtconv_type **newtype);

/* Fail with OVERFLOW: the type's size or bounds do not fit their integer types. */
int dtc_build_overflow(struct dtconv_context *context, const char *caller, const char *what);

/* Fail with INVAL because a pointer argument is NULL. */
int dtc_build_null(struct dtconv_context *context, const char *caller, const char *argument,
		   int position);

/* The displacement of the index in an unnamed pair, as in a C struct. */
ptrdiff_t dtc_value_index_disp(const struct dtconv_type *value,
			       const struct dtconv_type *index);

/* The fewest bytes per value for an array of size_t or ptrdiff_t. */
unsigned dtc_build_width(size_t n, const int64_t values[]);

#endif
