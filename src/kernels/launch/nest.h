/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests: converts a shape to the parameters of the kernels.
 */
#ifndef DTC_KERNELS_GPU_NEST_H
#define DTC_KERNELS_GPU_NEST_H

#include "kernels/launch/shape.h"

/* Tiles of pieces of the packed side. */
uint64_t dtc_gpu_piece_tiles(uint64_t packed, uint64_t begin, uint64_t end);

/*
 * Plan a nest for a shape whose leaf is a block. False, with a reason, if the kernels cannot
 * number its units.
 */
bool dtc_gpu_make_nest(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
		       struct dtc_gpu_nest *nest, const char **reason);

uint64_t dtc_gpu_nest_tiles(const struct dtc_gpu_nest *nest, enum dtc_direction direction);

/*
 * The same for the compact kernels. Returns their number of tiles, or 0 if they cannot move the
 * shape or are slower: shifted words, long runs of odd bytes.
 */
uint64_t dtc_gpu_make_rows(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
			   struct dtc_gpu_rows_params *rows);

/*
 * Fill in levels from @first on with the shape's loops; the caller sets those below. False if
 * there are too many.
 */
bool dtc_gpu_set_loops(const struct dtc_gpu_shape *shape, uint32_t first,
		       struct dtc_gpu_nest *nest, const char **reason);

/* Add a level of so many units. The outermost one may have any number. */
void dtc_gpu_set_level(struct dtc_gpu_nest *nest, uint32_t level, uint64_t count, int64_t stride);

/*
 * Whether unit numbers up to @units need 64 bits. False, with a reason, if a level is too long
 * for them.
 */
bool dtc_gpu_set_width(struct dtc_gpu_nest *nest, uint64_t units, const char **reason);

/* The largest power of two up to 16 that divides every bit pattern in @all. */
uint32_t dtc_gpu_alignment(uint64_t all);

/* The same for the shape's strides and both sides' addresses. */
uint64_t dtc_gpu_shape_bits(const struct dtc_gpu_shape *shape);

/* The number of tiles of words in the stretch; at least one, for its ends. */
uint64_t dtc_gpu_word_tiles(const struct dtc_gpu_nest *nest, uint32_t word);

#endif
