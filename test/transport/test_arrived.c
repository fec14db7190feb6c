/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of arrived ranges against an array of flags: gaps and additions in random order.
 */
#include "config.h"

#include <string.h>

#include "support/fixture.h"
#include "base/base.h"
#include "transport_glue/arrived.h"

#define BYTES 200

static bool find_gap(const bool *flags, uint64_t low, uint64_t high,
		     struct dtc_range *gap)
{
	while (low < high && flags[low])
		low++;
	gap->low = gap->high = low;
	while (gap->high < high && !flags[gap->high])
		gap->high++;
	return low < high;
}

START_TEST(gaps_are_those_of_an_array)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtc_arrived arrived = { .count = 0 };

	for (int round = 0; round < 50; round++) {
		bool flags[BYTES] = { false };
		size_t most = 1 + choose(&choices, 40);

		dtc_arrived_clear(&arrived);
		for (int i = 0; i < 200; i++) {
			uint64_t low = choose(&choices, BYTES);
			uint64_t high =
				low +
				choose(&choices, DTC_MIN(most, BYTES - (size_t)low) + 1);
			struct dtc_range gap, expected;
			bool found = dtc_arrived_find_gap(&arrived, low, high, &gap);

			ck_assert_int_eq(found, find_gap(flags, low, high, &expected));
			if (!found)
				continue;
			ck_assert_uint_eq(gap.low, expected.low);
			ck_assert_uint_eq(gap.high, expected.high);
			/* Part of it is a gap, too. */
			if (chance(&choices, 3))
				gap.high = gap.low + 1 +
					   choose(&choices, (size_t)(gap.high - gap.low));
			ck_assert(dtc_arrived_add(fixture_context, &arrived, &gap));
			memset(flags + gap.low, true, (size_t)(gap.high - gap.low));
		}
	}
	dtc_arrived_free(fixture_context, &arrived);
}
END_TEST

START_TEST(a_message_in_order_is_one_range)
{
	struct dtc_arrived arrived = { .count = 0 };
	const size_t allocations = fixture_allocations();

	for (uint64_t at = 0; at < 1000; at += 10)
		ck_assert(dtc_arrived_add(fixture_context, &arrived,
					  &(struct dtc_range){ at, at + 10 }));
	ck_assert_uint_eq(arrived.count, 1);
	ck_assert_uint_eq(fixture_allocations(), allocations);
	struct dtc_range gap;
	ck_assert(!dtc_arrived_find_gap(&arrived, 0, 1000, &gap));
	ck_assert(dtc_arrived_find_gap(&arrived, 999, 1001, &gap));
	ck_assert_uint_eq(gap.low, 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arrived");
	TCase *tcase = fixture_case(suite, "ranges", 20);

	tcase_add_loop_test(tcase, gaps_are_those_of_an_array, 0, 8);
	tcase_add_test(tcase, a_message_in_order_is_one_range);
	return fixture_run(suite);
}
