/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From contents back to constructor calls, by the table of struct dtconv_envelope.
 */
#include "config.h"

#include "support/rebuild.h"

#include <stdlib.h>

static int rebuild_darray(const struct rebuild_parts *parts, struct dtconv_type **type)
{
	size_t ndims = parts->counts[2];
	size_t *gsizes = &parts->counts[3], *dealt = gsizes + ndims,
	       *dargs = dealt + ndims;
	size_t *psizes = dargs + ndims;
	enum dtconv_distribution *distributions =
		calloc(ndims + 1, sizeof(*distributions));

	if (!distributions)
		return DTCONV_ERR_NOMEM;
	for (size_t i = 0; i < ndims; i++)
		distributions[i] = (enum dtconv_distribution)dealt[i];
	int status = dtconv_type_create_darray(parts->counts[0], parts->counts[1], ndims,
					       gsizes, distributions, dargs, psizes,
					       (enum dtconv_order)psizes[ndims],
					       parts->types[0], type);
	free(distributions);
	return status;
}

static int rebuild_subarray(const struct rebuild_parts *parts, struct dtconv_type **type)
{
	size_t ndims = parts->counts[0];
	size_t *sizes = &parts->counts[1];

	return dtconv_type_create_subarray(ndims, sizes, sizes + ndims, sizes + 2 * ndims,
					   (enum dtconv_order)sizes[3 * ndims],
					   parts->types[0], type);
}

static int rebuild_list(const struct rebuild_parts *parts, struct dtconv_type **type)
{
	const size_t *c = parts->counts;
	const ptrdiff_t *d = parts->displacements;
	struct dtconv_type *old = parts->types[0];

	switch (parts->combiner) {
	case DTCONV_COMBINER_INDEXED:
		return dtconv_type_create_indexed(c[0], c + 1, d, old, type);
	case DTCONV_COMBINER_HINDEXED:
		return dtconv_type_create_hindexed(c[0], c + 1, d, old, type);
	case DTCONV_COMBINER_INDEXED_BLOCK:
		return dtconv_type_create_indexed_block(c[0], c[1], d, old, type);
	default:
		return dtconv_type_create_hindexed_block(c[0], c[1], d, old, type);
	}
}

static int rebuild_fortran(struct dtconv_context *context,
			   const struct rebuild_parts *parts, struct dtconv_type **type)
{
	const size_t *c = parts->counts;

	switch (parts->combiner) {
	case DTCONV_COMBINER_F90_REAL:
		return dtconv_type_create_f90_real(context, c[0], c[1], type);
	case DTCONV_COMBINER_F90_COMPLEX:
		return dtconv_type_create_f90_complex(context, c[0], c[1], type);
	default:
		return dtconv_type_create_f90_integer(context, c[0], type);
	}
}

int rebuild_from_parts(struct dtconv_context *context, const struct rebuild_parts *parts,
		       struct dtconv_type **type)
{
	const size_t *c = parts->counts;
	const ptrdiff_t *d = parts->displacements;
	struct dtconv_type **old = parts->types;

	switch (parts->combiner) {
	case DTCONV_COMBINER_DUP:
		return dtconv_type_create_dup(old[0], type);
	case DTCONV_COMBINER_CONTIGUOUS:
		return dtconv_type_create_contiguous(c[0], old[0], type);
	case DTCONV_COMBINER_VECTOR:
		return dtconv_type_create_vector(c[0], c[1], d[0], old[0], type);
	case DTCONV_COMBINER_HVECTOR:
		return dtconv_type_create_hvector(c[0], c[1], d[0], old[0], type);
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		return rebuild_list(parts, type);
	case DTCONV_COMBINER_STRUCT:
		return dtconv_type_create_struct(context, c[0], c + 1, d, old, type);
	case DTCONV_COMBINER_SUBARRAY:
		return rebuild_subarray(parts, type);
	case DTCONV_COMBINER_DARRAY:
		return rebuild_darray(parts, type);
	case DTCONV_COMBINER_RESIZED:
		return dtconv_type_create_resized(old[0], d[0], d[1], type);
	case DTCONV_COMBINER_F90_REAL:
	case DTCONV_COMBINER_F90_COMPLEX:
	case DTCONV_COMBINER_F90_INTEGER:
		return rebuild_fortran(context, parts, type);
	case DTCONV_COMBINER_VALUE_INDEX:
		return dtconv_type_create_value_index(old[0], old[1], type);
	default:
		return DTCONV_ERR_INVAL;
	}
}

int rebuild_type(struct dtconv_context *context, const struct dtconv_type *type,
		 struct dtconv_type **copy)
{
	struct dtconv_envelope e;
	int status = dtconv_type_query_envelope(type, &e);

	if (status)
		return status;
	struct rebuild_parts parts = {
		.combiner = e.combiner,
		.counts = calloc(e.count_count + 1, sizeof(size_t)),
		.displacements = calloc(e.displacement_count + 1, sizeof(ptrdiff_t)),
		.types = calloc(e.type_count + 1, sizeof(struct dtconv_type *)),
	};
	if (!parts.counts || !parts.displacements || !parts.types)
		status = DTCONV_ERR_NOMEM;
	if (!status)
		status = dtconv_type_query_contents(type, e.count_count, parts.counts,
						    e.displacement_count,
						    parts.displacements, e.type_count,
						    parts.types);
	if (!status)
		status = rebuild_from_parts(context, &parts, copy);
	free(parts.counts);
	free(parts.displacements);
	free(parts.types);
	return status;
}
