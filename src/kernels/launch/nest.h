/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests: from a shape to what the kernels take.
 */
#ifndef DTC_KERNELS_GPU_NEST_H
#define DTC_KERNELS_GPU_NEST_H

#include "kernels/launch/shape.h"

/* Tiles of pieces of the packed side. */
uint64_t dtc_gpu_piece_tiles(uint64_t packed, uint64_t begin, uint64_t end);

/*
 * A nest for a shape whose leaf is a block; false, and the reason, if it is none that the kernels
 * can number.
 */
bool dtc_gpu_make_nest(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
		       struct dtc_gpu_nest *nest, const char **reason);

uint64_t dtc_gpu_nest_tiles(const struct dtc_gpu_nest *nest, enum dtc_direction direction);

/*
 * The same for the compact kernels. Returns their tiles, or 0 if they cannot move the shape, or are slower than
 * the others: words that are shifted, long runs of odd bytes.
 */
uint64_t dtc_gpu_make_rows(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
			   struct dtc_gpu_rows_params *rows);

/*
 * Levels from @first on are the shape's loops; those below are the caller's. False if the loops do
 * not fit.
 */
bool dtc_gpu_set_loops(const struct dtc_gpu_shape *shape, uint32_t first,
		       struct dtc_gpu_nest *nest, const char **reason);

/* A level of so many units; the outermost may be any number. */
void dtc_gpu_set_level(struct dtc_gpu_nest *nest, uint32_t level, uint64_t count, int64_t stride);

/* Whether units up to @units take 64 bits; false, and the reason, if then some level is too long. */
bool dtc_gpu_set_width(struct dtc_gpu_nest *nest, uint64_t units, const char **reason);

/* See dtc_gpu_alignment: of the shape's strides and both sides' addresses. */
uint64_t dtc_gpu_shape_bits(const struct dtc_gpu_shape *shape);

/* Tiles of words of the stretch; at least one, for its edges. */
uint64_t dtc_gpu_word_tiles(const struct dtc_gpu_nest *nest, uint32_t word);

#endif
