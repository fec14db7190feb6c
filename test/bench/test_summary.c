/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reader sees of given results: tables that fit a line, and what stands below them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/columns.h"
#include "bench/harness/selftest.h"
#include "bench/harness/table.h"
#include "bench/sample.h"
#include "support/t.h"

static void add_both(struct results *rs, const char *layout, size_t bytes,
		     const char *engine, double pack, double unpack)
{
	sample_add(rs, layout, bytes, "pack", engine, pack);
	sample_add(rs, layout, bytes, "unpack", engine, unpack);
}

/* One layout with every engine. */
static void add_full(struct results *rs, const char *layout, size_t bytes)
{
	add_both(rs, layout, bytes, "dtconv", 100, 200);
	add_both(rs, layout, bytes, "memcpy", 50, 50);
	add_both(rs, layout, bytes, "hand", 150, 150);
	add_both(rs, layout, bytes, "openmpi", 400, 300);
	add_both(rs, layout, bytes, "mpich", 300, 400);
}

static char *print_table(const struct results *rs, size_t limit)
{
	struct sample_text text;

	table_print(sample_open(&text)->file, rs, limit);
	return sample_close(&text);
}

static void assert_table(const struct results *rs, size_t limit, const char *expected)
{
	char *text = print_table(rs, limit);

	ck_assert_str_eq(text, expected);
	free(text);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");

		longest = length > longest ? length : longest;
		ck_assert(!length || text[length - 1] != ' ');
		text += length + (text[length] == '\n');
	}
	return longest;
}

START_TEST(without_a_limit_all_columns_are_there)
{
	struct results rs = { 0 };

	add_full(&rs, "vec8", 262144);
	assert_table(
		&rs, 0,
		"                                dtconv GB/s       x memcpy    x hand loop    x best peer\n"
		"layout                bytes    pack  unpack    pack unpack    pack unpack    pack          unpack\n"
		"vec8                 262144 2621.44 1310.72    0.50   0.25    1.50   0.75    3.00 mpich      1.50 openmpi\n"
		"(x: dtconv's speed over the other's, above 1 dtconv is faster)\n\n");
	results_free(&rs);
}
END_TEST

START_TEST(no_table_is_wider_than_its_limit)
{
	struct results rs = { 0 };

	add_full(&rs, "subarray([64,64,64],[2..", 262144);
	add_full(&rs, "vec8", 65536);
	for (size_t limit = 40; limit <= 120; limit++) {
		char *text = print_table(&rs, limit);

		ck_assert_msg(longest_line(text) <= limit, "limit %zu:\n%s", limit, text);
		ck_assert_ptr_nonnull(strstr(text, "GB/s"));
		free(text);
	}
	results_free(&rs);
}
END_TEST

START_TEST(what_is_left_out_is_said)
{
	struct results rs = { 0 };

	add_full(&rs, "vec8", 262144);
	assert_table(
		&rs, 80,
		"                                dtconv GB/s    x hand loop    x best peer\n"
		"layout                bytes    pack  unpack    pack unpack    pack unpack\n"
		"vec8                 262144 2621.44 1310.72    1.50   0.75    3.00   1.50\n"
		"(x: dtconv's speed over the other's, above 1 dtconv is faster)\n"
		"(omitted at 80 columns: x memcpy, the peers' names)\n\n");
	results_free(&rs);
}
END_TEST

/* A column of dashes goes before one with figures, and nobody misses it. */
START_TEST(columns_without_figures_go_first)
{
	struct results rs = { 0 };

	add_both(&rs, "vector(1000,2,5,double)", 16000, "dtconv", 100, 200);
	add_both(&rs, "vector(1000,2,5,double)", 16000, "memcpy", 50, 50);
	assert_table(
		&rs, 80,
		"                                       dtconv GB/s       x memcpy    x hand loop\n"
		"layout                       bytes    pack  unpack    pack unpack    pack unpack\n"
		"vector(1000,2,5,double)      16000  160.00   80.00    0.50   0.25       -      -\n"
		"(x: dtconv's speed over the other's, above 1 dtconv is faster)\n\n");
	char *text = print_table(&rs, 79);
	ck_assert_ptr_nonnull(strstr(text, "x memcpy"));
	ck_assert_ptr_null(strstr(text, "x hand loop"));
	ck_assert_ptr_null(strstr(text, "left out"));
	free(text);
	results_free(&rs);
}
END_TEST

START_TEST(tables_of_calls_fit)
{
	static const char *const engines[] = { "dtconv",  "memcpy", "hand",
					       "openmpi", "mpich",  "dtconv-convertor" };
	struct results rs = { 0 };

	for (size_t i = 0; i < 6; i++)
		add_both(&rs, "small_indexed", 512, engines[i], 12.34, 56.78);
	for (size_t limit = 40; limit <= 140; limit++) {
		struct sample_text text;
		char *printed;

		table_calls_print(sample_open(&text)->file, &rs, limit);
		printed = sample_close(&text);
		ck_assert_msg(longest_line(printed) <= limit, "limit %zu:\n%s", limit,
			      printed);
		ck_assert_ptr_nonnull(strstr(printed, "12.3"));
		ck_assert(limit < 134 || strstr(printed, " dtconv-convertor\n"));
		free(printed);
	}
	results_free(&rs);
}
END_TEST

START_TEST(text_is_cut_between_words)
{
	struct sample_text text;

	sample_open(&text);
	columns_print_text(text.file, "one two three", 0);
	columns_print_text(text.file, "one two three", 13);
	columns_print_text(text.file, "one two three", 12);
	columns_print_text(text.file, "one two three", 7);
	columns_print_text(text.file, "one seventeen two", 4);
	columns_print_text(text.file, "seventeen", 4);
	columns_print_text(text.file, "", 4);
	char *printed = sample_close(&text);
	ck_assert_str_eq(printed,
			 "one two three\none two three\none two\nthree\none two\nthree\n"
			 "one\nseventeen\ntwo\nseventeen\n\n");
	free(printed);
}
END_TEST

/* ---- below the table ----------------------------------------------------------------- */

static char *print_summary(const struct results *rs)
{
	struct sample_text text;

	summary_print(sample_open(&text)->file, rs, 0);
	return sample_close(&text);
}

START_TEST(few_rows_have_no_worst_ones)
{
	static const char *const layouts[] = { "a", "b", "c" };
	struct results rs = { 0 };
	char *text;

	add_both(&rs, SELFTEST_LAYOUT, 1, "dtconv", 1, 1);
	for (size_t i = 0; i < 3; i++) {
		text = print_summary(&rs);
		ck_assert_msg(!strstr(text, "worst"), "%zu rows: %s", 2 * i, text);
		free(text);
		add_both(&rs, layouts[i], 4096, "dtconv", 100, 100);
		add_both(&rs, layouts[i], 4096, "openmpi", 100 + (double)i, 200);
	}
	text = print_summary(&rs);
	ck_assert_str_eq(text, "worst rows against the best peer:\n"
			       "  a 4096 B pack 1.00 (openmpi)\n"
			       "  b 4096 B pack 1.01 (openmpi)\n"
			       "  c 4096 B pack 1.02 (openmpi)\n"
			       "  a 4096 B unpack 2.00 (openmpi)\n"
			       "  b 4096 B unpack 2.00 (openmpi)\n"
			       "dtconv's speed, pack / unpack, geometric mean (rows): "
			       "x best peer 1.01 / 2.00 (6)\n");
	free(text);
	results_free(&rs);
}
END_TEST

static char *print_verdict(const struct results *rs, size_t limit)
{
	struct engine engines[] = { { .name = "openmpi", .version = "Open MPI v4.1.4" },
				    { .name = "mpich" } };
	struct sample_text text;

	summary_verdict(sample_open(&text)->file, rs, engines, 2, limit);
	return sample_close(&text);
}

START_TEST(the_verdict_names_loop_and_peers)
{
	struct results rs = { 0 };

	add_full(&rs, "vec8", 262144);
	add_full(&rs, "vec16", 262144);
	char *text = print_verdict(&rs, 0);
	ck_assert_str_eq(
		text,
		"dtconv packs 1.50 x as fast as a hand-written loop, 4.00 x as fast as Open MPI "
		"v4.1.4 and 3.00 x as fast as mpich (geometric mean of 2 rows)\n"
		"dtconv unpacks 0.75 x as fast as a hand-written loop, 1.50 x as fast as Open "
		"MPI v4.1.4 and 2.00 x as fast as mpich (geometric mean of 2 rows)\n");
	free(text);
	text = print_verdict(&rs, 80);
	ck_assert_uint_le(longest_line(text), 80);
	free(text);
	results_free(&rs);
}
END_TEST

START_TEST(the_verdict_counts_rows_where_they_differ)
{
	struct results rs = { 0 };

	sample_add(&rs, "a", 4096, "pack", "dtconv", 100);
	sample_add(&rs, "a", 4096, "pack", "hand", 400);
	sample_add(&rs, "a", 4096, "pack", "openmpi", 300);
	sample_add(&rs, "b", 4096, "pack", "dtconv", 100);
	sample_add(&rs, "b", 4096, "pack", "hand", 100);
	char *text = print_verdict(&rs, 0);
	ck_assert_str_eq(
		text,
		"dtconv packs 2.00 x as fast as a hand-written loop (2 rows) and 3.00 x "
		"as fast as Open MPI v4.1.4 (1 row), geometric means\n");
	free(text);
	results_free(&rs);
}
END_TEST

START_TEST(memcpy_stands_in_for_others)
{
	struct results rs = { 0 };

	sample_add(&rs, "int", 4, "pack", "dtconv", 100);
	char *text = print_verdict(&rs, 0);
	ck_assert_str_eq(text, "");
	free(text);
	sample_add(&rs, "int", 4, "pack", "memcpy", 50);
	text = print_verdict(&rs, 0);
	ck_assert_str_eq(text,
			 "dtconv packs 0.50 x as fast as memcpy of the same size\n");
	free(text);
	results_free(&rs);
}
END_TEST

/* Layouts of the command line have no hand loop; a picture of them alone is not empty. */
START_TEST(a_plot_without_hand_loops_is_relative_to_memcpy)
{
	struct results rs = { 0 };
	struct sample_text text;

	add_both(&rs, "vector(1000,2,5,double)", 16000, "dtconv", 100, 200);
	add_both(&rs, "vector(1000,2,5,double)", 16000, "memcpy", 50, 50);
	plot_draw(sample_open(&text)->file, &rs, "");
	char *picture = sample_close(&text);
	ck_assert_ptr_nonnull(
		strstr(picture, "speed relative to memcpy of the same bytes<"));
	ck_assert_ptr_nonnull(strstr(picture, ">vector(1000,2,5,double)</text>"));
	ck_assert_ptr_nonnull(strstr(picture, "<title>dtconv 0.50</title>"));
	free(picture);
	add_full(&rs, "vec8", 262144);
	plot_draw(sample_open(&text)->file, &rs, "");
	picture = sample_close(&text);
	ck_assert_ptr_nonnull(
		strstr(picture, "speed relative to the hand-written loop<"));
	ck_assert_ptr_nonnull(strstr(picture, "<title>dtconv 1.50</title>"));
	free(picture);
	results_free(&rs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench summary");
	TCase *tables = tcase_create("tables"), *below = tcase_create("below");

	tcase_add_test(tables, without_a_limit_all_columns_are_there);
	tcase_add_test(tables, no_table_is_wider_than_its_limit);
	tcase_add_test(tables, what_is_left_out_is_said);
	tcase_add_test(tables, columns_without_figures_go_first);
	tcase_add_test(tables, tables_of_calls_fit);
	tcase_add_test(tables, text_is_cut_between_words);
	tcase_add_test(below, few_rows_have_no_worst_ones);
	tcase_add_test(below, the_verdict_names_loop_and_peers);
	tcase_add_test(below, the_verdict_counts_rows_where_they_differ);
	tcase_add_test(below, memcpy_stands_in_for_others);
	tcase_add_test(below, a_plot_without_hand_loops_is_relative_to_memcpy);
	suite_add_tcase(suite, tables);
	suite_add_tcase(suite, below);
	return t_run(suite);
}
