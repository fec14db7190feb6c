/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of the plain kernels, and how its macros and its entries are named.
 */
#ifndef BENCH_GPU_ROOF_H
#define BENCH_GPU_ROOF_H

#include <stdbool.h>

struct pattern;

/* Entries are pack_X and unpack_X, X of ROOF_VARIANTS. */
extern const char roof_source[];

/* What it is compiled with. */
#define ROOF_OPTIONS 12
struct roof_options {
	char texts[ROOF_OPTIONS][48];
	const char *list[ROOF_OPTIONS];
	int count;
};

/* For a pattern and devices of compute capability @arch / 10; @far: places in words need 64 bits. */
void roof_set_options(struct roof_options *options, const struct pattern *pattern,
		      bool far, int arch);

/* Which table an entry reads, if the pattern has one: see bench/gpu/roof_tables.h. */
enum roof_reads { ROOF_PLACES, ROOF_PAIRS, ROOF_RUNS, ROOF_TABLES };

/* How an entry cuts the work: name, words a thread (0: a warp takes a run of its own), and the table it reads. */
#define ROOF_VARIANTS(X)           \
	X(1, 1, ROOF_PLACES)       \
	X(2, 2, ROOF_PLACES)       \
	X(4, 4, ROOF_PLACES)       \
	X(8, 8, ROOF_PLACES)       \
	X(wide, 1, ROOF_PLACES)    \
	X(sorted_1, 1, ROOF_PAIRS) \
	X(sorted_2, 2, ROOF_PAIRS) \
	X(sorted_4, 4, ROOF_PAIRS) \
	X(sorted_8, 8, ROOF_PAIRS) \
	X(ahead_1, 1, ROOF_PAIRS)  \
	X(ahead_2, 2, ROOF_PAIRS)  \
	X(ahead_4, 4, ROOF_PAIRS)  \
	X(ahead_8, 8, ROOF_PAIRS)  \
	X(runs, 0, ROOF_RUNS)

#endif
