/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv bench --pipeline: the flow against the copies that it consists of.
 */
#ifndef BENCH_PIPELINE_PIPELINE_H
#define BENCH_PIPELINE_PIPELINE_H

struct bench_options;
struct session;

/* Whether the options choose any row and engine: 0, or an exit status after printing an error. */
int pipeline_check(const struct bench_options *options);
/* Run the rows that the options choose, print tables. Returns an exit status, after printing an error. */
int pipeline_run(struct session *session);
/* Print the rows. Returns an exit status. */
int pipeline_list(const struct session *session);

#endif
