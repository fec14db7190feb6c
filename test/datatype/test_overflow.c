/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic overflow: an error at construction, for every constructor and every argument
 * that can cause it, and never one step before.
 */
#include "config.h"

#include <stdlib.h>

#include "support/t.h"

/*
 * Powers of two, named by their exponents where size_t has 64 bits; where it has fewer they keep
 * their distance from the top, and ROOT x ROOT is one more than SIZE_MAX everywhere.
 */
#define SIZE_BITS (8 * sizeof(size_t))
#define POWER(n)  ((size_t)1 << (SIZE_BITS - 64 + (n)))
#define ROOT      ((size_t)1 << SIZE_BITS / 2)
#define CUBE                            \
	((size_t)1 << (SIZE_BITS + 2) / \
			      3)   /* CUBE^3 is past SIZE_MAX, (CUBE / 2)^3 is not */
#define HALF (PTRDIFF_MAX / 2 + 1) /* 2^62 */

static struct dtconv_type *untouched(void)
{
	return (struct dtconv_type *)(uintptr_t)8;
}

/* A constructor call that must overflow and leave its output alone. */
#define EXPECT_OVERFLOW(call)                                                      \
	do {                                                                       \
		struct dtconv_type *type = untouched();                            \
		t_status(call, DTCONV_ERR_OVERFLOW);                               \
		ck_assert_ptr_eq(type, untouched());                               \
		ck_assert_msg(t_error()[0] != '\0', "%s left no sentence", #call); \
	} while (0)

/* The same call one step before. */
#define EXPECT_FITS(call)                        \
	do {                                     \
		struct dtconv_type *type = NULL; \
		t_ok(call);                      \
		t_ok(dtconv_type_commit(type));  \
		dtconv_type_unref(type);         \
	} while (0)

START_TEST(contiguous)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	struct dtconv_type *down = t_parse("resized(char, 0, -2)");
	struct dtconv_type *still = t_parse("resized(double, 0, 0)");

	EXPECT_OVERFLOW(dtconv_type_create_contiguous(SIZE_MAX, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(SIZE_MAX, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous((size_t)PTRDIFF_MAX + 1, c, &type));
	EXPECT_FITS(dtconv_type_create_contiguous(PTRDIFF_MAX, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(POWER(61), d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(POWER(60), d, &type));
	EXPECT_FITS(dtconv_type_create_contiguous((POWER(60)) - 1, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(POWER(63), down, &type));
	/* No place overflows here, only the size: 2^61 doubles on top of each other. */
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(POWER(61), still, &type));
	EXPECT_FITS(dtconv_type_create_contiguous((POWER(61)) - 1, still, &type));
	dtconv_type_unref(down);
	dtconv_type_unref(still);
}
END_TEST

START_TEST(vector)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE);
	struct dtconv_type *still = t_parse("resized(double, 0, 0)");

	EXPECT_OVERFLOW(dtconv_type_create_vector(SIZE_MAX, 1, 1, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2, SIZE_MAX, 1, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(ROOT, ROOT, 0, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2, 1, PTRDIFF_MAX, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2, 1, PTRDIFF_MIN, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(3, 1, HALF / 8, d, &type));
	EXPECT_FITS(dtconv_type_create_vector(2, 1, HALF / 8, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2 * ROOT, ROOT / 16, 0, still, &type));
	EXPECT_FITS(dtconv_type_create_vector(0, 5, HALF / 8, d, &type));
	EXPECT_FITS(dtconv_type_create_vector(SIZE_MAX, 0, HALF / 8, d, &type));
	dtconv_type_unref(still);
}
END_TEST

START_TEST(hvector)
{
	struct dtconv_type *c = t_predefined(DTCONV_CHAR);

	EXPECT_OVERFLOW(dtconv_type_create_hvector(SIZE_MAX, 1, 1, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hvector(2, SIZE_MAX, 1, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hvector(2, 1, PTRDIFF_MAX, c, &type));
	EXPECT_FITS(dtconv_type_create_hvector(2, 1, PTRDIFF_MAX - 1, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hvector(3, 1, PTRDIFF_MAX, c, &type));
	/* From PTRDIFF_MIN to 1: both ends exist, the extent does not. */
	EXPECT_OVERFLOW(dtconv_type_create_hvector(2, 1, PTRDIFF_MIN, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hvector(3, 1, PTRDIFF_MIN, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hvector(3, 1, -HALF - 1, c, &type));
	EXPECT_FITS(dtconv_type_create_hvector(2, 1, PTRDIFF_MIN + 2, c, &type));
}
END_TEST

START_TEST(indexed_and_hindexed)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	struct dtconv_type *still = t_parse("resized(char, 0, 0)");
	const size_t ones[] = { 1, 1 }, long_first[] = { SIZE_MAX, 1 },
		     long_last[] = { 1, SIZE_MAX };
	const size_t halves[] = { POWER(63), POWER(63) };
	const ptrdiff_t far[] = { 0, PTRDIFF_MAX }, low[] = { PTRDIFF_MIN, 0 };
	const ptrdiff_t apart[] = { PTRDIFF_MIN / 2 - 1, PTRDIFF_MAX / 2 + 1 },
			none[] = { 0, 0 };

	EXPECT_OVERFLOW(dtconv_type_create_indexed(2, long_first, none, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_indexed(2, long_last, none, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_indexed(2, ones, far, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_indexed(2, ones, low, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, long_first, none, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, long_last, none, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, ones, far, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, ones, low, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, ones, apart, c, &type));
	/* The sizes of the two blocks fit, their sum does not. */
	EXPECT_OVERFLOW(dtconv_type_create_hindexed(2, halves, none, still, &type));
	EXPECT_FITS(dtconv_type_create_hindexed(1, halves, none, still, &type));
	EXPECT_FITS(dtconv_type_create_hindexed(1, ones, low, c, &type));
	dtconv_type_unref(still);
}
END_TEST

START_TEST(indexed_block_and_hindexed_block)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	struct dtconv_type *still = t_parse("resized(char, 0, 0)");
	const ptrdiff_t far[] = { 0, PTRDIFF_MAX }, low[] = { PTRDIFF_MIN, 0 },
			none[] = { 0, 0 };

	EXPECT_OVERFLOW(dtconv_type_create_indexed_block(2, SIZE_MAX, none, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_indexed_block(2, 1, far, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_indexed_block(2, 1, low, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed_block(2, SIZE_MAX, none, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed_block(2, 1, far, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_hindexed_block(2, 1, low, c, &type));
	EXPECT_OVERFLOW(
		dtconv_type_create_hindexed_block(2, POWER(63), none, still, &type));
	EXPECT_FITS(dtconv_type_create_hindexed_block(2, 0, far, c, &type));
	dtconv_type_unref(still);
}
END_TEST

START_TEST(structs)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	struct dtconv_type *chars[] = { c, c }, *mixed[] = { c, d };
	const size_t ones[] = { 1, 1 }, long_first[] = { SIZE_MAX, 1 },
		     long_last[] = { 1, SIZE_MAX };
	const ptrdiff_t none[] = { 0, 0 }, far[] = { 0, PTRDIFF_MAX },
			low[] = { PTRDIFF_MIN, 0 };
	/* Ends at 2^63 - 1: padding to a multiple of 8 would pass it. */
	const ptrdiff_t tight[] = { 0, PTRDIFF_MAX - 8 },
			fits[] = { 0, PTRDIFF_MAX - 15 };

	EXPECT_OVERFLOW(
		dtconv_type_create_struct(t_context, 2, long_first, none, mixed, &type));
	EXPECT_OVERFLOW(
		dtconv_type_create_struct(t_context, 2, long_last, none, mixed, &type));
	EXPECT_OVERFLOW(dtconv_type_create_struct(t_context, 2, ones, far, chars, &type));
	EXPECT_OVERFLOW(dtconv_type_create_struct(t_context, 2, ones, low, chars, &type));
	EXPECT_OVERFLOW(
		dtconv_type_create_struct(t_context, 2, ones, tight, mixed, &type));
	EXPECT_FITS(dtconv_type_create_struct(t_context, 2, ones, fits, mixed, &type));
}
END_TEST

START_TEST(subarray)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	const size_t one[] = { 1, 1, 1 }, none[] = { 0, 0, 0 };
	const size_t wide[] = { SIZE_MAX, 1, 1 }, deep[] = { 1, 1, SIZE_MAX };
	const size_t product[] = { CUBE, CUBE, CUBE };
	const size_t most[] = { CUBE / 2, CUBE / 2, CUBE / 2 - 1 };

	for (int order = DTCONV_ORDER_C; order <= DTCONV_ORDER_FORTRAN; order++) {
		enum dtconv_order o = (enum dtconv_order)order;

		EXPECT_OVERFLOW(
			dtconv_type_create_subarray(3, wide, one, none, o, d, &type));
		EXPECT_OVERFLOW(
			dtconv_type_create_subarray(3, deep, one, none, o, d, &type));
		EXPECT_OVERFLOW(
			dtconv_type_create_subarray(3, product, one, none, o, c, &type));
		EXPECT_OVERFLOW(dtconv_type_create_subarray(3, product, product, none, o,
							    c, &type));
		EXPECT_FITS(dtconv_type_create_subarray(3, most, one, none, o, c, &type));
		EXPECT_FITS(
			dtconv_type_create_subarray(3, most, most, none, o, c, &type));
	}
}
END_TEST

START_TEST(darray)
{
	struct dtconv_type *d = t_predefined(DTCONV_DOUBLE),
			   *c = t_predefined(DTCONV_CHAR);
	const size_t psizes[] = { 2, 1 }, wide[] = { SIZE_MAX - 1, 1 };
	const size_t dargs[] = { DTCONV_DISTRIBUTE_DFLT_DARG,
				 DTCONV_DISTRIBUTE_DFLT_DARG };
	const size_t product[] = { ROOT, ROOT };
	const size_t most[] = { ROOT, ROOT / 2 - 1 };
	const enum dtconv_distribution block[] = { DTCONV_DISTRIBUTE_BLOCK,
						   DTCONV_DISTRIBUTE_NONE };
	const enum dtconv_distribution cyclic[] = { DTCONV_DISTRIBUTE_CYCLIC,
						    DTCONV_DISTRIBUTE_NONE };

	EXPECT_OVERFLOW(dtconv_type_create_darray(2, 0, 2, wide, block, dargs, psizes,
						  DTCONV_ORDER_C, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_darray(2, 1, 2, wide, cyclic, dargs, psizes,
						  DTCONV_ORDER_FORTRAN, d, &type));
	EXPECT_OVERFLOW(dtconv_type_create_darray(2, 1, 2, product, block, dargs, psizes,
						  DTCONV_ORDER_C, c, &type));
	EXPECT_FITS(dtconv_type_create_darray(2, 1, 2, most, block, dargs, psizes,
					      DTCONV_ORDER_C, c, &type));
	EXPECT_FITS(dtconv_type_create_darray(2, 1, 2, most, cyclic, dargs, psizes,
					      DTCONV_ORDER_FORTRAN, c, &type));
}
END_TEST

/* A block size near the top must not wrap when it is multiplied by the processes. */
START_TEST(darray_block_sizes)
{
	struct dtconv_type *c = t_predefined(DTCONV_CHAR);
	const size_t gsizes[] = { 10 }, psizes[] = { 4 }, huge[] = { SIZE_MAX - 1 };
	const enum dtconv_distribution block[] = { DTCONV_DISTRIBUTE_BLOCK };
	const enum dtconv_distribution cyclic[] = { DTCONV_DISTRIBUTE_CYCLIC };

	for (size_t rank = 0; rank < 4; rank++) {
		struct dtconv_type *type = NULL;

		t_ok(dtconv_type_create_darray(4, rank, 1, gsizes, block, huge, psizes,
					       DTCONV_ORDER_C, c, &type));
		t_ok(dtconv_type_commit(type));
		ck_assert_uint_eq(t_attr(type).size, rank == 0 ? 10 : 0);
		t_verify(type);
		dtconv_type_unref(type);
		t_ok(dtconv_type_create_darray(4, rank, 1, gsizes, cyclic, huge, psizes,
					       DTCONV_ORDER_C, c, &type));
		t_ok(dtconv_type_commit(type));
		ck_assert_uint_eq(t_attr(type).size, rank == 0 ? 10 : 0);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(resized)
{
	struct dtconv_type *c = t_predefined(DTCONV_CHAR);

	EXPECT_OVERFLOW(dtconv_type_create_resized(c, PTRDIFF_MAX, 1, &type));
	EXPECT_OVERFLOW(dtconv_type_create_resized(c, 1, PTRDIFF_MAX, &type));
	EXPECT_OVERFLOW(dtconv_type_create_resized(c, PTRDIFF_MIN, -1, &type));
	EXPECT_OVERFLOW(dtconv_type_create_resized(c, -1, PTRDIFF_MIN, &type));
	EXPECT_FITS(dtconv_type_create_resized(c, PTRDIFF_MAX, 0, &type));
	EXPECT_FITS(dtconv_type_create_resized(c, PTRDIFF_MIN, PTRDIFF_MAX, &type));
	EXPECT_FITS(dtconv_type_create_resized(c, 0, PTRDIFF_MIN, &type));
}
END_TEST

/* Extents that wrapped to plausible values elsewhere. */
START_TEST(plausible_wraps)
{
	struct dtconv_type *c = t_predefined(DTCONV_CHAR);
	struct dtconv_type *wide = NULL;

	t_ok(dtconv_type_create_resized(c, 0, HALF, &wide));
	/* 4 x 2^62 is 0 modulo 2^64, 5 x 2^62 is 2^62. */
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(4, wide, &type));
	EXPECT_OVERFLOW(dtconv_type_create_contiguous(5, wide, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2, 1, 4, wide, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(2, 1, -4, wide, &type));
	/* (2^32 + 1) x (2^32 - 1) is 2^64 - 1, which fits; one more is 2^32. */
	EXPECT_FITS(dtconv_type_create_vector(ROOT + 1, ROOT - 1, 0, c, &type));
	EXPECT_OVERFLOW(dtconv_type_create_vector(ROOT + 1, ROOT, 0, c, &type));
	/* 2^32 x 2^32 is 0. */
	EXPECT_OVERFLOW(
		dtconv_type_create_hvector(ROOT + 1, 1, (ptrdiff_t)ROOT, c, &type));
	dtconv_type_unref(wide);
}
END_TEST

/* Instances x size, at binding and at the one-shot calls. */
START_TEST(instances)
{
	struct dtconv_type *type = t_parse("contiguous(3, double)");
	struct dtconv_convertor *convertor = NULL;
	size_t moved = 0;
	char byte = 0;

	t_status(dtconv_convertor_create_pack(type, SIZE_MAX / 24 + 1, &byte, &convertor),
		 DTCONV_ERR_OVERFLOW);
	t_status(dtconv_convertor_create_unpack(type, SIZE_MAX, &byte, &convertor),
		 DTCONV_ERR_OVERFLOW);
	t_status(dtconv_pack(type, SIZE_MAX, &byte, &byte, 1, &moved),
		 DTCONV_ERR_OVERFLOW);
	t_status(dtconv_unpack(type, SIZE_MAX, &byte, &byte, 1, &moved),
		 DTCONV_ERR_OVERFLOW);
	ck_assert_ptr_null(convertor);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overflow");
	TCase *constructors = t_case(suite, "constructors");
	TCase *others = t_case(suite, "others");

	tcase_add_test(constructors, contiguous);
	tcase_add_test(constructors, vector);
	tcase_add_test(constructors, hvector);
	tcase_add_test(constructors, indexed_and_hindexed);
	tcase_add_test(constructors, indexed_block_and_hindexed_block);
	tcase_add_test(constructors, structs);
	tcase_add_test(constructors, subarray);
	tcase_add_test(constructors, darray);
	tcase_add_test(constructors, darray_block_sizes);
	tcase_add_test(constructors, resized);
	tcase_add_test(others, plausible_wraps);
	tcase_add_test(others, instances);
	return t_run(suite);
}
