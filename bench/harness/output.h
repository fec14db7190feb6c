/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where --json and --plot write: a file, or `-` for standard output.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct bench_options;
struct results;

bool output_is_standard(const char *path);

/* Open a path; `option` is for the sentence on standard error if that fails (NULL). */
FILE *output_open(const struct bench_options *options, const char *option,
		  const char *path, const char *mode);
/* All was written, or a sentence says that it was not. Returns 0 or -1. */
int output_close(const struct bench_options *options, const char *option,
		 const char *path, FILE *file);

/* Returns 0, or -1 with errno. */
typedef int (*output_draw)(FILE *file, const struct results *results, const char *title);

/* Draw what --plot asks for; returns as output_close. Nothing is written if drawing fails. */
int output_plot(const struct bench_options *options, const struct results *results,
		const char *title, output_draw draw);

#endif
