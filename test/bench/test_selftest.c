/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bench's self-test proves: of given times, and wherever ratios are shown.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/rounds.h"
#include "bench/harness/selftest.h"
#include "bench/harness/table.h"
#include "bench/sample.h"
#include "support/t.h"

#define ROUNDS 101

/* A copy with a median; every tenth round takes `slow` times as long, its neighbour `fast` times. */
static void add_copy(struct results *rs, const char *name, double median, double fast,
		     double slow, size_t rounds)
{
	struct result *r = sample_add(rs, SELFTEST_LAYOUT, 262144, "pack", name, median);
	double values[ROUNDS];
	struct timing timing = { .ns = 0 };

	for (size_t i = 0; i < rounds; i++)
		values[i] = median * (i % 5 == 1 ? slow : i % 5 == 2 ? fast : 1);
	timing_sum_up(&timing, values, rounds);
	r->ns = timing.ns;
	r->ns_p10 = timing.ns_p10;
	r->ns_p90 = timing.ns_p90;
	r->rounds = timing.rounds;
}

/* The verdict on two copies, the second `apart` slower, both spread alike. */
static struct selftest judge(double apart, double fast, double slow, size_t rounds)
{
	struct results rs = { 0 };

	add_copy(&rs, SELFTEST_ONE, 1000, fast, slow, rounds);
	add_copy(&rs, SELFTEST_TWO, 1000 * (1 + apart), fast, slow, rounds);
	struct selftest test = selftest_find(&rs);
	results_free(&rs);
	return test;
}

static void assert_says(const struct selftest *test, const char *expected)
{
	char text[500];

	selftest_format(test, text, sizeof(text));
	ck_assert_str_eq(text, expected);
}

#define AGAIN "measure again when the machine is idle, or with --clock cpu"
#define BUSY  "the machine is too busy, and the ratios below prove nothing; " AGAIN

static const struct {
	const char *what;
	double apart, fast, slow;
	size_t rounds;
	enum selftest_verdict verdict;
	const char *says; /* NULL: any sentence */
} verdicts[] = {
	{ "equal times", 0.003, 0.99, 1.01, ROUNDS, SELFTEST_PASSED,
	  "passed: two copies of dtconv are 0.3 % apart, within their spread of 2.0 %" },
	/* Medians of wide distributions agree by chance. */
	{ "a wide spread", 0.027, 0.9, 13.51, ROUNDS, SELFTEST_INCONCLUSIVE,
	  "inconclusive: two copies of dtconv are 2.7 % apart, but their spread is 1261.0 % "
	  "(limit 25 %): " BUSY },
	{ "a spread above the limit", 0, 0.9, 1.2, ROUNDS, SELFTEST_INCONCLUSIVE, NULL },
	{ "a spread below the limit", 0, 0.9, 1.14, ROUNDS, SELFTEST_PASSED, NULL },
	{ "a large difference that noise explains", 0.12, 0.9, 1.1, ROUNDS,
	  SELFTEST_INCONCLUSIVE,
	  "inconclusive: two copies of dtconv are 12.0 % apart (limit 5 %), within their "
	  "spread of 20.0 %: " BUSY },
	{ "a difference below the limit", 0.049, 0.9, 1.1, ROUNDS, SELFTEST_PASSED,
	  NULL },
	{ "a difference beyond the noise", 0.04, 0.99, 1.01, ROUNDS, SELFTEST_APART,
	  "FAILED: two copies of dtconv are 4.0 % apart, more than their spread of 2.0 %: do "
	  "not trust the ratios below; " AGAIN },
	/* Without any noise, 1 % still counts as equal. */
	{ "a tiny difference without noise", 0.009, 1, 1, ROUNDS, SELFTEST_PASSED, NULL },
	{ "a small difference without noise", 0.011, 1, 1, ROUNDS, SELFTEST_APART, NULL },
	{ "a faster second copy", -0.04, 0.99, 1.01, ROUNDS, SELFTEST_APART, NULL },
	{ "few rounds", 0, 1, 1, 5, SELFTEST_INCONCLUSIVE,
	  "inconclusive: the time allowed only 5 rounds, but 11 are needed: " BUSY },
	{ "just enough rounds", 0, 1, 1, 11, SELFTEST_PASSED, NULL },
};

#define VERDICTS ((int)(sizeof(verdicts) / sizeof(verdicts[0])))

START_TEST(times_lead_to_a_verdict)
{
	struct selftest test = judge(verdicts[_i].apart, verdicts[_i].fast,
				     verdicts[_i].slow, verdicts[_i].rounds);

	ck_assert_msg(test.verdict == verdicts[_i].verdict, "%s: verdict %d, not %d",
		      verdicts[_i].what, (int)test.verdict, (int)verdicts[_i].verdict);
	if (verdicts[_i].says)
		assert_says(&test, verdicts[_i].says);
}
END_TEST

START_TEST(wrong_bytes_and_missing_times_fail)
{
	struct results rs = { 0 };

	add_copy(&rs, SELFTEST_ONE, 1000, 1, 1, ROUNDS);
	add_copy(&rs, SELFTEST_TWO, 1000, 1, 1, ROUNDS);
	rs.list[1].ns = 0;
	struct selftest test = selftest_find(&rs);
	ck_assert_int_eq(test.verdict, SELFTEST_FAILED);
	assert_says(&test, "FAILED: no time was measured");
	snprintf(rs.list[0].check, sizeof(rs.list[0].check), "wrong byte at 3");
	test = selftest_find(&rs);
	assert_says(&test, "FAILED: wrong byte at 3");
	results_free(&rs);
}
END_TEST

/* A run that was resumed has a self-test for each part, and its ratios come from all of them. */
START_TEST(the_worst_one_counts)
{
	struct results rs = { 0 };

	ck_assert_int_eq(selftest_find(&rs).verdict, SELFTEST_MISSING);
	sample_add(&rs, "vec8", 262144, "pack", "dtconv", 100);
	add_copy(&rs, SELFTEST_ONE, 1000, 1, 1, ROUNDS);
	ck_assert_int_eq(selftest_find(&rs).verdict, SELFTEST_MISSING);
	add_copy(&rs, SELFTEST_TWO, 1000, 1, 1, ROUNDS);
	ck_assert_int_eq(selftest_find(&rs).verdict, SELFTEST_PASSED);
	add_copy(&rs, SELFTEST_ONE, 1000, 0.5, 2, ROUNDS);
	add_copy(&rs, SELFTEST_TWO, 1000, 0.5, 2, ROUNDS);
	add_copy(&rs, SELFTEST_ONE, 1000, 1, 1, ROUNDS);
	add_copy(&rs, SELFTEST_TWO, 1000, 1, 1, ROUNDS);
	ck_assert_int_eq(selftest_find(&rs).verdict, SELFTEST_INCONCLUSIVE);
	results_free(&rs);
}
END_TEST

START_TEST(json_has_verdict_and_figures)
{
	struct selftest test = judge(0.027, 0.9, 13.51, ROUNDS);
	struct sample_text text;

	selftest_write(sample_open(&text)->file, &test);
	char *line = sample_close(&text);
	ck_assert_str_eq(line, "{\"selftest\":\"inconclusive\",\"difference\":0.0270,"
			       "\"spread\":12.6100,\"rounds\":101}\n");
	free(line);
}
END_TEST

/* What the verdict and the picture say of one row, after a self-test with such a spread. */
static void show(double slow, char **verdict, char **picture)
{
	struct results rs = { 0 };
	struct sample_text text;

	add_copy(&rs, SELFTEST_ONE, 1000, 1, slow, ROUNDS);
	add_copy(&rs, SELFTEST_TWO, 1000, 1, slow, ROUNDS);
	sample_add(&rs, "vec8", 262144, "pack", "dtconv", 100);
	sample_add(&rs, "vec8", 262144, "pack", "hand", 142);
	sample_add(&rs, "vec8", 262144, "unpack", "dtconv", 100);
	sample_add(&rs, "vec8", 262144, "unpack", "hand", 87);
	summary_verdict(sample_open(&text)->file, &rs, NULL, 0, 0);
	*verdict = sample_close(&text);
	ck_assert_int_eq(plot_draw(sample_open(&text)->file, &rs, "<a machine>"), 0);
	*picture = sample_close(&text);
	results_free(&rs);
}

START_TEST(ratios_come_with_the_warning)
{
	char *verdict, *picture;

	show(3, &verdict, &picture);
	ck_assert_str_eq(
		verdict,
		"NOT PROVEN, as the self-test was inconclusive (two copies of dtconv 0.0 % apart, "
		"spread 200.0 %, 101 rounds): dtconv packs 1.42 x as fast as a hand-written loop\n"
		"NOT PROVEN: dtconv unpacks 0.87 x as fast as a hand-written loop\n");
	ck_assert_ptr_nonnull(
		strstr(picture, ">Not proven: the self-test was inconclusive "));
	ck_assert_ptr_nonnull(strstr(picture, "&lt;a machine>"));
	free(verdict);
	free(picture);
}
END_TEST

START_TEST(ratios_of_a_still_machine_come_without)
{
	char *verdict, *picture;

	show(1, &verdict, &picture);
	ck_assert_str_eq(verdict,
			 "dtconv packs 1.42 x as fast as a hand-written loop\n"
			 "dtconv unpacks 0.87 x as fast as a hand-written loop\n");
	ck_assert_ptr_null(strstr(picture, "proven"));
	free(verdict);
	free(picture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench self-test");
	TCase *judging = tcase_create("judging"), *showing = tcase_create("showing");

	tcase_add_loop_test(judging, times_lead_to_a_verdict, 0, VERDICTS);
	tcase_add_test(judging, wrong_bytes_and_missing_times_fail);
	tcase_add_test(judging, the_worst_one_counts);
	tcase_add_test(showing, json_has_verdict_and_figures);
	tcase_add_test(showing, ratios_come_with_the_warning);
	tcase_add_test(showing, ratios_of_a_still_machine_come_without);
	suite_add_tcase(suite, judging);
	suite_add_tcase(suite, showing);
	return t_run(suite);
}
