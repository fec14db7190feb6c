/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array of items of one size that grows at its end, in memory of a context.
 */
#ifndef DTC_VEC_H
#define DTC_VEC_H

#include <stdbool.h>
#include <stddef.h>

struct dtconv_context;

/* Initially all zero but for the width. The owner frees the items with dtc_free. */
struct dtc_vec {
	void *items;
	size_t count;
	size_t capacity;
	size_t width; /* bytes of one item */
};

/* Append a copy of an item. False if memory ran out; then the array is unchanged. */
bool dtc_vec_push(struct dtconv_context *context, struct dtc_vec *vec, const void *item);

#endif
