/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of equal blocks: from the caller's displacements to the program in one pass, for lists that are made for one
 * message. Everything else takes the way through build_indexed.c and normalise.c, which decides and reports errors.
 */
#ifndef DTC_EQUAL_BLOCKS_H
#define DTC_EQUAL_BLOCKS_H

#include "datatype/ints.h"
#include "datatype/program.h"

/* Blocks of @bytes each, one run; block i begins at displacements[i] x @unit + @disp. */
struct dtc_equal_blocks {
	struct dtconv_context *context;
	uint64_t count;
	const ptrdiff_t *displacements;
	int64_t unit;
	int64_t disp;
	uint64_t bytes;
	unsigned
		at_once; /* displacements that instructions take at most, for tests; 0: any number */
};

struct dtc_equal_list {
	struct dtc_program
		*program; /* of one table, normalised; NULL: take the general way */
	struct dtc_ints
		displacements;   /* the caller's, read back from the program's table */
	int64_t lowest, highest; /* of them */
};

/*
 * List the blocks. No program if they are few, regular or mostly neighbours, or if their displacements need more than
 * 32 bits beside a power of two. False if memory ran out for the program, whose size is in @bytes then.
 */
bool dtc_equal_blocks_list(const struct dtc_equal_blocks *blocks,
			   struct dtc_equal_list *list, size_t *bytes);

#endif
