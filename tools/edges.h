/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the content of an axis changes. Each thing on it adds a signature where it begins
 * and takes it away where it ends; between neighbours that look alike both cancel.
 */
#ifndef DTCONV_TOOLS_EDGES_H
#define DTCONV_TOOLS_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edges {
	size_t *places; /* a hash table, until edges_finish makes a sorted array of it */
	uint64_t *changes;
	size_t capacity;
	size_t count;
	bool lost; /* there are too many to be kept, or no memory */
};

/* Something with this signature lies from `first` up to `end`. */
void edges_add(struct edges *edges, size_t first, size_t end, uint64_t signature);

/* Keep the places at which something changes, ascending, in places[0 .. count). */
void edges_finish(struct edges *edges);

void edges_release(struct edges *edges);

/* A signature of some numbers. */
uint64_t edges_signature(const size_t *numbers, size_t count);

#endif
