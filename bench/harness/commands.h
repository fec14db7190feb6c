/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bench does with its options: run, draw, list.
 */
#ifndef BENCH_COMMANDS_H
#define BENCH_COMMANDS_H

#include "bench/harness/options.h"

/*
 * Run; what people read goes to standard output, so `output` must be another file. Returns the exit status: 0, 1 if a check failed.
 */
int bench_session_run(const struct bench_options *options);
/* Plot the results of an earlier run. Returns the exit status. */
int bench_session_draw(const struct bench_options *options);
/* Print the rows the options choose, without running them. Returns the exit status. */
int bench_session_list(const struct bench_options *options);

#endif
