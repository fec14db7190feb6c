/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long blocks, and runs, whose target is larger than the caches. Whole lines are written with
 * non-temporal stores, which do not read them first. The source is prefetched, because the
 * hardware does not follow long strides.
 */
#ifndef DTC_KERNELS_CPU_STREAM_H
#define DTC_KERNELS_CPU_STREAM_H

#include "base/base.h"
#include "base/checked.h"
#include "block.h"
#include "generation.h"
#include "grid.h"
#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * The prefetch distance, in bytes to be copied. Long blocks are prefetched into the
 * second-level cache, because the first level has too few outstanding misses to keep the memory
 * busy. Short ones, which the hardware prefetcher mispredicts, are faster through the first
 * level.
 */
#define STREAM_AHEAD 2048
#define STREAM_FAR_AHEAD 4096

/* The least length of long blocks in that sense. */
#define STREAM_FAR_BLOCK 512

/*
 * Blocks with gaps of at least this length gain from these lengths on. Shorter blocks and
 * narrower gaps leave too many partially written lines. Whole lines gain at any length.
 */
#define STREAM_BLOCK 192

/* Blocks of at least this length gain with any gaps. */
#define STREAM_LONG_BLOCK 1024

/* Blocks that are read with a stride gain from these lengths on, with any gaps. */
#define STREAM_GATHERED 192

/* A line of the target, aligned to its length. */
DTC_INLINE void stream_line(char *to, const char *from)
{
#if defined(__AVX512F__)
	_mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
#elif defined(__AVX__)
	_mm256_stream_si256((void *)to, _mm256_loadu_si256((const void *)from));
	_mm256_stream_si256((void *)(to + 32), _mm256_loadu_si256((const void *)(from + 32)));
#else
	for (size_t at = 0; at < DTC_CACHE_LINE; at += 16)
		_mm_stream_si128((void *)(to + at), _mm_loadu_si128((const void *)(from + at)));
#endif
}

/*
 * Copy the lines between @at and @end, and prefetch those at the same offsets from @ahead on. Nothing else is in the loop:
 * the fewer instructions a line takes, the more lines a CPU loads at a time.
 */
DTC_INLINE size_t stream_lines(char *to, const char *from, size_t at, size_t end,
			       const char *ahead, bool far)
{
	for (; at < end; at += DTC_CACHE_LINE) {
		if (far)
			__builtin_prefetch(ahead + at, 0, 2);
		else
			__builtin_prefetch(ahead + at, 0, 3);
		stream_line(to + at, from + at);
	}
	return at;
}

/*
 * Copy a block. Prefetch what is @shift bytes ahead, from a line to a block: in this block, or beyond its end from
 * @next on.
 */
DTC_INLINE void stream_block(char *to, const char *from, size_t bytes, const char *next, size_t shift,
			     bool far)
{
	const size_t inside = bytes - shift;
	size_t at = DTC_MIN((size_t)(0 - (uintptr_t)to % DTC_CACHE_LINE) % DTC_CACHE_LINE, bytes);
	const size_t end = bytes - (bytes - at) % DTC_CACHE_LINE;

	dtc_copy_block(to, from, at);
	at = stream_lines(to, from, at, inside, from + shift, far);
	stream_lines(to, from, at, end, next - inside, far);
	dtc_copy_block(to + end, from + end, bytes - end);
}

/* Copy one run; the source of the next one is at @next. */
DTC_INLINE void dtc_stream_run(char *to, const char *from, size_t bytes, const char *next)
{
	stream_block(to, from, bytes, next, DTC_MIN(bytes, (size_t)STREAM_FAR_AHEAD), true);
}

/* Whether all blocks are whole lines of the target. */
DTC_INLINE bool are_lines(const struct dtc_grid *grid)
{
	return ((uintptr_t)grid->to | (uintptr_t)grid->to_strides.inner |
		(uintptr_t)grid->to_strides.outer | grid->block) %
		       DTC_CACHE_LINE ==
	       0;
}

static bool is_worth_streaming(const struct dtc_grid *grid)
{
	bool scatters = grid->stream == DTC_STREAM_USER;
	ptrdiff_t stride = scatters ? grid->to_strides.inner : grid->from_strides.inner;
	bool apart = dtc_magnitude(stride) / 2 >= grid->block;

	if (grid->block < DTC_CACHE_LINE)
		return false;
	if (grid->outer * grid->inner == 1)
		return true;
	if (!scatters)
		return grid->block >= STREAM_GATHERED;
	return grid->block >= STREAM_LONG_BLOCK ||
	       (apart && (grid->block >= STREAM_BLOCK || are_lines(grid)));
}

/*
 * The source @blocks blocks after the j-th of a row. Beyond the end of the grid, assume that
 * the strides or the run continue, because usually the next fragment does.
 */
DTC_INLINE const char *later_block(const struct dtc_grid *grid, size_t i, size_t j,
				   size_t blocks)
{
	const char *row = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

	if (grid->outer * grid->inner == 1)
		return grid->next ? grid->next : row + grid->block;
	if (j + blocks >= grid->inner && i + 1 < grid->outer)
		return row + grid->from_strides.outer +
		       (ptrdiff_t)(j + blocks - grid->inner) * grid->from_strides.inner;
	return row + (ptrdiff_t)(j + blocks) * grid->from_strides.inner;
}

DTC_INLINE void stream_blocks(const struct dtc_grid *grid, size_t most_ahead, bool far)
{
	bool long_blocks = grid->block > most_ahead;
	size_t shift = long_blocks ? most_ahead : grid->block;
	size_t blocks_ahead = long_blocks ? 1 : 1 + most_ahead / grid->block;

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * grid->to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

		for (size_t j = 0; j < grid->inner; j++)
			stream_block(to + (ptrdiff_t)j * grid->to_strides.inner,
				     from + (ptrdiff_t)j * grid->from_strides.inner,
				     grid->block, later_block(grid, i, j, blocks_ahead),
				     shift, far);
	}
}

static void dtc_stream_grid(const struct dtc_grid *grid)
{
	if (!is_worth_streaming(grid))
		dtc_move_grid(grid);
	else if (grid->block >= STREAM_FAR_BLOCK)
		stream_blocks(grid, STREAM_FAR_AHEAD, true);
	else
		stream_blocks(grid, STREAM_AHEAD, false);
}

#else

DTC_INLINE void dtc_stream_run(char *to, const char *from, size_t bytes, const char *next)
{
	(void)next;
	dtc_copy_block(to, from, bytes);
}

static bool is_worth_streaming(const struct dtc_grid *grid)
{
	(void)grid;
	return false;
}

static void dtc_stream_grid(const struct dtc_grid *grid)
{
	dtc_move_grid(grid);
}

#endif

/*
 * Prefetch the target of blocks of these lengths. The hardware predicts shorter ones by itself,
 * and the rest of longer ones.
 */
#define FETCH_LEAST 512
#define FETCH_MOST  2048

static bool is_worth_fetching(const struct dtc_grid *grid)
{
	return grid->block >= FETCH_LEAST && grid->block <= FETCH_MOST &&
	       dtc_magnitude(grid->to_strides.inner) != grid->block;
}

/* Prefetch each block's lines for writing, one block ahead. */
static void fetch_blocks(const struct dtc_grid *grid)
{
	const size_t block = grid->block;

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * grid->to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
			for (size_t at = 0; at < block; at += DTC_CACHE_LINE)
				__builtin_prefetch(to + grid->to_strides.inner + at, 1);
			dtc_copy_block(to, from, block);
			to += grid->to_strides.inner;
			from += grid->from_strides.inner;
		}
	}
}

/*
 * Short blocks, a line or more apart, in memory: each one's lines are prefetched while the blocks before it are
 * written. Where they are in a cache, this costs more than it gains. Zen 5 gains with two blocks a line, too, if lines are
 * prefetched earlier.
 */
#define FETCH_SHORT        96
#define FETCH_SHORT_PITCH  1024
#define FETCH_SHORT_BLOCKS 2
#define FETCH_DENSE_PITCH  32
#define FETCH_DENSE_BYTES  1024

static bool is_worth_fetching_short(const struct dtc_grid *grid)
{
	const uint64_t pitch = dtc_magnitude(grid->to_strides.inner);
	const uint64_t least = dtc_is_zen_5() ? FETCH_DENSE_PITCH : DTC_CACHE_LINE;

	return grid->stream == DTC_STREAM_USER && grid->block <= FETCH_SHORT &&
	       pitch > grid->block && pitch >= least && pitch <= FETCH_SHORT_PITCH &&
	       !is_worth_streaming(grid);
}

/* How far ahead of the target lines are prefetched. */
static ptrdiff_t fetch_distance(const struct dtc_grid *grid)
{
	const ptrdiff_t pitch = grid->to_strides.inner;
	const uint64_t bytes = dtc_magnitude(pitch);

	return pitch * (bytes >= DTC_CACHE_LINE ? FETCH_SHORT_BLOCKS
						: (ptrdiff_t)(FETCH_DENSE_BYTES / bytes));
}

/* @block is a constant for common lengths. */
DTC_INLINE void fetch_short_blocks(const struct dtc_grid *grid, size_t block,
				   ptrdiff_t ahead)
{
	const ptrdiff_t pitch = grid->to_strides.inner;

	for (size_t i = 0; i < grid->outer; i++) {
		char *to = grid->to + (ptrdiff_t)i * grid->to_strides.outer;
		const char *from = grid->from + (ptrdiff_t)i * grid->from_strides.outer;

		for (size_t j = grid->inner; j; j--) {
			const char *next = to + ahead;

			__builtin_prefetch(next, 1);
			__builtin_prefetch(next + block - 1, 1);
			dtc_copy_block(to, from, block);
			to += pitch;
			from += grid->from_strides.inner;
		}
	}
}

#define FETCHED_GRID(LENGTH)                                                            \
	static void fetched_grid_##LENGTH(const struct dtc_grid *grid, ptrdiff_t ahead) \
	{                                                                               \
		fetch_short_blocks(grid, LENGTH, ahead);                                \
	}

/* Rows of up to 24 numbers of 4 bytes. */
#define ROW_LENGTHS(DO)                           \
	EIGHT(DO, 4, 8, 12, 16, 20, 24, 28, 32)   \
	EIGHT(DO, 36, 40, 44, 48, 52, 56, 60, 64) \
	EIGHT(DO, 68, 72, 76, 80, 84, 88, 92, 96)

ROW_LENGTHS(FETCHED_GRID)

#define FETCHED_ENTRY(LENGTH) [LENGTH] = fetched_grid_##LENGTH,

static void (*const fetched_grids[FETCH_SHORT + 1])(
	const struct dtc_grid *, ptrdiff_t ahead) = { ROW_LENGTHS(FETCHED_ENTRY) };

static void fetch_short_grid(const struct dtc_grid *grid)
{
	const ptrdiff_t ahead = fetch_distance(grid);

	if (fetched_grids[grid->block])
		fetched_grids[grid->block](grid, ahead);
	else
		fetch_short_blocks(grid, grid->block, ahead);
}

/* Zen 5 writes single lines with gaps as usual: past the caches and prefetched they are slower. */
static bool are_lone_lines(const struct dtc_grid *grid)
{
	return dtc_is_zen_5() && grid->block == DTC_CACHE_LINE &&
	       grid->stream == DTC_STREAM_USER;
}

static void dtc_copy_grid(const struct dtc_grid *grid)
{
	if (are_lone_lines(grid))
		dtc_move_grid(grid);
	else if (is_worth_fetching_short(grid))
		fetch_short_grid(grid);
	else if (dtc_passes_caches(grid->stream))
		dtc_stream_grid(grid);
	else if (grid->stream == DTC_STREAM_FETCHED && is_worth_fetching(grid))
		fetch_blocks(grid);
	else
		dtc_move_grid(grid);
}

#endif
