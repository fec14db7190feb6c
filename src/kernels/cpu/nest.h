/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of blocks that are dense on the packed side. Each common length and direction has a
 * function of its own, so that a message of a few blocks is one call without branches on its
 * shape.
 */
#ifndef DTC_KERNELS_CPU_NEST_H
#define DTC_KERNELS_CPU_NEST_H

#include "block.h"
#include "grid.h"
#include "kernels.h"

/* Displacements may be absolute addresses over a NULL base, so this is integer arithmetic. */
DTC_INLINE char *displaced(const char *base, ptrdiff_t disp)
{
	return (char *)((uintptr_t)base + (uintptr_t)disp);
}

/* The next block, or the next four, of a row. @four is a statement that uses these names. */
#define NEST_LOOP(LENGTH, four, one)                                                       \
	const ptrdiff_t stride = nest->inner_stride;                                       \
                                                                                           \
	user = displaced(user, nest->disp);                                                \
	for (size_t rows = nest->outer; rows; rows--, user += nest->outer_stride) {        \
		char *at = user;                                                           \
		size_t left = nest->inner;                                                 \
                                                                                           \
		for (; left >= 4; left -= 4) {                                             \
			four;                                                              \
			at += 4 * stride;                                                  \
			packed += 4 * (LENGTH);                                            \
		}                                                                          \
		for (; left; left--) {                                                     \
			one;                                                               \
			at += stride;                                                      \
			packed += (LENGTH);                                                \
		}                                                                          \
	}

/* Blocks that are one word: four are loaded before the first is stored. */
#define WORD_NEST(LENGTH, word)                                                            \
	static void pack_nest_##LENGTH(const struct dtc_nest *nest, char *user,            \
				       char *packed)                                       \
	{                                                                                  \
		NEST_LOOP(LENGTH, MOVE_FOUR(word, packed, LENGTH, at, stride),             \
			  *(word *)packed = *(const word *)at)                             \
	}                                                                                  \
	static void unpack_nest_##LENGTH(const struct dtc_nest *nest, char *user,          \
					 char *packed)                                     \
	{                                                                                  \
		NEST_LOOP(LENGTH, MOVE_FOUR(word, at, stride, packed, LENGTH),             \
			  *(word *)at = *(const word *)packed)                             \
	}

/* Four blocks whose length is a constant, from one side to the other. */
DTC_INLINE void copy_four(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
			  size_t length)
{
	dtc_copy_block(to, from, length);
	dtc_copy_block(to + to_stride, from + from_stride, length);
	dtc_copy_block(to + 2 * to_stride, from + 2 * from_stride, length);
	dtc_copy_block(to + 3 * to_stride, from + 3 * from_stride, length);
}

#define BLOCK_NEST(LENGTH)                                                                 \
	static void pack_nest_##LENGTH(const struct dtc_nest *nest, char *user,            \
				       char *packed)                                       \
	{                                                                                  \
		NEST_LOOP(LENGTH, copy_four(packed, LENGTH, at, stride, LENGTH),           \
			  dtc_copy_block(packed, at, LENGTH))                              \
	}                                                                                  \
	static void unpack_nest_##LENGTH(const struct dtc_nest *nest, char *user,          \
					 char *packed)                                     \
	{                                                                                  \
		NEST_LOOP(LENGTH, copy_four(at, stride, packed, LENGTH, LENGTH),           \
			  dtc_copy_block(at, packed, LENGTH))                              \
	}

WORD_NEST(1, char)
WORD_NEST(2, dtc_2_bytes)
WORD_NEST(4, dtc_4_bytes)
WORD_NEST(8, dtc_8_bytes)
WORD_NEST(16, dtc_16_bytes)
BLOCK_NEST(12)
BLOCK_NEST(20)
BLOCK_NEST(24)
BLOCK_NEST(32)
BLOCK_NEST(40)
BLOCK_NEST(48)
BLOCK_NEST(64)

/* Other lengths use the grid kernel. */
static void pack_nest(const struct dtc_nest *nest, char *user, char *packed)
{
	ptrdiff_t block = (ptrdiff_t)nest->block;
	const struct dtc_grid grid = {
		.to = packed,
		.from = displaced(user, nest->disp),
		.to_strides = { (ptrdiff_t)nest->inner * block, block },
		.from_strides = { nest->outer_stride, nest->inner_stride },
		.outer = nest->outer,
		.inner = nest->inner,
		.block = nest->block,
	};

	dtc_move_grid(&grid);
}

static void unpack_nest(const struct dtc_nest *nest, char *user, char *packed)
{
	ptrdiff_t block = (ptrdiff_t)nest->block;
	const struct dtc_grid grid = {
		.to = displaced(user, nest->disp),
		.from = packed,
		.to_strides = { nest->outer_stride, nest->inner_stride },
		.from_strides = { (ptrdiff_t)nest->inner * block, block },
		.outer = nest->outer,
		.inner = nest->inner,
		.block = nest->block,
	};

	dtc_move_grid(&grid);
}

/* One block of any length. */
static void pack_block(const struct dtc_nest *nest, char *user, char *packed)
{
	dtc_copy_alone(packed, displaced(user, nest->disp), nest->block);
}

static void unpack_block(const struct dtc_nest *nest, char *user, char *packed)
{
	dtc_copy_alone(displaced(user, nest->disp), packed, nest->block);
}

/* Doubles: they may be columns of a matrix, which the grid kernel may pace. */
static void pack_doubles(const struct dtc_nest *nest, char *user, char *packed)
{
	if (may_be_paced(nest->inner, nest->inner_stride))
		pack_nest(nest, user, packed);
	else
		pack_nest_8(nest, user, packed);
}

static void unpack_doubles(const struct dtc_nest *nest, char *user, char *packed)
{
	if (may_be_paced(nest->inner, nest->inner_stride))
		unpack_nest(nest, user, packed);
	else
		unpack_nest_8(nest, user, packed);
}

#define NEST_ENTRY(LENGTH) [LENGTH] = { pack_nest_##LENGTH, unpack_nest_##LENGTH },

static const dtc_nest_fn fixed_nests[][2] = {
	NEST_ENTRY(1) NEST_ENTRY(2) NEST_ENTRY(4) NEST_ENTRY(12) NEST_ENTRY(16) NEST_ENTRY(20)
	NEST_ENTRY(24) NEST_ENTRY(32) NEST_ENTRY(40) NEST_ENTRY(48) NEST_ENTRY(64)
	[8] = { pack_doubles, unpack_doubles },
};

static dtc_nest_fn dtc_nest_of(size_t block, enum dtc_direction direction)
{
	dtc_nest_fn fixed = block < DTC_ARRAY_LENGTH(fixed_nests) ? fixed_nests[block][direction]
								  : NULL;

	return fixed ? fixed : direction == DTC_PACK ? pack_nest : unpack_nest;
}

#endif
