/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the constructor for arguments in the order of dtconv_type_query_contents. It checks no
 * arguments; the constructors do.
 */
#include "config.h"

#include "datatype/construct.h"

#include <limits.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

/* The value of an enum. Values that do not fit an int must not become valid ones. */
static int enum_value(size_t value)
{
	return (int)DTC_MIN(value, (size_t)INT_MAX);
}

/* subarray: ndims, sizes[], subsizes[], starts[], order */
static int build_subarray(const struct dtc_contents *contents, struct dtconv_type **type)
{
	size_t ndims = contents->counts[0];
	const size_t *sizes = contents->counts + 1;

	return dtconv_type_create_subarray(
		ndims, sizes, sizes + ndims, sizes + 2 * ndims,
		(enum dtconv_order)enum_value(sizes[3 * ndims]), contents->types[0],
		type);
}

/* darray: size, rank, ndims, gsizes[], distributions[], dargs[], psizes[], order */
static int build_darray(struct dtconv_context *context, const char *caller,
			const struct dtc_contents *contents, struct dtconv_type **type)
{
	const size_t *counts = contents->counts;
	size_t ndims = counts[2];
	const size_t *gsizes = counts + 3;
	const size_t *dargs = gsizes + 2 * ndims;
	enum dtconv_distribution *distributions = NULL;
	int status;

	/* cannot overflow, because an array of that many size_t is in memory */
	if (ndims > 0)
		distributions = dtc_alloc(context, ndims * sizeof(distributions[0]));
	if (ndims > 0 && !distributions)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the distributions of a darray of "
				"%zu dimensions",
				caller, ndims);
	for (size_t i = 0; i < ndims; i++)
		distributions[i] =
			(enum dtconv_distribution)enum_value(gsizes[ndims + i]);
	status = dtconv_type_create_darray(
		counts[0], counts[1], ndims, gsizes, distributions, dargs, dargs + ndims,
		(enum dtconv_order)enum_value(dargs[2 * ndims]), contents->types[0],
		type);
	dtc_free(context, distributions);
	return status;
}

/* The constructors whose arguments are a fixed number of single values. */
static int build_scalars(struct dtconv_context *context, enum dtconv_combiner combiner,
			 const struct dtc_contents *contents, struct dtconv_type **type)
{
	const size_t *counts = contents->counts;
	const ptrdiff_t *disps = contents->displacements;
	struct dtconv_type *const *types = contents->types;

	switch (combiner) {
	case DTCONV_COMBINER_DUP:
		return dtconv_type_create_dup(types[0], type);
	case DTCONV_COMBINER_CONTIGUOUS:
		return dtconv_type_create_contiguous(counts[0], types[0], type);
	case DTCONV_COMBINER_VECTOR:
		return dtconv_type_create_vector(counts[0], counts[1], disps[0], types[0],
						 type);
	case DTCONV_COMBINER_HVECTOR:
		return dtconv_type_create_hvector(counts[0], counts[1], disps[0],
						  types[0], type);
	case DTCONV_COMBINER_RESIZED:
		return dtconv_type_create_resized(types[0], disps[0], disps[1], type);
	case DTCONV_COMBINER_F90_REAL:
		return dtconv_type_create_f90_real(context, counts[0], counts[1], type);
	case DTCONV_COMBINER_F90_COMPLEX:
		return dtconv_type_create_f90_complex(context, counts[0], counts[1],
						      type);
	case DTCONV_COMBINER_F90_INTEGER:
		return dtconv_type_create_f90_integer(context, counts[0], type);
	default: /* DTCONV_COMBINER_VALUE_INDEX */
		return dtconv_type_create_value_index(types[0], types[1], type);
	}
}

int dtc_construct(struct dtconv_context *context, const char *caller,
		  enum dtconv_combiner combiner, const struct dtc_contents *contents,
		  struct dtconv_type **type)
{
	const size_t *counts = contents->counts;
	const ptrdiff_t *disps = contents->displacements;
	struct dtconv_type *const *types = contents->types;

	switch (combiner) {
	case DTCONV_COMBINER_INDEXED:
		return dtconv_type_create_indexed(counts[0], counts + 1, disps, types[0],
						  type);
	case DTCONV_COMBINER_HINDEXED:
		return dtconv_type_create_hindexed(counts[0], counts + 1, disps, types[0],
						   type);
	case DTCONV_COMBINER_INDEXED_BLOCK:
		return dtconv_type_create_indexed_block(counts[0], counts[1], disps,
							types[0], type);
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		return dtconv_type_create_hindexed_block(counts[0], counts[1], disps,
							 types[0], type);
	case DTCONV_COMBINER_STRUCT:
		return dtconv_type_create_struct(context, counts[0], counts + 1, disps,
						 types, type);
	case DTCONV_COMBINER_SUBARRAY:
		return build_subarray(contents, type);
	case DTCONV_COMBINER_DARRAY:
		return build_darray(context, caller, contents, type);
	default:
		return build_scalars(context, combiner, contents, type);
	}
}
