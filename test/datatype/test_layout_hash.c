/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts are compared and hashed by the bytes they take, in order, however they are spelled. The
 * oracle lists the displacements of all bytes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/random_type.h"
#include "support/t.h"

#define RANDOM_TYPES 600

/* ---- the oracle ---------------------------------------------------------------------- */

struct places {
	ptrdiff_t *disps;
	size_t bytes;
};

static struct places places_of(const struct dtconv_type *type, size_t count)
{
	struct ref_typemap map = { 0 };
	struct places places;

	ck_assert(!ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map));
	places.bytes = count * map.size;
	places.disps = malloc((places.bytes + 1) * sizeof(ptrdiff_t));
	ck_assert_ptr_nonnull(places.disps);
	ref_typemap_displacements(&map, count, places.disps);
	ref_typemap_free(&map);
	return places;
}

static uint64_t hash_of(const struct dtconv_type *type, size_t count)
{
	uint64_t hash = UINT64_MAX;

	t_ok(dtconv_type_hash_layout(type, count, &hash));
	ck_assert_uint_lt(hash, UINT64_C(1) << 61);
	return hash;
}

static bool compare(const struct dtconv_type *a, size_t count_a,
		    const struct dtconv_type *b, size_t count_b)
{
	int one = -1, other = -1;

	t_ok(dtconv_type_compare_layout(a, count_a, b, count_b, &one));
	t_ok(dtconv_type_compare_layout(b, count_b, a, count_a, &other));
	ck_assert_int_eq(one, other);
	ck_assert(one == 0 || one == 1);
	return one;
}

/* Comparison and hashes agree with the displacements. */
static void expect(const struct dtconv_type *a, size_t count_a,
		   const struct dtconv_type *b, size_t count_b)
{
	struct places p = places_of(a, count_a), q = places_of(b, count_b);
	bool equal = p.bytes == q.bytes &&
		     !memcmp(p.disps, q.disps, p.bytes * sizeof(p.disps[0]));

	ck_assert_int_eq(compare(a, count_a, b, count_b), equal);
	ck_assert_int_eq(hash_of(a, count_a) == hash_of(b, count_b), equal);
	free(p.disps);
	free(q.disps);
}

/* ---- spellings ----------------------------------------------------------------------- */

/* A list of the bytes, in pieces of at most so many that are neighbours. */
static struct dtconv_type *list_of(const struct places *places, size_t longest)
{
	size_t *lengths = calloc(places->bytes + 1, sizeof(*lengths)), n = 0;
	ptrdiff_t *disps = calloc(places->bytes + 1, sizeof(*disps));
	struct dtconv_type *type;

	ck_assert(lengths && disps);
	for (size_t i = 0; i < places->bytes; i++) {
		bool joins = n && lengths[n - 1] < longest &&
			     places->disps[i] == places->disps[i - 1] + 1;

		if (!joins)
			disps[n++] = places->disps[i];
		lengths[n - 1]++;
	}
	t_ok(dtconv_type_create_hindexed(n, lengths, disps, t_predefined(DTCONV_BYTE),
					 &type));
	t_ok(dtconv_type_commit(type));
	free(lengths);
	free(disps);
	return type;
}

static void expect_spellings(struct dtconv_type *type, size_t count)
{
	struct places places = places_of(type, count);
	struct dtconv_type *whole;

	for (size_t longest = 1; longest <= 64; longest *= 4) {
		struct dtconv_type *list = list_of(&places, longest);

		ck_assert(compare(type, count, list, 1));
		ck_assert_uint_eq(hash_of(type, count), hash_of(list, 1));
		dtconv_type_unref(list);
	}
	t_ok(dtconv_type_create_contiguous(count, type, &whole));
	t_ok(dtconv_type_commit(whole));
	ck_assert(compare(type, count, whole, 1));
	expect(type, 2 * count, whole, 2);
	dtconv_type_unref(whole);
	free(places.disps);
}

/* One byte elsewhere, or two that change places, make another layout. */
static void expect_changes(struct dtconv_type *type, size_t count,
			   struct random_stream *stream)
{
	struct places places = places_of(type, count);
	struct dtconv_type *list;

	if (places.bytes > 1) {
		size_t a = random_below(stream, places.bytes);
		size_t b = random_below(stream, places.bytes);
		ptrdiff_t kept = places.disps[a];

		places.disps[a] = places.disps[b];
		places.disps[b] = kept;
		list = list_of(&places, 9);
		expect(type, count, list, 1);
		dtconv_type_unref(list);
		places.disps[a] += 1 + (ptrdiff_t)random_below(stream, 3);
		list = list_of(&places, 9);
		expect(type, count, list, 1);
		dtconv_type_unref(list);
		places.bytes--;
		list = list_of(&places, 9);
		expect(type, count, list, 1);
		dtconv_type_unref(list);
	}
	free(places.disps);
}

START_TEST(random_types_equal_their_spellings_only)
{
	const struct random_limits limits = { .max_entries = 150 };
	uint64_t seed = random_seed(31000);
	struct random_stream stream = { seed };

	for (uint64_t i = 0; i < RANDOM_TYPES; i++) {
		struct dtconv_type *type = NULL;

		t_ok(random_type(t_context, seed + i, &limits, &type));
		for (size_t count = 1; count <= 3; count++) {
			expect_spellings(type, count);
			expect_changes(type, count, &stream);
		}
		dtconv_type_unref(type);
	}
}
END_TEST

/* ---- pairs --------------------------------------------------------------------------- */

struct pair {
	const char *a;
	size_t count_a;
	const char *b;
	size_t count_b;
};

static const struct pair pairs[] = {
	{ "int", 6, "contiguous(8, contiguous(3, byte))", 1 },
	{ "int", 0, "resized(contiguous(0, double), 3, 9)", 5 },
	{ "int", 0, "int", 3 },
	{ "double", 1, "double_int", 1 },
	{ "hvector(4, 1, 8, int)", 1, "resized(int, 0, 8)", 4 },
	{ "hvector(4, 1, 8, int)", 2, "resized(int, 0, 8)", 8 },
	{ "hvector(4, 1, -8, int)", 1, "resized(int, 0, -8)", 4 },
	{ "hvector(4, 1, 8, int)", 1, "hindexed([4, 12, 1, 15], [0, 8, 24, 25], byte)",
	  1 },
	{ "hindexed([2, 3], [5, 0], byte)", 1, "hindexed([3, 2], [0, 5], byte)", 1 },
	{ "resized(int, 0, 8)", 1, "resized(int, 0, 16)", 1 },
	{ "resized(int, 0, 8)", 2, "resized(int, 0, 16)", 2 },
	{ "hindexed([1], [-3], int)", 1, "hindexed([4], [-3], byte)", 1 },
	{ "hindexed([1], [-3], int)", 1, "hindexed([4], [3], byte)", 1 },
	{ "hindexed([1, 1], [0, 0], int)", 1, "hindexed([4, 4], [0, 0], byte)", 1 },
	{ "hindexed([4, 4], [0, 4], byte)", 3, "double", 3 },
	/* Six bytes of each, then eight: they part where the longer period ends. */
	{ "hindexed([2, 2, 2], [0, 4, 8], byte)", 1, "resized(contiguous(2, byte), 0, 4)",
	  3 },
	{ "resized(hindexed([2, 2, 2], [0, 4, 8], byte), 0, 12)", 4,
	  "resized(hindexed([2, 2, 2, 2], [0, 4, 8, 12], byte), 0, 16)", 3 },
	{ "resized(hindexed([2, 2, 2], [0, 4, 8], byte), 0, 13)", 4,
	  "resized(hindexed([2, 2, 2, 2], [0, 4, 8, 13], byte), 0, 17)", 3 },
};

START_TEST(pairs_relate_as_their_bytes_do)
{
	struct dtconv_type *a = t_parse(pairs[_i].a), *b = t_parse(pairs[_i].b);

	expect(a, pairs[_i].count_a, b, pairs[_i].count_b);
	dtconv_type_unref(a);
	dtconv_type_unref(b);
}
END_TEST

/* Nobody looks at 10^9 blocks. */
START_TEST(counts_cost_nothing)
{
	struct dtconv_type *rows = t_parse("hvector(500000000, 1, 3, short)");
	struct dtconv_type *row = t_parse("resized(short, 0, 3)");
	struct dtconv_type *three =
		t_parse("resized(hindexed([2, 2, 2], [0, 3, 6], byte), 0, 9)");
	struct dtconv_type *other =
		t_parse("resized(hindexed([2, 2, 2], [0, 3, 5], byte), 0, 9)");

	ck_assert(compare(rows, 1, row, 500000000));
	ck_assert_uint_eq(hash_of(rows, 1), hash_of(row, 500000000));
	ck_assert(compare(row, 300000000, three, 100000000));
	ck_assert_uint_eq(hash_of(row, 300000000), hash_of(three, 100000000));
	ck_assert(!compare(row, 300000000, other, 100000000));
	ck_assert(!compare(row, 300000000, three, 99999999));
	dtconv_type_unref(rows);
	dtconv_type_unref(row);
	dtconv_type_unref(three);
	dtconv_type_unref(other);
}
END_TEST

/* The hash is part of the interface: processes of other machines and versions compare it. */
START_TEST(hashes_are_the_same_everywhere)
{
	struct dtconv_type *type =
		t_parse("hvector(3, 2, -20, hindexed([5, 4], [0, 9], byte))");

	ck_assert_uint_eq(hash_of(type, 2), UINT64_C(0x55d004864800869));
	ck_assert_uint_eq(hash_of(t_predefined(DTCONV_BYTE), 1),
			  UINT64_C(0x13c6ef372fe94f82));
	ck_assert_uint_eq(hash_of(type, 0), 0);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(layouts_need_committed_types)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT), *made;
	uint64_t hash = 7;
	int equal = 7;

	t_ok(dtconv_type_create_contiguous(2, type, &made));
	t_status(dtconv_type_hash_layout(made, 1, &hash), DTCONV_ERR_STATE);
	ck_assert_str_eq(t_error(),
			 "dtconv_type_hash_layout: type (argument 1) is not committed");
	t_status(dtconv_type_compare_layout(made, 1, type, 1, &equal), DTCONV_ERR_STATE);
	ck_assert_str_eq(
		t_error(),
		"dtconv_type_compare_layout: type_a (argument 1) is not committed");
	t_status(dtconv_type_compare_layout(type, 1, made, 1, &equal), DTCONV_ERR_STATE);
	ck_assert_str_eq(
		t_error(),
		"dtconv_type_compare_layout: type_b (argument 3) is not committed");
	t_status(dtconv_type_hash_layout(type, SIZE_MAX, &hash), DTCONV_ERR_OVERFLOW);
	t_status(dtconv_type_compare_layout(type, 1, type, SIZE_MAX, &equal),
		 DTCONV_ERR_OVERFLOW);
	ck_assert(hash == 7 && equal == 7);
	dtconv_type_unref(made);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout_hash");
	TCase *spellings = t_case(suite, "spellings");
	TCase *counts = t_case(suite, "counts");
	TCase *errors = t_case(suite, "errors");

	tcase_set_timeout(spellings, 120);
	tcase_add_test(spellings, random_types_equal_their_spellings_only);
	tcase_add_loop_test(spellings, pairs_relate_as_their_bytes_do, 0,
			    COUNT_OF(pairs));
	tcase_add_test(counts, counts_cost_nothing);
	tcase_add_test(counts, hashes_are_the_same_everywhere);
	tcase_add_test(errors, layouts_need_committed_types);
	return t_run(suite);
}
