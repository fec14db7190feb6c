/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What dtconv tune makes of measurements: when a way is faster, and which threshold follows.
 */
#include "config.h"

#include <string.h>

#include "support/fixture.h"
#include "support/marks.h"
#include "tools/tune.h"

#define ROUNDS 16

static struct tune_measurements measured;

/* Every size and direction takes 100 ns through the caches and past them. */
static void setup(void)
{
	memset(&measured, 0, sizeof(measured));
	measured.rounds = ROUNDS;
	for (size_t i = 0; i < TUNE_SIZES; i++) {
		measured.bytes[i] = (size_t)1 << (20 + i);
		for (size_t d = 0; d < TUNE_DIRECTIONS; d++)
			for (size_t r = 0; r < ROUNDS; r++)
				measured.samples[i][d].through[r] =
					measured.samples[i][d].past[r] = 100;
	}
}

static void set_past(size_t size, enum tune_direction direction, double nanoseconds)
{
	for (size_t r = 0; r < ROUNDS; r++)
		measured.samples[size][direction].past[r] = nanoseconds;
}

/* One letter a size: + faster past the caches, - slower, = even. */
static void set_sizes(const char *gains)
{
	for (size_t i = 0; i < TUNE_SIZES; i++)
		set_past(i, TUNE_PACK,
			 gains[i] == '+'   ? 50
			 : gains[i] == '-' ? 150
					   : 100);
}

START_TEST(the_middle_is_the_median)
{
	static const double numbers[] = { 5, 1, 4, 2, 1000 };

	ck_assert(tune_median(numbers, 5) == 4);
	ck_assert(tune_median(numbers, 1) == 5);
}
END_TEST

START_TEST(three_rounds_of_four_decide)
{
	ck_assert_int_eq(tune_compare(&measured, 3).verdict, TUNE_EVEN);
	set_past(3, TUNE_UNPACK, 90);
	ck_assert_int_eq(tune_compare(&measured, 3).verdict, TUNE_FASTER);
	for (size_t slow = 0; slow < ROUNDS; slow++) {
		enum tune_verdict verdict = tune_compare(&measured, 3).verdict;

		if (slow < ROUNDS / 4)
			ck_assert_int_eq(verdict, TUNE_FASTER);
		else if (slow > 3 * ROUNDS / 4)
			ck_assert_int_eq(verdict, TUNE_SLOWER);
		else if (slow > ROUNDS / 4 && slow < 3 * ROUNDS / 4)
			ck_assert_int_eq(verdict, TUNE_EVEN);
		measured.samples[3][TUNE_UNPACK].past[slow] = 110;
	}
}
END_TEST

/* Rounds are compared with themselves: a machine that is slow for a while says nothing. */
START_TEST(a_slow_round_is_slow_for_both)
{
	set_past(2, TUNE_PACK, 90);
	for (size_t r = 0; r < ROUNDS / 2; r++) {
		for (size_t d = 0; d < TUNE_DIRECTIONS; d++) {
			measured.samples[2][d].through[r] *= 10;
			measured.samples[2][d].past[r] *= 10;
		}
	}
	ck_assert_int_eq(tune_compare(&measured, 2).verdict, TUNE_FASTER);
}
END_TEST

START_TEST(directions_count_together)
{
	set_past(1, TUNE_PACK, 120);
	set_past(1, TUNE_UNPACK, 70);
	ck_assert_int_eq(tune_compare(&measured, 1).verdict, TUNE_FASTER);
	set_past(1, TUNE_UNPACK, 90);
	ck_assert_int_eq(tune_compare(&measured, 1).verdict, TUNE_SLOWER);
}
END_TEST

START_TEST(the_threshold_is_where_the_gain_begins)
{
	static const struct {
		const char *gains;
		int kind;
		size_t mib;
	} cases[] = {
		{ "=======", TUNE_UNDECIDED, 0 }, { "---++++", TUNE_FROM, 8 },
		{ "+++++++", TUNE_FROM, 1 },      { "------+", TUNE_FROM, 64 },
		{ "--+-+=+", TUNE_FROM, 16 },     { "--===++", TUNE_FROM, 32 },
		{ "--+====", TUNE_FROM, 4 },      { "-------", TUNE_NEVER, 0 },
		{ "+++++=-", TUNE_NEVER, 0 },     { "-----==", TUNE_UNDECIDED, 0 },
	};
	struct tune_decision decision;

	set_sizes(cases[_i].gains);
	decision = tune_decide(&measured);
	ck_assert_msg((int)decision.kind == cases[_i].kind &&
			      decision.bytes >> 20 == cases[_i].mib,
		      "%s: kind %d, %zu bytes", cases[_i].gains, (int)decision.kind,
		      decision.bytes);
}
END_TEST

/* ---- messages ---------------------------------------------------------------------------- */

static struct tune_contest contest;

/* Each value takes 100 ns, by messages of both sizes; the third one is the default. */
static void setup_contest(void)
{
	memset(&contest, 0, sizeof(contest));
	contest.count = TUNE_FLOW_CHOICES;
	contest.normal = 2;
	contest.rounds = ROUNDS;
	for (size_t i = 0; i < TUNE_FLOW_CHOICES; i++)
		for (size_t k = 0; k < TUNE_MESSAGES; k++)
			for (size_t r = 0; r < ROUNDS; r++)
				contest.ns[i][k][r] = 100;
}

static void set_message(size_t value, size_t message, double nanoseconds)
{
	for (size_t r = 0; r < ROUNDS; r++)
		contest.ns[value][message][r] = nanoseconds;
}

START_TEST(the_default_stays_unless_another_is_faster)
{
	ck_assert_uint_eq(tune_choose(&contest), 2);
	set_message(0, 0, 120);
	set_message(5, 1, 110);
	ck_assert_uint_eq(tune_choose(&contest), 2);
	set_message(3, 1, 80);
	ck_assert_uint_eq(tune_choose(&contest), 3);
	set_message(5, 1, 50);
	ck_assert_uint_eq(tune_choose(&contest), 5);
}
END_TEST

START_TEST(both_messages_count_alike)
{
	set_message(4, 0, 50);
	set_message(4, 1, 220);
	ck_assert_uint_eq(tune_choose(&contest), 2);
	ck_assert(tune_flow_gain(&contest, 4) < 1);
	set_message(4, 1, 180);
	ck_assert_uint_eq(tune_choose(&contest), 4);
	ck_assert(tune_flow_gain(&contest, 4) > 1.05 &&
		  tune_flow_gain(&contest, 4) < 1.06);
}
END_TEST

START_TEST(of_values_that_are_as_fast_the_smallest)
{
	set_message(6, 0, 80);
	set_message(4, 0, 81);
	set_message(3, 0, 90);
	ck_assert_uint_eq(tune_choose(&contest), 4);
	set_message(1, 0, 80.5);
	ck_assert_uint_eq(tune_choose(&contest), 1);
}
END_TEST

START_TEST(a_value_is_faster_in_three_rounds_of_four)
{
	set_message(5, 0, 50);
	for (size_t r = 0; r < ROUNDS / 2; r++)
		contest.ns[5][1][r] = 1000;
	ck_assert_uint_eq(tune_choose(&contest), 2);
	for (size_t r = ROUNDS / 8; r < ROUNDS; r++)
		contest.ns[5][1][r] = 100;
	ck_assert_uint_eq(tune_choose(&contest), 5);
	/* A smaller one with the same median. */
	set_message(0, 0, 50);
	for (size_t r = 0; r < 3 * ROUNDS / 8; r++)
		contest.ns[0][1][r] = 1000;
	ck_assert(tune_flow_gain(&contest, 0) > 1.4);
	ck_assert_uint_eq(tune_choose(&contest), 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tune");
	TCase *gains = tcase_create("gains");
	TCase *decisions = tcase_create("decisions");

	tcase_add_checked_fixture(gains, setup, NULL);
	tcase_add_checked_fixture(decisions, setup, NULL);
	suite_add_tcase(suite, gains);
	suite_add_tcase(suite, decisions);
	tcase_add_test(gains, the_middle_is_the_median);
	tcase_add_test(gains, three_rounds_of_four_decide);
	tcase_add_test(gains, a_slow_round_is_slow_for_both);
	tcase_add_test(gains, directions_count_together);
	TCase *messages = tcase_create("messages");
	tcase_add_checked_fixture(messages, setup_contest, NULL);
	suite_add_tcase(suite, messages);
	tcase_add_test(messages, the_default_stays_unless_another_is_faster);
	tcase_add_test(messages, both_messages_count_alike);
	tcase_add_test(messages, of_values_that_are_as_fast_the_smallest);
	tcase_add_test(messages, a_value_is_faster_in_three_rounds_of_four);
	tcase_add_loop_test(decisions, the_threshold_is_where_the_gain_begins, 0, 10);
	return fixture_run(suite);
}
