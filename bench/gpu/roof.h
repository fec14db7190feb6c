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

/* How an entry cuts the work: name, words a thread, whether a warp takes a run of its own. */
#define ROOF_VARIANTS(X) \
	X(1, 1, 0)       \
	X(2, 2, 0)       \
	X(4, 4, 0)       \
	X(8, 8, 0)       \
	X(wide, 1, 0)    \
	X(runs, 0, 1)

#endif
