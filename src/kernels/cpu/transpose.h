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
 * Bands of doubles. Long ones are 1.05 to 1.3 times as fast, unless the lines of a column share sets of the first-level
 * cache; on CPUs other than AMD's up to 8 MiB only, and short ones are fastest for the columns that do.
 *
 * Bands of 16 bytes on CPUs other than AMD's: long ones while both sides are in the second-level cache, then short ones.
 */
#define LONG_ROWS             64
#define SHORT_ROWS            16
#define LONG_MOST_OF_DOUBLES  (8 << 20)
#define LONG_MOST_OF_16_BYTES (1 << 20)
#define SHARING_PITCH         4096
#define SHARING_PITCH_OF_AMD  2048

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

#if defined(__x86_64__)
static bool shares_sets(const struct dtc_grid *grid, ptrdiff_t pitch)
{
	return grid->from_strides.outer % pitch == 0 ||
	       grid->to_strides.inner % pitch == 0;
}

static size_t rows_of_doubles(const struct dtc_grid *grid, size_t bytes)
{
	if (__builtin_cpu_is("amd"))
		return shares_sets(grid, SHARING_PITCH_OF_AMD) ? BAND_ROWS : LONG_ROWS;
	if (shares_sets(grid, SHARING_PITCH))
		return SHORT_ROWS;
	return bytes <= LONG_MOST_OF_DOUBLES ? LONG_ROWS : BAND_ROWS;
}

static void tune_bands(struct bands *bands, const struct dtc_grid *grid, size_t bytes)
{
	if (grid->block == 8)
		bands->rows = rows_of_doubles(grid, bytes);
	if (grid->block != 16 || __builtin_cpu_is("amd"))
		return;
	bands->rows = bytes <= LONG_MOST_OF_16_BYTES ? LONG_ROWS : SHORT_ROWS;
	if (bytes <= LONG_MOST_OF_16_BYTES)
		bands->move_tiles = dtc_near_tile_of(grid->block);
}
#else
static void tune_bands(struct bands *bands, const struct dtc_grid *grid, size_t bytes)
{
	(void)bands, (void)grid, (void)bytes;
}
#endif

static struct bands bands_of(const struct dtc_grid *grid, dtc_tile_fn move_tiles, size_t width)
{
	const size_t bytes = grid->outer * grid->inner * grid->block;
	struct bands bands = { move_tiles, BAND_ROWS, 0 };

	if (bytes < FETCHED_BYTES || dtc_passes_caches(grid->stream))
		return bands;
	bands.later = (ptrdiff_t)width * grid->to_strides.inner;
	tune_bands(&bands, grid, bytes);
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
