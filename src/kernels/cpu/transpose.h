/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transposing: rows that are dense on one side are columns that are dense on the other. Tiles
 * are one cache line by one cache line, so each line is read once and written once. Down a band
 * of rows, consecutive lines are written and few pages are in use.
 */
#ifndef DTC_KERNELS_CPU_TRANSPOSE_H
#define DTC_KERNELS_CPU_TRANSPOSE_H

#include "base/base.h"
#include "grid.h"
#include "kernels.h"
#include "stream.h"
#include "tile.h"

/*
 * The rows of a band. Each row and each written line may be in a page of its own, and a
 * first-level TLB has 64 to 72 entries.
 */
#define BAND_ROWS 32

/* A target of at least this size is not in the first-level cache. */
#define FETCHED_BYTES (64 << 10)

/*
 * For elements of 16 bytes on CPUs other than AMD's: up to this size both sides are in the
 * second-level cache, where long bands are fastest. Beyond it short bands are faster.
 */
#define NEAR_BYTES (1 << 20)
#define NEAR_ROWS 64
#define FAR_ROWS 16

/* How the bands of a grid are moved. */
struct bands {
	dtc_tile_fn move_tiles;
	size_t rows;
	ptrdiff_t later;
};

/* The part of a grid that begins at row @row and column @column. */
static struct dtc_grid part_of_grid(const struct dtc_grid *grid, size_t row, size_t rows, size_t column,
				    size_t columns)
{
	struct dtc_grid part = *grid;

	part.to += (ptrdiff_t)row * grid->to_strides.outer +
		   (ptrdiff_t)column * grid->to_strides.inner;
	part.from += (ptrdiff_t)row * grid->from_strides.outer +
		     (ptrdiff_t)column * grid->from_strides.inner;
	part.outer = rows;
	part.inner = columns;
	return part;
}

/* Whether there are no gaps between the blocks of a row, and between those of a column. */
static bool is_dense(const struct dtc_grid *grid)
{
	return grid->from_strides.inner == (ptrdiff_t)grid->block &&
	       grid->to_strides.outer == (ptrdiff_t)grid->block;
}

/* One tile's width of columns of a band. The last tile may overlap the one before it. */
DTC_INLINE void move_band(dtc_tile_fn move_tiles, const struct dtc_grid *band,
			  ptrdiff_t later)
{
	size_t width = band->inner;
	size_t whole = band->outer - band->outer % width;
	struct dtc_grid part = part_of_grid(band, 0, whole, 0, width);

	move_tiles(&part, later);
	if (whole == band->outer)
		return;
	part = part_of_grid(band, band->outer - width, width, 0, width);
	move_tiles(&part, later);
}

static bool is_of_amd(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_is("amd");
#else
	return true;
#endif
}

static struct bands bands_of(const struct dtc_grid *grid, dtc_tile_fn move_tiles, size_t width)
{
	const size_t bytes = grid->outer * grid->inner * grid->block;
	struct bands bands = { move_tiles, BAND_ROWS, 0 };

	if (bytes < FETCHED_BYTES || dtc_passes_caches(grid->stream))
		return bands;
	bands.later = (ptrdiff_t)width * grid->to_strides.inner;
	if (grid->block != 16 || is_of_amd())
		return bands;
	bands.rows = bytes <= NEAR_BYTES ? NEAR_ROWS : FAR_ROWS;
	if (bytes <= NEAR_BYTES)
		bands.move_tiles = dtc_near_tile_of(grid->block);
	return bands;
}

/*
 * Move bands of tiles. The last rows and columns overlap those before them, so that all tiles
 * are whole.
 */
static void transpose_in_registers(const struct dtc_grid *grid, dtc_tile_fn move_tiles, size_t width)
{
	const struct bands bands = bands_of(grid, move_tiles, width);

	for (size_t row = 0; row < grid->outer; row += bands.rows) {
		size_t first = DTC_MIN(row, grid->outer - width);
		size_t rows = DTC_MIN(grid->outer - first, bands.rows);

		for (size_t column = 0; column < grid->inner; column += width) {
			struct dtc_grid band =
				part_of_grid(grid, first, rows,
					     DTC_MIN(column, grid->inner - width), width);

			move_band(bands.move_tiles, &band, bands.later);
		}
	}
}

static void transpose_in_lines(const struct dtc_grid *grid, size_t width)
{
	for (size_t row = 0; row < grid->outer; row += BAND_ROWS) {
		size_t rows = DTC_MIN(grid->outer - row, (size_t)BAND_ROWS);

		for (size_t column = 0; column < grid->inner; column += width) {
			struct dtc_grid part =
				part_of_grid(grid, row, rows, column,
					     DTC_MIN(grid->inner - column, width));

			dtc_move_grid(&part);
		}
	}
}

static void dtc_transpose(const struct dtc_grid *grid)
{
	size_t width = dtc_tile_width(grid->block);
	dtc_tile_fn move_tiles = is_dense(grid) ? dtc_tile_of(grid->block) : NULL;

	if (move_tiles && grid->outer >= width && grid->inner >= width)
		transpose_in_registers(grid, move_tiles, width);
	else
		transpose_in_lines(grid, width);
}

#endif
