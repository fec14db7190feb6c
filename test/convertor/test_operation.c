/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations while unpacking: every operation on every predefined type where MPI defines it,
 * refusals everywhere else, all shapes and cuts against the oracle, and the caller's function.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/ref_predefined.h"
#include "support/type_choices.h"
#include "support/typed_script.h"

#define RANDOM_TYPES      150
#define MANY_RANDOM_TYPES 6000

/* ---- what MPI defines ---------------------------------------------------------------- */

/* One letter a type: Byte, C integer, Fortran integer, Language, floating (R), compleX, lOgical,
 * Pair, and - for those that no operation but replace takes. */
static const char groups[DTCONV_PREDEFINED_COUNT + 1] =
	"B--CCCCCCCCCC" /* byte .. ull */
	"RRR-O"         /* float .. c_bool */
	"CCCCCCCC"      /* int8 .. uint64 */
	"XXX"           /* complex */
	"LLL"           /* aint offset count */
	"RROXXX"        /* float16 .. cxx */
	"-OFRRXX"       /* Fortran */
	"FFFFF"         /* integer1 .. 16 */
	"RRRRXXXX"      /* real2 .. complex32 */
	"PPPPPPPPP";

static const struct {
	enum dtconv_op op;
	const char *groups;
} defined[] = {
	{ DTCONV_OP_REPLACE, "B-CFLRXOP" }, { DTCONV_OP_NO_OP, "B-CFLRXOP" },
	{ DTCONV_OP_SUM, "CFLRX" },         { DTCONV_OP_PROD, "CFLRX" },
	{ DTCONV_OP_MIN, "CFLR" },          { DTCONV_OP_MAX, "CFLR" },
	{ DTCONV_OP_LAND, "CO" },           { DTCONV_OP_LOR, "CO" },
	{ DTCONV_OP_LXOR, "CO" },           { DTCONV_OP_BAND, "BCFL" },
	{ DTCONV_OP_BOR, "BCFL" },          { DTCONV_OP_BXOR, "BCFL" },
	{ DTCONV_OP_MINLOC, "P" },          { DTCONV_OP_MAXLOC, "P" },
};

#define OPS (sizeof(defined) / sizeof(defined[0]))

static bool is_defined(size_t i, int which)
{
	return strchr(defined[i].groups, groups[which]) != NULL;
}

/* Some compilers have no integers or floating point of 16 bytes. */
static bool has_arithmetic(enum dtconv_op op, struct dtconv_type *type)
{
	return dtconv_op_check(op, type) != DTCONV_ERR_UNSUPPORTED;
}

START_TEST(every_predefined_type)
{
	struct choices choices = fixture_choices(11);
	enum dtconv_op op = defined[_i].op;

	ck_assert_uint_eq(strlen(groups), DTCONV_PREDEFINED_COUNT);
	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++) {
		struct dtconv_type *type = dtconv_type_predefined(
			fixture_context, (enum dtconv_predefined)which);
		char text[100];

		ck_assert_msg(is_defined((size_t)_i, which) ==
				      (dtconv_op_check(op, type) != DTCONV_ERR_INVAL),
			      "%s of %s", dtconv_op_name(op), ref_predefined[which].name);
		if (!is_defined((size_t)_i, which) || !has_arithmetic(op, type))
			continue;
		snprintf(text, sizeof(text), "contiguous(400, %s)",
			 ref_predefined[which].name);
		fixture_move_typed_text(text, 1, NULL, op, &choices);
		snprintf(text, sizeof(text), "hvector(7, 3, 131, %s)",
			 ref_predefined[which].name);
		fixture_move_typed_text(text, 2, NULL, op, &choices);
	}
}
END_TEST

START_TEST(refusals_name_operation_and_element)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM };
	struct dtconv_type *type =
		fixture_type("struct([1,1,1], [0,8,9], [double,char,char])");
	struct dtconv_type *pair = fixture_type("contiguous(2, double_int)");
	struct dtconv_convertor *convertor;

	dtconv_convertor_create_unpack(type, 1, NULL, &convertor);
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_convertor_configure: sum is not defined on "
			 "char (MPI 4.1 section 6.9.2)");
	params.op = DTCONV_OP_MAXLOC;
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_configure: maxloc is not defined on a type that does "
		"not consist of one kind of pair (MPI 4.1 section 6.9.2)");
	params.op = DTCONV_OP_USER;
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_convertor_configure: params.op is user, but "
			 "params.op_fn is NULL");
	params.op = DTCONV_OP_COUNT;
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_configure: op is 15, not a value of enum dtconv_op");
	fixture_status(dtconv_op_check(DTCONV_OP_SUM, pair), DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_op_check: sum is not defined on double_int "
			 "(MPI 4.1 section 6.9.2)");
	ck_assert_ptr_null(dtconv_op_name(DTCONV_OP_COUNT));
	fixture_status(dtconv_op_check(DTCONV_OP_SUM, NULL), DTCONV_ERR_INVAL);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	dtconv_type_unref(pair);
}
END_TEST

/* A convertor with an operation refuses types that it is not defined on; the old stays bound. */
START_TEST(a_rebind_checks_the_operation)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_BXOR };
	struct dtconv_type *ints = fixture_type("contiguous(2, int)");
	struct dtconv_type *doubles = fixture_type("contiguous(2, double)");
	struct dtconv_convertor *convertor;
	int target[2] = { 5, 6 }, incoming[2] = { 1, 1 };
	double unused[2];
	size_t moved;

	dtconv_convertor_create_unpack(ints, 1, target, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_status(dtconv_convertor_rebind_unpack(convertor, doubles, 1, unused),
		       DTCONV_ERR_INVAL);
	fixture_ok(dtconv_convertor_unpack(convertor, incoming, 8, &moved));
	ck_assert(target[0] == 4 && target[1] == 7);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(ints);
	dtconv_type_unref(doubles);
}
END_TEST

/* ---- shapes -------------------------------------------------------------------------- */

START_TEST(every_layout)
{
	struct choices choices = fixture_choices(12 + (uint64_t)_i);
	char failure[SCRIPT_FAILURE];
	struct dtconv_type *type = fixture_type(layouts[_i].text);

	for (int i = 0; i < 20; i++)
		ck_assert_msg(!typed_script_play_type(type, choose(&choices, 4), &choices,
						      failure),
			      "%s: %s", layouts[_i].text, failure);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(random_types)
{
	struct choices choices = fixture_choices(13);
	size_t types = fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES;

	for (size_t i = 0; i < types; i++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);

		fixture_ok(dtconv_type_commit(type));
		for (size_t op = 0; op < OPS; op++)
			if (!dtconv_op_check(defined[op].op, type))
				fixture_move_typed(type, choose(&choices, 4), NULL,
						   defined[op].op, &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

/* Pairs, predefined and not, in shapes and representations. */
static const char *const pairs[] = {
	"vector(9, 2, 3, double_int)",
	"indexed([2,1,3], [0,5,9], long_double_int)",
	"vector(9, 2, 3, short_int)",
	"contiguous(200, 2int)",
	"hvector(5, 2, 100, 2double_precision)",
	"contiguous(3, vector(2, 1, 2, 2real))",
	"vector(5, 1, 2, value_index(float16, int))",
	"vector(5, 2, 3, value_index(uint64, int8))",
	"vector(5, 1, 2, value_index(bfloat16, unsigned))",
	"contiguous(5, value_index(int16, integer16))",
	"vector(3, 1, 2, value_index(real16, long))",
};

START_TEST(couples)
{
	struct choices choices = fixture_choices(14);
	struct dtconv_representation external32;
	struct dtconv_type *type = fixture_type(pairs[_i]);

	dtconv_representation_find("external32", &external32);
	for (enum dtconv_op op = DTCONV_OP_MINLOC; op <= DTCONV_OP_MAXLOC; op++) {
		if (!has_arithmetic(op, type))
			continue;
		fixture_ok(dtconv_op_check(op, type));
		for (size_t count = 0; count < 4; count++) {
			fixture_move_typed(type, count, NULL, op, &choices);
			fixture_move_typed(type, count, &external32, op, &choices);
		}
	}
	dtconv_type_unref(type);
}
END_TEST

/* ---- the caller's function ----------------------------------------------------------- */

struct calls {
	size_t elements;
	bool aligned;
	enum dtconv_predefined basic;
};

static void subtract(void *arg, const void *incoming, void *target, size_t count,
		     enum dtconv_predefined basic)
{
	struct calls *calls = arg;
	const double *in = incoming;
	double *inout = target;

	calls->elements += count;
	calls->basic = basic;
	calls->aligned &= (uintptr_t)incoming % _Alignof(double) == 0 &&
			  (uintptr_t)target % _Alignof(double) == 0;
	for (size_t i = 0; i < count; i++)
		inout[i] = in[i] - inout[i];
}

START_TEST(the_callers_function_combines)
{
	struct calls calls = { .aligned = true };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_USER,
						  .op_fn = subtract,
						  .op_arg = &calls };
	struct dtconv_type *type = fixture_type("vector(500, 1, 2, double)");
	struct dtconv_convertor *convertor;
	static double target[1000], incoming[500];
	size_t moved;

	for (int i = 0; i < 500; i++) {
		incoming[i] = 3 * i;
		target[2 * i] = i;
		target[2 * i + 1] = -1;
	}
	dtconv_convertor_create_unpack(type, 1, target, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	for (size_t at = 0; at < sizeof(incoming); at += moved)
		fixture_ok(dtconv_convertor_unpack(
			convertor, (char *)incoming + at,
			sizeof(incoming) - at < 77 ? sizeof(incoming) - at : 77, &moved));
	for (int i = 0; i < 500; i++)
		ck_assert(target[2 * i] == 2 * i && target[2 * i + 1] == -1);
	ck_assert_uint_eq(calls.elements, 500);
	ck_assert_int_eq(calls.basic, DTCONV_DOUBLE);
	ck_assert(calls.aligned);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* As C has it: with a gap behind the value. */
struct double_int {
	double value;
	int index;
};

static void add_pairs(void *arg, const void *incoming, void *target, size_t count,
		      enum dtconv_predefined basic)
{
	const struct double_int *in = incoming;
	struct double_int *inout = target;

	ck_assert_int_eq(basic, DTCONV_DOUBLE_INT);
	*(size_t *)arg += count;
	for (size_t i = 0; i < count; i++) {
		inout[i].value += in[i].value;
		inout[i].index += in[i].index;
	}
}

START_TEST(the_callers_function_gets_pairs_as_structs)
{
	size_t seen = 0;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_USER,
						  .op_fn = add_pairs,
						  .op_arg = &seen };
	struct dtconv_type *type = fixture_type("contiguous(3, double_int)");
	struct double_int target[3] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
	struct double_int source[3] = { { 10, 20 }, { 30, 40 }, { 50, 60 } };
	unsigned char packed[36];
	size_t moved;

	dtconv_pack(type, 1, source, packed, sizeof(packed), &moved);
	fixture_ok(dtconv_unpack_with(type, 1, target, packed, 36, &params, &moved));
	ck_assert_uint_eq(seen, 3);
	for (int i = 0; i < 3; i++)
		ck_assert(target[i].value == 11 + 22 * i &&
			  target[i].index == 22 + 22 * i);
	dtconv_type_unref(type);
}
END_TEST

/* ---- the edges ----------------------------------------------------------------------- */

START_TEST(integers_wrap_around)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM };
	struct dtconv_type *type = fixture_type("long_long");
	long long target = LLONG_MAX, incoming = 1;

	fixture_ok(dtconv_unpack_with(type, 1, &target, &incoming, 8, &params, NULL));
	ck_assert(target == LLONG_MIN);
	params.op = DTCONV_OP_PROD;
	incoming = 3;
	fixture_ok(dtconv_unpack_with(type, 1, &target, &incoming, 8, &params, NULL));
	ck_assert(target == LLONG_MIN);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(no_op_reads_but_does_not_touch)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_NO_OP };
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)");
	char incoming[12] = { 0 };
	size_t moved;

	fixture_ok(dtconv_unpack_with(type, 1, NULL, incoming, 12, &params, &moved));
	ck_assert_uint_eq(moved, 12);
	fixture_status(dtconv_unpack_with(type, 1, NULL, incoming, 13, &params, &moved),
		       DTCONV_ERR_TRUNCATE);
	dtconv_type_unref(type);
}
END_TEST

/* The order of equal values does not matter, their index does. */
START_TEST(of_equal_values_the_lower_index_stays)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_MINLOC };
	struct dtconv_type *type = fixture_type("2int");
	int target[2] = { 7, 3 }, incoming[2] = { 7, 2 };

	dtconv_unpack_with(type, 1, target, incoming, 8, &params, NULL);
	ck_assert_int_eq(target[1], 2);
	incoming[1] = 5;
	params.op = DTCONV_OP_MAXLOC;
	dtconv_unpack_with(type, 1, target, incoming, 8, &params, NULL);
	ck_assert_int_eq(target[1], 2);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("operation");
	TCase *definitions = fixture_case(suite, "definitions", 60);
	TCase *shapes = fixture_case(suite, "shapes", 120);
	TCase *user = fixture_case(suite, "user", 20);
	TCase *edges = fixture_case(suite, "edges", 20);

	tcase_add_loop_test(definitions, every_predefined_type, 0, (int)OPS);
	tcase_add_test(definitions, refusals_name_operation_and_element);
	tcase_add_test(definitions, a_rebind_checks_the_operation);
	tcase_add_loop_test(shapes, every_layout, 0, layout_count);
	tcase_add_test(shapes, random_types);
	tcase_add_loop_test(shapes, couples, 0, (int)(sizeof(pairs) / sizeof(pairs[0])));
	tcase_add_test(user, the_callers_function_combines);
	tcase_add_test(user, the_callers_function_gets_pairs_as_structs);
	tcase_add_test(edges, integers_wrap_around);
	tcase_add_test(edges, no_op_reads_but_does_not_touch);
	tcase_add_test(edges, of_equal_values_the_lower_index_stays);
	return fixture_run(suite);
}
