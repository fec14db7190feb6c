/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Envelope and contents: what a type was made with, in the order that the header promises,
 * and enough to make it again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/random_type.h"
#include "support/rebuild.h"
#include "support/t.h"

enum { ROOM = 64 };

/* The arrays that a type must answer with. */
struct expected {
	enum dtconv_combiner combiner;
	size_t count_count;
	const size_t *counts;
	size_t displacement_count;
	const ptrdiff_t *displacements;
	size_t type_count;
	struct dtconv_type *const *types;
};

static void expect_contents(const struct dtconv_type *type, const struct expected *want)
{
	struct dtconv_envelope e;
	size_t counts[ROOM];
	ptrdiff_t displacements[ROOM];
	struct dtconv_type *types[ROOM];

	t_ok(dtconv_type_query_envelope(type, &e));
	ck_assert_int_eq(e.combiner, want->combiner);
	ck_assert_int_eq(t_attr(type).combiner, want->combiner);
	ck_assert_uint_eq(e.count_count, want->count_count);
	ck_assert_uint_eq(e.displacement_count, want->displacement_count);
	ck_assert_uint_eq(e.type_count, want->type_count);
	t_ok(dtconv_type_query_contents(type, ROOM, counts, ROOM, displacements, ROOM,
					types));
	for (size_t i = 0; i < want->count_count; i++)
		ck_assert_uint_eq(counts[i], want->counts[i]);
	for (size_t i = 0; i < want->displacement_count; i++)
		ck_assert_int_eq(displacements[i], want->displacements[i]);
	for (size_t i = 0; i < want->type_count; i++)
		ck_assert_ptr_eq(types[i], want->types[i]);
}

#define COUNTS(...)                                                 \
	.count_count = COUNT_OF(((const size_t[]){ __VA_ARGS__ })), \
	.counts = (const size_t[])                                  \
	{                                                           \
		__VA_ARGS__                                         \
	}
#define PLACES(...)                                                           \
	.displacement_count = COUNT_OF(((const ptrdiff_t[]){ __VA_ARGS__ })), \
	.displacements = (const ptrdiff_t[])                                  \
	{                                                                     \
		__VA_ARGS__                                                   \
	}

/* A type with one old type. */
static void expect_over(struct dtconv_type *type, struct dtconv_type *old,
			struct expected want)
{
	want.type_count = 1;
	want.types = &old;
	expect_contents(type, &want);
	dtconv_type_unref(type);
}

START_TEST(named)
{
	for (int i = 0; i < DTCONV_PREDEFINED_COUNT; i++)
		expect_contents(t_predefined((enum dtconv_predefined)i),
				&(struct expected){ .combiner = DTCONV_COMBINER_NAMED });
}
END_TEST

START_TEST(regular_constructors)
{
	struct dtconv_type *old = t_predefined(DTCONV_DOUBLE), *type = NULL;

	t_ok(dtconv_type_create_dup(old, &type));
	expect_over(type, old, (struct expected){ .combiner = DTCONV_COMBINER_DUP });
	t_ok(dtconv_type_create_contiguous(7, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_CONTIGUOUS,
				       COUNTS(7) });
	t_ok(dtconv_type_create_vector(3, 2, -5, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_VECTOR,
				       COUNTS(3, 2),
				       PLACES(-5) });
	t_ok(dtconv_type_create_hvector(3, 2, -41, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HVECTOR,
				       COUNTS(3, 2),
				       PLACES(-41) });
	t_ok(dtconv_type_create_resized(old, -3, 17, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_RESIZED,
				       PLACES(-3, 17) });
}
END_TEST

START_TEST(lists_of_blocks)
{
	static const size_t lengths[] = { 2, 0, 1 };
	static const ptrdiff_t disps[] = { -4, 9, 100 };
	struct dtconv_type *old = t_predefined(DTCONV_SHORT), *type = NULL;

	t_ok(dtconv_type_create_indexed(3, lengths, disps, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_INDEXED,
				       COUNTS(3, 2, 0, 1),
				       PLACES(-4, 9, 100) });
	t_ok(dtconv_type_create_hindexed(3, lengths, disps, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HINDEXED,
				       COUNTS(3, 2, 0, 1),
				       PLACES(-4, 9, 100) });
	t_ok(dtconv_type_create_indexed_block(3, 6, disps, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_INDEXED_BLOCK,
				       COUNTS(3, 6),
				       PLACES(-4, 9, 100) });
	t_ok(dtconv_type_create_hindexed_block(3, 6, disps, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HINDEXED_BLOCK,
				       COUNTS(3, 6),
				       PLACES(-4, 9, 100) });
}
END_TEST

START_TEST(lists_of_no_blocks)
{
	struct dtconv_type *old = t_predefined(DTCONV_SHORT), *type = NULL;

	t_ok(dtconv_type_create_indexed(0, NULL, NULL, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_INDEXED, COUNTS(0) });
	t_ok(dtconv_type_create_hindexed(0, NULL, NULL, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HINDEXED, COUNTS(0) });
	t_ok(dtconv_type_create_indexed_block(0, 4, NULL, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_INDEXED_BLOCK,
				       COUNTS(0, 4) });
	t_ok(dtconv_type_create_hindexed_block(0, 4, NULL, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HINDEXED_BLOCK,
				       COUNTS(0, 4) });
	t_ok(dtconv_type_create_struct(t_context, 0, NULL, NULL, NULL, &type));
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_STRUCT,
						  COUNTS(0) });
	dtconv_type_unref(type);
}
END_TEST

START_TEST(struct_members)
{
	static const size_t lengths[] = { 2, 0 };
	static const ptrdiff_t disps[] = { -4, 9 };
	struct dtconv_type *inner = t_parse("contiguous(2,int)"), *type = NULL;
	struct dtconv_type *members[] = { inner, t_predefined(DTCONV_CHAR) };

	t_ok(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &type));
	dtconv_type_unref(inner);
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_STRUCT,
						  COUNTS(2, 2, 0),
						  PLACES(-4, 9),
						  .type_count = 2,
						  .types = members });
	dtconv_type_unref(type);
}
END_TEST

START_TEST(arrays)
{
	static const size_t sizes[] = { 4, 6 }, subsizes[] = { 2, 3 },
			    starts[] = { 1, 2 };
	static const size_t dargs[] = { DTCONV_DISTRIBUTE_DFLT_DARG, 2 },
			    psizes[] = { 2, 3 };
	static const enum dtconv_distribution dealt[] = { DTCONV_DISTRIBUTE_BLOCK,
							  DTCONV_DISTRIBUTE_CYCLIC };
	struct dtconv_type *old = t_predefined(DTCONV_FLOAT), *type = NULL;

	t_ok(dtconv_type_create_subarray(2, sizes, subsizes, starts, DTCONV_ORDER_FORTRAN,
					 old, &type));
	expect_over(
		type, old,
		(struct expected){ .combiner = DTCONV_COMBINER_SUBARRAY,
				   COUNTS(2, 4, 6, 2, 3, 1, 2, DTCONV_ORDER_FORTRAN) });
	t_ok(dtconv_type_create_darray(6, 5, 2, sizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_DARRAY,
				       COUNTS(6, 5, 2, 4, 6, DTCONV_DISTRIBUTE_BLOCK,
					      DTCONV_DISTRIBUTE_CYCLIC,
					      DTCONV_DISTRIBUTE_DFLT_DARG, 2, 2, 3,
					      DTCONV_ORDER_C) });
}
END_TEST

START_TEST(fortran_kinds)
{
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_f90_real(t_context, 15, DTCONV_UNDEFINED, &type));
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_F90_REAL,
						  COUNTS(15, DTCONV_UNDEFINED) });
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_f90_complex(t_context, 6, 30, &type));
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_F90_COMPLEX,
						  COUNTS(6, 30) });
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_f90_integer(t_context, 9, &type));
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_F90_INTEGER,
						  COUNTS(9) });
	dtconv_type_unref(type);
}
END_TEST

START_TEST(value_and_index)
{
	struct dtconv_type *parts[] = { t_predefined(DTCONV_INT64),
					t_predefined(DTCONV_INT16) };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_value_index(parts[0], parts[1], &type));
	expect_contents(type, &(struct expected){ .combiner = DTCONV_COMBINER_VALUE_INDEX,
						  .type_count = 2,
						  .types = parts });
	dtconv_type_unref(type);
}
END_TEST

START_TEST(numbers_near_the_largest_come_back)
{
	struct dtconv_type *old = t_predefined(DTCONV_CHAR), *type = NULL;
	size_t big = SIZE_MAX / 64 - 3;
	ptrdiff_t far = PTRDIFF_MIN / 4 + 5;

	t_ok(dtconv_type_create_vector(big, 3, -9, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_VECTOR,
				       COUNTS(big, 3),
				       PLACES(-9) });
	t_ok(dtconv_type_create_hindexed(1, &big, &far, old, &type));
	expect_over(type, old,
		    (struct expected){ .combiner = DTCONV_COMBINER_HINDEXED,
				       COUNTS(1, big),
				       PLACES(far) });
}
END_TEST

START_TEST(room_that_is_too_small_is_left_alone)
{
	struct dtconv_type *type = t_parse("struct([1,2],[0,8],[int,double])");
	size_t counts[3] = { 77, 77, 77 };
	ptrdiff_t disps[2] = { 77, 77 };
	struct dtconv_type *types[2] = { NULL, NULL };

	t_status(dtconv_type_query_contents(type, 2, counts, 2, disps, 2, types),
		 DTCONV_ERR_TRUNCATE);
	t_status(dtconv_type_query_contents(type, 3, counts, 1, disps, 2, types),
		 DTCONV_ERR_TRUNCATE);
	t_status(dtconv_type_query_contents(type, 3, counts, 2, disps, 1, types),
		 DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(counts[0], 77);
	ck_assert_int_eq(disps[0], 77);
	ck_assert_ptr_null(types[0]);
	t_ok(dtconv_type_query_contents(type, 3, counts, 2, disps, 2, types));
	ck_assert_uint_eq(counts[2], 2);
	dtconv_type_unref(type);
}
END_TEST

static void expect_same(const struct dtconv_type *a, const struct dtconv_type *b,
			uint64_t seed)
{
	char *text_a = random_type_text(a), *text_b = random_type_text(b);
	struct ref_typemap map_a, map_b;

	ck_assert_msg(strcmp(text_a, text_b) == 0, "DTCONV_TEST_SEED=%ju: %s became %s",
		      (uintmax_t)seed, text_a, text_b);
	ck_assert_int_eq(ref_typemap_build(a, DTCONV_PADDING_STRUCT, 0, &map_a), 0);
	ck_assert_int_eq(ref_typemap_build(b, DTCONV_PADDING_STRUCT, 0, &map_b), 0);
	ck_assert_msg(ref_typemap_same_entries(&map_a, &map_b), "%s", text_a);
	ref_typemap_free(&map_a);
	ref_typemap_free(&map_b);
	free(text_a);
	free(text_b);
}

START_TEST(contents_make_the_type_again)
{
	uint64_t seed = random_seed(50000);

	for (uint64_t i = 0; i < 2000; i++) {
		struct dtconv_type *type = NULL, *copy = NULL;

		t_ok(random_type(t_context, seed + i, NULL, &type));
		if (t_attr(type).combiner != DTCONV_COMBINER_NAMED) {
			t_ok(rebuild_type(t_context, type, &copy));
			expect_same(type, copy, seed + i);
			dtconv_type_unref(copy);
		}
		dtconv_type_unref(type);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("envelope");
	TCase *contents = t_case(suite, "contents");
	TCase *round_trip = t_case(suite, "round_trip");

	tcase_add_test(contents, named);
	tcase_add_test(contents, regular_constructors);
	tcase_add_test(contents, lists_of_blocks);
	tcase_add_test(contents, lists_of_no_blocks);
	tcase_add_test(contents, struct_members);
	tcase_add_test(contents, arrays);
	tcase_add_test(contents, fortran_kinds);
	tcase_add_test(contents, value_and_index);
	tcase_add_test(contents, numbers_near_the_largest_come_back);
	tcase_add_test(contents, room_that_is_too_small_is_left_alone);
	tcase_add_test(round_trip, contents_make_the_type_again);
	return t_run(suite);
}
