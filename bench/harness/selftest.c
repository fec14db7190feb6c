/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges a self-test. Equal medians of two copies are significant only if their times vary
 * little: medians of wide distributions are equal by chance.
 */
#include "config.h"

#include "bench/harness/selftest.h"

#include <math.h>
#include <string.h>

/* A smaller difference always counts as equal. */
#define FLOOR 0.01
/* Ratios are reported with two digits, so equal engines must agree within this. */
#define LARGEST_DIFFERENCE 0.05
#define LARGEST_SPREAD     0.25
/* With fewer values, the deciles would be single values. */
#define FEWEST_ROUNDS 11

static double spread_of(const struct result *r)
{
	return (r->ns_p90 - r->ns_p10) / r->ns;
}

static struct selftest failed(const char *problem)
{
	return (struct selftest){ .verdict = SELFTEST_FAILED, .problem = problem };
}

static enum selftest_verdict judge_times(const struct selftest *t)
{
	if (t->rounds < FEWEST_ROUNDS)
		return SELFTEST_INCONCLUSIVE;
	if (t->difference > fmax(t->spread, FLOOR))
		return SELFTEST_APART;
	if (t->spread > LARGEST_SPREAD || t->difference > LARGEST_DIFFERENCE)
		return SELFTEST_INCONCLUSIVE;
	return SELFTEST_PASSED;
}

struct selftest selftest_judge(const struct result *one, const struct result *two)
{
	struct selftest test;

	if (!result_ok(one) || !result_ok(two))
		return failed(result_ok(one) ? two->check : one->check);
	if (!(one->ns > 0 && two->ns > 0))
		return failed("no time was measured");
	test = (struct selftest){
		.difference = fabs(one->ns - two->ns) / fmin(one->ns, two->ns),
		.spread = fmax(spread_of(one), spread_of(two)),
		.rounds = one->rounds < two->rounds ? one->rounds : two->rounds,
	};
	test.verdict = judge_times(&test);
	return test;
}

struct selftest selftest_find(const struct results *rs)
{
	struct selftest worst = { .verdict = SELFTEST_MISSING };
	const struct result *one = NULL;

	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (strcmp(r->layout, SELFTEST_LAYOUT) != 0)
			continue;
		if (!strcmp(r->engine, SELFTEST_ONE)) {
			one = r;
		} else if (one) {
			struct selftest test = selftest_judge(one, r);

			if (test.verdict > worst.verdict)
				worst = test;
			one = NULL;
		}
	}
	return worst;
}

/* ---- in words ------------------------------------------------------------------------ */

#define ADVICE "measure again when the machine is idle, or with --clock cpu"

static void format_inconclusive(const struct selftest *t, char *text, size_t room)
{
	static const char consequence[] =
		"the machine is too busy, and the ratios below prove nothing; " ADVICE;
	double difference = 100 * t->difference, spread = 100 * t->spread;

	if (t->rounds < FEWEST_ROUNDS)
		snprintf(
			text, room,
			"inconclusive: the time allowed only %zu rounds, but %d are needed: %s",
			t->rounds, FEWEST_ROUNDS, consequence);
	else if (t->spread > LARGEST_SPREAD)
		snprintf(
			text, room,
			"inconclusive: two copies of dtconv are %.1f %% apart, but their "
			"spread is %.1f %% (limit %.0f %%): %s",
			difference, spread, 100 * LARGEST_SPREAD, consequence);
	else
		snprintf(
			text, room,
			"inconclusive: two copies of dtconv are %.1f %% apart (limit %.0f %%), "
			"within their spread of %.1f %%: %s",
			difference, 100 * LARGEST_DIFFERENCE, spread, consequence);
}

void selftest_format(const struct selftest *t, char *text, size_t room)
{
	double difference = 100 * t->difference;
	double spread = 100 * fmax(t->spread, FLOOR);

	switch (t->verdict) {
	case SELFTEST_MISSING:
		snprintf(text, room, "not made");
		break;
	case SELFTEST_PASSED:
		snprintf(text, room,
			 "passed: two copies of dtconv are %.1f %% apart, within their "
			 "spread of %.1f %%",
			 difference, spread);
		break;
	case SELFTEST_INCONCLUSIVE:
		format_inconclusive(t, text, room);
		break;
	case SELFTEST_APART:
		snprintf(
			text, room,
			"FAILED: two copies of dtconv are %.1f %% apart, more than their "
			"spread of %.1f %%: do not trust the ratios below; " ADVICE,
			difference, spread);
		break;
	case SELFTEST_FAILED:
		snprintf(text, room, "FAILED: %s", t->problem);
		break;
	}
}

void selftest_warning(const struct selftest *t, char *text, size_t room)
{
	const char *what = t->verdict == SELFTEST_INCONCLUSIVE ? "was inconclusive"
							       : "failed";

	text[0] = '\0';
	if (t->verdict == SELFTEST_FAILED)
		snprintf(text, room, "the self-test failed (%s)", t->problem);
	else if (t->verdict > SELFTEST_PASSED)
		snprintf(
			text, room,
			"the self-test %s (two copies of dtconv %.1f %% apart, spread %.1f %%, "
			"%zu rounds)",
			what, 100 * t->difference, 100 * t->spread, t->rounds);
}

void selftest_write(FILE *json, const struct selftest *t)
{
	static const char *const words[] = { "missing", "passed", "inconclusive",
					     "failed", "failed" };

	fprintf(json,
		"{\"selftest\":\"%s\",\"difference\":%.4f,\"spread\":%.4f,\"rounds\":%zu}\n",
		words[t->verdict], t->difference, t->spread, t->rounds);
}
