/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new list of blocks for each message, or a new table of pages, which lies on the device: the lists, the memory, and
 * the contestants.
 */
#ifndef BENCH_GPU_FRESH_H
#define BENCH_GPU_FRESH_H

#include "bench/gpu/way.h"

struct fresh {
	struct gpu *gpu;
	size_t blocks, block; /* of a message, and bytes of each */
	size_t pool;      /* blocks of the user's memory, of which a message takes some */
	bool sorted;      /* ascending displacements */
	/*
	 * Pages: so many layers and parts, each with its share of the blocks and of the pool, by one table of numbers.
	 * 0: there are no pages.
	 */
	size_t planes;
	ptrdiff_t *lists; /* displacements in bytes, one list behind another */
	size_t list_count, next;
	size_t region_bytes;          /* the pool between two guards */
	unsigned char *host;          /* what the region holds before a message */
	unsigned char *region, *user; /* on the device; the pool begins at @user */
	unsigned char *packed;        /* on the device, with a guard behind */
	CUdeviceptr tables; /* pages: of each list the numbers of a plane, 32 bits each */
};

static inline size_t fresh_bytes(const struct fresh *fresh)
{
	return fresh->blocks * fresh->block;
}

/* The next list in turn. */
const ptrdiff_t *fresh_next(struct fresh *fresh);

/* Pages in a plane. */
static inline size_t fresh_pages(const struct fresh *fresh)
{
	return fresh->blocks / fresh->planes;
}

/* The table of the next list in turn. */
CUdeviceptr fresh_next_table(struct fresh *fresh);

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
 * are; BLOCK, how many in a block. For pages, PAGES, their number in a plane, and POOL, that of a plane's pool.
 */
extern const char fresh_source[];

/* The contestants, ways whose field @fresh is set before they are prepared. */
void way_fresh(struct engine *engine, const char *name, struct gpu *gpu,
	       const struct route *route); /* a type made, committed, moved and freed */
void way_fresh_plain(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route *route); /* a table uploaded, and the best plain kernel */

/* The same for pages: a list of pages, and the copy of as many bytes. Plain kernels and PyTorch see that they are pages. */
void way_pages(struct engine *engine, const char *name, struct gpu *gpu,
	       const struct route *route);
void way_pages_copy(struct engine *engine, const char *name, struct gpu *gpu,
		    const struct route *route);

#endif
