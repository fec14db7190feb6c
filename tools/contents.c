/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the arguments a type was made with, without interpreting them.
 */
#include "config.h"

#include "contents.h"

#include <stdlib.h>

int contents_query(struct contents *contents, const struct dtconv_type *type)
{
	struct dtconv_envelope *envelope = &contents->envelope;

	*contents = (struct contents){ .counts = NULL };
	dtconv_type_query_envelope(type, envelope);
	contents->counts = calloc(envelope->count_count + 1, sizeof(size_t));
	contents->displacements =
		calloc(envelope->displacement_count + 1, sizeof(ptrdiff_t));
	contents->types = calloc(envelope->type_count + 1, sizeof(struct dtconv_type *));
	if (!contents->counts || !contents->displacements || !contents->types)
		return DTCONV_ERR_NOMEM;
	return dtconv_type_query_contents(type, envelope->count_count, contents->counts,
					  envelope->displacement_count,
					  contents->displacements, envelope->type_count,
					  contents->types);
}

void contents_release(struct contents *contents)
{
	free(contents->counts);
	free(contents->displacements);
	free(contents->types);
}
