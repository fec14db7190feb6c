/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reader sees of the results: the table, its two summary lines, the plot.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdio.h>

#include "bench/harness/result.h"

/* One layout at one size: the results of its engines in one operation. */
struct row {
	const struct result *dtconv;
	const struct result *memcpy_;
	const struct result *hand;
	const struct result *peer; /* the fastest that is ok */
};

/* dtconv's speed over another's, 0 if either is missing: above 1 dtconv is the faster. */
double row_ratio(const struct result *dtconv, const struct result *other);
/* All engines of the row that results->list[first] belongs to. */
struct row row_collect(const struct results *results, const struct result *any,
		       const char *op);
/* Whether the result is the first of its layout and size in the list. */
bool row_first(const struct results *results, size_t index);
/* Whether the engine is one of ours: dtconv, memcpy, hand and their variants. */
bool engine_is_own(const char *name);

void table_print(FILE *file, const struct results *results);
/* ns a call of every engine, one line a layout, size and operation. */
void table_calls_print(FILE *file, const struct results *results);
/* Geometric means, the worst rows against peers, and whether all rows were verified. */
void table_summary(FILE *file, const struct results *results);
/* The failures one by one, or that there are none. */
void table_verdict(FILE *file, const struct results *results);
size_t table_failures(const struct results *results);

/* An SVG of the ratios to the hand loop. Returns 0, or -1 with errno. */
int plot_write(const char *path, const struct results *results, const char *subtitle);

#endif
