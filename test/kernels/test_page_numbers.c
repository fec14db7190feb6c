/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of page numbers: the first number out of range, and copies with 32 bits each, of tables of any length at any
 * address, compared with a look at each number.
 */
#include "config.h"

#include <string.h>

#include "kernels/cpu/page_numbers.h"
#include "support/fixture.h"
#include "support/choices.h"

enum { MOST = 300, GUARD = 0x5a };

static const uint64_t pool_sizes[] = { 0, 1, 7, 100000, UINT64_C(1) << 31 };
static const int64_t bad_numbers[] = { -1, INT32_MIN, INT64_MIN, INT64_C(1) << 32,
				       INT64_MAX };

#define POOL_SIZES  (sizeof(pool_sizes) / sizeof(*pool_sizes))
#define BAD_NUMBERS (sizeof(bad_numbers) / sizeof(*bad_numbers))

static struct {
	unsigned char bytes[MOST * 8 + 16]; /* the table, at any address */
	unsigned char *begin;
	int64_t numbers[MOST]; /* what is in it */
	bool wide;
	uint64_t count, pages;
} table;

static bool is_good(uint64_t i)
{
	return table.numbers[i] >= 0 && (uint64_t)table.numbers[i] < table.pages;
}

static uint64_t first_bad(uint64_t i)
{
	while (i < table.count && is_good(i))
		i++;
	return i;
}

static void write_table(void)
{
	for (uint64_t i = 0; i < table.count; i++) {
		const int32_t narrow = (int32_t)table.numbers[i];

		if (table.wide)
			memcpy(table.begin + 8 * i, &table.numbers[i], 8);
		else
			memcpy(table.begin + 4 * i, &narrow, 4);
		if (!table.wide)
			table.numbers[i] = narrow;
	}
}

/* A table; every second one has numbers out of range, next to the last good one, too. */
static void choose_table(struct choices *choices)
{
	table.begin = table.bytes + choose(choices, 16);
	table.wide = chance(choices, 2);
	table.count = choose(choices, MOST + 1);
	table.pages = pool_sizes[choose(choices, POOL_SIZES)];
	for (uint64_t i = 0; i < table.count; i++)
		table.numbers[i] =
			table.pages ? (int64_t)choose(choices, (size_t)table.pages) : 0;
	for (size_t left = chance(choices, 2) ? 1 + choose(choices, 3) : 0;
	     left && table.count; left--)
		table.numbers[choose(choices, (size_t)table.count)] =
			chance(choices, 2) ? (int64_t)table.pages
					   : bad_numbers[choose(choices, BAD_NUMBERS)];
	write_table();
}

START_TEST(the_first_number_out_of_range_is_found)
{
	struct choices choices = fixture_choices(1);

	for (int i = 0; i < 20000; i++) {
		choose_table(&choices);
		const uint64_t begin = choose(&choices, (size_t)table.count + 1);

		ck_assert_uint_eq(dtc_page_numbers_find_bad(table.begin, table.wide,
							    begin, table.count,
							    table.pages),
				  first_bad(begin));
	}
}
END_TEST

START_TEST(copies_have_32_bits_a_number_and_are_checked)
{
	unsigned char copy[MOST * 4 + 32];
	struct choices choices = fixture_choices(2);

	for (int i = 0; i < 20000; i++) {
		unsigned char *to = copy + choose(&choices, 16);

		choose_table(&choices);
		memset(copy, GUARD, sizeof(copy));
		ck_assert_int_eq(dtc_page_numbers_narrow(table.begin, table.wide,
							 table.count, table.pages, to),
				 first_bad(0) == table.count);
		for (uint64_t k = 0; k < table.count; k++) {
			const uint32_t wanted = (uint32_t)table.numbers[k];

			ck_assert(!memcmp(to + 4 * k, &wanted, 4));
		}
		for (unsigned char *at = copy; at < copy + sizeof(copy); at++)
			ck_assert(*at == GUARD ||
				  (at >= to && at < to + 4 * table.count));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page numbers");
	TCase *tables = fixture_case(suite, "tables", 60);

	tcase_add_test(tables, the_first_number_out_of_range_is_found);
	tcase_add_test(tables, copies_have_32_bits_a_number_and_are_checked);
	return fixture_run(suite);
}
