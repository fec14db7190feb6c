/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get_elements: basic elements in a packed stream that may end early.
 */
#include "config.h"

#include "support/machine.h"
#include "support/random_type.h"
#include "support/t.h"

static void expect(const char *text, size_t bytes, size_t want)
{
	struct dtconv_type *type = t_parse(text);
	size_t got = 77;

	t_ok(dtconv_type_query_elements(type, bytes, &got));
	ck_assert_msg(got == want, "%zu bytes of %s: %zu elements, not %zu", bytes, text,
		      got, want);
	dtconv_type_unref(type);
}

START_TEST(whole_elements_of_a_partial_instance)
{
	expect("contiguous(3,int)", 0, 0);
	expect("contiguous(3,int)", 4, 1);
	expect("contiguous(3,int)", 8, 2);
	expect("contiguous(3,int)", 12, 3);
	expect("contiguous(3,int)", 16, 4);
	expect("struct([1,1],[0,8],[char,double])", 1, 1);
	expect("struct([1,1],[0,8],[char,double])", 9, 2);
	expect("struct([1,1],[0,8],[char,double])", 10, 3);
	expect("struct([1,1],[0,8],[char,double])", 18, 4);
}
END_TEST

START_TEST(a_cut_element_is_undefined)
{
	expect("int", 3, DTCONV_UNDEFINED);
	expect("contiguous(3,int)", 13, DTCONV_UNDEFINED);
	expect("struct([1,1],[0,8],[char,double])", 5, DTCONV_UNDEFINED);
	expect("struct([1,1],[0,8],[char,double])", 17, DTCONV_UNDEFINED);
}
END_TEST

START_TEST(pairs_count_twice)
{
	expect("double_int", 8, 1);
	expect("double_int", 12, 2);
	expect("double_int", 20, 3);
	expect("double_int", 10, DTCONV_UNDEFINED);
	expect("vector(2,1,3,short_int)", 8, 3);
	expect("value_index(int64,int16)", 18, 3);
}
END_TEST

START_TEST(complex_numbers_count_once)
{
	expect("c_double_complex", 16, 1);
	expect("c_double_complex", 8, DTCONV_UNDEFINED);
}
END_TEST

START_TEST(types_of_no_size)
{
	expect("contiguous(0,int)", 0, 0);
	expect("contiguous(0,int)", 1, DTCONV_UNDEFINED);
	expect("struct([],[],[])", 0, 0);
	expect("resized(contiguous(0,double),-8,24)", 8, DTCONV_UNDEFINED);
	expect("struct([1,1,1],[0,0,4],[contiguous(0,char),int,contiguous(0,char)])", 4,
	       1);
}
END_TEST

START_TEST(markers_are_no_elements)
{
	expect("resized(int,-4,40)", 8, 2);
	expect("struct([1,1],[0,16],[resized(int,-4,12),resized(char,0,9)])", 5, 2);
	expect("contiguous(2,resized(struct([1,1],[0,4],[int,char]),-1,64))", 13,
	       DTCONV_UNDEFINED);
	expect("contiguous(2,resized(struct([1,1],[0,4],[int,char]),-1,64))", 14, 5);
}
END_TEST

START_TEST(streams_past_four_gigabytes)
{
	size_t tera = (size_t)(UINT64_C(1) << 40);

	expect("int", tera, tera / 4);
	expect("int", tera + 2, DTCONV_UNDEFINED);
	expect("contiguous(1099511627776,struct([1,1],[0,1],[char,double]))", 9 * tera,
	       2 * tera);
	expect("contiguous(1099511627776,struct([1,1],[0,1],[char,double]))",
	       9 * tera + 1, 2 * tera + 1);
	expect("contiguous(1099511627776,struct([1,1],[0,1],[char,double]))",
	       9 * tera - 3, DTCONV_UNDEFINED);
	expect("vector(1099511627776,2,0,short_int)", 6 * tera + 2, 2 * tera + 1);
}
END_TEST

START_TEST(random_types_against_the_oracle)
{
	static const struct random_limits limits = { .max_entries = 150 };
	uint64_t seed = random_seed(31000);

	for (uint64_t i = 0; i < 800; i++) {
		struct dtconv_type *type = NULL;
		struct ref_typemap map;

		t_ok(random_type(t_context, seed + i, &limits, &type));
		ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map),
				 0);
		for (size_t bytes = 0; bytes <= 2 * map.size + 3; bytes++) {
			size_t got = 77, want = ref_typemap_elements(&map, bytes);

			t_ok(dtconv_type_query_elements(type, bytes, &got));
			ck_assert_msg(got == want,
				      "DTCONV_TEST_SEED=%ju: %zu bytes: %zu not %zu",
				      (uintmax_t)(seed + i), bytes, got, want);
		}
		ref_typemap_free(&map);
		dtconv_type_unref(type);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("elements");
	TCase *counts = t_case(suite, "counts");

	tcase_add_test(counts, whole_elements_of_a_partial_instance);
	tcase_add_test(counts, a_cut_element_is_undefined);
	tcase_add_test(counts, pairs_count_twice);
	tcase_add_test(counts, complex_numbers_count_once);
	tcase_add_test(counts, types_of_no_size);
	tcase_add_test(counts, markers_are_no_elements);
	machine_add_wide(counts, streams_past_four_gigabytes);
	tcase_add_test(counts, random_types_against_the_oracle);
	return t_run(suite);
}
