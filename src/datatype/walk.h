/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks the elements of count times a signature in packed order: the typed view of a packed
 * stream. It can jump to any byte, even if the stream's elements have other sizes than in
 * memory. It has no displacements.
 */
#ifndef DTC_WALK_H
#define DTC_WALK_H

#include "datatype/signature.h"

struct dtc_representation;

/* The bytes of each node of a signature, over all iterations, in a representation. */
struct dtc_walk_sizes {
	struct dtconv_context *context;
	uint64_t byte_count; /* of the whole signature */
	uint64_t node_bytes[];
};

struct dtc_walk_frame {
	size_t node;
	uint64_t trips_left; /* after the current one */
};

/* The rest of the current run, and its position. */
struct dtc_walk {
	const struct dtc_signature *signature;
	const struct dtc_walk_sizes *sizes; /* NULL: elements have the size of memory */
	uint64_t count;
	uint64_t instances_left; /* after the current one */
	size_t node;
	uint64_t left; /* elements; 0 at the end */
	uint64_t native_position;
	uint64_t wire_position;
	unsigned depth;
	struct dtc_walk_frame frames[DTC_SIGNATURE_DEPTH];
};

/*
 * The sizes of a signature's nodes in a representation. Fails with NOMEM, or with OVERFLOW if
 * they leave 64 bits.
 */
int dtc_walk_sizes_create(const struct dtc_signature *signature,
			  const struct dtc_representation *representation,
			  struct dtc_walk_sizes **sizes);
void dtc_walk_sizes_destroy(struct dtc_walk_sizes *sizes);

/* Move to the first element; @sizes may be NULL. */
void dtc_walk_init(struct dtc_walk *walk, const struct dtc_signature *signature,
		   const struct dtc_walk_sizes *sizes, uint64_t count);

/* Move to the element that holds byte @position of the wire stream, or to the end. */
void dtc_walk_seek(struct dtc_walk *walk, uint64_t position);

/* Set @copy to the position of @walk. */
void dtc_walk_copy(struct dtc_walk *copy, const struct dtc_walk *walk);

/* Go on from an exhausted current run. The walk must not be at its end. */
void dtc_walk_next_run(struct dtc_walk *walk);

/* The basic type of the current run. */
static inline enum dtconv_predefined dtc_walk_basic(const struct dtc_walk *walk)
{
	return (enum dtconv_predefined)walk->signature->nodes[walk->node].basic;
}

/* Skip @elements of the current run, each of that many bytes. */
static inline void dtc_walk_pass(struct dtc_walk *walk, uint64_t elements,
				 size_t native_bytes, size_t wire_bytes)
{
	walk->native_position += elements * native_bytes;
	walk->wire_position += elements * wire_bytes;
	walk->left -= elements;
	if (walk->left == 0)
		dtc_walk_next_run(walk);
}

#endif
