/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds: lb, ub, extent and true extent by MPI 4.1 sections 5.1.5 to 5.1.8, with the
 * standard's own examples where it has one, and the padding of structs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/random_type.h"
#include "support/t.h"

/* {(double, 0), (char, 8)}, the standard's favourite. */
#define PADDED "struct([1,1],[0,8],[double,char])"

START_TEST(basic_types_begin_at_zero)
{
	t_text_bounds("double", 0, 8, 0, 8);
	t_text_bounds("char", 0, 1, 0, 1);
	t_text_bounds("double_int", 0, 16, 0, 12);
	t_text_bounds("short_int", 0, 8, 0, 8);
	t_text_bounds("long_double_int", 0, 32, 0, 20);
	t_text_bounds("2int", 0, 8, 0, 8);
}
END_TEST

/* Example 5.1. */
START_TEST(struct_is_padded_to_its_strictest_member)
{
	t_text_bounds(PADDED, 0, 16, 0, 9);
	t_text_bounds("struct([1,1],[0,4],[int,short])", 0, 8, 0, 6);
	t_text_bounds("struct([1],[0],[char])", 0, 1, 0, 1);
	t_text_bounds("struct([3],[0],[char])", 0, 3, 0, 3);
}
END_TEST

/* The extent is rounded, not the upper bound: with lb 4 a struct of 9 bytes spans 16. */
START_TEST(padding_rounds_the_extent_not_the_upper_bound)
{
	t_text_bounds("struct([1,1],[4,12],[double,char])", 4, 16, 4, 9);
	t_text_bounds("struct([1,1],[-3,5],[double,char])", -3, 16, -3, 9);
}
END_TEST

START_TEST(only_structs_are_padded_by_default)
{
	t_text_bounds("hindexed([1,1],[0,9],int)", 0, 13, 0, 13);
	t_text_bounds("hvector(2,1,9,double)", 0, 17, 0, 17);
	t_text_bounds("struct([1],[0],[hvector(2,1,9,double)])", 0, 24, 0, 17);
}
END_TEST

/* An array of padded structs ends with the padding of the last one, as in C. */
START_TEST(padding_of_a_struct_stays_with_its_copies)
{
	t_text_bounds("contiguous(2," PADDED ")", 0, 32, 0, 25);
	t_text_bounds("vector(2,1,2," PADDED ")", 0, 48, 0, 41);
	t_text_bounds("contiguous(2,double_int)", 0, 32, 0, 28);
	t_text_bounds("dup(" PADDED ")", 0, 16, 0, 9);
}
END_TEST

/* Padding is no marker: data beyond it moves the bound. */
START_TEST(padding_yields_to_data_beyond_it)
{
	t_text_bounds("struct([1,1],[0,24],[" PADDED ",double])", 0, 32, 0, 32);
	t_text_bounds("hindexed_block(1,[0,8]," PADDED ")", 0, 24, 0, 17);
}
END_TEST

/* Example 5.10 and its continuation: {(lb,-3),(int,0),(ub,6)}, twice. */
START_TEST(markers_of_the_standards_example)
{
	t_text_bounds("resized(int,-3,9)", -3, 9, 0, 4);
	t_text_bounds("contiguous(2,resized(int,-3,9))", -3, 18, 0, 13);
}
END_TEST

START_TEST(one_marked_member_decides_alone)
{
	/* The int at 100 has no marker, so only the resized member's count. */
	t_text_bounds("struct([1,1],[0,100],[resized(int,0,8),int])", 0, 8, 0, 104);
	t_text_bounds("struct([1,1],[-50,0],[int,resized(int,2,3)])", 2, 3, -50, 54);
	t_text_bounds("struct([1,1],[4,16],[resized(char,-1,2),resized(char,0,5)])", 3,
		      18, 4, 13);
}
END_TEST

START_TEST(marked_struct_is_not_padded)
{
	t_text_bounds("struct([1,1],[0,8],[resized(double,0,9),char])", 0, 9, 0, 9);
	t_text_bounds("struct([1],[0],[subarray([3],[1],[1],c,char)])", 0, 3, 1, 1);
}
END_TEST

START_TEST(negative_extent_swaps_the_bounds)
{
	t_text_bounds("resized(int,0,-8)", 0, -8, 0, 4);
	t_text_bounds("contiguous(3,resized(int,0,-8))", -16, 8, -16, 20);
	t_text_bounds("vector(2,1,3,resized(int,0,-8))", -24, 16, -24, 28);
	t_text_bounds("resized(resized(int,0,-8),0,4)", 0, 4, 0, 4);
}
END_TEST

START_TEST(zero_extent_keeps_copies_in_place)
{
	t_text_bounds("contiguous(5,resized(double,0,0))", 0, 0, 0, 8);
	t_text_bounds("vector(4,2,7,resized(double,2,0))", 2, 0, 0, 8);
}
END_TEST

START_TEST(extent_smaller_than_the_data)
{
	t_text_bounds("contiguous(3,resized(double,0,4))", 0, 12, 0, 16);
	t_text_bounds("contiguous(3,resized(double,-2,4))", -2, 12, 0, 16);
}
END_TEST

START_TEST(resized_after_dup_after_resized)
{
	t_text_bounds("resized(dup(resized(int,-4,16)),2,3)", 2, 3, 0, 4);
	t_text_bounds("dup(resized(dup(resized(int,-4,16)),2,3))", 2, 3, 0, 4);
	t_text_bounds("contiguous(2,dup(resized(int,-4,16)))", -4, 32, 0, 20);
}
END_TEST

START_TEST(struct_bounds_come_from_inner_types)
{
	t_text_bounds("struct([2,1],[0,40],[contiguous(2,int),vector(2,1,2,double)])", 0,
		      64, 0, 64);
	t_text_bounds("struct([1,1],[8,0],[hvector(2,1,-8,int),char])", 0, 12, 0, 12);
	t_text_bounds("struct([1],[5],[struct([1],[3],[char])])", 8, 1, 8, 1);
}
END_TEST

START_TEST(nothing_has_no_bounds)
{
	t_text_bounds("contiguous(0,double)", 0, 0, 0, 0);
	t_text_bounds("vector(0,3,5,double)", 0, 0, 0, 0);
	t_text_bounds("vector(3,0,5,double)", 0, 0, 0, 0);
	t_text_bounds("hvector(2,0,-64,double)", 0, 0, 0, 0);
	t_text_bounds("indexed([],[],double)", 0, 0, 0, 0);
	t_text_bounds("indexed([0,0],[7,-9],double)", 0, 0, 0, 0);
	t_text_bounds("indexed_block(0,[7,-9],double)", 0, 0, 0, 0);
	t_text_bounds("struct([],[],[])", 0, 0, 0, 0);
	t_text_bounds("struct([0,0],[-5,9],[int,double])", 0, 0, 0, 0);
	t_text_bounds("contiguous(7,contiguous(0,double))", 0, 0, 0, 0);
}
END_TEST

START_TEST(empty_blocks_among_others_count_for_nothing)
{
	t_text_bounds("indexed([0,2,0],[-100,1,100],int)", 4, 8, 4, 8);
	t_text_bounds("hindexed([1,0],[8,-80],int)", 8, 4, 8, 4);
	t_text_bounds("struct([0,1],[-64,4],[resized(int,-9,99),int])", 4, 4, 4, 4);
	/* The double is not there, so nothing is aligned to it. */
	t_text_bounds("struct([0,1,1],[0,0,4],[double,int,char])", 0, 8, 0, 5);
}
END_TEST

START_TEST(markers_survive_without_data)
{
	t_text_bounds("resized(contiguous(0,int),-4,24)", -4, 24, 0, 0);
	t_text_bounds("contiguous(2,resized(contiguous(0,int),-4,24))", -4, 48, 0, 0);
	t_text_bounds("contiguous(0,resized(int,-4,24))", 0, 0, 0, 0);
}
END_TEST

START_TEST(true_bounds_ignore_markers)
{
	t_text_bounds("resized(vector(2,1,3,int),-100,200)", -100, 200, 0, 16);
	t_text_bounds("resized(hindexed([1,1],[12,-8],short),0,1)", 0, 1, -8, 22);
}
END_TEST

START_TEST(negative_strides_go_below_zero)
{
	t_text_bounds("vector(3,1,-2," PADDED ")", -64, 80, -64, 73);
	t_text_bounds("hvector(3,2,-5,short)", -10, 14, -10, 14);
	t_text_bounds("indexed([1,1],[-4,-2],double)", -32, 24, -32, 24);
}
END_TEST

START_TEST(arrays_span_the_whole_array)
{
	t_text_bounds("subarray([4,6],[2,3],[1,2],c,double)", 0, 192, 64, 72);
	t_text_bounds("subarray([4,6],[2,3],[1,2],fortran,double)", 0, 192, 72, 80);
	t_text_bounds("subarray([5],[1],[4],c,resized(int,-4,16))", 0, 80, 64, 4);
	t_text_bounds("darray(2,1,[5],[block],[default],[2],c,int)", 0, 20, 12, 8);
	t_text_bounds("darray(4,3,[3],[block],[default],[4],c,int)", 0, 12, 0, 0);
}
END_TEST

static void expect_padding(enum dtconv_padding padding, const char *text,
			   ptrdiff_t extent)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.padding = padding };
	struct dtconv_context *context = NULL;
	struct dtconv_type *type = NULL;

	t_ok(dtconv_context_create(&params, &context));
	t_ok(dtconv_type_parse(context, text, strlen(text), &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_msg(t_attr(type).extent == extent, "%s: extent %td, not %td", text,
		      t_attr(type).extent, extent);
	t_verify_padded(type, padding);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}

START_TEST(padding_can_be_switched_off)
{
	expect_padding(DTCONV_PADDING_NONE, PADDED, 9);
	expect_padding(DTCONV_PADDING_NONE, "contiguous(2," PADDED ")", 18);
	expect_padding(DTCONV_PADDING_NONE, "double_int", 16);
	expect_padding(DTCONV_PADDING_NONE, "struct([1,1],[0,16],[double_int,char])", 17);
}
END_TEST

START_TEST(padding_can_be_everywhere)
{
	expect_padding(DTCONV_PADDING_ALWAYS, PADDED, 16);
	expect_padding(DTCONV_PADDING_ALWAYS, "hvector(2,1,9,double)", 24);
	expect_padding(DTCONV_PADDING_ALWAYS, "hindexed([1,1],[0,9],int)", 16);
	expect_padding(DTCONV_PADDING_ALWAYS, "resized(hvector(2,1,9,double),0,17)", 17);
	expect_padding(DTCONV_PADDING_ALWAYS, "hindexed_block(1,[1],int)", 4);
}
END_TEST

static void random_types_with_padding(enum dtconv_padding padding, uint64_t first)
{
	struct random_limits limits = { .padding = padding, .max_entries = 200 };
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.padding = padding };
	struct dtconv_context *context = NULL;
	uint64_t seed = random_seed(first);

	t_ok(dtconv_context_create(&params, &context));
	for (uint64_t i = 0; i < 400; i++) {
		struct dtconv_type *type = NULL;
		int status = random_type(context, seed + i, &limits, &type);

		ck_assert_msg(status == 0, "seed %ju: %s", (uintmax_t)(seed + i),
			      dtconv_strerror(status));
		t_verify_padded(type, padding);
		dtconv_type_unref(type);
	}
	dtconv_context_destroy(context);
}

START_TEST(random_types_obey_the_oracle)
{
	random_types_with_padding((enum dtconv_padding)_i, 1000 * (uint64_t)(_i + 1));
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------- */

/* The answer for a count is what the oracle's displacements are. */
static void expect_run(const struct dtconv_type *type, const struct ref_typemap *map,
		       size_t count)
{
	size_t bytes = count * map->size, length = SIZE_MAX;
	ptrdiff_t *disps = malloc((bytes + 1) * sizeof(*disps)), offset = 99;
	int is_run = -1, expected = 1;

	ck_assert_ptr_nonnull(disps);
	ref_typemap_displacements(map, count, disps);
	for (size_t i = 1; i < bytes; i++)
		expected &= disps[i] == disps[i - 1] + 1;
	t_ok(dtconv_type_query_run(type, count, &is_run, &offset, &length));
	ck_assert_int_eq(is_run, expected);
	ck_assert_int_eq(offset, expected && bytes ? disps[0] : 0);
	ck_assert_uint_eq(length, expected ? bytes : 0);
	free(disps);
}

static void expect_runs(const struct dtconv_type *type)
{
	struct ref_typemap map = { 0 };

	ck_assert(!ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map));
	for (size_t count = 0; count <= 3; count++)
		expect_run(type, &map, count);
	ref_typemap_free(&map);
}

START_TEST(runs_are_found_for_every_count)
{
	static const char *const texts[] = {
		"int",
		"double_int",
		"short_int",
		"contiguous(5, int)",
		"resized(contiguous(5, byte), -3, 8)",
		"hindexed([3, 2], [4, 7], byte)",
		"hindexed([2, 3], [7, 4], byte)",
		"resized(hindexed([3], [-7], byte), 0, 3)",
		"vector(4, 2, 2, short)",
		"vector(4, 2, -2, short)",
		"vector(1, 3, 9, int)",
		"struct([1, 0, 2], [8, 99, 12], [int, double, short])",
		"subarray([4, 6], [2, 6], [1, 0], c, byte)",
		"subarray([4, 6], [1, 3], [1, 2], c, byte)",
		"contiguous(0, int)",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct dtconv_type *type = t_parse(texts[i]);

		expect_runs(type);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(runs_of_random_types)
{
	const struct random_limits limits = { .max_blocks = 2, .max_count = 2 };
	uint64_t seed = random_seed(77000);

	for (uint64_t i = 0; i < 1000; i++) {
		struct dtconv_type *type = NULL;

		t_ok(random_type(t_context, seed + i, &limits, &type));
		expect_runs(type);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(a_run_that_is_too_long_is_refused)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT);
	ptrdiff_t offset = 7;
	size_t bytes = 7;
	int is_run = 7;

	t_status(dtconv_type_query_run(type, SIZE_MAX / 2, &is_run, &offset, &bytes),
		 DTCONV_ERR_OVERFLOW);
	ck_assert(is_run == 7 && offset == 7 && bytes == 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bounds");
	TCase *runs = t_case(suite, "runs");
	TCase *structs = t_case(suite, "structs");
	TCase *markers = t_case(suite, "markers");
	TCase *empty = t_case(suite, "empty");
	TCase *others = t_case(suite, "others");
	TCase *padding = t_case(suite, "padding");

	machine_add_aligned(structs, struct_is_padded_to_its_strictest_member);
	machine_add_aligned(structs, padding_rounds_the_extent_not_the_upper_bound);
	machine_add_aligned(structs, only_structs_are_padded_by_default);
	machine_add_aligned(structs, padding_of_a_struct_stays_with_its_copies);
	machine_add_aligned(structs, padding_yields_to_data_beyond_it);
	tcase_add_test(structs, struct_bounds_come_from_inner_types);
	tcase_add_test(markers, markers_of_the_standards_example);
	tcase_add_test(markers, one_marked_member_decides_alone);
	tcase_add_test(markers, marked_struct_is_not_padded);
	tcase_add_test(markers, negative_extent_swaps_the_bounds);
	tcase_add_test(markers, zero_extent_keeps_copies_in_place);
	tcase_add_test(markers, extent_smaller_than_the_data);
	tcase_add_test(markers, resized_after_dup_after_resized);
	tcase_add_test(markers, true_bounds_ignore_markers);
	tcase_add_test(empty, nothing_has_no_bounds);
	tcase_add_test(empty, empty_blocks_among_others_count_for_nothing);
	tcase_add_test(empty, markers_survive_without_data);
	machine_add_aligned(others, basic_types_begin_at_zero);
	machine_add_aligned(others, negative_strides_go_below_zero);
	tcase_add_test(others, arrays_span_the_whole_array);
	machine_add_aligned(padding, padding_can_be_switched_off);
	machine_add_aligned(padding, padding_can_be_everywhere);
	tcase_add_loop_test(padding, random_types_obey_the_oracle, 0, 3);
	tcase_add_test(runs, runs_are_found_for_every_count);
	tcase_add_test(runs, runs_of_random_types);
	tcase_add_test(runs, a_run_that_is_too_long_is_refused);
	return t_run(suite);
}
