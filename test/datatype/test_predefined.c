/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined types, every one of them: numbers against this compiler's, names, pairs,
 * Fortran kinds, match_size and value_index.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/ref_buffer.h"
#include "support/ref_predefined.h"
#include "support/t.h"

/* Loop cases run once for each predefined type; this is the one of case i. */
static struct dtconv_type *of_case(int i)
{
	return t_predefined((enum dtconv_predefined)i);
}

START_TEST(numbers_of_each)
{
	const struct ref_predefined *want = &ref_predefined[_i];
	struct dtconv_type_attr got = t_attr(of_case(_i));

	ck_assert_msg(want->name != NULL, "predefined type %d is missing in the table",
		      _i);
	ck_assert_uint_eq(got.size, want->size);
	ck_assert_int_eq(got.lb, 0);
	ck_assert_int_eq(got.extent, (ptrdiff_t)want->extent);
	ck_assert_uint_eq(got.alignment, want->alignment);
	ck_assert_int_eq(got.predefined, _i);
	ck_assert_int_eq(got.combiner, DTCONV_COMBINER_NAMED);
	ck_assert_int_eq(got.committed, 1);
	ck_assert_uint_eq(got.element_count,
			  want->second == DTCONV_PREDEFINED_COUNT ? 1 : 2);
	ck_assert_int_eq(got.contiguous, want->size == want->extent);
}
END_TEST

START_TEST(each_moves_by_the_oracle)
{
	t_verify(of_case(_i));
}
END_TEST

START_TEST(each_is_the_same_after_parsing_its_name)
{
	const char *name = ref_predefined[_i].name;
	struct dtconv_type *type = NULL;
	char *text = t_text(of_case(_i));

	ck_assert_str_eq(text, name);
	free(text);
	t_ok(dtconv_type_parse(t_context, name, strlen(name), &type));
	ck_assert_ptr_eq(type, of_case(_i));
	dtconv_type_unref(type);
}
END_TEST

/* Its gaps included: the second of two pairs begins after the first one's padding. */
START_TEST(each_in_an_array_with_gaps)
{
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_vector(3, 2, 3, of_case(_i), &type));
	t_ok(dtconv_type_commit(type));
	t_verify(type);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(each_inside_a_struct_is_aligned)
{
	static const size_t lengths[] = { 1, 1 };
	const ptrdiff_t disps[] = { 0, (ptrdiff_t)ref_predefined[_i].alignment };
	struct dtconv_type *members[] = { t_predefined(DTCONV_CHAR), of_case(_i) };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_int_eq(t_attr(type).extent, (ptrdiff_t)(ref_predefined[_i].alignment +
							  ref_predefined[_i].extent));
	t_verify(type);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(release_and_commit_are_harmless)
{
	struct dtconv_type *type = of_case(_i);

	for (int i = 0; i < 5; i++)
		dtconv_type_unref(type);
	t_ok(dtconv_type_commit(type));
	ck_assert_ptr_eq(dtconv_type_ref(type), type);
	ck_assert_uint_eq(t_attr(type).size, ref_predefined[_i].size);
}
END_TEST

START_TEST(there_is_no_other)
{
	ck_assert_ptr_null(dtconv_type_predefined(t_context, DTCONV_PREDEFINED_COUNT));
	ck_assert_ptr_null(
		dtconv_type_predefined(t_context, (enum dtconv_predefined)100000));
	ck_assert_ptr_null(
		dtconv_type_predefined(t_context, (enum dtconv_predefined)(-1)));
}
END_TEST

START_TEST(contexts_have_their_own)
{
	struct dtconv_context *other = NULL;

	t_ok(dtconv_context_create(NULL, &other));
	ck_assert_ptr_ne(dtconv_type_predefined(other, DTCONV_INT),
			 t_predefined(DTCONV_INT));
	dtconv_context_destroy(other);
}
END_TEST

/* ---- pairs --------------------------------------------------------------------------- */

START_TEST(gaps_of_pairs_are_not_touched)
{
	static const enum dtconv_predefined pairs[] = {
		DTCONV_FLOAT_INT, DTCONV_DOUBLE_INT,        DTCONV_LONG_INT,
		DTCONV_2INT,      DTCONV_SHORT_INT,         DTCONV_LONG_DOUBLE_INT,
		DTCONV_2REAL,     DTCONV_2DOUBLE_PRECISION, DTCONV_2INTEGER
	};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		struct dtconv_type *type = NULL;

		t_verify(t_predefined(pairs[i]));
		t_ok(dtconv_type_create_contiguous(4, t_predefined(pairs[i]), &type));
		t_ok(dtconv_type_commit(type));
		ck_assert_int_eq(t_attr(type).predefined, pairs[i]);
		t_verify(type);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(value_index_finds_the_predefined_pairs)
{
	static const struct {
		enum dtconv_predefined value, index, pair;
	} rows[] = { { DTCONV_FLOAT, DTCONV_INT, DTCONV_FLOAT_INT },
		     { DTCONV_DOUBLE, DTCONV_INT, DTCONV_DOUBLE_INT },
		     { DTCONV_LONG, DTCONV_INT, DTCONV_LONG_INT },
		     { DTCONV_INT, DTCONV_INT, DTCONV_2INT },
		     { DTCONV_SHORT, DTCONV_INT, DTCONV_SHORT_INT },
		     { DTCONV_LONG_DOUBLE, DTCONV_INT, DTCONV_LONG_DOUBLE_INT },
		     { DTCONV_INTEGER, DTCONV_INTEGER, DTCONV_2INTEGER } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dtconv_type *type = NULL;

		t_ok(dtconv_type_create_value_index(t_predefined(rows[i].value),
						    t_predefined(rows[i].index), &type));
		ck_assert_ptr_eq(type, t_predefined(rows[i].pair));
		dtconv_type_unref(type);
	}
}
END_TEST

/* Laid out as C does it, with the padding between and after. */
START_TEST(value_index_of_other_types_is_a_c_struct)
{
	struct value_first {
		int8_t value;
		int64_t index;
	};
	struct index_last {
		int64_t value;
		int16_t index;
	};
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_value_index(t_predefined(DTCONV_INT8),
					    t_predefined(DTCONV_INT64), &type));
	t_bounds(type, 0, sizeof(struct value_first), 0,
		 offsetof(struct value_first, index) + 8);
	ck_assert_uint_eq(t_attr(type).size, 9);
	ck_assert_int_eq(t_attr(type).committed, 1);
	t_typemap(type, 2, (const ptrdiff_t[]){ 0, offsetof(struct value_first, index) });
	t_verify(type);
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_value_index(t_predefined(DTCONV_INT64),
					    t_predefined(DTCONV_INT16), &type));
	t_bounds(type, 0, sizeof(struct index_last), 0, 10);
	t_verify(type);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(value_index_over_all_values)
{
	for (int value = 0; value < DTCONV_PREDEFINED_COUNT; value++) {
		struct dtconv_type *type = NULL;
		bool pair = ref_predefined[value].second != DTCONV_PREDEFINED_COUNT;
		int status = dtconv_type_create_value_index(
			t_predefined((enum dtconv_predefined)value),
			t_predefined(DTCONV_INT32), &type);

		if (pair) {
			t_status(status, DTCONV_ERR_INVAL);
			continue;
		}
		t_ok(status);
		t_verify(type);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(value_index_wants_an_integer_index)
{
	static const enum dtconv_predefined wrong[] = { DTCONV_DOUBLE, DTCONV_FLOAT,
							DTCONV_C_DOUBLE_COMPLEX,
							DTCONV_DOUBLE_INT };
	struct dtconv_type *type = NULL;

	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		t_status(dtconv_type_create_value_index(t_predefined(DTCONV_INT),
							t_predefined(wrong[i]), &type),
			 DTCONV_ERR_INVAL);
	ck_assert_ptr_null(type);
}
END_TEST

START_TEST(value_index_refuses_derived_types)
{
	struct dtconv_type *derived = t_parse("contiguous(1,int)"), *type = NULL;

	t_status(dtconv_type_create_value_index(derived, t_predefined(DTCONV_INT), &type),
		 DTCONV_ERR_INVAL);
	t_status(dtconv_type_create_value_index(t_predefined(DTCONV_INT), derived, &type),
		 DTCONV_ERR_INVAL);
	dtconv_type_unref(derived);
}
END_TEST

/* ---- match_size ---------------------------------------------------------------------- */

static void expect_match(enum dtconv_typeclass typeclass, size_t bytes, bool exists)
{
	struct dtconv_type *type = NULL;
	int status = dtconv_type_match_size(t_context, typeclass, bytes, &type);

	if (!exists) {
		t_status(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_ptr_null(type);
		return;
	}
	t_ok(status);
	ck_assert_uint_eq(t_attr(type).size, bytes);
	ck_assert_int_eq(t_attr(type).combiner, DTCONV_COMBINER_NAMED);
	ck_assert_uint_eq(t_attr(type).element_count, 1);
}

START_TEST(match_size_finds_every_size)
{
	static const size_t integers[] = { 1, 2, 4, 8, 16 }, reals[] = { 2, 4, 8, 16 };
	static const size_t complexes[] = { 4, 8, 16, 32 };

	for (size_t i = 0; i < COUNT_OF(integers); i++)
		expect_match(DTCONV_TYPECLASS_INTEGER, integers[i], true);
	for (size_t i = 0; i < COUNT_OF(reals); i++)
		expect_match(DTCONV_TYPECLASS_REAL, reals[i], true);
	for (size_t i = 0; i < COUNT_OF(complexes); i++)
		expect_match(DTCONV_TYPECLASS_COMPLEX, complexes[i], true);
}
END_TEST

START_TEST(match_size_knows_its_class)
{
	struct dtconv_type *type = NULL;

	/* COMPLEX8 is of 8 bytes and COMPLEX16 of 16: they have been swapped elsewhere. */
	t_ok(dtconv_type_match_size(t_context, DTCONV_TYPECLASS_COMPLEX, 8, &type));
	ck_assert(t_attr(type).predefined == DTCONV_COMPLEX8 ||
		  t_attr(type).predefined == DTCONV_COMPLEX);
	t_ok(dtconv_type_match_size(t_context, DTCONV_TYPECLASS_COMPLEX, 16, &type));
	ck_assert(t_attr(type).predefined == DTCONV_COMPLEX16 ||
		  t_attr(type).predefined == DTCONV_DOUBLE_COMPLEX);
	t_ok(dtconv_type_match_size(t_context, DTCONV_TYPECLASS_REAL, 8, &type));
	ck_assert(t_attr(type).predefined == DTCONV_REAL8 ||
		  t_attr(type).predefined == DTCONV_DOUBLE_PRECISION);
	t_ok(dtconv_type_match_size(t_context, DTCONV_TYPECLASS_INTEGER, 4, &type));
	ck_assert(t_attr(type).predefined == DTCONV_INTEGER4 ||
		  t_attr(type).predefined == DTCONV_INTEGER);
}
END_TEST

START_TEST(match_size_says_what_it_has_not)
{
	expect_match(DTCONV_TYPECLASS_INTEGER, 3, false);
	expect_match(DTCONV_TYPECLASS_INTEGER, 0, false);
	expect_match(DTCONV_TYPECLASS_INTEGER, 32, false);
	expect_match(DTCONV_TYPECLASS_REAL, 1, false);
	expect_match(DTCONV_TYPECLASS_REAL, 32, false);
	expect_match(DTCONV_TYPECLASS_COMPLEX, 2, false);
	expect_match(DTCONV_TYPECLASS_COMPLEX, SIZE_MAX, false);
}
END_TEST

/* ---- Fortran kinds ------------------------------------------------------------------- */

static void expect_real(size_t p, size_t r, size_t bytes)
{
	struct dtconv_type *real = NULL, *complex = NULL;
	int status = dtconv_type_create_f90_real(t_context, p, r, &real);

	if (bytes == 0) {
		t_status(status, DTCONV_ERR_UNSUPPORTED);
		t_status(dtconv_type_create_f90_complex(t_context, p, r, &complex),
			 DTCONV_ERR_UNSUPPORTED);
		return;
	}
	t_ok(status);
	t_ok(dtconv_type_create_f90_complex(t_context, p, r, &complex));
	ck_assert_uint_eq(t_attr(real).size, bytes);
	ck_assert_uint_eq(t_attr(complex).size, 2 * bytes);
	ck_assert_int_eq(t_attr(real).committed, 1);
	t_verify(real);
	t_verify(complex);
	dtconv_type_unref(real);
	dtconv_type_unref(complex);
}

START_TEST(f90_reals_reach_precision_and_range)
{
	expect_real(1, DTCONV_UNDEFINED, 4);
	expect_real(6, 37, 4);
	expect_real(7, 37, 8);
	expect_real(6, 38, 8);
	expect_real(DTCONV_UNDEFINED, 37, 4);
	expect_real(DTCONV_UNDEFINED, 307, 8);
	expect_real(15, 307, 8);
	expect_real(16, DTCONV_UNDEFINED, 16);
	expect_real(DTCONV_UNDEFINED, 308, 16);
	expect_real(33, 4931, 16);
	expect_real(34, DTCONV_UNDEFINED, 0);
	expect_real(6, 4932, 0);
}
END_TEST

START_TEST(f90_reals_need_a_wish)
{
	struct dtconv_type *type = NULL;

	t_status(dtconv_type_create_f90_real(t_context, DTCONV_UNDEFINED,
					     DTCONV_UNDEFINED, &type),
		 DTCONV_ERR_INVAL);
	t_status(dtconv_type_create_f90_complex(t_context, DTCONV_UNDEFINED,
						DTCONV_UNDEFINED, &type),
		 DTCONV_ERR_INVAL);
	ck_assert_ptr_null(type);
}
END_TEST

START_TEST(f90_integers_reach_their_range)
{
	static const struct {
		size_t r, bytes;
	} rows[] = { { 0, 1 },   { 2, 1 },   { 3, 2 },  { 4, 2 },
		     { 5, 4 },   { 9, 4 },   { 10, 8 }, { 18, 8 },
		     { 19, 16 }, { 38, 16 }, { 39, 0 }, { SIZE_MAX, 0 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dtconv_type *type = NULL;
		int status = dtconv_type_create_f90_integer(t_context, rows[i].r, &type);

		if (rows[i].bytes == 0) {
			ck_assert_int_lt(status, 0);
			continue;
		}
		t_ok(status);
		ck_assert_uint_eq(t_attr(type).size, rows[i].bytes);
		t_verify(type);
		dtconv_type_unref(type);
	}
}
END_TEST

/* The predefined type of the attributes, through duplicates and contiguous copies. */
START_TEST(single_predefined_type_is_seen_through_layouts)
{
	static const struct {
		const char *text;
		enum dtconv_predefined which;
	} rows[] = { { "contiguous(5,int)", DTCONV_INT },
		     { "resized(vector(2,1,3,double),-8,99)", DTCONV_DOUBLE },
		     { "struct([1,2],[0,8],[float,contiguous(2,float)])", DTCONV_FLOAT },
		     { "struct([1,1],[0,8],[float,int])", DTCONV_PREDEFINED_COUNT },
		     { "struct([1,0],[0,8],[float,int])", DTCONV_FLOAT },
		     { "contiguous(3,double_int)", DTCONV_DOUBLE_INT },
		     { "contiguous(0,int)", DTCONV_PREDEFINED_COUNT },
		     { "f90_real(6,undefined)", DTCONV_REAL4 },
		     { "f90_complex(15,undefined)", DTCONV_COMPLEX16 },
		     { "f90_integer(4)", DTCONV_INTEGER2 },
		     { "dup(dup(char))", DTCONV_CHAR } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dtconv_type *type = t_parse(rows[i].text);

		ck_assert_msg(t_attr(type).predefined == rows[i].which, "%s: %d, not %d",
			      rows[i].text, (int)t_attr(type).predefined,
			      (int)rows[i].which);
		dtconv_type_unref(type);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("predefined");
	TCase *each = t_case(suite, "each");
	TCase *all = t_case(suite, "all");
	TCase *pairs = t_case(suite, "pairs");
	TCase *fortran = t_case(suite, "fortran");

	tcase_add_loop_test(each, numbers_of_each, 0, DTCONV_PREDEFINED_COUNT);
	tcase_add_loop_test(each, each_moves_by_the_oracle, 0, DTCONV_PREDEFINED_COUNT);
	tcase_add_loop_test(each, each_is_the_same_after_parsing_its_name, 0,
			    DTCONV_PREDEFINED_COUNT);
	tcase_add_loop_test(each, each_in_an_array_with_gaps, 0, DTCONV_PREDEFINED_COUNT);
	tcase_add_loop_test(each, each_inside_a_struct_is_aligned, 0,
			    DTCONV_PREDEFINED_COUNT);
	tcase_add_loop_test(each, release_and_commit_are_harmless, 0,
			    DTCONV_PREDEFINED_COUNT);
	tcase_add_test(all, there_is_no_other);
	tcase_add_test(all, contexts_have_their_own);
	tcase_add_test(all, single_predefined_type_is_seen_through_layouts);
	tcase_add_test(pairs, gaps_of_pairs_are_not_touched);
	tcase_add_test(pairs, value_index_finds_the_predefined_pairs);
	tcase_add_test(pairs, value_index_of_other_types_is_a_c_struct);
	tcase_add_test(pairs, value_index_over_all_values);
	tcase_add_test(pairs, value_index_wants_an_integer_index);
	tcase_add_test(pairs, value_index_refuses_derived_types);
	tcase_add_test(fortran, match_size_finds_every_size);
	tcase_add_test(fortran, match_size_knows_its_class);
	tcase_add_test(fortran, match_size_says_what_it_has_not);
	tcase_add_test(fortran, f90_reals_reach_precision_and_range);
	tcase_add_test(fortran, f90_reals_need_a_wish);
	tcase_add_test(fortran, f90_integers_reach_their_range);
	return t_run(suite);
}
