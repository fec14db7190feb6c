/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU kernels: leaf loops that move bytes between a packed side and a user side. They know
 * block sizes and strides and nothing of types; they allocate nothing and cannot fail.
 *
 * They touch exactly the bytes they are told: no store to a gap, no load beyond a block.
 */
#ifndef DTC_KERNELS_CPU_H
#define DTC_KERNELS_CPU_H

#include <stddef.h>
#include <stdint.h>

struct dtc_table;

enum dtc_direction {
	DTC_PACK,  /* from user to packed */
	DTC_UNPACK /* from packed to user */
};

/* Strides of one side of a grid, in bytes. */
struct dtc_grid_side {
	ptrdiff_t outer;
	ptrdiff_t inner;
};

/* Copy @outer x @inner blocks of @block bytes; the sides do not overlap. */
void dtc_cpu_grid(char *to, struct dtc_grid_side to_strides, const char *from,
		  struct dtc_grid_side from_strides, size_t outer, size_t inner, size_t block);

/* Copy one run. */
void dtc_cpu_run(char *to, const char *from, size_t bytes);

/*
 * Copy whole entries [first, first + count) of a table of runs; @packed is where the first
 * one's bytes are packed, @user where displacement 0 is.
 */
void dtc_cpu_table(const struct dtc_table *table, uint64_t first, uint64_t count, char *packed,
		   char *user, enum dtc_direction direction);

#endif
