/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversion kernels: arrays of numbers from one format to another. They work on bits, not
 * types.
 */
#ifndef DTC_KERNELS_CONVERT_H
#define DTC_KERNELS_CONVERT_H

#include <stddef.h>

#include "datatype/representation.h"

enum dtc_conversion_kind {
	DTC_CONVERSION_COPY,
	DTC_CONVERSION_SWAP,   /* the same number, its bytes reversed */
	DTC_CONVERSION_RESIZE, /* integers of different sizes */
	DTC_CONVERSION_FLOAT   /* floating point of different formats */
};

struct dtc_conversion {
	uint8_t kind;
	uint8_t numbers; /* in one element */
	struct dtc_format from, to;
};

/* The conversion from one format of an element to another. */
struct dtc_conversion dtc_conversion_make(const struct dtc_element_format *from,
					  const struct dtc_element_format *to);

/*
 * Convert @count elements at any alignment; the buffers must not overlap. Returns the number
 * converted, which is smaller if the next one is an integer that does not fit.
 */
size_t dtc_convert(const struct dtc_conversion *conversion, unsigned char *restrict to,
		   const unsigned char *restrict from, size_t count);

#endif
