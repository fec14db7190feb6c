/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of kernel sets, how one is found by its name, and the copy of one run. What the sets
 * do, the other test_cpu programs compare.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cpu_sets.h"
#include "kernels/cpu/generation.h"
#include "kernels/cpu/kernels.h"
#include "support/fixture.h"
#include "support/marks.h"

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

#if defined(__x86_64__) && defined(DTC_KNOWS_VP2INTERSECT)
START_TEST(generations_of_amd_are_what_the_system_says)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[4096];
	bool amd = false, whole = false;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		amd = amd || strstr(line, "AuthenticAMD");
		whole = whole || strstr(line, " avx512_vp2intersect");
	}
	fclose(file);
	ck_assert_int_eq(dtc_is_zen_5(), amd && whole);
	ck_assert_int_eq(dtc_splits_lines(), amd && !whole);
}
END_TEST
#endif

START_TEST(sets_are_complete_and_have_names_of_their_own)
{
	for (size_t i = 0; dtc_cpu_sets[i]; i++) {
		const struct dtc_cpu_kernels *set = dtc_cpu_sets[i];

		ck_assert_msg(set->grid && set->transpose && set->table && set->run &&
				      set->nest && set->block[DTC_PACK] && set->block[DTC_UNPACK],
			      "%s kernels lack a function", set->name);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(set->name, dtc_cpu_sets[k]->name);
	}
}
END_TEST

#define RUN_MOST ((UINT64_C(1) << 20) + 2)
#define RUN_MARGIN 256

/* Copies @bytes between places that are @to and @from bytes behind a line's start. */
static void check_run(const struct dtc_cpu_kernels *set, size_t to, size_t from, size_t bytes)
{
	static _Alignas(4096) unsigned char source[RUN_MOST + RUN_MARGIN];
	static _Alignas(4096) unsigned char target[RUN_MARGIN + RUN_MOST + 2 * RUN_MARGIN];
	unsigned char *start = target + RUN_MARGIN + to, *end = start + bytes;

	for (size_t i = 0; !source[1] && i < sizeof(source); i++)
		source[i] = (unsigned char)(i * 7 + i / 251 + 1);
	memset(start - RUN_MARGIN, 0xa5, RUN_MARGIN + bytes + RUN_MARGIN);
	dtc_cpu_run(set, (char *)start, (const char *)source + from, bytes);
	ck_assert_msg(memcmp(start, source + from, bytes) == 0,
		      "%s: %zu bytes from %zu to %zu", cpu_set_text(set), bytes, from,
		      to);
	for (size_t i = 0; i < RUN_MARGIN; i++)
		ck_assert_msg(start[-1 - (ptrdiff_t)i] == 0xa5 && end[i] == 0xa5,
			      "%s: %zu bytes from %zu to %zu touch others",
			      cpu_set_text(set), bytes, from, to);
}

START_TEST(runs_of_every_length_are_copied)
{
	for (size_t bytes = 0; bytes <= 2100; bytes++)
		check_run(cpu_set(_i), 77, 33, bytes);
}
END_TEST

/* Around the lengths at which another loop takes over, at every place in a line. */
START_TEST(long_runs_are_copied_from_and_to_every_place)
{
	static const size_t lengths[] = { 511, 2047, 2048, 2049, 2303, 2304, 4096, 5000, 8192, 8777 };

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(lengths); i++)
		for (size_t to = 0; to < 64; to++)
			for (size_t from = to % 3; from < 64; from += 5)
				check_run(cpu_set(_i), to, from, lengths[i]);
	for (size_t bytes = RUN_MOST - 3; bytes <= RUN_MOST; bytes++)
		check_run(cpu_set(_i), 9, 1, bytes);
	for (size_t bytes = 32766; bytes <= 32770; bytes++)
		for (size_t to = 0; to < 16; to++)
			check_run(cpu_set(_i), to, 5, bytes);
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
#if defined(__x86_64__) && defined(DTC_KNOWS_VP2INTERSECT)
	tcase_add_test(sets, generations_of_amd_are_what_the_system_says);
#endif
	tcase_add_loop_test(runs, runs_of_every_length_are_copied, 0, cpu_set_count());
	tcase_add_loop_test(runs, long_runs_are_copied_from_and_to_every_place, 0,
			    cpu_set_count());
	return fixture_run(suite);
}
