/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The self-test: two copies of one engine are timed against each other. What it proves is decided
 * from their results alone, so that a file of results can be judged as the run was.
 */
#ifndef BENCH_SELFTEST_H
#define BENCH_SELFTEST_H

#include <stddef.h>
#include <stdio.h>

#include "bench/harness/result.h"

/* The layout under which the two copies stand among the results, and their names. */
#define SELFTEST_LAYOUT "selftest"
#define SELFTEST_ONE    "dtconv"
#define SELFTEST_TWO    "dtconv#2"

/* From the best to the worst. */
enum selftest_verdict {
	SELFTEST_MISSING,      /* none was made */
	SELFTEST_PASSED,       /* equal engines get equal times */
	SELFTEST_INCONCLUSIVE, /* the times vary too much to tell */
	SELFTEST_APART,        /* equal engines get different times */
	SELFTEST_FAILED        /* wrong bytes, or no times */
};

struct selftest {
	enum selftest_verdict verdict;
	double difference; /* of the medians, relative to the smaller one */
	double spread; /* p10 to p90 relative to the median, of the copy that varies more */
	size_t rounds;
	const char *problem; /* of a failed one; lives as long as the results */
};

/*
 * Judge the results of two copies. Passed is what was measured in enough rounds, with a spread
 * below 25 % and a difference below both 5 % and the spread.
 */
struct selftest selftest_judge(const struct result *one, const struct result *two);

/* The worst of the self-tests in the list: a run that was resumed has several. */
struct selftest selftest_find(const struct results *results);

/* One sentence without a line end. */
void selftest_format(const struct selftest *test, char *text, size_t room);
/* What has to be said wherever ratios are shown; empty if the self-test passed, or is missing. */
void selftest_warning(const struct selftest *test, char *text, size_t room);
/* One JSON line. */
void selftest_write(FILE *json, const struct selftest *test);

#endif
