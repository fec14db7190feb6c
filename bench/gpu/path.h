/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path by which dtconv moves a row, in the words of dtconv_explain.
 */
#ifndef BENCH_GPU_PATH_H
#define BENCH_GPU_PATH_H

#include "bench/gpu/way.h"
#include "bench/harness/result.h"

/* Fill in backend, kernel and reason, if the engine is a mode of dtconv. */
void path_explain(const struct engine *engine, enum bench_op op, struct result *result);

/* The mark behind a row's layout: empty unless a reason is printed for it. */
const char *path_mark(const struct results *results, const struct result *row);
/* A row's layout in a column, with its mark. */
void path_print_name(const struct results *results, const struct result *row, int width);

/* Print the reasons of the results from an index on, one line for each layout and reason. */
void path_print_reasons(const struct results *results, size_t from);

#endif
