/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state that the files of one run share: engines, memory, clock, results.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdio.h>

#include "bench/harness/arena.h"
#include "bench/harness/engine.h"
#include "bench/harness/options.h"
#include "bench/harness/result.h"
#include "bench/harness/verify.h"

#define MOST_ENGINES 20
#define WHY_ROOM     512

/* One row to do. */
struct row_key {
	const struct bench_layout *layout; /* the layout; NULL: an expression */
	int variant;
	enum bench_size size;
	const char *expr;
	size_t expr_count;
	char name[BENCH_NAME_ROOM];
};

struct session {
	const struct bench_options *options;
	struct dtconv_context *context;
	struct dtconv_context *threads_context; /* mode threads only */
	struct arena arena;
	size_t memory_limit; /* limit for one row */
	struct engine engines[MOST_ENGINES];
	size_t engine_count;
	struct row_key *rows;
	size_t row_count;
	const char *layouts; /* patterns of the selected layouts; NULL: all */
	struct results results;
	FILE *json;
	bool progress; /* standard error is a terminal */
	double deadline;
	size_t rows_left;
	struct gpu *gpu; /* while a device is measured */
	size_t left_out; /* number of rows left out for lack of time */
	bool unwritten;  /* writing a file failed, which has been reported */
};

/* engines.c: dtconv, memcpy, hand and all peers that the options select. */
void session_add_engines(struct session *session);
void session_add_peers(struct session *session);
/* The path of a peer's program, even if it does not exist. */
#define PEER_ROOM 1024
void session_find_peer(const char *name, char *path, size_t room);
void session_print_engines(const struct session *session);
struct engine *session_new_engine(struct session *session, const char *name);

/* rows.c: the rows that the options select. They return 0, or -1 without memory. */
int session_add_rows(struct session *session);
/*
 * The row's name for an expression of the command line: its text, shortened, with a number if
 * an earlier one has the same name.
 */
void session_name_expr(const struct session *session, size_t index,
		       char name[BENCH_NAME_ROOM]);
/* Add the layouts of a table at the given sizes (0: each at its default). */
int session_add_table(struct session *session, const struct bench_layout *table,
		      unsigned sizes);

/* work.c */
/* Run all rows that were added. */
void session_do_rows(struct session *session);
/* Create the row's case; -1 with an error text. */
int session_make_case(struct session *session, const struct row_key *key,
		      struct bench_case *c, char *why, size_t room);
/*
 * Verify and time one case, which must fit, with all engines that can do it; add and write the
 * results. `share_ns` is the total time.
 */
void session_do_case(struct session *session, struct bench_case *c, const char *expr,
		     double share_ns);
/* Append one result and write its line. Takes ownership of `result->expr`. */
void session_record(struct session *session, const struct result *result);
/* Record that a row could not be run at all. */
void session_record_failure(struct session *session, const struct row_key *key,
			    const char *why);
/* A type's text form, cut if it is very long; the caller frees it. */
char *session_expr(const struct dtconv_type *type);
void session_progress(const struct session *session, const char *what);
void session_progress_end(const struct session *session);
/* The time limit of one of the remaining rows, in nanoseconds. */
double session_share(const struct session *session);

/* Time two copies of one engine against each other; the results are the first of the run. */
void session_self_test(struct session *session);

#endif
