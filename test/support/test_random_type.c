/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random types themselves: repeatable, within their limits, of every constructor, and
 * reduced to what fails.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/random_tree.h"
#include "support/random_type.h"
#include "support/t.h"

static char *text_of(uint64_t seed, const struct random_limits *limits)
{
	struct random_tree *tree = random_tree_create(seed, limits);
	char *text = random_tree_text(tree, t_context);

	random_tree_destroy(tree);
	return text;
}

START_TEST(a_seed_gives_one_type)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		char *a = text_of(seed, NULL), *b = text_of(seed, NULL);

		ck_assert_str_eq(a, b);
		free(a);
		free(b);
	}
}
END_TEST

START_TEST(every_constructor_occurs)
{
	static const char *const names[] = { "contiguous(",
					     "vector(",
					     "hvector(",
					     "indexed(",
					     "hindexed(",
					     "indexed_block(",
					     "hindexed_block(",
					     "struct(",
					     "subarray(",
					     "darray(",
					     "resized(",
					     "dup(",
					     "f90_",
					     "double_int",
					     "-" };
	size_t seen[sizeof(names) / sizeof(names[0])] = { 0 };

	for (uint64_t seed = 0; seed < 1000; seed++) {
		char *text = text_of(seed, NULL);

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			seen[i] += strstr(text, names[i]) != NULL;
		free(text);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(seen[i] >= 20, "%s in %zu of 1000 types", names[i],
			      seen[i]);
}
END_TEST

START_TEST(limits_are_kept)
{
	static const struct random_limits limits = { .depth = 5,
						     .max_entries = 40,
						     .max_span = 3000,
						     .distinct = true,
						     .instances = 3 };
	size_t with_data = 0;

	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct dtconv_type *type = NULL;
		struct ref_typemap map;

		t_ok(random_type(t_context, seed, &limits, &type));
		ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map),
				 0);
		ck_assert_uint_le(map.count, 40);
		ck_assert_int_le(ref_typemap_high(&map, 3) - ref_typemap_low(&map, 3),
				 3000);
		ck_assert(!ref_typemap_overlaps(&map, 3));
		with_data += map.count > 3;
		ref_typemap_free(&map);
		dtconv_type_unref(type);
	}
	ck_assert_uint_gt(with_data, 300);
}
END_TEST

/* A made-up failure: data more than 40 bytes from the beginning. */
static bool reaches_far(struct dtconv_type *type, void *arg)
{
	size_t *asked = arg;

	(*asked)++;
	return t_attr(type).true_lb + t_attr(type).true_extent > 40;
}

static size_t count_calls(const char *text)
{
	size_t calls = 0;

	for (; *text; text++)
		calls += *text == '(';
	return calls;
}

START_TEST(failures_are_reduced)
{
	size_t reduced = 0;

	for (uint64_t seed = 0; seed < 300 && reduced < 60; seed++) {
		struct random_tree *tree = random_tree_create(seed, NULL), *small;
		struct dtconv_type *type = NULL;
		size_t asked = 0;

		t_ok(random_tree_build(tree, t_context, &type));
		bool fails = reaches_far(type, &asked);
		dtconv_type_unref(type);
		if (fails) {
			small = random_tree_shrink(tree, t_context, NULL, reaches_far,
						   &asked);
			t_ok(random_tree_build(small, t_context, &type));
			char *text = random_type_text(type);
			ck_assert_msg(t_attr(type).true_lb + t_attr(type).true_extent <=
					      64,
				      "seed %ju: %s reaches %td", (uintmax_t)seed, text,
				      t_attr(type).true_lb + t_attr(type).true_extent);
			ck_assert_msg(count_calls(text) <= 3, "seed %ju: %s",
				      (uintmax_t)seed, text);
			free(text);
			dtconv_type_unref(type);
			random_tree_destroy(small);
			reduced++;
		}
		random_tree_destroy(tree);
	}
	ck_assert_uint_ge(reduced, 30);
}
END_TEST

START_TEST(a_tree_is_read_off_a_type)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct random_tree *tree = random_tree_create(seed, NULL), *again;
		struct dtconv_type *type = NULL;

		t_ok(random_tree_build(tree, t_context, &type));
		again = random_tree_of_type(type);
		char *text = random_tree_text(tree, t_context);
		char *other = random_tree_text(again, t_context);
		ck_assert_str_eq(text, other);
		free(text);
		free(other);
		dtconv_type_unref(type);
		random_tree_destroy(again);
		random_tree_destroy(tree);
	}
}
END_TEST

/* A made-up failure: more than 16 bytes of data. */
static bool is_long(struct dtconv_type *type, void *arg)
{
	(void)arg;
	return t_attr(type).size > 16;
}

static void expect_reduced(const char *from, const char *to)
{
	struct dtconv_type *type = t_parse(from);
	struct random_tree *tree = random_tree_of_type(type);
	struct random_tree *small =
		random_tree_shrink(tree, t_context, NULL, is_long, NULL);
	char *text = random_tree_text(small, t_context);

	ck_assert_str_eq(text, to);
	free(text);
	random_tree_destroy(small);
	random_tree_destroy(tree);
	dtconv_type_unref(type);
}

START_TEST(dimensions_are_dropped)
{
	expect_reduced("subarray([3,4,5], [1,4,2], [2,0,1], fortran, int)",
		       "subarray([3,2], [3,2], [0,0], c, int)");
	expect_reduced("darray(12, 7, [6,2,8], [block,none,cyclic], [default,default,2], "
		       "[3,1,4], c, double)",
		       "darray(4, 0, [2,2], [block,block], [2,2], [1,4], c, double)");
}
END_TEST

START_TEST(numbers_stay_in_their_range)
{
	struct random_stream stream = { 3 };
	size_t low = 0, high = 0;

	for (size_t i = 0; i < 10000; i++) {
		ptrdiff_t n = random_between(&stream, -3, 5);

		ck_assert(n >= -3 && n <= 5);
		low += n == -3;
		high += n == 5;
		ck_assert_uint_lt(random_below(&stream, 7), 7);
		ck_assert_uint_eq(random_below(&stream, 0), 0);
	}
	ck_assert(low > 900 && high > 900);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("random_type");
	TCase *types = t_case(suite, "types");

	tcase_add_test(types, a_seed_gives_one_type);
	tcase_add_test(types, every_constructor_occurs);
	tcase_add_test(types, limits_are_kept);
	tcase_add_test(types, failures_are_reduced);
	tcase_add_test(types, a_tree_is_read_off_a_type);
	tcase_add_test(types, dimensions_are_dropped);
	tcase_add_test(types, numbers_stay_in_their_range);
	return t_run(suite);
}
