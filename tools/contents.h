/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments a type was made with, in arrays of their own.
 */
#ifndef DTCONV_TOOLS_CONTENTS_H
#define DTCONV_TOOLS_CONTENTS_H

#include <stddef.h>

#include <dtconv/dtconv.h>

struct contents {
	struct dtconv_envelope envelope;
	size_t *counts; /* in the order of struct dtconv_envelope */
	ptrdiff_t *displacements;
	struct dtconv_type **types; /* borrowed from the type */
};

/*
 * Read a type's envelope and contents. Returns 0 or a negative enum dtconv_status; call
 * contents_release in either case.
 */
int contents_query(struct contents *contents, const struct dtconv_type *type);
void contents_release(struct contents *contents);

#endif
