/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output for people: the table, its summary and verdict, the plot.
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
	const struct result
		*lines; /* the fastest of the engines that only touch cache lines */
	const struct result *peer; /* the fastest one that passed */
};

/* dtconv's speed over another engine's; 0 if either is missing. Above 1, dtconv is faster. */
double row_ratio(const struct result *dtconv, const struct result *other);
/* All engines of the row that results->list[first] belongs to. */
struct row row_collect(const struct results *results, const struct result *any,
		       const char *op);
/* Whether the result is the first of its layout and size in the list. */
bool row_first(const struct results *results, size_t index);
/* Whether the engine only touches the layout's cache lines. */
bool engine_is_lines(const char *name);
/* Whether the engine is built in: dtconv, memcpy, hand, lines or a variant of them. */
bool engine_is_own(const char *name);

/* Lines have at most `limit` characters; 0: no limit. */
void table_print(FILE *file, const struct results *results, size_t limit);
/* ns a call of every engine, one line a layout, size and operation. */
void table_calls_print(FILE *file, const struct results *results, size_t limit);

/* summary.c: the worst rows against the peers, and geometric means. */
void summary_print(FILE *file, const struct results *results, size_t limit);
/* List the failures, or say that there are none. */
void summary_checks(FILE *file, const struct results *results);
size_t summary_failures(const struct results *results);
/*
 * For each operation one sentence: how fast dtconv is relative to the hand loop and to each
 * peer, named by the version that it reports; with a caveat if the self-test does not support
 * it. Without such engines, relative to memcpy. Prints nothing if dtconv ran alone.
 */
void summary_verdict(FILE *file, const struct results *results,
		     const struct engine *engines, size_t engine_count, size_t limit);

/* An SVG of the ratios to the hand loop, or to memcpy where no layout has one. Returns 0. */
int plot_draw(FILE *file, const struct results *results, const char *subtitle);

#endif
