/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: the sequence of basic types, its comparison, its hash and its text. What is
 * compared is the sequence alone, never how the loops that make it are spelled.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/random_type.h"
#include "support/ref_predefined.h"
#include "support/t.h"

static enum dtconv_signature_relation relation(const struct dtconv_type *a,
					       size_t count_a,
					       const struct dtconv_type *b,
					       size_t count_b)
{
	enum dtconv_signature_relation result = DTCONV_SIGNATURE_DIFFERENT;

	t_ok(dtconv_type_compare_signature(a, count_a, b, count_b, &result));
	return result;
}

static void expect(const char *text_a, size_t count_a, const char *text_b, size_t count_b,
		   enum dtconv_signature_relation want)
{
	static const enum dtconv_signature_relation mirrored[] = {
		[DTCONV_SIGNATURE_EQUAL] = DTCONV_SIGNATURE_EQUAL,
		[DTCONV_SIGNATURE_PREFIX] = DTCONV_SIGNATURE_EXTENDS,
		[DTCONV_SIGNATURE_EXTENDS] = DTCONV_SIGNATURE_PREFIX,
		[DTCONV_SIGNATURE_DIFFERENT] = DTCONV_SIGNATURE_DIFFERENT
	};
	struct dtconv_type *a = t_parse(text_a), *b = t_parse(text_b);
	enum dtconv_signature_relation got = relation(a, count_a, b, count_b);

	ck_assert_msg(got == want, "%zu x %s to %zu x %s: %d, not %d", count_a, text_a,
		      count_b, text_b, (int)got, (int)want);
	got = relation(b, count_b, a, count_a);
	ck_assert_msg(got == mirrored[want], "%zu x %s to %zu x %s: %d, not %d", count_b,
		      text_b, count_a, text_a, (int)got, (int)mirrored[want]);
	if (want == DTCONV_SIGNATURE_EQUAL && count_a == count_b && count_a > 0)
		ck_assert_uint_eq(t_attr(a).signature_hash, t_attr(b).signature_hash);
	dtconv_type_unref(a);
	dtconv_type_unref(b);
}

#define EQUAL     DTCONV_SIGNATURE_EQUAL
#define PREFIX    DTCONV_SIGNATURE_PREFIX
#define EXTENDS   DTCONV_SIGNATURE_EXTENDS
#define DIFFERENT DTCONV_SIGNATURE_DIFFERENT

START_TEST(layout_does_not_matter)
{
	expect("contiguous(6,int)", 1, "vector(3,2,-7,int)", 1, EQUAL);
	expect("contiguous(6,int)", 1, "hindexed([1,5],[100,-30],int)", 1, EQUAL);
	expect("struct([2,1],[0,64],[int,double])", 1,
	       "struct([1,1,1],[9,3,-8],[int,int,double])", 1, EQUAL);
	expect("resized(int,-4,99)", 3, "int", 3, EQUAL);
	expect("dup(double)", 2, "contiguous(2,double)", 1, EQUAL);
	expect("subarray([4,4],[2,2],[1,1],c,float)", 1, "float", 4, EQUAL);
}
END_TEST

START_TEST(order_matters)
{
	expect("struct([1,1],[0,8],[int,double])", 1, "struct([1,1],[8,0],[double,int])",
	       1, DIFFERENT);
	expect("struct([1,1],[8,0],[int,double])", 1, "struct([1,1],[0,8],[int,double])",
	       1, EQUAL);
}
END_TEST

START_TEST(different_types_of_one_size_differ)
{
	expect("int", 1, "float", 1, DIFFERENT);
	expect("long", 1, "int64", 1, DIFFERENT);
	expect("byte", 8, "double", 1, DIFFERENT);
	expect("c_float_complex", 1, "float", 2, DIFFERENT);
}
END_TEST

START_TEST(prefixes)
{
	expect("int", 2, "int", 5, PREFIX);
	expect("contiguous(4,int)", 2, "int", 7, EXTENDS);
	expect("struct([1,1],[0,8],[int,double])", 1, "struct([1,1],[0,8],[int,double])",
	       3, PREFIX);
	expect("int", 1, "struct([1,1],[0,8],[int,double])", 1, PREFIX);
	expect("int", 2, "struct([1,1],[0,8],[int,double])", 1, DIFFERENT);
	expect("struct([2,3],[0,8],[int,double])", 1, "struct([2,4],[0,8],[int,double])",
	       1, PREFIX);
}
END_TEST

START_TEST(nothing_is_the_beginning_of_everything)
{
	expect("contiguous(0,int)", 1, "double", 1, PREFIX);
	expect("contiguous(0,int)", 9, "struct([],[],[])", 3, EQUAL);
	expect("int", 0, "double", 0, EQUAL);
	expect("int", 0, "double", 2, PREFIX);
	expect("struct([1,0],[0,8],[int,double])", 2, "int", 2, EQUAL);
}
END_TEST

START_TEST(loops_spelled_differently)
{
	expect("contiguous(6,struct([1,1],[0,8],[int,double]))", 1,
	       "contiguous(2,contiguous(3,struct([1,1],[0,8],[int,double])))", 1, EQUAL);
	expect("contiguous(3,struct([1,1,1,1],[0,8,16,24],[int,double,int,double]))", 1,
	       "contiguous(6,struct([1,1],[0,8],[int,double]))", 1, EQUAL);
	expect("struct([1,1],[0,8],[int,contiguous(2,struct([1,1],[0,8],[double,int]))])",
	       1, "struct([2,1],[0,64],[struct([1,1],[0,8],[int,double]),int])", 1,
	       EQUAL);
	expect("contiguous(2,struct([2,1],[0,8],[int,double]))", 3,
	       "contiguous(3,struct([2,1],[0,8],[int,double]))", 2, EQUAL);
	expect("contiguous(2,struct([2,1],[0,8],[int,double]))", 3,
	       "contiguous(3,struct([2,1],[0,8],[int,double]))", 3, PREFIX);
}
END_TEST

START_TEST(loops_that_come_apart_late)
{
	expect("struct([5,1],[0,100],[struct([1,1],[0,8],[int,double]),int])", 1,
	       "struct([5,1],[0,100],[struct([1,1],[0,8],[int,double]),float])", 1,
	       DIFFERENT);
	expect("struct([5,1],[0,100],[struct([1,1],[0,8],[int,double]),int])", 1,
	       "struct([1,1],[0,8],[int,double])", 6, PREFIX);
}
END_TEST

/* Alike but for the last run of their bodies: loops that must neither match nor join. */
START_TEST(loops_that_differ_at_their_ends)
{
	const char *ints = "struct([1,1,1], [0,8,16], [int,double,int])";
	const char *floats = "struct([1,1,1], [0,8,16], [int,double,float])";
	char a[100], b[100], both[300];

	snprintf(a, sizeof(a), "contiguous(9, %s)", ints);
	snprintf(b, sizeof(b), "contiguous(9, %s)", floats);
	expect(a, 1, b, 1, DIFFERENT);
	expect(a, 5, b, 7, DIFFERENT);
	expect(a, 3, a, 4, PREFIX);
	snprintf(both, sizeof(both), "struct([1,1], [0,400], [%s,%s])", a, b);
	expect(both, 1, a, 2, DIFFERENT);
	expect(both, 1, a, 1, EXTENDS);
}
END_TEST

START_TEST(pairs_are_their_members)
{
	expect("double_int", 1, "struct([1,1],[0,8],[double,int])", 1, EQUAL);
	expect("2int", 3, "int", 6, EQUAL);
	expect("2real", 1, "real", 2, EQUAL);
	expect("double_int", 2, "double", 1, EXTENDS);
	expect("value_index(int64,int16)", 1, "struct([1,1],[0,8],[int64,int16])", 1,
	       EQUAL);
}
END_TEST

START_TEST(fortran_kinds_match_the_type_of_their_size)
{
	static const struct {
		const char *text;
		enum dtconv_typeclass typeclass;
		size_t bytes;
	} kinds[] = { { "f90_real(6,37)", DTCONV_TYPECLASS_REAL, 4 },
		      { "f90_real(15,undefined)", DTCONV_TYPECLASS_REAL, 8 },
		      { "f90_complex(15,307)", DTCONV_TYPECLASS_COMPLEX, 16 },
		      { "f90_integer(2)", DTCONV_TYPECLASS_INTEGER, 1 },
		      { "f90_integer(9)", DTCONV_TYPECLASS_INTEGER, 4 },
		      { "f90_integer(18)", DTCONV_TYPECLASS_INTEGER, 8 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct dtconv_type *kind = t_parse(kinds[i].text), *match = NULL;

		t_ok(dtconv_type_match_size(t_context, kinds[i].typeclass, kinds[i].bytes,
					    &match));
		ck_assert_int_eq(relation(kind, 4, match, 4), EQUAL);
		ck_assert_uint_eq(t_attr(kind).signature_hash,
				  t_attr(match).signature_hash);
		dtconv_type_unref(kind);
	}
}
END_TEST

START_TEST(predefined_types_match_themselves_alone)
{
	for (int i = 0; i < DTCONV_PREDEFINED_COUNT; i++)
		for (int j = 0; j < DTCONV_PREDEFINED_COUNT; j++) {
			const struct ref_predefined *a = &ref_predefined[i];
			const struct ref_predefined *b = &ref_predefined[j];
			bool same = a->first == b->first && a->second == b->second;
			enum dtconv_signature_relation got =
				relation(t_predefined((enum dtconv_predefined)i), 1,
					 t_predefined((enum dtconv_predefined)j), 1);

			ck_assert_msg((got == EQUAL) == same, "%s and %s: %d", a->name,
				      b->name, (int)got);
		}
}
END_TEST

/* ---- in bounded time: the cases below have a timeout of seconds ---------------------- */

START_TEST(counts_of_a_billion)
{
	expect("contiguous(1000000000,int)", 1, "int", 1000000000, EQUAL);
	expect("contiguous(1000000000,int)", 1000000000, "contiguous(500000000,int)",
	       2000000000, EQUAL);
	expect("vector(1000000000,3,7,int)", 1, "int", 3000000001, PREFIX);
	expect("struct([1,1],[0,8],[int,double])", 1000000000,
	       "struct([1,1,1,1],[0,8,16,24],[int,double,int,double])", 500000000, EQUAL);
	expect("struct([1,1],[0,8],[int,double])", 1000000000,
	       "struct([1,1,1],[0,8,16],[int,double,int])", 1000000000, DIFFERENT);
}
END_TEST

START_TEST(loops_of_a_billion_inside)
{
	expect("contiguous(1000000000,struct([1,1],[0,8],[int,double]))", 1,
	       "contiguous(500000000,contiguous(2,struct([1,1],[0,8],[int,double])))", 1,
	       EQUAL);
	expect("contiguous(1000000000,struct([1,1],[0,8],[int,double]))", 1,
	       "contiguous(500000001,contiguous(2,struct([1,1],[0,8],[int,double])))", 1,
	       PREFIX);
	expect("struct([1000000000,1],[0,8],[int,double])", 7,
	       "struct([999999999,1,1],[0,8,16],[int,int,double])", 7, EQUAL);
	expect("struct([1000000000,1],[0,8],[int,double])", 7,
	       "struct([999999999,1],[0,8],[int,double])", 7, DIFFERENT);
}
END_TEST

START_TEST(sizes_that_share_no_factor)
{
	expect("contiguous(999999937,struct([1,1],[0,8],[int,double]))", 1000000007,
	       "contiguous(1000000007,struct([1,1],[0,8],[int,double]))", 999999937,
	       EQUAL);
	expect("struct([3,2],[0,16],[int,double])", 1000000007,
	       "struct([1,1,1,2],[0,4,8,16],[int,int,int,double])", 1000000007, EQUAL);
}
END_TEST

START_TEST(products_that_overflow_are_refused)
{
	struct dtconv_type *type = NULL;
	enum dtconv_signature_relation result = DTCONV_SIGNATURE_DIFFERENT;

	t_ok(dtconv_type_create_contiguous(PTRDIFF_MAX / 2 + 1, t_predefined(DTCONV_CHAR),
					   &type));
	t_status(dtconv_type_compare_signature(type, 4, type, 1, &result),
		 DTCONV_ERR_OVERFLOW);
	t_status(dtconv_type_compare_signature(type, 1, type, SIZE_MAX, &result),
		 DTCONV_ERR_OVERFLOW);
	ck_assert_int_eq(result, DTCONV_SIGNATURE_DIFFERENT);
	dtconv_type_unref(type);
}
END_TEST

/* ---- against the oracle -------------------------------------------------------------- */

static void compare_random(uint64_t seed_a, uint64_t seed_b)
{
	static const struct random_limits limits = { .max_entries = 60, .max_blocks = 3 };
	struct random_stream counts = { seed_a ^ (seed_b << 20) };
	struct dtconv_type *a = NULL, *b = NULL;
	struct ref_typemap map_a, map_b;

	t_ok(random_type(t_context, seed_a, &limits, &a));
	t_ok(random_type(t_context, seed_b, &limits, &b));
	ck_assert_int_eq(ref_typemap_build(a, DTCONV_PADDING_STRUCT, 0, &map_a), 0);
	ck_assert_int_eq(ref_typemap_build(b, DTCONV_PADDING_STRUCT, 0, &map_b), 0);
	for (size_t i = 0; i < 4; i++) {
		size_t count_a = random_below(&counts, 5),
		       count_b = random_below(&counts, 5);
		ck_assert_msg(relation(a, count_a, b, count_b) ==
				      ref_typemap_compare_signature(&map_a, count_a,
								    &map_b, count_b),
			      "seeds %ju and %ju, counts %zu and %zu", (uintmax_t)seed_a,
			      (uintmax_t)seed_b, count_a, count_b);
	}
	ref_typemap_free(&map_a);
	ref_typemap_free(&map_b);
	dtconv_type_unref(a);
	dtconv_type_unref(b);
}

START_TEST(random_types_against_the_oracle)
{
	uint64_t seed = random_seed(91000);

	for (uint64_t i = 0; i < 1500; i++) {
		compare_random(seed + i, seed + i + 1);
		compare_random(seed + i, seed + i);
	}
}
END_TEST

/* A type against the flat list of its own elements: the same signature, the same hash. */
static void compare_flat(uint64_t seed)
{
	static const struct random_limits limits = { .max_entries = 200 };
	struct dtconv_type *type = NULL, *flat = NULL;
	struct ref_typemap map;

	t_ok(random_type(t_context, seed, &limits, &type));
	ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map), 0);
	size_t *lengths = calloc(map.count + 1, sizeof(*lengths));
	ptrdiff_t *disps = calloc(map.count + 1, sizeof(*disps));
	struct dtconv_type **types = calloc(map.count + 1, sizeof(type));
	for (size_t i = 0; i < map.count; i++) {
		lengths[i] = 1;
		types[i] = t_predefined((enum dtconv_predefined)map.entries[i].basic);
	}
	t_ok(dtconv_type_create_struct(t_context, map.count, lengths, disps, types,
				       &flat));
	ck_assert_msg(relation(type, 3, flat, 3) == EQUAL, "seed %ju", (uintmax_t)seed);
	ck_assert_msg(t_attr(type).signature_hash == t_attr(flat).signature_hash,
		      "seed %ju: hashes differ", (uintmax_t)seed);
	free(lengths);
	free(disps);
	free(types);
	ref_typemap_free(&map);
	dtconv_type_unref(flat);
	dtconv_type_unref(type);
}

START_TEST(random_types_against_their_flat_list)
{
	uint64_t seed = random_seed(95000);

	for (uint64_t i = 0; i < 2000; i++)
		compare_flat(seed + i);
}
END_TEST

START_TEST(hashes_tell_signatures_apart)
{
	static const char *const texts[] = {
		"int",
		"contiguous(2,int)",
		"contiguous(3,int)",
		"float",
		"double",
		"struct([1,1],[0,8],[int,double])",
		"struct([1,1],[0,8],[double,int])",
		"struct([2,1],[0,8],[int,double])",
		"contiguous(0,int)",
		"contiguous(2,struct([1,1],[0,8],[int,double]))"
	};
	enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
	uint64_t hashes[TEXTS];

	for (size_t i = 0; i < TEXTS; i++) {
		struct dtconv_type *type = t_parse(texts[i]);

		hashes[i] = t_attr(type).signature_hash;
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(hashes[i] != hashes[j], "%s and %s", texts[i],
				      texts[j]);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(text_of_a_signature)
{
	static const struct {
		const char *type, *text;
	} rows[] = { { "int", "int" },
		     { "contiguous(3,int)", "3 x int" },
		     { "contiguous(3,struct([1,2],[0,8],[int,double]))",
		       "3 x (int, 2 x double)" },
		     { "double_int", "double, int" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dtconv_type *type = t_parse(rows[i].type);
		char *text = t_signature(type);

		ck_assert_str_eq(text, rows[i].text);
		free(text);
		dtconv_type_unref(type);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("signature");
	TCase *compare = t_case(suite, "compare");
	TCase *bounded = t_case(suite, "bounded_time");
	TCase *oracle = t_case(suite, "oracle");
	TCase *text = t_case(suite, "text");

	tcase_add_test(compare, layout_does_not_matter);
	tcase_add_test(compare, order_matters);
	tcase_add_test(compare, different_types_of_one_size_differ);
	tcase_add_test(compare, prefixes);
	tcase_add_test(compare, nothing_is_the_beginning_of_everything);
	tcase_add_test(compare, loops_spelled_differently);
	tcase_add_test(compare, loops_that_come_apart_late);
	tcase_add_test(compare, loops_that_differ_at_their_ends);
	tcase_add_test(compare, pairs_are_their_members);
	tcase_add_test(compare, fortran_kinds_match_the_type_of_their_size);
	tcase_add_test(compare, predefined_types_match_themselves_alone);
	tcase_set_timeout(bounded, 4);
	machine_add_wide(bounded, counts_of_a_billion);
	machine_add_wide(bounded, loops_of_a_billion_inside);
	machine_add_wide(bounded, sizes_that_share_no_factor);
	tcase_add_test(bounded, products_that_overflow_are_refused);
	tcase_add_test(oracle, random_types_against_the_oracle);
	tcase_add_test(oracle, random_types_against_their_flat_list);
	tcase_add_test(oracle, hashes_tell_signatures_apart);
	tcase_add_test(text, text_of_a_signature);
	return t_run(suite);
}
