/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases that datatype engines are known to have got wrong, one test each: fragment boundaries
 * (a), shapes (b) and sizes (c). The other suites sweep the same ground; here each case stands
 * alone, small, and with the numbers that hurt.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/machine.h"

/* Both ways in fragments of one size; 0 means all at once. */
static void move_in(struct stage *stage, size_t size)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);
	size_t at = 0;

	stage_blank(stage);
	while (at < stage->bytes) {
		size_t rest = stage->bytes - at;
		size_t bytes = size && size < rest ? size : rest;

		fixture_pack_next(stage, packs, at, bytes);
		fixture_unpack_next(stage, unpacks, at, bytes);
		at += bytes;
		ck_assert_uint_eq(fixture_position(unpacks), at);
	}
	fixture_arrived(stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

/* A layout, whole and in all small fragment sizes. */
static void sweep(const char *text, size_t count)
{
	struct stage stage;

	fixture_open(&stage, text, count);
	for (size_t size = 0; size <= 64; size++)
		move_in(&stage, size);
	fixture_close(&stage);
}

/* ---- a: fragment boundaries ---------------------------------------------------------- */

START_TEST(a01_a_cut_inside_an_element_counts_in_the_position)
{
	struct stage stage;

	fixture_open(&stage, "vector(3, 1, 2, double)", 1);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	fixture_unpack_next(&stage, unpacks, 0, 5);
	ck_assert_uint_eq(fixture_position(unpacks), 5);
	fixture_arrived(&stage);
	fixture_unpack_next(&stage, unpacks, 5, 5);
	ck_assert_uint_eq(fixture_position(unpacks), 10);
	fixture_arrived(&stage);
	fixture_unpack_next(&stage, unpacks, 10, 14);
	fixture_arrived(&stage);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(a02_a_cut_element_resumes_where_it_was_not_where_its_loop_was)
{
	const char *text = "struct([2, 1, 1], [8, 200, 260], [vector(3, 1, 3, double), "
			   "vector(2, 2, 3, int), vector(2, 1, 2, short)])";
	struct stage stage;

	fixture_open(&stage, text, 2);
	for (size_t size = 1; size < stage.bytes; size++)
		move_in(&stage, size);
	fixture_close(&stage);
}
END_TEST

START_TEST(a03_a_lower_bound_is_added_once)
{
	sweep("resized(vector(5, 1, 2, int), -24, 96)", 3);
	sweep("hindexed([2, 3], [40, 64], int)", 3);
	sweep("hindexed([2, 3], [-40, -100], int)", 3);
}
END_TEST

START_TEST(a04_seek_into_an_element_then_pack_its_second_half)
{
	struct stage stage;

	fixture_open(&stage, "vector(4, 1, 3, double)", 2);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t element = 0; element < 8; element++)
		for (size_t half = 1; half < 8; half++) {
			fixture_seek(packs, 8 * element + half);
			fixture_pack_next(&stage, packs, 8 * element + half, 8 - half);
		}
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

START_TEST(a05_room_for_one_byte_again_and_again)
{
	struct stage stage;

	fixture_open(&stage, "vector(4, 3, 5, double_int)", 2);
	move_in(&stage, 1);
	fixture_close(&stage);
}
END_TEST

/* Inner loops of 12 and 10 bytes, outer of 34: cuts at all their ends. */
START_TEST(a06_a_cut_at_the_end_of_a_loop)
{
	static const size_t ends[] = { 4, 8, 12, 17, 22, 34, 39, 46, 68 };
	const char *text =
		"struct([1, 2], [0, 40], [vector(3, 1, 2, int), "
		"struct([1, 1, 3], [0, 8, 20], [int, vector(2, 1, 2, short), byte])])";
	struct stage stage;

	fixture_open(&stage, text, 4);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		fixture_seek(packs, 0);
		fixture_pack_next(&stage, packs, 0, ends[i]);
		fixture_pack_next(&stage, packs, ends[i], 1);
		fixture_pack_next(&stage, packs, ends[i] + 1, stage.bytes);
		move_in(&stage, ends[i]);
	}
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

START_TEST(a07_a_cut_in_a_block_and_just_after_its_last_element)
{
	struct stage stage;

	fixture_open(&stage, "vector(5, 7, 9, double)", 2);
	for (size_t size = 8; size <= 120; size += 8)
		move_in(&stage, size);
	fixture_close(&stage);
	fixture_open(&stage, "indexed([7, 2, 5], [0, 20, 9], double)", 2);
	for (size_t size = 8; size <= 120; size += 8)
		move_in(&stage, size);
	fixture_close(&stage);
}
END_TEST

START_TEST(a08_a_fragment_smaller_than_a_block_makes_progress)
{
	struct stage stage;

	fixture_open(&stage, "hvector(3, 5000, 6000, byte)", 1);
	for (size_t size = 1; size < 5000; size = 3 * size + 1)
		move_in(&stage, size);
	fixture_close(&stage);
}
END_TEST

START_TEST(a10_eight_bytes_of_a_packed_char_and_double)
{
	struct stage stage;

	fixture_open(&stage, "struct([1, 1], [0, 1], [char, double])", 4);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t at = 0; at + 8 <= stage.bytes; at += 8)
		fixture_pack_next(&stage, packs, at, 8);
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
	fixture_open(&stage, "hindexed_block(1, [4, 20, 36], double)", 2);
	move_in(&stage, 3);
	move_in(&stage, 12);
	fixture_close(&stage);
}
END_TEST

START_TEST(a11_chunks_of_round_sizes_split_a_double)
{
	static const int off[] = { 0, -1, 1, -3, 3, -4, 4, -7, 7 };
	struct stage stage;

	fixture_open(&stage, "struct([1, 1], [0, 8], [int, double])", 270000);
	for (size_t size = 4096; size <= 2 << 20; size *= 8)
		for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
			move_in(&stage, size + (size_t)off[i]);
	move_in(&stage, 1 << 20);
	move_in(&stage, 2 << 20);
	fixture_close(&stage);
}
END_TEST

START_TEST(a12_segments_that_end_inside_elements)
{
	struct stage stage;

	fixture_open(&stage, "vector(20000, 3, 5, double)", 1);
	move_in(&stage, 8252);
	move_in(&stage, 8255);
	move_in(&stage, 8256);
	fixture_close(&stage);
}
END_TEST

START_TEST(a13_last_first_single_byte_first_twice_and_overlapping)
{
	static const size_t fragments[][2] = { { 90, 6 },  { 1, 1 },   { 0, 50 },
					       { 30, 40 }, { 30, 40 }, { 95, 1 },
					       { 49, 47 } };
	struct stage stage;

	fixture_open(&stage, "vector(4, 3, 5, double)", 1);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	for (size_t i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
		fixture_seek(unpacks, fragments[i][0]);
		fixture_unpack_next(&stage, unpacks, fragments[i][0], fragments[i][1]);
		fixture_arrived(&stage);
	}
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(a14_a_clone_made_inside_an_element)
{
	struct dtconv_convertor *packs, *clone = NULL;
	struct stage stage;

	fixture_open(&stage, "vector(4, 3, 5, double_int)", 1);
	packs = fixture_pack(&stage);
	fixture_pack_next(&stage, packs, 0, 17);
	fixture_ok(dtconv_convertor_clone(packs, &clone));
	fixture_pack_next(&stage, packs, 17, stage.bytes);
	fixture_pack_next(&stage, clone, 17, 2);
	fixture_pack_next(&stage, clone, 19, stage.bytes);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(clone);
	fixture_close(&stage);
}
END_TEST

START_TEST(a15_two_convertors_of_one_type_take_turns)
{
	struct dtconv_convertor *first, *second;
	struct stage stage;

	fixture_open(&stage, "indexed([2, 1, 3], [7, 0, 12], double_int)", 3);
	first = fixture_pack(&stage);
	second = fixture_pack(&stage);
	for (size_t at = 0; at + 16 <= stage.bytes; at += 11) {
		fixture_pack_next(&stage, first, at, 11);
		fixture_seek(second, stage.bytes - at - 5);
		fixture_pack_next(&stage, second, stage.bytes - at - 5, 5);
	}
	dtconv_convertor_destroy(first);
	dtconv_convertor_destroy(second);
	fixture_close(&stage);
}
END_TEST

/* ---- b: shapes ----------------------------------------------------------------------- */

START_TEST(b17_zero_blocks)
{
	sweep("indexed([0, 2, 0, 1, 0], [5, 1, 9, 8, -4], int)", 3);
	sweep("struct([0, 1, 0], [0, 4, 80], [double, contiguous(0, int), double])", 3);
	sweep("vector(3, 2, 4, contiguous(0, int))", 3);
	sweep("struct([1, 1, 1], [0, 8, 12], [int, contiguous(0, int), short])", 3);
	sweep("contiguous(0, int)", 1000);
}
END_TEST

START_TEST(b18_negative_strides_displacements_and_extents)
{
	sweep("vector(5, 2, -3, short)", 3);
	sweep("hindexed([1, 2, 1], [-8, -40, -100], double)", 2);
	sweep("contiguous(5, resized(struct([1, 1], [0, 4], [int, short]), 0, -8))", 2);
	sweep("resized(vector(2, 1, 2, int), -4, -16)", 5);
}
END_TEST

START_TEST(b19_stride_0_and_extent_0)
{
	sweep("vector(6, 1, 0, double)", 2);
	sweep("contiguous(4, resized(vector(2, 1, 2, int), 0, 0))", 2);
	sweep("resized(struct([1, 1], [0, 1], [char, double]), 0, 0)", 5);
}
END_TEST

START_TEST(b20_an_extent_smaller_than_the_data)
{
	sweep("resized(vector(3, 1, 4, int), 0, 4)", 4);
	sweep("resized(contiguous(3, int), 0, 6)", 3);
	sweep("resized(contiguous(3, int), 0, 100)", 3);
	sweep("resized(contiguous(3, int), -20, 14)", 3);
}
END_TEST

START_TEST(b21_types_that_look_contiguous)
{
	sweep("resized(hindexed([2], [12], int), 0, 8)", 4);
	sweep("resized(hindexed([1, 1], [0, 12], int), 0, 8)", 3);
	sweep("hindexed([1, 1], [4, 0], int)", 3);
	sweep("struct([1, 1], [8, 0], [double, double])", 3);
	sweep("resized(contiguous(2, int), -8, 8)", 3);
}
END_TEST

START_TEST(b22_a_single_iteration_with_a_gap_behind)
{
	sweep("resized(vector(1, 3, 100, int), 0, 40)", 3);
	sweep("vector(1, 1, 1, resized(int, 0, 64))", 3);
	sweep("contiguous(2, resized(contiguous(1, short), 0, 10))", 3);
}
END_TEST

START_TEST(b23_trailing_padding_of_structs)
{
	sweep("struct([1, 1], [0, 1], [double, char])", 4);
	sweep("contiguous(3, struct([1, 1], [0, 8], [double, char]))", 2);
	sweep("struct([1, 1], [0, 1], [char, double])", 4);
}
END_TEST

START_TEST(b24_bounds_from_inner_types)
{
	sweep("struct([1, 1], [0, 40], [resized(int, -8, 32), double])", 3);
	sweep("resized(dup(resized(vector(2, 1, 2, int), -4, 50)), 0, 24)", 3);
}
END_TEST

START_TEST(b25_shares_of_arrays_step_by_the_whole_array)
{
	sweep("subarray([4, 3], [2, 2], [1, 1], c, int)", 3);
	sweep("subarray([4, 3], [2, 2], [1, 1], fortran, int)", 3);
	sweep("subarray([5, 1, 3], [2, 1, 3], [3, 0, 0], c, short)", 2);
	for (int rank = 0; rank < 4; rank++) {
		char text[128];

		snprintf(
			text, sizeof(text),
			"darray(4, %d, [5, 7], [block, cyclic], [default, 2], [2, 2], c, int)",
			rank);
		sweep(text, 2);
		snprintf(
			text, sizeof(text),
			"darray(4, %d, [7, 3], [cyclic, none], [1, default], [4, 1], fortran, int)",
			rank);
		sweep(text, 2);
	}
}
END_TEST

START_TEST(b26_wrapped_deep_and_triangular_types)
{
	sweep("indexed([2, 1], [3, 0], contiguous(1, int))", 3);
	sweep("struct([1], [4], [struct([1], [4], [struct([1], [4], [struct([1, 1], [0, 8], "
	      "[int, short])])])])",
	      3);
	sweep("indexed([8, 7, 6, 5, 4, 3, 2, 1], [0, 9, 18, 27, 36, 45, 54, 63], float)",
	      2);
}
END_TEST

START_TEST(b27_mixed_widths_at_misaligned_addresses)
{
	struct dtconv_type *type = fixture_type(
		"contiguous(7, struct([1, 1, 1, 3], [0, 2, 4, 8], [byte, short, int, double]))");

	for (size_t shift = 0; shift < 16; shift++) {
		struct stage stage;

		ck_assert(!stage_open(&stage, type, 2, shift, 15 - shift, shift));
		for (size_t size = 0; size < 40; size++)
			move_in(&stage, size);
		stage_close(&stage);
	}
	dtconv_type_unref(type);
}
END_TEST

START_TEST(b28_the_outer_stride_is_smaller_than_the_inner)
{
	sweep("hvector(4, 1, 4, vector(5, 1, 7, float))", 2);
	sweep("contiguous(6, resized(vector(6, 1, 6, double), 0, 8))", 1);
	sweep("hvector(3, 1, 2, hvector(3, 1, 6, hvector(3, 1, 18, short)))", 1);
}
END_TEST

START_TEST(b29_gaps_of_pairs_are_left_alone)
{
	static const char *const pairs[] = {
		"float_int", "double_int", "long_int",
		"2int",      "short_int",  "long_double_int",
		"2real",     "2integer",   "2double_precision"
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		sweep(pairs[i], 5);
}
END_TEST

START_TEST(b30_every_predefined_type)
{
	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++) {
		struct dtconv_type *type = dtconv_type_predefined(
			fixture_context, (enum dtconv_predefined)which);
		struct stage stage;

		ck_assert_ptr_nonnull(type);
		ck_assert(!stage_open(&stage, type, 5, 0, 0, (uint64_t)which));
		for (size_t size = 0; size <= 40; size++)
			move_in(&stage, size);
		stage_close(&stage);
	}
}
END_TEST

START_TEST(b31_inner_types_and_owners_go_first)
{
	struct dtconv_type *inner = fixture_type("vector(3, 1, 2, short)"), *outer = NULL;
	struct stage stage;

	fixture_ok(dtconv_type_create_vector(2, 1, 3, inner, &outer));
	dtconv_type_unref(inner);
	ck_assert(!stage_open(&stage, outer, 2, 0, 0, 1));
	struct dtconv_convertor *packs = fixture_pack(&stage);
	dtconv_type_unref(outer);
	/* Another type, perhaps where the old one was. */
	inner = fixture_type("vector(4, 1, 3, int)");
	fixture_pack_next(&stage, packs, 0, stage.bytes);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(inner);
	stage_close(&stage);
}
END_TEST

/* ---- c: sizes ------------------------------------------------------------------------ */

START_TEST(c32_positions_past_2_to_the_32_keep_their_upper_half)
{
	struct dtconv_type *type =
		fixture_type("hvector(4294967299, 1, 0, vector(3, 1, 2, short))");
	struct dtconv_convertor *packs = NULL;
	short memory[5] = { 0x1111, 0, 0x2222, 0, 0x3333 };
	size_t position = (size_t)(6 * (UINT64_C(1) << 32) + 3), moved;
	unsigned char packed[3];

	fixture_ok(dtconv_convertor_create_pack(type, 1, memory, &packs));
	fixture_seek(packs, position);
	fixture_ok(dtconv_convertor_pack(packs, packed, 3, &moved));
	ck_assert_mem_eq(packed, "\x22\x33\x33", 3);
	ck_assert_uint_eq(fixture_position(packs), position + 3);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(c35_streams_that_leave_size_t_are_refused)
{
	struct dtconv_type *type = fixture_type("contiguous(9, byte)");
	struct dtconv_convertor *convertor = NULL;
	unsigned char byte = 0;
	size_t count = SIZE_MAX / 9 + 1, moved = 1;

	fixture_status(dtconv_pack(type, count, &byte, &byte, 1, &moved),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(moved, 0);
	fixture_status(dtconv_unpack(type, count, &byte, &byte, 1, &moved),
		       DTCONV_ERR_OVERFLOW);
	fixture_status(dtconv_convertor_create_pack(type, count, &byte, &convertor),
		       DTCONV_ERR_OVERFLOW);
	fixture_status(dtconv_convertor_create_unpack(type, count, &byte, &convertor),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_ptr_null(convertor);
	/* The stream would fit, its addresses would not. */
	fixture_status(dtconv_convertor_create_pack(type, count - 1, &byte, &convertor),
		       DTCONV_ERR_OVERFLOW);
	fixture_ok(
		dtconv_convertor_create_pack(type, PTRDIFF_MAX / 9, &byte, &convertor));
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(c37_an_iov_of_a_huge_type_costs_what_it_returns)
{
	struct dtconv_type *type = fixture_type("vector(1000000000, 1, 2, int)");
	struct dtconv_convertor *packs = NULL;
	struct iovec iov[3];
	char origin[1];
	size_t iov_count, moved, before;

	fixture_ok(dtconv_convertor_create_pack(type, 1, origin, &packs));
	before = fixture_allocations();
	fixture_seek(packs, 4 * (size_t)999999990 + 1);
	fixture_ok(dtconv_convertor_iov(packs, iov, 3, 10, &iov_count, &moved));
	ck_assert_uint_eq(iov_count, 3);
	ck_assert_uint_eq(moved, 10);
	ck_assert_uint_eq(iov[0].iov_len, 3);
	ck_assert_uint_eq(iov[1].iov_len, 4);
	ck_assert_uint_eq(iov[2].iov_len, 3);
	ck_assert_uint_eq((uintptr_t)iov[0].iov_base,
			  (uintptr_t)origin + 8 * (uintptr_t)999999990 + 1);
	ck_assert_uint_eq(fixture_allocations(), before);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
}
END_TEST

/* The beginning of the names that are wanted, and how many begin so. */
static const char *wanted = "";
static int wanted_count;

static bool is_wanted(const char *name)
{
	bool is = strncmp(name, wanted, strlen(wanted)) == 0;

	wanted_count += is;
	return is;
}

#define ADD(tcase, test)                             \
	do {                                         \
		if (is_wanted(#test))                \
			tcase_add_test(tcase, test); \
	} while (0)

#define ADD_WIDE(tcase, test)                          \
	do {                                           \
		if (is_wanted(#test))                  \
			machine_add_wide(tcase, test); \
	} while (0)

static void add_boundaries(Suite *suite)
{
	TCase *tcase = fixture_case(suite, "fragment boundaries", 60);

	ADD(tcase, a01_a_cut_inside_an_element_counts_in_the_position);
	ADD(tcase, a02_a_cut_element_resumes_where_it_was_not_where_its_loop_was);
	ADD(tcase, a03_a_lower_bound_is_added_once);
	ADD(tcase, a04_seek_into_an_element_then_pack_its_second_half);
	ADD(tcase, a05_room_for_one_byte_again_and_again);
	ADD(tcase, a06_a_cut_at_the_end_of_a_loop);
	ADD(tcase, a07_a_cut_in_a_block_and_just_after_its_last_element);
	ADD(tcase, a08_a_fragment_smaller_than_a_block_makes_progress);
	ADD(tcase, a10_eight_bytes_of_a_packed_char_and_double);
	ADD(tcase, a11_chunks_of_round_sizes_split_a_double);
	ADD(tcase, a12_segments_that_end_inside_elements);
	ADD(tcase, a13_last_first_single_byte_first_twice_and_overlapping);
	ADD(tcase, a14_a_clone_made_inside_an_element);
	ADD(tcase, a15_two_convertors_of_one_type_take_turns);
}

static void add_shapes(Suite *suite)
{
	TCase *tcase = fixture_case(suite, "shapes", 60);

	ADD(tcase, b17_zero_blocks);
	ADD(tcase, b18_negative_strides_displacements_and_extents);
	ADD(tcase, b19_stride_0_and_extent_0);
	ADD(tcase, b20_an_extent_smaller_than_the_data);
	ADD(tcase, b21_types_that_look_contiguous);
	ADD(tcase, b22_a_single_iteration_with_a_gap_behind);
	ADD(tcase, b23_trailing_padding_of_structs);
	ADD(tcase, b24_bounds_from_inner_types);
	ADD(tcase, b25_shares_of_arrays_step_by_the_whole_array);
	ADD(tcase, b26_wrapped_deep_and_triangular_types);
	ADD(tcase, b27_mixed_widths_at_misaligned_addresses);
	ADD(tcase, b28_the_outer_stride_is_smaller_than_the_inner);
	ADD(tcase, b29_gaps_of_pairs_are_left_alone);
	ADD(tcase, b30_every_predefined_type);
	ADD(tcase, b31_inner_types_and_owners_go_first);
}

static void add_sizes(Suite *suite)
{
	TCase *tcase = fixture_case(suite, "sizes", 60);

	ADD_WIDE(tcase, c32_positions_past_2_to_the_32_keep_their_upper_half);
	ADD(tcase, c35_streams_that_leave_size_t_are_refused);
	ADD_WIDE(tcase, c37_an_iov_of_a_huge_type_costs_what_it_returns);
}

/* test_corner_cases [BEGINNING]: the cases whose names begin so. */
int main(int argc, char **argv)
{
	Suite *suite = suite_create("corner cases");

	if (argc > 1)
		wanted = argv[1];
	add_boundaries(suite);
	add_shapes(suite);
	add_sizes(suite);
	if (!wanted_count) {
		printf("no case begins with '%s'\n", wanted);
		return EXIT_FAILURE;
	}
	return fixture_run(suite);
}
