/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of kernel sets, how one is found by its name, and the copy of one run. What the sets
 * do, the other test_cpu programs compare.
 */
#include "config.h"

#include <check.h>
#include <string.h>

#include "kernels/cpu.h"
#include "support/fixture.h"

START_TEST(the_first_set_runs_everywhere)
{
	ck_assert_str_eq(dtc_cpu_sets[0]->name, "generic");
	ck_assert(dtc_cpu_runs(dtc_cpu_sets[0]));
}
END_TEST

START_TEST(sets_that_run_are_found_by_their_names)
{
	for (size_t i = 0; dtc_cpu_sets[i]; i++) {
		const struct dtc_cpu_kernels *set = dtc_cpu_sets[i];

		if (dtc_cpu_runs(set))
			ck_assert_ptr_eq(dtc_cpu_find(set->name), set);
		else
			ck_assert_ptr_null(dtc_cpu_find(set->name));
	}
	ck_assert_ptr_null(dtc_cpu_find(""));
	ck_assert_ptr_null(dtc_cpu_find("gen"));
	ck_assert_ptr_null(dtc_cpu_find("generic "));
}
END_TEST

START_TEST(the_best_set_is_the_last_that_runs)
{
	const struct dtc_cpu_kernels *last = NULL;

	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		if (dtc_cpu_runs(dtc_cpu_sets[i]))
			last = dtc_cpu_sets[i];
	ck_assert_ptr_eq(dtc_cpu_best(), last);
}
END_TEST

START_TEST(sets_are_complete_and_have_names_of_their_own)
{
	for (size_t i = 0; dtc_cpu_sets[i]; i++) {
		const struct dtc_cpu_kernels *set = dtc_cpu_sets[i];

		ck_assert_msg(set->grid && set->transpose && set->table &&
				      set->pattern,
			      "%s kernels lack a function", set->name);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(set->name, dtc_cpu_sets[k]->name);
	}
}
END_TEST

START_TEST(runs_of_every_length_are_copied)
{
	unsigned char from[2304], to[sizeof(from)], expected[sizeof(from)];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 251);
	for (size_t bytes = 0; bytes <= 2100; bytes++) {
		memset(to, 0xa5, sizeof(to));
		memset(expected, 0xa5, sizeof(expected));
		memcpy(expected + 77, from + 33, bytes);
		dtc_cpu_run((char *)to + 77, (const char *)from + 33, bytes);
		ck_assert_msg(memcmp(to, expected, sizeof(to)) == 0, "%zu bytes", bytes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu kernels");
	TCase *sets = fixture_case(suite, "sets", 20);
	TCase *runs = fixture_case(suite, "runs", 20);

	tcase_add_test(sets, the_first_set_runs_everywhere);
	tcase_add_test(sets, sets_that_run_are_found_by_their_names);
	tcase_add_test(sets, the_best_set_is_the_last_that_runs);
	tcase_add_test(sets, sets_are_complete_and_have_names_of_their_own);
	tcase_add_test(runs, runs_of_every_length_are_copied);
	return fixture_run(suite);
}
