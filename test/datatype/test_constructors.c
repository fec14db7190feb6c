/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors: the typemaps of MPI 4.1 section 5.1, with the standard's examples, and the
 * shapes that other engines got wrong. Every type here is also packed, unpacked and cut
 * against the oracle.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/random_type.h"
#include "support/t.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Check displacements, all the rest, and let go. */
static void expect(struct dtconv_type *type, size_t count, const ptrdiff_t disps[])
{
	t_ok(dtconv_type_commit(type));
	t_typemap(type, count, disps);
	t_verify(type);
	dtconv_type_unref(type);
}

#define EXPECT(type, ...)                                            \
	expect(type, COUNT_OF(((const ptrdiff_t[]){ __VA_ARGS__ })), \
	       (const ptrdiff_t[]){ __VA_ARGS__ })

/* {(double, 0), (char, 8)} with extent 16. */
static struct dtconv_type *double_char(void)
{
	static const size_t lengths[] = { 1, 1 };
	static const ptrdiff_t disps[] = { 0, 8 };
	struct dtconv_type *members[] = { t_predefined(DTCONV_DOUBLE),
					  t_predefined(DTCONV_CHAR) };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &type));
	return type;
}

/* ---- examples of section 5.1.2 ------------------------------------------------------- */

/* Example 5.2. */
START_TEST(contiguous_replicates_by_extent)
{
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_contiguous(3, old, &type));
	dtconv_type_unref(old);
	EXPECT(type, 0, 8, 16, 24, 32, 40);
}
END_TEST

/* Example 5.3. */
START_TEST(vector_strides_by_extent)
{
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_vector(2, 3, 4, old, &type));
	dtconv_type_unref(old);
	EXPECT(type, 0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 96, 104);
}
END_TEST

/* Example 5.4. */
START_TEST(vector_stride_may_be_negative)
{
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_vector(3, 1, -2, old, &type));
	dtconv_type_unref(old);
	EXPECT(type, 0, 8, -32, -24, -64, -56);
}
END_TEST

START_TEST(hvector_strides_by_bytes)
{
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_hvector(2, 2, 37, old, &type));
	dtconv_type_unref(old);
	EXPECT(type, 0, 8, 16, 24, 37, 45, 53, 61);
}
END_TEST

/* Example 5.5: the packed order is that of the list, not of the addresses. */
START_TEST(indexed_keeps_the_order_of_its_list)
{
	static const size_t lengths[] = { 3, 1 };
	static const ptrdiff_t disps[] = { 4, 0 };
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_indexed(2, lengths, disps, old, &type));
	dtconv_type_unref(old);
	EXPECT(type, 64, 72, 80, 88, 96, 104, 0, 8);
}
END_TEST

START_TEST(hindexed_places_by_bytes)
{
	static const size_t lengths[] = { 1, 2, 1 };
	static const ptrdiff_t disps[] = { 13, -7, 2 };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_hindexed(3, lengths, disps, t_predefined(DTCONV_SHORT),
					 &type));
	EXPECT(type, 13, -7, -5, 2);
}
END_TEST

START_TEST(indexed_block_places_by_extent)
{
	static const ptrdiff_t disps[] = { 5, -2, 9 };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_indexed_block(3, 2, disps, t_predefined(DTCONV_INT),
					      &type));
	EXPECT(type, 20, 24, -8, -4, 36, 40);
}
END_TEST

START_TEST(hindexed_block_places_by_bytes)
{
	static const ptrdiff_t disps[] = { 5, -2, 9 };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_hindexed_block(3, 1, disps, t_predefined(DTCONV_INT),
					       &type));
	EXPECT(type, 5, -2, 9);
}
END_TEST

/* Example 5.6. */
START_TEST(struct_mixes_types)
{
	static const size_t lengths[] = { 2, 1, 3 };
	static const ptrdiff_t disps[] = { 0, 16, 26 };
	struct dtconv_type *inner = double_char(), *type = NULL;
	struct dtconv_type *members[] = { t_predefined(DTCONV_FLOAT), inner,
					  t_predefined(DTCONV_CHAR) };

	t_ok(dtconv_type_create_struct(t_context, 3, lengths, disps, members, &type));
	dtconv_type_unref(inner);
	EXPECT(type, 0, 4, 16, 24, 26, 27, 28);
}
END_TEST

START_TEST(struct_may_repeat_a_type)
{
	static const size_t lengths[] = { 1, 2, 1 };
	static const ptrdiff_t disps[] = { 48, 0, 32 };
	struct dtconv_type *inner = double_char(), *type = NULL;
	struct dtconv_type *members[] = { inner, inner, inner };

	t_ok(dtconv_type_create_struct(t_context, 3, lengths, disps, members, &type));
	dtconv_type_unref(inner);
	EXPECT(type, 48, 56, 0, 8, 16, 24, 32, 40);
}
END_TEST

START_TEST(dup_of_a_committed_type_is_committed)
{
	struct dtconv_type *old = t_parse("vector(2,1,3,int)"), *type = NULL;

	t_ok(dtconv_type_create_dup(old, &type));
	ck_assert_int_eq(t_attr(type).committed, 1);
	dtconv_type_unref(old);
	EXPECT(type, 0, 12);
}
END_TEST

START_TEST(dup_of_an_uncommitted_type_is_not_committed)
{
	struct dtconv_type *old = double_char(), *type = NULL;

	t_ok(dtconv_type_create_dup(old, &type));
	dtconv_type_unref(old);
	ck_assert_int_eq(t_attr(type).committed, 0);
	EXPECT(type, 0, 8);
}
END_TEST

/* ---- arrays -------------------------------------------------------------------------- */

/* A 2 x 3 box at (1, 2) of a 4 x 6 array. */
START_TEST(subarray_in_c_order)
{
	static const size_t sizes[] = { 4, 6 }, subsizes[] = { 2, 3 },
			    starts[] = { 1, 2 };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_subarray(2, sizes, subsizes, starts, DTCONV_ORDER_C,
					 t_predefined(DTCONV_SHORT), &type));
	EXPECT(type, 16, 18, 20, 28, 30, 32);
}
END_TEST

START_TEST(subarray_in_fortran_order)
{
	static const size_t sizes[] = { 4, 6 }, subsizes[] = { 2, 3 },
			    starts[] = { 1, 2 };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_subarray(2, sizes, subsizes, starts, DTCONV_ORDER_FORTRAN,
					 t_predefined(DTCONV_SHORT), &type));
	EXPECT(type, 18, 20, 26, 28, 34, 36);
}
END_TEST

/* Seven elements over three processes: 0-2, 3-5, 6. */
START_TEST(darray_block)
{
	static const size_t gsizes[] = { 7 }, psizes[] = { 3 };
	static const size_t dargs[] = { DTCONV_DISTRIBUTE_DFLT_DARG };
	static const enum dtconv_distribution dealt[] = { DTCONV_DISTRIBUTE_BLOCK };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_darray(3, 1, 1, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	EXPECT(type, 3, 4, 5);
	t_ok(dtconv_type_create_darray(3, 2, 1, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	EXPECT(type, 6);
}
END_TEST

START_TEST(darray_cyclic)
{
	static const size_t gsizes[] = { 9 }, psizes[] = { 2 }, dargs[] = { 2 };
	static const enum dtconv_distribution dealt[] = { DTCONV_DISTRIBUTE_CYCLIC };
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_darray(2, 0, 1, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	EXPECT(type, 0, 1, 4, 5, 8);
	t_ok(dtconv_type_create_darray(2, 1, 1, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	EXPECT(type, 2, 3, 6, 7);
}
END_TEST

/* The process grid is counted in C order whatever the array's order is. */
START_TEST(darray_grid_is_in_c_order)
{
	static const size_t gsizes[] = { 4, 6 }, psizes[] = { 2, 3 };
	static const size_t dargs[] = { DTCONV_DISTRIBUTE_DFLT_DARG,
					DTCONV_DISTRIBUTE_DFLT_DARG };
	static const enum dtconv_distribution dealt[] = { DTCONV_DISTRIBUTE_BLOCK,
							  DTCONV_DISTRIBUTE_BLOCK };
	struct dtconv_type *type = NULL;

	/* Rank 1 has coordinates (0, 1): rows 0-1, columns 2-3. */
	t_ok(dtconv_type_create_darray(6, 1, 2, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	EXPECT(type, 2, 3, 8, 9);
	t_ok(dtconv_type_create_darray(6, 1, 2, gsizes, dealt, dargs, psizes,
				       DTCONV_ORDER_FORTRAN, t_predefined(DTCONV_CHAR),
				       &type));
	EXPECT(type, 8, 9, 12, 13);
}
END_TEST

START_TEST(darray_process_without_a_share)
{
	static const char text[] = "darray(5,4,[4],[block],[default],[5],c,double)";
	struct dtconv_type *type = t_parse(text);

	ck_assert_uint_eq(t_attr(type).size, 0);
	t_bounds(type, 0, 32, 0, 0);
	t_verify(type);
	dtconv_type_unref(type);
	t_verify_text("darray(8,7,[3,3],[cyclic,cyclic],[2,2],[2,4],c,double)");
}
END_TEST

/* All the shares of a darray together are the array, each element once. */
static void expect_whole_array(const char *rest, size_t processes, size_t elements)
{
	unsigned char *seen = calloc(elements, 1);

	ck_assert_ptr_nonnull(seen);
	for (size_t rank = 0; rank < processes; rank++) {
		char text[256];
		struct ref_typemap map;

		snprintf(text, sizeof(text), "darray(%zu,%zu,%s", processes, rank, rest);
		struct dtconv_type *type = t_parse(text);
		t_verify(type);
		ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map),
				 0);
		for (size_t i = 0; i < map.count; i++)
			ck_assert_int_eq(seen[map.entries[i].disp]++, 0);
		ref_typemap_free(&map);
		dtconv_type_unref(type);
	}
	for (size_t i = 0; i < elements; i++)
		ck_assert_int_eq(seen[i], 1);
	free(seen);
}

START_TEST(darray_shares_make_the_array)
{
	expect_whole_array("[7,8],[block,cyclic],[default,3],[3,2],c,char)", 6, 56);
	expect_whole_array("[4,5,3],[cyclic,cyclic,block],[1,2,default],[2,2,2],fortran,"
			   "char)",
			   8, 60);
}
END_TEST

/* ---- shapes that went wrong elsewhere ------------------------------------------------ */

/* Each type is verified against the oracle in a case of its own; a failure names its text. */
static const char *const verified[] = {
	/* subarray with dimensions of one */
	"subarray([1,5,1],[1,2,1],[0,3,0],c,int)",
	"subarray([1,1,1],[1,1,1],[0,0,0],fortran,int)",
	"subarray([3,1,4],[2,1,2],[1,0,2],fortran,double_int)",
	/* subarray of many dimensions */
	"subarray([2,2,2,2,2,2,2,2],[1,2,1,2,1,2,1,2],[1,0,0,0,1,0,0,0],c,int8)",
	"subarray([2,3,2,3,2,3],[2,2,2,2,2,2],[0,1,0,1,0,1],fortran,short_int)",
	/* block and cyclic distributions together */
	"darray(6,4,[10,11],[block,cyclic],[default,2],[2,3],c,int)",
	"darray(6,4,[10,11],[cyclic,block],[3,default],[2,3],fortran,int)",
	"darray(4,3,[5,4,3],[cyclic,none,block],[2,default,default],[2,1,2],c,double_int)",
	"darray(4,2,[9,9],[cyclic,cyclic],[default,4],[2,2],fortran,resized(char,-1,3))",
	/* zero blocks of every kind */
	"contiguous(0,int)",
	"vector(0,4,7,int)",
	"vector(4,0,7,int)",
	"hvector(3,0,-9,int)",
	"indexed([0,0,0],[1,2,3],int)",
	"indexed([2,0,1,0],[0,100,5,-100],int)",
	"hindexed([0,3],[1,2],double)",
	"indexed_block(0,[1,5],int)",
	"indexed_block(2,[],int)",
	"struct([0,1,0],[0,4,9],[double,int,char])",
	"struct([1,1],[0,8],[contiguous(0,int),double])",
	"struct([3],[5],[struct([],[],[])])",
	"contiguous(5,contiguous(0,int))",
	"vector(3,2,4,indexed([0],[9],int))",
	"subarray([4],[2],[1],c,contiguous(0,double))",
	"resized(contiguous(0,int),-8,16)",
	"contiguous(3,resized(contiguous(0,int),-8,16))",
	/* negative strides, displacements and extents */
	"vector(4,2,-3,int)",
	"hvector(4,2,-17,short)",
	"indexed([2,1,2],[-3,-9,-6],double)",
	"contiguous(4,resized(int,0,-4))",
	"contiguous(4,resized(int,0,-12))",
	"vector(3,2,-2,resized(int,-8,-4))",
	"vector(3,2,5,resized(double_int,3,-20))",
	"indexed_block(2,[3,-1],resized(short,0,-5))",
	"subarray([3,4],[2,2],[1,1],c,resized(int,0,-8))",
	"contiguous(2,contiguous(2,resized(hvector(2,1,-4,int),-4,-16)))",
	/* stride zero packs the same bytes again */
	"vector(5,1,0,int)",
	"vector(5,2,0,int)",
	"hvector(3,2,0,double_int)",
	"contiguous(4,resized(int,0,0))",
	"contiguous(3,resized(vector(2,1,2,int),0,0))",
	"indexed([1,1,1],[2,2,2],short)",
	"indexed_block(1,[4,4,4,4],double)",
	/* extent below true extent */
	"contiguous(4,resized(double,0,4))",
	"contiguous(3,resized(contiguous(4,int),0,4))",
	"contiguous(3,resized(contiguous(4,int),-4,20))",
	"vector(3,2,3,resized(vector(2,1,5,int),0,4))",
	"resized(resized(resized(int,-12,99),5,-7),0,4)",
	/* a single iteration with a gap after it */
	"contiguous(3,resized(vector(1,2,5,int),0,20))",
	"vector(1,1,100,resized(int,0,12))",
	"contiguous(2,resized(contiguous(1,resized(vector(1,3,9,short),0,10)),0,16))",
	/* trailing padding is a gap */
	"contiguous(3,struct([1,1],[0,8],[double,char]))",
	"struct([2,1],[0,32],[struct([1,1],[0,8],[double,char]),char])",
	/* indexed over contiguous of one */
	"indexed([1,2],[3,0],contiguous(1,int))",
	"indexed([1,1,1],[0,1,2],contiguous(1,contiguous(1,double)))",
	/* triangular matrices */
	"indexed([5,4,3,2,1],[0,6,12,18,24],double)",
	"indexed([1,2,3,4,5],[0,5,10,15,20],double)",
	"struct([1,1],[0,200],[indexed([4,3,2,1],[0,5,10,15],int),indexed([1,2,3,4],[0,4,8,12],int)])",
	/* mixed widths that merge to words */
	"struct([2,1,2,1],[0,2,4,8],[int8,int16,int16,double])",
	"contiguous(5,struct([1,1],[0,4],[int,float]))",
	"contiguous(4,resized(struct([1,1,1],[0,1,3],[int8,int16,int32]),0,7))",
};

START_TEST(types_obey_the_oracle)
{
	t_verify_text(verified[_i]);
}
END_TEST

/* A false positive of contiguity: the bytes are dense but run downwards. */
START_TEST(negative_displacement_is_not_contiguous)
{
	struct dtconv_type *type = t_parse("indexed([1,1],[0,-1],int)");

	ck_assert_int_eq(t_attr(type).contiguous, 0);
	EXPECT(type, 0, -4);
	type = t_parse("contiguous(3,resized(int,0,-4))");
	ck_assert_int_eq(t_attr(type).contiguous, 0);
	EXPECT(type, 0, -4, -8);
}
END_TEST

START_TEST(contiguous_looking_types_with_a_shift_or_a_hole)
{
	struct dtconv_type *type = t_parse("hindexed([2],[4],int)");

	/* Dense, but not at lb 0: still one run, which begins at 4. */
	ck_assert_int_eq(t_attr(type).contiguous, 1);
	EXPECT(type, 4, 8);
	/* Size equals extent, yet there is a hole and a byte twice. */
	type = t_parse("resized(indexed([1,1,1],[0,2,2],int),0,12)");
	ck_assert_int_eq(t_attr(type).contiguous, 0);
	EXPECT(type, 0, 8, 8);
	type = t_parse("resized(hindexed([1,1],[0,12],int),0,8)");
	ck_assert_int_eq(t_attr(type).contiguous, 0);
	EXPECT(type, 0, 12);
	type = t_parse("resized(contiguous(2,int),4,8)");
	ck_assert_int_eq(t_attr(type).contiguous, 1);
	EXPECT(type, 0, 4);
}
END_TEST

START_TEST(packed_struct_of_unlike_members)
{
	struct dtconv_type *type = t_parse("struct([1,1],[0,1],[char,double])");

	ck_assert_uint_eq(t_attr(type).size, 9);
	ck_assert_int_eq(t_attr(type).extent, 16);
	EXPECT(type, 0, 1);
	t_verify_text("struct([1,1,1],[0,3,5],[int16,int8,double_int])");
	t_verify_text("contiguous(3,resized(struct([1,1],[0,1],[char,double]),0,9))");
}
END_TEST

/* Lists too long to be unrolled: tables of runs, and tables of whole types. */
static const char *const lists[] = {
	"indexed([1,2,3,1,2,3,1,2,3,1], [0,2,9,20,31,40,51,60,72,80], %s)",
	"indexed([3,0,1,1,0,2,1,1,3,1,2,2], [0,9,9,7,1,-6,-20,30,40,33,60,70], %s)",
	"indexed_block(2, [0,3,7,20,33,40,51,60,70,80], %s)",
	"hindexed([1,2,3,1,2,3,1,2,3,1], [5,99,301,-403,599,1000,1203,1777,2000,2501], "
	"%s)",
	"vector(2, 2, 99, indexed([2,1,2,1,2,1,2,1,2], [0,3,7,20,33,40,51,60,70], %s))",
	"contiguous(3, resized(indexed([2,1,2,1,2,1,2,1,2], [0,3,7,20,33,40,51,60,70], "
	"%s), 0, 5000))",
	"indexed([1,2,1,2,1,2,1,2,1], [0,200,400,700,900,1200,1400,1800,2000], "
	"indexed([2,1,2,1,2,1,2,1,2], [0,3,7,20,33,40,51,60,70], %s))",
};

START_TEST(long_lists_over_types_with_gaps)
{
	static const char *const olds[] = { "int",
					    "double_int",
					    "vector(2, 1, 3, short)",
					    "vector(3, 2, 5, vector(2, 1, 2, int8))",
					    "indexed([1,2], [2,0], char)",
					    "resized(hvector(12, 1, 7, int16), -3, 99)" };

	for (size_t k = 0; k < COUNT_OF(olds); k++) {
		size_t before = (size_t)(strstr(lists[_i], "%s") - lists[_i]);
		char text[512];

		snprintf(text, sizeof(text), "%.*s%s%s", (int)before, lists[_i], olds[k],
			 lists[_i] + before + 2);
		t_verify_text(text);
	}
}
END_TEST

/* Every second level of a struct adds a member; 200 levels. */
START_TEST(very_deep_structs)
{
	static const size_t lengths[] = { 1, 1 };
	static const ptrdiff_t disps[] = { 0, 16 };
	struct dtconv_type *type = t_predefined(DTCONV_INT);

	for (size_t depth = 0; depth < 200; depth++) {
		struct dtconv_type *members[] = { type, t_predefined(DTCONV_CHAR) };
		struct dtconv_type *outer = NULL;
		t_ok(dtconv_type_create_struct(t_context, 1 + depth % 2, lengths, disps,
					       members, &outer));
		dtconv_type_unref(type);
		type = outer;
	}
	t_ok(dtconv_type_commit(type));
	t_verify(type);
	dtconv_type_unref(type);
}
END_TEST

/* Deeper than any stack: construction, commit and release must not recurse. */
START_TEST(a_million_levels)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT);
	int value = 42, packed = 0;
	size_t moved = 0;

	for (size_t depth = 0; depth < 1000000; depth++) {
		struct dtconv_type *outer = NULL;
		int status = depth % 2 ? dtconv_type_create_dup(type, &outer)
				       : dtconv_type_create_contiguous(1, type, &outer);

		if (status == DTCONV_ERR_LIMIT)
			break;
		t_ok(status);
		dtconv_type_unref(type);
		type = outer;
	}
	t_ok(dtconv_type_commit(type));
	t_ok(dtconv_pack(type, 1, &value, &packed, sizeof(packed), &moved));
	ck_assert_int_eq(packed, 42);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(lots_of_types_at_once)
{
	enum { MANY = 20000 };
	struct dtconv_type **types = calloc(MANY, sizeof(struct dtconv_type *));

	ck_assert_ptr_nonnull(types);
	for (size_t i = 0; i < MANY; i++) {
		t_ok(dtconv_type_create_vector(
			i % 7, i % 5, (ptrdiff_t)(i % 11),
			i % 3 && i > 0 ? types[i - 1] : t_predefined(DTCONV_SHORT),
			&types[i]));
		t_ok(dtconv_type_commit(types[i]));
	}
	for (size_t i = 0; i < MANY; i++)
		dtconv_type_unref(types[i]);
	free(types);
}
END_TEST

/* A transpose: the inner stride is larger than the outer one. Order is the typemap's. */
START_TEST(outer_stride_below_inner_stride)
{
	struct dtconv_type *type = t_parse("hvector(3,1,4,hvector(4,1,12,int))");

	EXPECT(type, 0, 12, 24, 36, 4, 16, 28, 40, 8, 20, 32, 44);
	t_verify_text("contiguous(4,resized(vector(5,1,4,double),0,8))");
	t_verify_text("hvector(3,1,2,hvector(2,1,64,hvector(3,1,8,int16)))");
}
END_TEST

START_TEST(struct_of_absolute_addresses)
{
	int a = 1;
	double b[2] = { 2, 3 };
	static const size_t lengths[] = { 1, 2 };
	const ptrdiff_t disps[] = { (ptrdiff_t)(intptr_t)&a, (ptrdiff_t)(intptr_t)b };
	struct dtconv_type *members[] = { t_predefined(DTCONV_INT),
					  t_predefined(DTCONV_DOUBLE) };
	struct dtconv_type *type = NULL;
	unsigned char packed[20];
	size_t moved = 0;

	t_ok(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &type));
	t_ok(dtconv_type_commit(type));
	t_ok(dtconv_pack(type, 1, NULL, packed, sizeof(packed), &moved));
	ck_assert_uint_eq(moved, 20);
	ck_assert_mem_eq(packed, &a, 4);
	ck_assert_mem_eq(packed + 4, b, 16);
	dtconv_type_unref(type);
}
END_TEST

/* The old type is gone when the new one is committed and used. */
START_TEST(parent_outlives_its_parts)
{
	struct dtconv_type *old = double_char(), *middle = NULL, *type = NULL;

	t_ok(dtconv_type_create_vector(2, 1, 3, old, &middle));
	dtconv_type_unref(old);
	t_ok(dtconv_type_create_contiguous(2, middle, &type));
	dtconv_type_unref(middle);
	EXPECT(type, 0, 8, 48, 56, 64, 72, 112, 120);
}
END_TEST

START_TEST(random_types)
{
	static const struct random_limits shapes[] = {
		{ .depth = 2, .max_blocks = 8, .max_entries = 400 },
		{ .depth = 4, .max_blocks = 4, .max_count = 4, .max_entries = 600 },
		{ .depth = 9, .max_blocks = 3, .max_count = 3, .max_entries = 300 },
		{ .depth = 3, .distinct = true, .max_entries = 500 },
	};
	uint64_t seed = random_seed(7000000 * (uint64_t)(_i + 1));

	for (uint64_t i = 0; i < 250; i++) {
		struct dtconv_type *type = NULL;
		int status = random_type(t_context, seed + i, &shapes[_i], &type);

		ck_assert_msg(status == 0, "DTCONV_TEST_SEED=%ju: %s",
			      (uintmax_t)(seed + i), t_error());
		t_verify(type);
		dtconv_type_unref(type);
	}
}
END_TEST

static void add_examples(Suite *suite)
{
	TCase *examples = t_case(suite, "examples");

	machine_add_aligned(examples, contiguous_replicates_by_extent);
	machine_add_aligned(examples, vector_strides_by_extent);
	machine_add_aligned(examples, vector_stride_may_be_negative);
	machine_add_aligned(examples, hvector_strides_by_bytes);
	machine_add_aligned(examples, indexed_keeps_the_order_of_its_list);
	tcase_add_test(examples, hindexed_places_by_bytes);
	tcase_add_test(examples, indexed_block_places_by_extent);
	tcase_add_test(examples, hindexed_block_places_by_bytes);
	tcase_add_test(examples, struct_mixes_types);
	machine_add_aligned(examples, struct_may_repeat_a_type);
	tcase_add_test(examples, struct_of_absolute_addresses);
	tcase_add_test(examples, dup_of_a_committed_type_is_committed);
	tcase_add_test(examples, dup_of_an_uncommitted_type_is_not_committed);
}

static void add_arrays(Suite *suite)
{
	TCase *arrays = t_case(suite, "arrays");

	tcase_add_test(arrays, subarray_in_c_order);
	tcase_add_test(arrays, subarray_in_fortran_order);
	tcase_add_test(arrays, darray_block);
	tcase_add_test(arrays, darray_cyclic);
	tcase_add_test(arrays, darray_grid_is_in_c_order);
	tcase_add_test(arrays, darray_process_without_a_share);
	tcase_add_test(arrays, darray_shares_make_the_array);
}

static void add_shapes(Suite *suite)
{
	TCase *shapes = t_case(suite, "shapes");

	tcase_add_loop_test(shapes, types_obey_the_oracle, 0, (int)COUNT_OF(verified));
	tcase_add_test(shapes, negative_displacement_is_not_contiguous);
	tcase_add_test(shapes, contiguous_looking_types_with_a_shift_or_a_hole);
	machine_add_aligned(shapes, packed_struct_of_unlike_members);
	tcase_add_loop_test(shapes, long_lists_over_types_with_gaps, 0,
			    (int)COUNT_OF(lists));
	tcase_add_test(shapes, outer_stride_below_inner_stride);
	machine_add_aligned(shapes, parent_outlives_its_parts);
}

int main(void)
{
	Suite *suite = suite_create("constructors");

	add_examples(suite);
	add_arrays(suite);
	add_shapes(suite);
	TCase *many = t_case(suite, "many");
	tcase_add_test(many, very_deep_structs);
	tcase_add_test(many, a_million_levels);
	tcase_add_test(many, lots_of_types_at_once);
	tcase_add_loop_test(many, random_types, 0, 4);
	return t_run(suite);
}
