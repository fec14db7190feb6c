/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One entry point to all constructors, for the parser of text forms and the decoder of
 * serialised types.
 */
#ifndef DTC_CONSTRUCT_H
#define DTC_CONSTRUCT_H

#include <stddef.h>

#include <dtconv/type.h>

/* The arguments of one constructor call, in the order of struct dtconv_envelope's table. */
struct dtc_contents {
	const size_t *counts;
	const ptrdiff_t *displacements;
	struct dtconv_type *const *types;
};

/* Call the constructor of a combiner (not NAMED) on behalf of @caller. Returns its status. */
int dtc_construct(struct dtconv_context *context, const char *caller,
		  enum dtconv_combiner combiner, const struct dtc_contents *contents,
		  struct dtconv_type **type);

#endif
