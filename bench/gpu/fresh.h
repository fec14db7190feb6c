/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new list of blocks for each message: the lists, the memory, and the contestants.
 */
#ifndef BENCH_GPU_FRESH_H
#define BENCH_GPU_FRESH_H

#include "bench/gpu/way.h"

struct fresh {
	struct gpu *gpu;
	size_t blocks, block; /* of a message, and bytes of each */
	size_t pool;      /* blocks of the user's memory, of which a message takes some */
	bool sorted;      /* ascending displacements */
	ptrdiff_t *lists; /* displacements in bytes, one list behind another */
	size_t list_count, next;
	size_t region_bytes;          /* the pool between two guards */
	unsigned char *host;          /* what the region holds before a message */
	unsigned char *region, *user; /* on the device; the pool begins at @user */
	unsigned char *packed;        /* on the device, with a guard behind */
};

static inline size_t fresh_bytes(const struct fresh *fresh)
{
	return fresh->blocks * fresh->block;
}

/* The next list in turn. */
const ptrdiff_t *fresh_next(struct fresh *fresh);

/*
 * Draw the lists and find and fill the memory for what is set above @lists. Returns 0, or -1 without memory or
 * with the sentence in gpu->problem; to be closed in either event.
 */
int fresh_open(struct fresh *fresh, struct gpu *gpu, uint64_t seed);
void fresh_close(struct fresh *fresh);

/* Let a prepared contestant move two messages, or one that is long; bytes, gaps and guards must be right. */
int fresh_verify(struct fresh *fresh, struct engine *engine, enum bench_op op);

/*
 * The plain kernels pack_X and unpack_X, X of 1, 2, 4 and 8 words a thread. Macros: WORD, a type; WORDS, how many there
 * are; BLOCK, how many in a block.
 */
extern const char fresh_source[];

/* The contestants, ways whose field @fresh is set before they are prepared. */
void way_fresh(struct engine *engine, const char *name, struct gpu *gpu,
	       const struct route *route); /* a type made, committed, moved and freed */
void way_fresh_plain(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route *route); /* a table uploaded, and the best plain kernel */

#endif
