/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random placements of one array for tests of resharding, with an oracle that looks at every element by itself.
 */
#ifndef TEST_DATATYPE_RESHARD_CASE_H
#define TEST_DATATYPE_RESHARD_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

enum { CASE_NDIMS = 5, CASE_RANKS = 8, CASE_BOXES = 160, CASE_ELEMENT = 8 };

/* A box with the arrays that the library's box points to. */
struct case_box {
	size_t lower[CASE_NDIMS], sizes[CASE_NDIMS], order[CASE_NDIMS];
	ptrdiff_t strides[CASE_NDIMS]; /* of a dense box, too */
	struct dtconv_reshard_box box;
};

struct case_placement {
	size_t count;
	struct case_box boxes[CASE_BOXES];
	struct dtconv_reshard_box list[CASE_BOXES];
	size_t bytes[CASE_RANKS]; /* of each rank's buffer */
	size_t begin[CASE_RANKS]; /* where displacement 0 is in it */
	unsigned char *buffers[CASE_RANKS];
};

struct reshard_case {
	uint64_t seed;
	size_t ndims, sizes[CASE_NDIMS], elements;
	size_t rank_count;
	struct dtconv_type *element;
	size_t extent, size,
		places[CASE_ELEMENT]; /* of an element's bytes in packed order */
	struct case_placement source, target;
};

/* Make a case whose source holds every element. The buffers have room and no contents. */
void reshard_case_create(struct reshard_case *one, uint64_t seed);
void reshard_case_destroy(struct reshard_case *one);

/* The parameters; they point into the case. */
struct dtconv_reshard_params reshard_case_params(struct reshard_case *one);

/* Fill the source's boxes: by element if @ranks is false, otherwise with the rank of the buffer. */
void reshard_case_fill(struct reshard_case *one, bool ranks);

/* Fill the target's buffers with guard bytes. */
void reshard_case_guard(struct reshard_case *one);

/* Whether the target has, between guard bytes, what reshard_case_fill() and the documented choice of senders give. */
bool reshard_case_is_right(const struct reshard_case *one, bool ranks);

#endif
