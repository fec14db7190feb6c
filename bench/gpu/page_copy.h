/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from pages to pages by tables that are new with each message and lie on the device: the two sides, their memory,
 * and the contestants.
 */
#ifndef BENCH_GPU_PAGE_COPY_H
#define BENCH_GPU_PAGE_COPY_H

#include "bench/gpu/way.h"

struct session;

/* Pages of tokens, whose part of the stream is a row; between two guards. */
struct page_side {
	size_t tokens;            /* of a page */
	size_t row_stride;        /* bytes from a token to the next; the row is its end */
	size_t pages, pool_pages; /* of a plane: in a table, and in its pool */
	size_t region_bytes;
	unsigned char *host;          /* what the region holds before a copy */
	unsigned char *region, *pool; /* on the device */
	int32_t *numbers;             /* tables, one behind another */
	CUdeviceptr tables;           /* the same on the device */
};

struct page_copy {
	struct gpu *gpu;
	size_t planes, tokens, row_bytes; /* of a message; a row is a token's part */
	struct page_side from, to;
	size_t table_count, next;
	unsigned char *packed; /* on the device: room for the stream */
};

static inline size_t page_copy_bytes(const struct page_copy *copy)
{
	return copy->planes * copy->tokens * copy->row_bytes;
}

/* Bytes of a plane's pool. */
static inline size_t page_plane_bytes(const struct page_side *side)
{
	return side->pool_pages * side->tokens * side->row_stride;
}

/* A table in turn, on the device. */
static inline CUdeviceptr page_table(const struct page_side *side, size_t index)
{
	return side->tables + index * side->pages * sizeof(int32_t);
}

/* The rows that the options want; prints their table. */
void page_copy_run(struct session *session);

/*
 * The plain kernels copy_X, X of 1, 2, 4 and 8 words a thread. Macros: WORDS, how many there are, and PLANE, how many in a
 * plane; of each side, FROM_ and TO_, in words: PAGE and ROW of the stream, and STRIDE, PITCH, POOL and SHIFT of memory:
 * from page to page, from row to row, from plane to plane, and to the first row.
 */
extern const char page_copy_source[];

/* The contestants, ways whose field @pages is set before they are prepared. */
void way_page_copy(struct engine *engine, const char *name, struct gpu *gpu,
		   const struct route *route); /* dtconv_pages_copy */
void way_page_copy_twice(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route *route); /* packed, then unpacked, in one stream */
void way_page_copy_plain(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route *route); /* the best plain kernel for the sizes */
void way_page_copy_raw(struct engine *engine, const char *name, struct gpu *gpu,
		       const struct route *route); /* as many contiguous bytes */

#endif
