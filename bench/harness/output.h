/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target of --json and --plot: a file, or `-` for standard output.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct bench_options;
struct results;

bool output_is_standard(const char *path);

/* Open a path. If that fails, print an error that names `option`, unless it is NULL. */
FILE *output_open(const struct bench_options *options, const char *option,
		  const char *path, const char *mode);
/* Flush and close; print an error if not all was written. Returns 0 or -1. */
int output_close(const struct bench_options *options, const char *option,
		 const char *path, FILE *file);

/* Returns 0, or -1 with errno. */
typedef int (*output_draw)(FILE *file, const struct results *results, const char *title);

/* Draw the plot of --plot; returns as output_close. Writes nothing if drawing fails. */
int output_plot(const struct bench_options *options, const struct results *results,
		const char *title, output_draw draw);

#endif
