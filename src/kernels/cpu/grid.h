/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids of equal blocks: one loop nest, compiled separately for each short block length, so
 * that a block takes a few instructions and no call.
 */
#ifndef DTC_KERNELS_CPU_GRID_H
#define DTC_KERNELS_CPU_GRID_H

#include "base/base.h"
#include "base/checked.h"
#include "block.h"
#include "generation.h"
#include "kernels.h"

/* A loop nest for a constant length. */
DTC_INLINE void move_grid(const struct dtc_grid *grid, size_t block)
{
	const struct dtc_grid_side to_strides = grid->to_strides;
	const struct dtc_grid_side from_strides = grid->from_strides;

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * from_strides.outer;

#pragma GCC unroll 4
		for (size_t j = grid->inner; j; j--) {
			dtc_copy_block(to, from, block);
			to += to_strides.inner;
			from += from_strides.inner;
		}
	}
}

#define FIXED_GRID(LENGTH)                                                                 \
	static void grid_##LENGTH(const struct dtc_grid *grid)                                 \
	{                                                                                  \
		move_grid(grid, LENGTH);                                                   \
	}

/*
 * Blocks that are one word. A row of eight is a tile of doubles on CPUs whose registers cannot
 * transpose it. There the row is unrolled, because a loop over eight words costs more than the
 * words.
 */
#define WORD_GRID(LENGTH, word)                                                            \
	static void rows_of_eight_##LENGTH(const struct dtc_grid *grid)                        \
	{                                                                                  \
		const struct dtc_grid_side to_strides = grid->to_strides;                  \
		const struct dtc_grid_side from_strides = grid->from_strides;              \
		char *to = grid->to;                                                       \
		const char *from = grid->from;                                             \
                                                                                           \
		for (size_t i = 0; i < grid->outer; i++) {                                 \
			MOVE_FOUR(word, to, to_strides.inner, from, from_strides.inner);   \
			MOVE_FOUR(word, to + 4 * to_strides.inner, to_strides.inner,       \
				  from + 4 * from_strides.inner, from_strides.inner);      \
			to += to_strides.outer;                                            \
			from += from_strides.outer;                                        \
		}                                                                          \
	}                                                                                  \
                                                                                           \
	static void grid_##LENGTH(const struct dtc_grid *grid)                                 \
	{                                                                                  \
		const struct dtc_grid_side to_strides = grid->to_strides;                  \
		const struct dtc_grid_side from_strides = grid->from_strides;              \
                                                                                           \
		if (grid->inner == 8) {                                                    \
			rows_of_eight_##LENGTH(grid);                                      \
			return;                                                            \
		}                                                                          \
		for (size_t i = 0; i < grid->outer; i++) {                                 \
			char *to = grid->to + (ptrdiff_t)i * to_strides.outer;             \
			const char *from =                                                 \
				grid->from + (ptrdiff_t)i * from_strides.outer;            \
			size_t left = grid->inner;                                         \
                                                                                           \
			for (; left >= 4; left -= 4) {                                     \
				MOVE_FOUR(word, to, to_strides.inner, from,                \
					  from_strides.inner);                             \
				to += 4 * to_strides.inner;                                \
				from += 4 * from_strides.inner;                            \
			}                                                                  \
			for (; left; left--) {                                             \
				*(word *)to = *(const word *)from;                         \
				to += to_strides.inner;                                    \
				from += from_strides.inner;                                \
			}                                                                  \
		}                                                                          \
	}

/* Every length up to 64. */
#define EIGHT(DO, a, b, c, d, e, f, g, h) DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h)
#define ODD_LENGTHS(DO)                                                                    \
	DO(3) DO(5) DO(6) DO(7)                                                            \
	DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)                                    \
	EIGHT(DO, 17, 18, 19, 20, 21, 22, 23, 24)                                          \
	EIGHT(DO, 25, 26, 27, 28, 29, 30, 31, 32)                                          \
	EIGHT(DO, 33, 34, 35, 36, 37, 38, 39, 40)                                          \
	EIGHT(DO, 41, 42, 43, 44, 45, 46, 47, 48)                                          \
	EIGHT(DO, 49, 50, 51, 52, 53, 54, 55, 56)                                          \
	EIGHT(DO, 57, 58, 59, 60, 61, 62, 63, 64)

WORD_GRID(1, char)
WORD_GRID(2, dtc_2_bytes)
WORD_GRID(4, dtc_4_bytes)
WORD_GRID(8, dtc_8_bytes)
WORD_GRID(16, dtc_16_bytes)
ODD_LENGTHS(FIXED_GRID)

/*
 * Rows whose words are a page apart. While the lines are in a cache, CPUs move them fastest a
 * few at a time; with as many in flight as possible it takes 1.2 to 1.8 times as long
 * (doc/performance.md).
 *
 * - AMD CPUs are fastest with about five in flight, if the words share one or two sets of the
 *   first-level cache.
 * - Other CPUs are fastest with about ten, for loads only, if there are many words, and they
 *   share sets or exceed the TLB.
 */
#define PACED_LOADS  2048
#define PACED_STORES 16384
#define PACED_LEAST  64
#define PACED_LEAST_ELSEWHERE 1024
#define PACED_MOST   65536
#define TLB_BYTES    (UINT64_C(8) << 20)

/* Whether there are enough words, far enough apart, for pacing to help. */
DTC_INLINE bool may_be_paced(size_t inner, ptrdiff_t stride)
{
	return inner >= PACED_LEAST && dtc_magnitude(stride) >= PACED_LOADS;
}

#if defined(__x86_64__)
enum pace { PACE_NONE, PACE_LOADS_AMD, PACE_LOADS_ELSEWHERE, PACE_STORES_AMD };

static enum pace pace_on_amd(const struct dtc_grid *grid)
{
	if (grid->from_strides.inner % PACED_LOADS == 0)
		return PACE_LOADS_AMD;
	return grid->to_strides.inner % PACED_STORES == 0 ? PACE_STORES_AMD : PACE_NONE;
}

static enum pace pace_elsewhere(const struct dtc_grid *grid)
{
	const ptrdiff_t stride = grid->from_strides.inner;
	const uint64_t words = grid->outer * grid->inner;

	if (words < PACED_LEAST_ELSEWHERE || dtc_magnitude(stride) < PACED_LOADS)
		return PACE_NONE;
	return stride % PACED_LOADS == 0 || words * dtc_magnitude(stride) >= TLB_BYTES
		       ? PACE_LOADS_ELSEWHERE
		       : PACE_NONE;
}

static enum pace pace_of(const struct dtc_grid *grid)
{
	if (grid->inner < PACED_LEAST || grid->outer * grid->inner > PACED_MOST)
		return PACE_NONE;
	return __builtin_cpu_is("amd") ? pace_on_amd(grid) : pace_elsewhere(grid);
}

/*
 * Enough no-ops to fill the out-of-order window, which limits the loads in flight. Stores use a
 * fence after every fourth word instead, because loads of the packed side are too fast for
 * no-ops to matter.
 */
DTC_INLINE void keep_pace(enum pace pace, size_t left)
{
	if (pace == PACE_LOADS_AMD)
		__asm__ volatile(".rept 60\n\tnop\n\t.endr");
	else if (pace == PACE_LOADS_ELSEWHERE)
		__asm__ volatile(".rept 24\n\tnop\n\t.endr");
	else if (left % 4 == 0)
		__builtin_ia32_lfence();
}

/* @pace is a constant. */
DTC_INLINE void move_paced_doubles(const struct dtc_grid *grid, enum pace pace)
{
	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * grid->to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
			*(dtc_8_bytes *)to = *(const dtc_8_bytes *)from;
			to += grid->to_strides.inner;
			from += grid->from_strides.inner;
			keep_pace(pace, j);
		}
	}
}

static void grid_of_doubles(const struct dtc_grid *grid)
{
	switch (pace_of(grid)) {
	case PACE_LOADS_AMD:
		move_paced_doubles(grid, PACE_LOADS_AMD);
		break;
	case PACE_LOADS_ELSEWHERE:
		move_paced_doubles(grid, PACE_LOADS_ELSEWHERE);
		break;
	case PACE_STORES_AMD:
		move_paced_doubles(grid, PACE_STORES_AMD);
		break;
	default:
		grid_8(grid);
	}
}
#else
static void grid_of_doubles(const struct dtc_grid *grid)
{
	grid_8(grid);
}
#endif

#define TABLE_ENTRY(LENGTH) [LENGTH] = grid_##LENGTH,

static void (*const fixed_grids[])(const struct dtc_grid *) = {
	TABLE_ENTRY(1) TABLE_ENTRY(2) TABLE_ENTRY(4) [8] = grid_of_doubles, TABLE_ENTRY(16)
	ODD_LENGTHS(TABLE_ENTRY)};

/*
 * Blocks of a few words and a rest, which an overlapping last word covers. The number of words
 * is a constant, so a block needs no loop.
 */
DTC_INLINE void move_words(const struct dtc_grid *grid, size_t words)
{
	const struct dtc_grid_side to_strides = grid->to_strides;
	const struct dtc_grid_side from_strides = grid->from_strides;
	const size_t last = grid->block - sizeof(dtc_word);

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
#pragma GCC unroll 4
			for (size_t k = 0; k < words; k++)
				dtc_copy_word(to + k * sizeof(dtc_word),
					      from + k * sizeof(dtc_word));
			dtc_copy_word(to + last, from + last);
			to += to_strides.inner;
			from += from_strides.inner;
		}
	}
}

#define WORDS_GRID(WORDS)                                                                  \
	static void grid_of_##WORDS##_words(const struct dtc_grid *grid)                   \
	{                                                                                  \
		move_words(grid, WORDS);                                                   \
	}

#if defined(__AVX512F__)
/* At most a line and a half: the half crosses fewer lines than a second whole one. */
static void grid_of_word_and_half(const struct dtc_grid *grid)
{
	const struct dtc_grid_side to_strides = grid->to_strides;
	const struct dtc_grid_side from_strides = grid->from_strides;
	const size_t last = grid->block - sizeof(dtc_32_bytes);

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
			const dtc_32_bytes tail = *(const dtc_32_bytes *)(from + last);

			dtc_copy_word(to, from);
			*(dtc_32_bytes *)(to + last) = tail;
			to += to_strides.inner;
			from += from_strides.inner;
		}
	}
}
#endif

WORDS_GRID(1)
WORDS_GRID(2)
WORDS_GRID(3)
WORDS_GRID(4)

#if defined(__AVX__)
/* As dtc_copy_long does, without a call for each block. @copy is a constant. */
DTC_INLINE void move_long(const struct dtc_grid *grid,
			  void (*copy)(char *to, const char *from, size_t bytes))
{
	const struct dtc_grid_side to_strides = grid->to_strides;
	const struct dtc_grid_side from_strides = grid->from_strides;

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
			copy(to, from, grid->block);
			to += to_strides.inner;
			from += from_strides.inner;
		}
	}
}
#endif

#if defined(__AVX__)
/*
 * Zen 5 copies these blocks by rep movsb in three quarters of the time, if the two sides are in its second cache and not in
 * the first.
 */
#define STRING_BLOCK 1536
#define FIRST_CACHE  (UINT64_C(48) << 10)
#define SECOND_CACHE (UINT64_C(1) << 20)

static bool is_for_string_moves(const struct dtc_grid *grid)
{
	const uint64_t bytes = 2 * (uint64_t)grid->block * grid->outer * grid->inner;

	return dtc_is_zen_5() && grid->block >= STRING_BLOCK && bytes > FIRST_CACHE &&
	       bytes <= SECOND_CACHE;
}

DTC_INLINE void copy_string(char *to, const char *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#endif

static void grid_of_long_blocks(const struct dtc_grid *grid)
{
#if defined(__AVX__)
	const bool is_long = grid->block > DTC_BLOCK_WORDS * sizeof(dtc_word) &&
			     grid->block < LONGER_BLOCK;

	if (is_long && is_for_string_moves(grid)) {
		move_long(grid, copy_string);
		return;
	}
#if defined(__AVX512F__)
	if (is_long && !dtc_splits_lines()) {
		move_long(grid, copy_lines);
		return;
	}
#endif
	if (is_long) {
		move_long(grid, copy_half_lines);
		return;
	}
#endif
	move_grid(grid, grid->block);
}

static void (*const word_grids[])(const struct dtc_grid *) = {
	[1] = grid_of_1_words, [2] = grid_of_2_words, [3] = grid_of_3_words,
	[4] = grid_of_4_words};

static void dtc_move_grid(const struct dtc_grid *grid)
{
	size_t words = (grid->block - 1) / sizeof(dtc_word);

	if (grid->block < DTC_ARRAY_LENGTH(fixed_grids))
		fixed_grids[grid->block](grid);
#if defined(__AVX512F__)
	else if (grid->block <= sizeof(dtc_word) + sizeof(dtc_32_bytes))
		grid_of_word_and_half(grid);
#endif
	else if (words < DTC_ARRAY_LENGTH(word_grids))
		word_grids[words](grid);
	else
		grid_of_long_blocks(grid);
}

#endif
