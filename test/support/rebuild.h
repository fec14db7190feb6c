/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Make a type from the arrays that dtconv_type_query_contents gives: the inverse of the
 * contents, for round trips and for trees that tests keep themselves.
 */
#ifndef TEST_SUPPORT_REBUILD_H
#define TEST_SUPPORT_REBUILD_H

#include <stddef.h>

#include <dtconv/dtconv.h>

/** A constructor and its arguments, in the order of the contents. */
struct rebuild_parts {
	enum dtconv_combiner combiner; /**< not NAMED */
	size_t *counts;                /**< count_count of them */
	ptrdiff_t *displacements;      /**< displacement_count of them */
	struct dtconv_type **types;    /**< type_count of them */
};

/** Call the constructor; its status. */
int rebuild_from_parts(struct dtconv_context *context, const struct rebuild_parts *parts,
		       struct dtconv_type **type);

/** Read a derived type's contents and make it again from the same old types; a status. */
int rebuild_type(struct dtconv_context *context, const struct dtconv_type *type,
		 struct dtconv_type **copy);

#endif
