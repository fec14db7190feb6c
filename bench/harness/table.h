/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reader sees of the results: the table, its summary and verdict, the plot.
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

/* In lines of at most `limit` characters, 0: of any length. */
void table_print(FILE *file, const struct results *results, size_t limit);
/* ns a call of every engine, one line a layout, size and operation. */
void table_calls_print(FILE *file, const struct results *results, size_t limit);

/* summary.c: the worst rows against the peers, and geometric means. */
void summary_print(FILE *file, const struct results *results, size_t limit);
/* The failures one by one, or that there are none. */
void summary_checks(FILE *file, const struct results *results);
size_t summary_failures(const struct results *results);
/*
 * One sentence an operation: how fast dtconv is beside the hand loop and each peer, named by what the
 * engine says of itself. It says so if the self-test does not support that. Without such engines
 * memcpy is in; nothing is printed if dtconv was alone.
 */
void summary_verdict(FILE *file, const struct results *results,
		     const struct engine *engines, size_t engine_count, size_t limit);

/* An SVG of the ratios to the hand loop, or to memcpy where no layout has one. Returns 0. */
int plot_draw(FILE *file, const struct results *results, const char *subtitle);

#endif
