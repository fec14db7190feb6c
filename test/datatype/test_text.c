/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form: what is printed parses back to the same type, blanks are free, and what is
 * no text form is refused with the column.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/limits_in_words.h"
#include "support/random_type.h"
#include "support/t.h"

static int parse(const char *text, struct dtconv_type **type)
{
	return dtconv_type_parse(t_context, text, strlen(text), type);
}

/* ---- round trips --------------------------------------------------------------------- */

static const char *const forms[] = {
	"double",
	"contiguous(3, int)",
	"vector(1000, 2, 5, double)",
	"vector(3, 2, -5, double)",
	"hvector(3, 2, -17, double)",
	"indexed([1,2,0], [0,-4,9], int)",
	"hindexed([1,2,0], [0,-4,9], int)",
	"indexed_block(2, [0,-4,9], int)",
	"hindexed_block(2, [0,-4,9], int)",
	"indexed([], [], int)",
	"struct([], [], [])",
	"struct([1,3], [0,8], [int,double])",
	"subarray([512,512,512], [2,512,512], [0,0,0], c, double)",
	"subarray([4], [2], [1], fortran, double_int)",
	"darray(6, 4, [10,11], [block,cyclic], [default,2], [2,3], c, int)",
	"darray(2, 0, [10,11], [none,cyclic], [default,2], [1,2], fortran, int)",
	"resized(int, -4, 16)",
	"dup(vector(2, 1, 3, char))",
	"f90_real(15, undefined)",
	"f90_real(undefined, 300)",
	"f90_complex(6, 30)",
	"f90_integer(9)",
	"value_index(int64, int16)",
	"contiguous(2, struct([1,1], [0,8], [contiguous(2, 2int),short_int]))",
	"vector(" COUNT_MOST ", 0, " DISP_MOST ", char)",
	"hindexed([1,1], [-" DISP_MOST ",-" DISP_MOST "], char)",
};

START_TEST(forms_come_back_as_they_went_in)
{
	struct dtconv_type *type = NULL;

	t_ok(parse(forms[_i], &type));
	char *text = t_text(type);
	ck_assert_str_eq(text, forms[_i]);
	free(text);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(random_types_come_back)
{
	uint64_t seed = random_seed(640000);

	for (uint64_t i = 0; i < 3000; i++) {
		struct dtconv_type *type = NULL, *copy = NULL;
		struct ref_typemap map, copy_map;

		t_ok(random_type(t_context, seed + i, NULL, &type));
		char *text = t_text(type);
		t_ok(parse(text, &copy));
		char *again = t_text(copy);
		ck_assert_str_eq(text, again);
		ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map),
				 0);
		ck_assert_int_eq(
			ref_typemap_build(copy, DTCONV_PADDING_STRUCT, 0, &copy_map), 0);
		ck_assert_msg(ref_typemap_same_entries(&map, &copy_map) &&
				      map.lb == copy_map.lb && map.ub == copy_map.ub,
			      "DTCONV_TEST_SEED=%ju: %s", (uintmax_t)(seed + i), text);
		ref_typemap_free(&map);
		ref_typemap_free(&copy_map);
		free(text);
		free(again);
		dtconv_type_unref(type);
		dtconv_type_unref(copy);
	}
}
END_TEST

START_TEST(blanks_are_free)
{
	static const char *const same[] = {
		"struct([1,3],[0,8],[int,double])",
		"  struct ( [ 1 , 3 ] , [ 0 , 8 ] , [ int , double ] )  ",
		"struct(\n\t[1,3],\n\t[0,8],\n\t[int,double]\r\n)\n",
	};

	for (size_t i = 0; i < COUNT_OF(same); i++) {
		struct dtconv_type *type = NULL;

		t_ok(parse(same[i], &type));
		char *text = t_text(type);
		ck_assert_str_eq(text, "struct([1,3], [0,8], [int,double])");
		free(text);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(numbers_may_be_hexadecimal_or_signed)
{
	struct dtconv_type *type = NULL;

	t_ok(parse("hvector(+3, 0x2, -0x10, int)", &type));
	char *text = t_text(type);
	ck_assert_str_eq(text, "hvector(3, 2, -16, int)");
	free(text);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(the_length_ends_the_text)
{
	static const char text[] = { 'i', 'n', 't', '8', '(', 'x' };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_parse(t_context, text, 3, &type));
	ck_assert_int_eq(t_attr(type).predefined, DTCONV_INT);
	t_ok(dtconv_type_parse(t_context, text, 4, &type));
	ck_assert_int_eq(t_attr(type).predefined, DTCONV_INT8);
	t_status(dtconv_type_parse(t_context, text, 5, &type), DTCONV_ERR_FORMAT);
	t_status(dtconv_type_parse(t_context, text, 0, &type), DTCONV_ERR_FORMAT);
}
END_TEST

START_TEST(parsed_types_are_not_committed)
{
	struct dtconv_type *type = NULL;

	t_ok(parse("contiguous(2, int)", &type));
	ck_assert_int_eq(t_attr(type).committed, 0);
	dtconv_type_unref(type);
}
END_TEST

/* ---- truncation ---------------------------------------------------------------------- */

typedef int (*format_fn)(const struct dtconv_type *type, char *text, size_t capacity,
			 size_t *length);

static void expect_prefixes(format_fn format, const struct dtconv_type *type)
{
	char whole[512], part[512];
	size_t length = 0;

	t_ok(format(type, whole, sizeof(whole), &length));
	ck_assert_uint_eq(strlen(whole), length);
	for (size_t capacity = 0; capacity <= length; capacity++) {
		size_t told = 0;

		memset(part, '#', sizeof(part));
		t_status(format(type, part, capacity, &told), DTCONV_ERR_TRUNCATE);
		ck_assert_uint_eq(told, length);
		ck_assert_int_eq(part[capacity], '#');
		if (capacity == 0)
			continue;
		ck_assert_int_eq(part[capacity - 1], '\0');
		ck_assert_mem_eq(part, whole, capacity - 1);
	}
	t_ok(format(type, part, length + 1, &length));
	ck_assert_str_eq(part, whole);
}

START_TEST(a_short_buffer_gets_the_beginning)
{
	struct dtconv_type *type =
		t_parse("struct([1, 3], [0, 8], [int, vector(2, 1, 4, double)])");

	expect_prefixes(dtconv_type_format, type);
	expect_prefixes(dtconv_type_format_signature, type);
	expect_prefixes(dtconv_type_format_program, type);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(no_program_before_commit)
{
	struct dtconv_type *type = NULL;
	size_t length = 0;

	t_ok(parse("contiguous(2, int)", &type));
	t_status(dtconv_type_format_program(type, NULL, 0, &length), DTCONV_ERR_STATE);
	dtconv_type_unref(type);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------ */

static void expect_refused(const char *text, int status)
{
	struct dtconv_type *type = (struct dtconv_type *)&type;
	int got = parse(text, &type);

	ck_assert_msg(got == status, "%s: %s (%s), expected %s", text,
		      dtconv_strerror(got), t_error(), dtconv_strerror(status));
	ck_assert_ptr_eq(type, &type);
	ck_assert_msg(strlen(t_error()) > 0, "%s: no sentence", text);
}

START_TEST(what_is_no_text_form)
{
	static const char *const wrong[] = {
		"",
		" ",
		"(",
		")",
		",",
		"in",
		"intt",
		"Int",
		"int int",
		"int,",
		"int)",
		"contiguous",
		"contiguous(",
		"contiguous()",
		"contiguous(3)",
		"contiguous(3,)",
		"contiguous(3 int)",
		"contiguous(3,int",
		"contiguous(3,int,int)",
		"contiguous(3.0,int)",
		"contiguous(three,int)",
		"contiguous([3],int)",
		"vector(3,2,int)",
		"vector(3,2,--1,int)",
		"vector(3,2,- 1,int)",
		"indexed([1,2],[0,8]int)",
		"indexed(1,[0],int)",
		"indexed([1,],[0],int)",
		"indexed([,1],[0],int)",
		"indexed([1[,[0],int)",
		"indexed([1,2],[0],int)",
		"indexed([1],[0,8],int)",
		"struct([1],[0],int)",
		"struct([1,1],[0,8],[int])",
		"struct([1],[0,8],[int])",
		"subarray([4],[2],[1],C,int)",
		"subarray([4],[2],[1],row,int)",
		"subarray([4,4],[2],[1],c,int)",
		"darray(2,0,[4],[blocks],[default],[2],c,int)",
		"darray(2,0,[4],[block],[default,1],[2],c,int)",
		"resized(-4,16,int)",
		"resized(int,-4)",
		"dup(int",
		"f90_real(6)",
		"f90_integer(undefine)",
		"value_index(int)",
		"int\1",
		"contiguous(3,\x80)",
		"vector_(3,2,1,int)",
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		expect_refused(wrong[i], DTCONV_ERR_FORMAT);
}
END_TEST

START_TEST(numbers_out_of_range)
{
	static const char *const wrong[] = {
		"contiguous(18446744073709551616,int)",
		"contiguous(99999999999999999999999999999,int)",
		"vector(1,1,9223372036854775808,int)",
		"vector(1,1,-9223372036854775809,int)",
		"resized(int,0,9223372036854775808)",
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct dtconv_type *type = NULL;
		int status = parse(wrong[i], &type);

		ck_assert_msg(status == DTCONV_ERR_FORMAT ||
				      status == DTCONV_ERR_OVERFLOW,
			      "%s: %s", wrong[i], dtconv_strerror(status));
		ck_assert_ptr_null(type);
	}
}
END_TEST

START_TEST(constructors_still_decide)
{
	expect_refused("contiguous(18446744073709551615,double)", DTCONV_ERR_OVERFLOW);
	expect_refused("contiguous(-3,int)", DTCONV_ERR_INVAL);
	expect_refused("subarray([4],[5],[0],c,int)", DTCONV_ERR_INVAL);
	expect_refused("subarray([],[],[],c,int)", DTCONV_ERR_INVAL);
	expect_refused("darray(3,0,[4],[block],[default],[2],c,int)", DTCONV_ERR_INVAL);
	expect_refused("f90_real(99,undefined)", DTCONV_ERR_UNSUPPORTED);
	expect_refused("f90_real(undefined,undefined)", DTCONV_ERR_INVAL);
	expect_refused("value_index(double_int,int)", DTCONV_ERR_INVAL);
	expect_refused("resized(int,9223372036854775807,1)", DTCONV_ERR_OVERFLOW);
}
END_TEST

START_TEST(errors_name_the_column)
{
	struct dtconv_type *type = NULL;

	t_status(parse("vector(3, 2, x, int)", &type), DTCONV_ERR_FORMAT);
	ck_assert_msg(strstr(t_error(), "column 14") != NULL, "%s", t_error());
	t_status(parse("contiguous(3, contiguous(2, intx))", &type), DTCONV_ERR_FORMAT);
	ck_assert_msg(strstr(t_error(), "column 29") != NULL, "%s", t_error());
}
END_TEST

/* So many levels of contiguous(1, ...) around a char. */
static char *nested(size_t levels)
{
	static const char open[] = "contiguous(1,";
	char *text = malloc(levels * sizeof(open) + 8), *end = text;

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < levels; i++)
		end = stpcpy(end, open);
	end = stpcpy(end, "char");
	memset(end, ')', levels);
	end[levels] = '\0';
	return text;
}

START_TEST(depth_is_limited)
{
	struct dtconv_type *type = NULL;
	char *allowed = nested(255), *deep = nested(257), *absurd = nested(1000000);

	t_ok(parse(allowed, &type));
	char *text = t_text(type);
	free(text);
	dtconv_type_unref(type);
	expect_refused(deep, DTCONV_ERR_LIMIT);
	expect_refused(absurd, DTCONV_ERR_LIMIT);
	free(allowed);
	free(deep);
	free(absurd);
}
END_TEST

/* Every prefix and every single damaged byte: an answer, never a crash or a leak. */
START_TEST(damaged_texts_never_crash)
{
	char text[256];
	size_t length = strlen(forms[_i]);

	for (size_t i = 0; i < length; i++)
		for (size_t damage = 0; damage < 5; damage++) {
			static const char put[] = { '\0', '(', ']', '9', 'z' };
			struct dtconv_type *type = NULL;

			memcpy(text, forms[_i], length);
			text[i] = put[damage];
			if (dtconv_type_parse(t_context, text, length, &type) == 0)
				dtconv_type_unref(type);
			type = NULL;
			if (dtconv_type_parse(t_context, text, i, &type) == 0)
				dtconv_type_unref(type);
		}
}
END_TEST

/* Repeated arrays of numbers are long; the parser must not be slower than linear. */
START_TEST(a_hundred_thousand_blocks)
{
	enum { BLOCKS = 100000 };
	char *text = malloc((size_t)BLOCKS * 32), *end = text;
	struct dtconv_type *type = NULL;

	ck_assert_ptr_nonnull(text);
	end = stpcpy(end, "indexed([1");
	for (size_t i = 1; i < BLOCKS; i++)
		end += sprintf(end, ",%zu", 1 + i % 3);
	end = stpcpy(end, "], [0");
	for (size_t i = 1; i < BLOCKS; i++)
		end += sprintf(end, ",%zu", 5 * i);
	stpcpy(end, "], int)");
	t_ok(parse(text, &type));
	char *again = t_text(type);
	ck_assert_msg(strcmp(again, text) == 0, "a long list came back otherwise");
	free(again);
	free(text);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *round_trip = t_case(suite, "round_trip");
	TCase *truncation = t_case(suite, "truncation");
	TCase *refusals = t_case(suite, "refusals");

	tcase_add_loop_test(round_trip, forms_come_back_as_they_went_in, 0,
			    (int)COUNT_OF(forms));
	tcase_add_test(round_trip, random_types_come_back);
	tcase_add_test(round_trip, blanks_are_free);
	tcase_add_test(round_trip, numbers_may_be_hexadecimal_or_signed);
	tcase_add_test(round_trip, the_length_ends_the_text);
	tcase_add_test(round_trip, parsed_types_are_not_committed);
	tcase_add_test(round_trip, a_hundred_thousand_blocks);
	tcase_add_test(truncation, a_short_buffer_gets_the_beginning);
	tcase_add_test(truncation, no_program_before_commit);
	tcase_add_test(refusals, what_is_no_text_form);
	tcase_add_test(refusals, numbers_out_of_range);
	tcase_add_test(refusals, constructors_still_decide);
	tcase_add_test(refusals, errors_name_the_column);
	tcase_add_test(refusals, depth_is_limited);
	tcase_add_loop_test(refusals, damaged_texts_never_crash, 0, (int)COUNT_OF(forms));
	return t_run(suite);
}
