/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one kernel call must do, as a list of blocks that are copied byte by byte, and the proof
 * that every set of kernels does it and nothing else: each side lies between unmapped pages, at
 * either edge of them or at any alignment, and every byte of a side knows what it must hold.
 */
#ifndef TEST_KERNELS_MOVES_H
#define TEST_KERNELS_MOVES_H

#include <stddef.h>

#include "kernels/cpu/kernels.h"

/* One block; displacements in bytes from place 0 of either side. */
struct block {
	ptrdiff_t to, from;
	size_t bytes;
};

struct moves {
	char text[160]; /* what failure messages say of the call */
	/* Makes the call with place 0 of either side at @to and @from. */
	void (*run)(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		    char *to, const char *from);
	const void *arg; /* what run needs to know */
	struct block *blocks;
	size_t count, room;
};

/* The memory that all calls of a case work in; for a case's setup and teardown. */
void moves_setup(void);
void moves_teardown(void);

void moves_add(struct moves *moves, ptrdiff_t to, ptrdiff_t from, size_t bytes);

/* The blocks go, their memory stays: one list serves many calls. */
void moves_clear(struct moves *moves);
void moves_destroy(struct moves *moves);

/* Every set, either side ending where an unmapped page begins and beginning where one ends. */
void moves_check(const struct moves *moves);

/* Every set, all 64 x 64 alignments of place 0 of the two sides, or each @step-th of them. */
void moves_check_alignments(const struct moves *moves, size_t step);

/* ---- grids --------------------------------------------------------------------------------- */

/* Where the blocks of a grid whose sides both begin at place 0 are; to and from are not read. */
void moves_add_grid(struct moves *moves, const struct dtc_grid *grid);

/* run functions whose arg is the grid. */
void moves_run_grid(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		    char *to, const char *from);
void moves_run_stream_packed(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			     char *to, const char *from);
void moves_run_stream_user(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			   char *to, const char *from);
void moves_run_fetched(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		       char *to, const char *from);
void moves_run_transpose(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			 char *to, const char *from);
void moves_run_transpose_stream(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
				char *to, const char *from);

#endif
