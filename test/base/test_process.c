/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of a process: what /proc says, and which processes are one.
 */
#include "config.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "support/marks.h"
#include "support/suite.h"

static const struct {
	const char *stat;
	bool good;
	uint64_t start;
} stats[] = {
	{ "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 777 23\n", true, 777 },
	/* A name like the rest of the line. */
	{ "1 (b) R 9 (c)) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 8 9", true,
	  8 },
	{ "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 777", false, 0 },
	{ "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 -7 23", false, 0 },
	{ "1 (a) S 2 3", false, 0 },
	{ "1 (a)", false, 0 },
	{ "1 a S", false, 0 },
	{ "", false, 0 },
};

START_TEST(start_times_are_field_22)
{
	uint64_t start = 0;

	ck_assert_int_eq(dtc_process_parse_start(stats[_i].stat, &start), stats[_i].good);
	if (stats[_i].good)
		ck_assert_uint_eq(start, stats[_i].start);
}
END_TEST

START_TEST(a_child_is_another_process_of_the_machine)
{
	struct dtc_process self, again;
	int status;

	ck_assert(dtc_process_self(&self));
	ck_assert(dtc_process_self(&again));
	ck_assert(dtc_process_equal(&self, &again));
	ck_assert_uint_eq(self.id, (uint64_t)getpid());
	ck_assert_uint_gt(self.start, 0);
	pid_t child = fork();
	if (!child)
		_exit(!dtc_process_self(&again) || dtc_process_equal(&self, &again) ||
		      dtc_process_is_remote(&self, &again));
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(each_member_counts)
{
	const struct dtc_process self = {
		.id = 1, .start = 2, .space = 3, .boot = { 4 }
	};
	struct dtc_process other = self;

	other.id++;
	ck_assert(!dtc_process_equal(&self, &other));
	other = self;
	other.start++;
	ck_assert(!dtc_process_equal(&self, &other));
	other = self;
	other.space++;
	ck_assert(!dtc_process_equal(&self, &other));
	ck_assert(!dtc_process_is_remote(&self, &other));
	other = self;
	other.boot[15] = 1;
	ck_assert(!dtc_process_equal(&self, &other));
	ck_assert(dtc_process_is_remote(&self, &other));
	/* Unknown is not remote. */
	other = (struct dtc_process){ .id = 1, .start = 2, .space = 3 };
	ck_assert(!dtc_process_is_remote(&self, &other));
	ck_assert(!dtc_process_is_remote(&other, &self));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process");
	TCase *tcase = tcase_create("process");

	tcase_add_loop_test(tcase, start_times_are_field_22, 0,
			    (int)(sizeof(stats) / sizeof(stats[0])));
	tcase_add_test(tcase, a_child_is_another_process_of_the_machine);
	tcase_add_test(tcase, each_member_counts);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
