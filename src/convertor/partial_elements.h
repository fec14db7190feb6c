/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements of which only some bytes have arrived, found by the position of their first byte.
 */
#ifndef DTC_PARTIAL_ELEMENTS_H
#define DTC_PARTIAL_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "datatype/representation.h"

struct dtconv_context;

struct dtc_partial_element {
	uint64_t key;  /* position of its first byte plus one; 0: the slot is free */
	uint32_t have; /* one bit for each byte that has arrived */
	unsigned char bytes[DTC_ELEMENT_BYTES];
};

/* A hash table with linear probing, at most half full. All zero: empty. */
struct dtc_partial_elements {
	struct dtc_partial_element *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/*
 * Keep @bytes bytes at @offset of the element of @size bytes that begins at @position. Once all bytes
 * have arrived, copy them to @whole, drop the element and set @complete. Fails with NOMEM.
 */
int dtc_partial_elements_add(struct dtc_partial_elements *elements,
			     struct dtconv_context *context, uint64_t position,
			     size_t size, size_t offset, const unsigned char *data,
			     size_t bytes, unsigned char whole[], bool *complete);

/* The number of bytes kept. */
size_t dtc_partial_elements_bytes(const struct dtc_partial_elements *elements);

/* Overwrite @copy with a copy of @elements. Fails with NOMEM. */
int dtc_partial_elements_copy(struct dtc_partial_elements *copy,
			      const struct dtc_partial_elements *elements,
			      struct dtconv_context *context);

void dtc_partial_elements_drop(struct dtc_partial_elements *elements,
			       struct dtconv_context *context);

#endif
