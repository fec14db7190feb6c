/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array of equal items that grows at its end, in a context's memory.
 */
#ifndef DTC_VEC_H
#define DTC_VEC_H

#include <stdbool.h>
#include <stddef.h>

struct dtconv_context;

/* Begins as all zero but for the width; the owner gives items back with dtc_free. */
struct dtc_vec {
	void *items;
	size_t count;
	size_t capacity;
	size_t width; /* bytes of one item */
};

/* Append a copy of an item. False if memory ran out; the array is as before then. */
bool dtc_vec_push(struct dtconv_context *context, struct dtc_vec *vec, const void *item);

#endif
