/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks run in child processes, so that an MPI that crashes, hangs or ruins its memory loses
 * one check and not the run. Decides what to run where; judges nothing.
 */
#ifndef MPI_DIFF_WORKER_H
#define MPI_DIFF_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_diff/checks.h"

/* One type and what belongs to it. */
struct trial {
	struct dtconv_type *type; /* one reference */
	size_t count;
	uint64_t seed;
};

/* Where trials come from: the one of a number, or false if there is none. */
typedef bool (*trial_fn)(struct dtconv_context *context, uint64_t number,
			 struct trial *trial);

/* How often each check ended how; cases whose type this MPI lacks. */
struct tally {
	uint64_t verdicts[CHECK_COUNT][VERDICT_COUNT];
	uint64_t cases, absent;
};

/* Called in the parent for each disagreement. */
typedef void (*found_fn)(const struct trial *trial, const struct finding *finding,
			 void *arg);

struct work {
	struct dtconv_context *context;
	trial_fn trial_of;
	uint64_t first, count; /* numbers of trials */
	double seconds;        /* time limit, 0: none */
	found_fn found;
	void *arg;
};

/* Runs all checks of all trials; 0, or -1 if no process can be started. */
int worker_run(const struct work *work, struct tally *tally);

/* Runs one check of one trial in a process of its own. */
enum verdict worker_probe(struct dtconv_context *context, const struct trial *trial,
			  enum check check, struct finding *finding);

/* Children print nothing on standard error unless this is set. */
void worker_set_verbose(bool verbose);

#endif
