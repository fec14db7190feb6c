/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv fuzz`: a case is a layout and a seed, which determines
 * everything else.
 */
#ifndef DTCONV_TOOLS_FUZZ_H
#define DTCONV_TOOLS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/script.h"

struct dtconv_context;
struct dtconv_type;
struct random_tree;

/* A case that failed, and why. */
struct fuzz_failure {
	uint64_t seed;
	char reason[SCRIPT_FAILURE + 64];
};

/* What a worker process has done; it lies in memory that the parent sees too. */
struct fuzz_report {
	uint64_t cases;              /* finished */
	struct fuzz_failure current; /* the case that runs; its reason once it failed */
};

/* ---- one case ------------------------------------------------------------------------ */

/* The layout that a seed chooses; freed with random_tree_destroy. */
struct random_tree *fuzz_case_tree(uint64_t seed);

/*
 * Plays the case of failure->seed on the committed type given, or on the layout that the seed
 * chooses: 0, or -1 with a sentence in the failure.
 */
int fuzz_case_run(struct dtconv_context *context, struct dtconv_type *type,
		  struct fuzz_failure *failure);

/* ---- many cases, in a process that may crash ----------------------------------------- */

struct fuzz_job {
	struct dtconv_context *context;
	struct dtconv_type *type; /* of every case, or NULL: each seed chooses one */
	uint64_t seed;            /* of the first case; the next ones count up */
	uint64_t count;           /* cases, 0 for no limit */
	double seconds;           /* 0 for no limit */
	double patience;          /* seconds that one case may take */
	void (*progress)(const struct fuzz_report *report, double seconds);
};

/*
 * Runs a job in a child process. Returns 0 if every case passed, 1 if one failed, crashed or
 * took too long (report->current says which and why), -1 if there could be no child.
 */
int fuzz_job_run(const struct fuzz_job *job, struct fuzz_report *report);

#endif
