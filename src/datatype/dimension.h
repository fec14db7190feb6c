/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One dimension of a subarray or darray: the selected indices, as equally spaced blocks and one
 * shorter last block. Bounds and programs are both built from this.
 */
#ifndef DTC_DIMENSION_H
#define DTC_DIMENSION_H

#include "datatype/type.h"

struct dtc_dimension {
	size_t array_size;  /* elements of the whole array in this dimension */
	size_t start;       /* index of the first block */
	size_t block;       /* elements in each full block */
	size_t count;       /* full blocks */
	size_t stride;      /* from one block's start to the next, in elements */
	size_t last_start;  /* the shorter last block */
	size_t last_length; /* 0 if there is none */
};

/* Number of dimensions of a subarray or darray type. */
size_t dtc_dimension_count(const struct dtconv_type *type);

/*
 * The @nth dimension of a subarray or darray type, counted from the one that varies fastest in
 * memory.
 */
struct dtc_dimension dtc_dimension_of(const struct dtconv_type *type, size_t nth);

#endif
