/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams in other representations: every predefined type, every shape, every cut, against the
 * oracle that converts element by element; and what is refused.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/ref_element.h"
#include "support/ref_predefined.h"
#include "support/type_choices.h"

#define RANDOM_TYPES      60
#define MANY_RANDOM_TYPES 3000

static struct dtconv_representation representation_named(const char *name)
{
	struct dtconv_representation representation;

	fixture_ok(dtconv_representation_find(name, &representation));
	return representation;
}

static struct dtconv_representation representation_at(int index)
{
	return representation_named(dtconv_representation_name((size_t)index));
}

static int representations(void)
{
	int count = 0;

	while (dtconv_representation_name((size_t)count))
		count++;
	return count;
}

/* ---- against the oracle -------------------------------------------------------------- */

START_TEST(every_predefined_type)
{
	struct dtconv_representation representation = representation_at(_i);
	struct choices choices = fixture_choices(1);

	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++) {
		const char *name = ref_predefined[which].name;
		char text[100];

		snprintf(text, sizeof(text), "contiguous(300, %s)", name);
		fixture_move_typed_text(text, 1, &representation, DTCONV_OP_REPLACE,
					&choices);
		snprintf(text, sizeof(text), "hvector(7, 3, 131, %s)", name);
		fixture_move_typed_text(text, 2, &representation, DTCONV_OP_REPLACE,
					&choices);
	}
}
END_TEST

START_TEST(every_layout)
{
	struct dtconv_representation representation = representation_at(_i);
	struct choices choices = fixture_choices(2);

	for (int i = 0; i < layout_count; i++)
		fixture_move_typed_text(layouts[i].text, 2, &representation,
					DTCONV_OP_REPLACE, &choices);
}
END_TEST

/* Unlike members side by side, in loops inside loops. */
static const char *const mixed[] = {
	"struct([1,2,1,1], [0,8,24,40], [char,long,long_double,int])",
	"vector(5, 2, 3, struct([1,1,3], [0,16,32], [long_double,short,unsigned_long]))",
	"struct([2,1], [0,80], [struct([1,1],[0,8],[int,long]),vector(3, 2, 4, long_double_int)])",
	"contiguous(700, struct([1,1,1], [0,8,16], [int,aint,byte]))",
	"indexed([2,1,3], [0,5,9], struct([1,1], [0,32], [c_long_double_complex,long]))",
};

START_TEST(members_of_unlike_sizes)
{
	struct dtconv_representation representation = representation_at(_i);
	struct choices choices = fixture_choices(3);

	for (size_t i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++)
		for (size_t count = 0; count < 4; count++)
			fixture_move_typed_text(mixed[i], count, &representation,
						DTCONV_OP_REPLACE, &choices);
}
END_TEST

START_TEST(random_types)
{
	struct dtconv_representation representation = representation_at(_i);
	struct choices choices = fixture_choices(4);
	size_t types = fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES;

	for (size_t i = 0; i < types; i++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);

		fixture_ok(dtconv_type_commit(type));
		fixture_move_typed(type, choose(&choices, 4), &representation,
				   DTCONV_OP_REPLACE, &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

/* Fields of one's own, all combinations. */
START_TEST(every_combination_of_fields)
{
	static const size_t sizes[] = { 0, 4, 8 }, wchars[] = { 0, 2, 4 };
	struct choices choices = fixture_choices(5);
	struct dtconv_representation r = { .struct_size = sizeof(r) };

	for (int i = 0; i < 3 * 5 * 3 * 3 * 3; i++) {
		r.byte_order = (enum dtconv_byte_order)(i % 3);
		r.long_double = (enum dtconv_long_double)(i / 3 % 5);
		r.long_size = sizes[i / 15 % 3];
		r.address_size = sizes[i / 45 % 3];
		r.wchar_size = wchars[i / 135];
		fixture_move_typed_text(
			"struct([2,1,1,2,1], [0,32,40,48,80], [long_double,"
			"unsigned_long,aint,wchar,double])",
			3, &r, DTCONV_OP_REPLACE, &choices);
	}
}
END_TEST

/* ---- external32 to the letter -------------------------------------------------------- */

START_TEST(external32_is_what_the_standard_says)
{
	static const struct {
		const char *text;
		size_t bytes;
	} sizes[] = {
		{ "char", 1 },
		{ "wchar", 2 },
		{ "short", 2 },
		{ "int", 4 },
		{ "long", 4 },
		{ "unsigned_long", 4 },
		{ "long_long", 8 },
		{ "float", 4 },
		{ "double", 8 },
		{ "long_double", 16 },
		{ "c_bool", 1 },
		{ "int8", 1 },
		{ "uint64", 8 },
		{ "aint", 8 },
		{ "count", 8 },
		{ "offset", 8 },
		{ "c_float_complex", 8 },
		{ "c_long_double_complex", 32 },
		{ "character", 1 },
		{ "logical", 4 },
		{ "integer", 4 },
		{ "double_complex", 16 },
		{ "integer16", 16 },
		{ "real16", 16 },
		{ "complex32", 32 },
		{ "float16", 2 },
		{ "cxx_bool", 1 },
		{ "long_int", 8 },
		{ "long_double_int", 20 },
		{ "short_int", 6 },
		{ "2integer", 8 },
	};
	struct dtconv_representation external32 = representation_named("external32");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct dtconv_type *type = fixture_type(sizes[i].text);
		size_t bytes = 0;

		fixture_ok(dtconv_packed_size(type, 3, &external32, &bytes));
		ck_assert_msg(bytes == 3 * sizes[i].bytes, "%s: %zu", sizes[i].text,
			      bytes);
		dtconv_type_unref(type);
	}
}
END_TEST

static void expect_bytes(const char *text, const void *value, const char *bytes,
			 size_t count)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_type *type = fixture_type(text);
	unsigned char packed[64];
	size_t moved = 0;

	fixture_ok(dtconv_pack_with(type, 1, value, packed, sizeof(packed), &params,
				    &moved));
	ck_assert_uint_eq(moved, count);
	ck_assert_mem_eq(packed, bytes, count);
	dtconv_type_unref(type);
}

START_TEST(external32_known_bytes)
{
	long number = -2;
	double pi = 3.141592653589793;
	long double third = 1.0L / 4;
	short small = 0x1234;
	struct {
		long double value;
		int index;
	} pair = { -1, 7 };

	expect_bytes("long", &number, "\xff\xff\xff\xfe", 4);
	expect_bytes("double", &pi, "\x40\x09\x21\xfb\x54\x44\x2d\x18", 8);
	expect_bytes("long_double", &third, "\x3f\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	expect_bytes("short", &small, "\x12\x34", 2);
	expect_bytes("long_double_int", &pair,
		     "\xbf\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07", 20);
}
END_TEST

/* ---- rounding ------------------------------------------------------------------------ */

#define NUMBERS 6000

/*
 * A significand of 64 bits, now and then all ones, whose lower part is at, right below or right above half of the last
 * place that stays when so many bits are cut off.
 */
static uint64_t near_tie(struct choices *choices, unsigned cut)
{
	uint64_t upper = chance(choices, 4) ? UINT64_MAX
					    : choices_mix(choose(choices, SIZE_MAX));
	uint64_t half = UINT64_C(1) << (cut - 1);

	return upper >> cut << cut | (half + choose(choices, 3) - 1);
}

/* IEEE binary128 from its exponent and fraction, lowest byte first. */
static void put_binary128(unsigned char *to, unsigned exponent, uint64_t high,
			  uint64_t low)
{
	high = (high & 0xffffffffffff) | (uint64_t)exponent << 48;
	for (int i = 0; i < 8; i++) {
		to[i] = (unsigned char)(low >> 8 * i);
		to[8 + i] = (unsigned char)(high >> 8 * i);
	}
}

/* Of all magnitudes, and at the edges: subnormal, largest, infinite, not a number. */
static unsigned choose_exponent(struct choices *choices)
{
	static const unsigned edges[] = { 0, 1, 2, 0x7ffe, 0x7fff, 0x3ff, 0x43ff };

	if (chance(choices, 3))
		return (unsigned)choose(choices, 0x8000);
	return edges[choose(choices, sizeof(edges) / sizeof(edges[0]))] +
	       (unsigned)choose(choices, 2) * 0x8000;
}

static void unpack_and_compare(const struct dtconv_representation *r,
			       const unsigned char *wire, size_t bytes)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = r };
	struct dtconv_type *type = fixture_type("contiguous(6000, long_double)");
	long double *numbers = calloc(NUMBERS, sizeof(*numbers));

	fixture_ok(dtconv_unpack_with(type, 1, numbers, wire, NUMBERS * bytes, &params,
				      NULL));
	for (size_t i = 0; i < NUMBERS; i++) {
		long double right = 0;

		ref_element_decode(r, DTCONV_LONG_DOUBLE, wire + i * bytes, &right);
		ck_assert_msg(ref_element_same(DTCONV_LONG_DOUBLE, &numbers[i], &right),
			      "number %zu is %La, not %La", i, numbers[i], right);
	}
	free(numbers);
	dtconv_type_unref(type);
}

START_TEST(binary128_is_rounded_to_nearest_even)
{
	struct dtconv_representation r = { .struct_size = sizeof(r),
					   .byte_order = DTCONV_ORDER_LITTLE,
					   .long_double = DTCONV_LONG_DOUBLE_BINARY128 };
	struct choices choices = fixture_choices(7);
	unsigned char *wire = malloc(NUMBERS * 16);

	/* x87 keeps 63 of 112 fraction bits: the cut is 49 bits up. */
	for (size_t i = 0; i < NUMBERS; i++)
		put_binary128(wire + 16 * i, choose_exponent(&choices),
			      chance(&choices, 4)
				      ? UINT64_MAX
				      : choices_mix(choose(&choices, SIZE_MAX)),
			      near_tie(&choices, 49));
	unpack_and_compare(&r, wire, 16);
	free(wire);
}
END_TEST

START_TEST(long_double_is_rounded_to_double)
{
	struct dtconv_representation r = { .struct_size = sizeof(r),
					   .long_double = DTCONV_LONG_DOUBLE_BINARY64 };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &r };
	struct choices choices = fixture_choices(8);
	struct dtconv_type *type = fixture_type("contiguous(6000, long_double)");
	long double *numbers = calloc(NUMBERS, sizeof(*numbers));
	double *packed = calloc(NUMBERS, sizeof(*packed));

	/* Down to where double is subnormal and keeps fewer bits, and below. */
	for (size_t i = 0; i < NUMBERS; i++)
		numbers[i] = ldexpl((long double)near_tie(&choices, 11),
				    (int)choose_between(&choices, -1150, 965)) *
			     (chance(&choices, 2) ? -1 : 1);
	fixture_ok(
		dtconv_pack_with(type, 1, numbers, packed, NUMBERS * 8, &params, NULL));
	for (size_t i = 0; i < NUMBERS; i++) {
		double right = (double)numbers[i];

		/* Also the sign of a zero. */
		ck_assert_msg(packed[i] == right &&
				      !signbit(packed[i]) == !signbit(right),
			      "%La is %a, not %a", numbers[i], packed[i], right);
	}
	free(numbers);
	free(packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- integers that do not fit -------------------------------------------------------- */

START_TEST(an_integer_that_does_not_fit_ends_the_pack)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_type *type = fixture_type("contiguous(4, long)");
	long numbers[4] = { 1, 2, (long)1 << 31, 4 };
	unsigned char packed[16];
	size_t moved = 99;

	if (sizeof(long) == 4) {
		dtconv_type_unref(type);
		return;
	}
	memset(packed, 0xee, sizeof(packed));
	fixture_status(dtconv_pack_with(type, 1, numbers, packed, 16, &params, &moved),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_pack_with: the long at byte 8 of the packed stream does not fit "
		"into the narrower type of the representation");
	ck_assert_uint_eq(moved, 8);
	ck_assert_mem_eq(packed, "\0\0\0\1\0\0\0\2\xee\xee\xee\xee", 12);
	numbers[2] = (long)INT32_MIN;
	fixture_ok(dtconv_pack_with(type, 1, numbers, packed, 16, &params, &moved));
	numbers[2]--;
	fixture_status(dtconv_pack_with(type, 1, numbers, packed, 16, &params, &moved),
		       DTCONV_ERR_OVERFLOW);
	dtconv_type_unref(type);
}
END_TEST

/*
 * Only a machine whose long has 4 bytes can be sent one that does not fit (the i386 tree); the
 * others see that narrow ones keep their sign.
 */
START_TEST(an_integer_that_does_not_fit_ends_the_unpack)
{
	struct dtconv_representation wide = { .struct_size = sizeof(wide),
					      .long_size = 8 };
	struct dtconv_representation narrow = { .struct_size = sizeof(narrow),
						.long_size = 4 };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = sizeof(long) == 4
									    ? &wide
									    : &narrow };
	struct dtconv_type *type = fixture_type("contiguous(3, long)");
	const int64_t given[3] = { 5, INT64_C(1) << 40, 7 };
	const int32_t given_narrow[3] = { 5, -6, 7 };
	long numbers[3] = { 1, 1, 1 };
	size_t moved = 99;

	if (sizeof(long) == 4) {
		fixture_status(dtconv_unpack_with(type, 1, numbers, given, sizeof(given),
						  &params, &moved),
			       DTCONV_ERR_OVERFLOW);
		ck_assert_uint_eq(moved, 8);
		ck_assert(numbers[0] == 5 && numbers[1] == 1 && numbers[2] == 1);
	} else {
		fixture_ok(dtconv_unpack_with(type, 1, numbers, given_narrow,
					      sizeof(given_narrow), &params, &moved));
		ck_assert(numbers[0] == 5 && numbers[1] == -6 && numbers[2] == 7);
	}
	dtconv_type_unref(type);
}
END_TEST

/* ---- state --------------------------------------------------------------------------- */

/* Cut inside an element, both halves of the stream go their own ways. */
START_TEST(a_clone_takes_along_what_is_held)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct choices choices = fixture_choices(6);
	struct dtconv_type *type = fixture_type(mixed[0]);
	struct dtconv_convertor *convertor, *clone;
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	struct typed_case tc;
	size_t moved;

	ck_assert(
		typed_case_open(&tc, type, 2, &external32, DTCONV_OP_REPLACE, &choices));
	for (size_t cut = 0; cut <= tc.bytes; cut++) {
		typed_case_restart(&tc, &choices);
		convertor = fixture_typed(&tc, false);
		dtconv_convertor_unpack(convertor, tc.wire, cut, &moved);
		fixture_ok(dtconv_convertor_clone(convertor, &clone));
		dtconv_convertor_destroy(convertor);
		dtconv_convertor_query(clone, &attr);
		ck_assert_uint_eq(attr.position, cut);
		ck_assert_uint_eq(attr.size, tc.bytes);
		fixture_ok(dtconv_convertor_unpack(clone, tc.wire + cut, tc.bytes - cut,
						   &moved));
		dtconv_convertor_destroy(clone);
		typed_case_arrived(&tc, 0, tc.bytes);
		ptrdiff_t wrong;
		ck_assert_msg(typed_case_is_right(&tc, &wrong), "cut at %zu", cut);
	}
	typed_case_close(&tc);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(a_representation_stays_when_the_convertor_is_bound_anew)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_type *longs = fixture_type("contiguous(2, long)");
	struct dtconv_type *shorts = fixture_type("contiguous(2, short)");
	struct dtconv_convertor *convertor;
	long a[2] = { 1, 2 };
	short b[2] = { 3, 4 };
	unsigned char packed[16];
	size_t moved;

	dtconv_convertor_create_pack(longs, 1, a, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	dtconv_convertor_pack(convertor, packed, 16, &moved);
	ck_assert_mem_eq(packed, "\0\0\0\1\0\0\0\2", 8);
	fixture_ok(dtconv_convertor_rebind_pack(convertor, shorts, 1, b));
	dtconv_convertor_pack(convertor, packed, 16, &moved);
	ck_assert_uint_eq(moved, 4);
	ck_assert_mem_eq(packed, "\0\3\0\4", 4);
	fixture_ok(dtconv_convertor_configure(convertor, NULL));
	dtconv_convertor_pack(convertor, packed, 16, &moved);
	ck_assert_mem_eq(packed, b, 4);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(longs);
	dtconv_type_unref(shorts);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------ */

static void refused(const struct dtconv_representation *r, const char *sentence)
{
	struct dtconv_type *type = fixture_type("int");
	size_t bytes = 77;

	fixture_status(dtconv_packed_size(type, 1, r, &bytes), DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(), sentence);
	ck_assert_uint_eq(bytes, 77);
	dtconv_type_unref(type);
}

START_TEST(representations_that_are_none)
{
	struct dtconv_representation r = { .struct_size = 0 };

	refused(&r,
		"dtconv_packed_size: representation.struct_size is 0, not sizeof(struct "
		"dtconv_representation)");
	r.struct_size = sizeof(r);
	r.byte_order = (enum dtconv_byte_order)3;
	refused(&r, "dtconv_packed_size: representation.byte_order is 3, not an enum "
		    "dtconv_byte_order");
	r.byte_order = DTCONV_ORDER_BIG;
	r.long_double = (enum dtconv_long_double)9;
	refused(&r, "dtconv_packed_size: representation.long_double is 9, not an enum "
		    "dtconv_long_double");
	r.long_double = DTCONV_LONG_DOUBLE_NATIVE;
	r.long_size = 5;
	refused(&r, "dtconv_packed_size: representation.long_size is 5, not 0, 4 or 8");
	r.long_size = 8;
	r.address_size = 16;
	refused(&r,
		"dtconv_packed_size: representation.address_size is 16, not 0, 4 or 8");
	r.address_size = 0;
	r.wchar_size = 1;
	refused(&r, "dtconv_packed_size: representation.wchar_size is 1, not 0, 2 or 4");
}
END_TEST

START_TEST(names_that_are_none)
{
	struct dtconv_representation r;

	fixture_status(dtconv_representation_find("vax", &r), DTCONV_ERR_INVAL);
	fixture_status(dtconv_representation_find(NULL, &r), DTCONV_ERR_INVAL);
	fixture_status(dtconv_representation_find("native", NULL), DTCONV_ERR_INVAL);
	ck_assert_ptr_null(dtconv_representation_name(1000));
}
END_TEST

START_TEST(sizes_that_overflow)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct dtconv_type *type = NULL, *inner = fixture_type("long_double");
	size_t bytes = 77;

	dtconv_type_create_contiguous(SIZE_MAX / 64, inner, &type);
	fixture_status(dtconv_packed_size(type, 100, &external32, &bytes),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_packed_size: count x size in the stream's "
			 "representation overflows");
	fixture_ok(dtconv_packed_size(type, 2, &external32, &bytes));
	dtconv_type_unref(type);
	dtconv_type_unref(inner);
}
END_TEST

START_TEST(blocks_are_not_exported_in_another_representation)
{
	struct dtconv_representation external32 = representation_named("external32");
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_type *type = fixture_type("int");
	struct dtconv_convertor *convertor;
	struct iovec iov[2];
	size_t count = 77, moved = 77;
	int data = 1;

	dtconv_convertor_create_pack(type, 1, &data, &convertor);
	dtconv_convertor_configure(convertor, &params);
	fixture_status(dtconv_convertor_iov(convertor, iov, 2, 100, &count, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_iov: this convertor has a representation, an operation "
		"or a checksum, which an iov (plain addresses and lengths) cannot express");
	ck_assert(count == 77 && moved == 77);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(params_that_are_none)
{
	struct dtconv_convertor_params params = { .struct_size = 0 };
	struct dtconv_type *type = fixture_type("int");
	struct dtconv_convertor *convertor;
	int data = 1;

	dtconv_convertor_create_pack(type, 1, &data, &convertor);
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_convertor_configure: params.struct_size is 0, not "
			 "sizeof(struct dtconv_convertor_params)");
	params.struct_size = sizeof(params);
	params.flags = 0x12;
	fixture_status(dtconv_convertor_configure(convertor, &params), DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_configure: params.flags has unknown bits: 0x12");
	fixture_status(dtconv_convertor_configure(NULL, &params), DTCONV_ERR_INVAL);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("representation");
	TCase *oracle = fixture_case(suite, "oracle", 120);
	TCase *external = fixture_case(suite, "external32", 20);
	TCase *state = fixture_case(suite, "state", 20);
	TCase *refusals = fixture_case(suite, "refusals", 20);

	tcase_add_loop_test(oracle, every_predefined_type, 0, representations());
	tcase_add_loop_test(oracle, every_layout, 0, representations());
	tcase_add_loop_test(oracle, members_of_unlike_sizes, 0, representations());
	tcase_add_loop_test(oracle, random_types, 0, representations());
	tcase_add_test(oracle, every_combination_of_fields);
	tcase_add_test(external, external32_is_what_the_standard_says);
	tcase_add_test(external, external32_known_bytes);
	tcase_add_test(external, binary128_is_rounded_to_nearest_even);
	tcase_add_test(external, long_double_is_rounded_to_double);
	tcase_add_test(external, an_integer_that_does_not_fit_ends_the_pack);
	tcase_add_test(external, an_integer_that_does_not_fit_ends_the_unpack);
	tcase_add_test(state, a_clone_takes_along_what_is_held);
	tcase_add_test(state, a_representation_stays_when_the_convertor_is_bound_anew);
	tcase_add_test(refusals, representations_that_are_none);
	tcase_add_test(refusals, names_that_are_none);
	tcase_add_test(refusals, sizes_that_overflow);
	tcase_add_test(refusals, blocks_are_not_exported_in_another_representation);
	tcase_add_test(refusals, params_that_are_none);
	return fixture_run(suite);
}
