/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The self-test: two copies of one engine are timed against each other. It is judged from their
 * results alone, so a file of results can be judged like the run.
 */
#ifndef BENCH_SELFTEST_H
#define BENCH_SELFTEST_H

#include <stddef.h>
#include <stdio.h>

#include "bench/harness/result.h"

/* The layout of the self-test among the results, and the names of the two copies. */
#define SELFTEST_LAYOUT "selftest"
#define SELFTEST_ONE    "dtconv"
#define SELFTEST_TWO    "dtconv#2"

/* From the best to the worst. */
enum selftest_verdict {
	SELFTEST_MISSING,      /* none was made */
	SELFTEST_PASSED,       /* equal engines get equal times */
	SELFTEST_INCONCLUSIVE, /* the times vary too much to judge */
	SELFTEST_APART,        /* equal engines get different times */
	SELFTEST_FAILED        /* wrong bytes, or no times */
};

struct selftest {
	enum selftest_verdict verdict;
	double difference; /* difference of the medians, relative to the smaller one */
	double spread; /* p10 to p90 relative to the median, of the copy that varies more */
	size_t rounds;
	const char *problem; /* if it failed; valid as long as the results */
};

/*
 * Judge the results of two copies. The test has passed if there were enough rounds, the spread
 * is below 25 %, and the difference is below 5 % and below the spread.
 */
struct selftest selftest_judge(const struct result *one, const struct result *two);

/* The worst self-test of the list; a resumed run has several. */
struct selftest selftest_find(const struct results *results);

/* One sentence without a line end. */
void selftest_format(const struct selftest *test, char *text, size_t room);
/* The caveat to print beside ratios; empty if the self-test passed or is missing. */
void selftest_warning(const struct selftest *test, char *text, size_t room);
/* One JSON line. */
void selftest_write(FILE *json, const struct selftest *test);

#endif
