/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids of equal blocks: one loop nest, compiled once for each short block length, so that a
 * block is a few moves and no call.
 */
#include "config.h"

#include "cpu.h"

#include <string.h>

#include "base.h"
#include "cpu_copy.h"

struct grid {
	char *to;
	const char *from;
	struct dtc_grid_side to_strides, from_strides;
	size_t outer, inner;
	size_t block;
};

/* One loop nest per length; four blocks are loaded before the first is stored. */
#define FIXED_GRID(LENGTH)                                                                 \
	static void row_##LENGTH(char *restrict to, ptrdiff_t to_stride,                   \
				 const char *restrict from, ptrdiff_t from_stride,         \
				 size_t count)                                             \
	{                                                                                  \
		for (; count >= 4; count -= 4) {                                           \
			char a[LENGTH], b[LENGTH], c[LENGTH], d[LENGTH];                   \
                                                                                           \
			memcpy(a, from, LENGTH);                                           \
			memcpy(b, from + from_stride, LENGTH);                             \
			memcpy(c, from + 2 * from_stride, LENGTH);                         \
			memcpy(d, from + 3 * from_stride, LENGTH);                         \
			memcpy(to, a, LENGTH);                                             \
			memcpy(to + to_stride, b, LENGTH);                                 \
			memcpy(to + 2 * to_stride, c, LENGTH);                             \
			memcpy(to + 3 * to_stride, d, LENGTH);                             \
			from += 4 * from_stride;                                           \
			to += 4 * to_stride;                                               \
		}                                                                          \
		for (; count; count--) {                                                   \
			memcpy(to, from, LENGTH);                                          \
			from += from_stride;                                               \
			to += to_stride;                                                   \
		}                                                                          \
	}                                                                                  \
                                                                                           \
	static void grid_##LENGTH(const struct grid *grid)                                 \
	{                                                                                  \
		char *to = grid->to;                                                       \
		const char *from = grid->from;                                             \
                                                                                           \
		for (size_t i = 0; i < grid->outer; i++) {                                 \
			row_##LENGTH(to, grid->to_strides.inner, from,                     \
				     grid->from_strides.inner, grid->inner);               \
			to += grid->to_strides.outer;                                      \
			from += grid->from_strides.outer;                                  \
		}                                                                          \
	}

/* Every length up to 64. */
#define EIGHT(DO, a, b, c, d, e, f, g, h) DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h)
#define EVERY_LENGTH(DO)                                                                   \
	EIGHT(DO, 1, 2, 3, 4, 5, 6, 7, 8)                                                  \
	EIGHT(DO, 9, 10, 11, 12, 13, 14, 15, 16)                                           \
	EIGHT(DO, 17, 18, 19, 20, 21, 22, 23, 24)                                          \
	EIGHT(DO, 25, 26, 27, 28, 29, 30, 31, 32)                                          \
	EIGHT(DO, 33, 34, 35, 36, 37, 38, 39, 40)                                          \
	EIGHT(DO, 41, 42, 43, 44, 45, 46, 47, 48)                                          \
	EIGHT(DO, 49, 50, 51, 52, 53, 54, 55, 56)                                          \
	EIGHT(DO, 57, 58, 59, 60, 61, 62, 63, 64)

EVERY_LENGTH(FIXED_GRID)

#define TABLE_ENTRY(LENGTH) [LENGTH] = grid_##LENGTH,

static void (*const fixed_grids[])(const struct grid *) = {EVERY_LENGTH(TABLE_ENTRY)};

static void grid_of_long_blocks(const struct grid *grid)
{
	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * grid->to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

		for (size_t j = 0; j < grid->inner; j++) {
			memcpy(to, from, grid->block);
			to += grid->to_strides.inner;
			from += grid->from_strides.inner;
		}
	}
}

void dtc_cpu_grid(char *to, struct dtc_grid_side to_strides, const char *from,
		  struct dtc_grid_side from_strides, size_t outer, size_t inner, size_t block)
{
	const struct grid grid = {to, from, to_strides, from_strides, outer, inner, block};

	if (block < DTC_ARRAY_LENGTH(fixed_grids))
		fixed_grids[block](&grid);
	else
		grid_of_long_blocks(&grid);
}

void dtc_cpu_run(char *to, const char *from, size_t bytes)
{
	dtc_copy_short(to, from, bytes);
}
