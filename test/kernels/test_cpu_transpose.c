/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transpositions, every set of kernels against a byte loop: every number of rows and columns
 * around the tiles and the bands, elements of any length, dense and not, in either role.
 */
#include "config.h"

#include <stdio.h>

#include "base/base.h"
#include "kernels/moves.h"
#include "support/fixture.h"

/* Around a tile, a band and two bands, for every element that has a tile. */
static const size_t sizes[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,   10, 11,
				12, 13, 14, 15, 16, 17, 18, 19, 20,  31, 32,
				33, 63, 64, 65, 66, 71, 72, 73, 129, 130 };

static struct moves moves;

/* Bytes that are no element's: between elements, and between rows or columns. */
struct gaps {
	ptrdiff_t to_element, from_element;
	ptrdiff_t to_pitch, from_pitch;
};

/* A grid whose rows go downwards if @down says so, and as many bytes apart as they need. */
static struct dtc_grid grid_of(size_t rows, size_t columns, size_t element,
			       const struct gaps *gaps, bool down)
{
	ptrdiff_t to_element = (ptrdiff_t)element + gaps->to_element;
	ptrdiff_t from_element = (ptrdiff_t)element + gaps->from_element;
	ptrdiff_t to_pitch = to_element * (ptrdiff_t)rows + gaps->to_pitch;
	ptrdiff_t from_pitch = from_element * (ptrdiff_t)columns + gaps->from_pitch;

	return (struct dtc_grid){
		.to_strides = { to_element, down ? -to_pitch : to_pitch },
		.from_strides = { down ? -from_pitch : from_pitch, from_element },
		.outer = rows,
		.inner = columns,
		.block = element,
	};
}

static void set_grid(const struct dtc_grid *grid)
{
	moves_clear(&moves);
	moves.arg = grid;
	moves_add_grid(&moves, grid);
	snprintf(moves.text, sizeof(moves.text),
		 "%zu rows of %zu elements of %zu bytes, strides %td, %td to %td, %td",
		 grid->outer, grid->inner, grid->block, grid->from_strides.outer,
		 grid->from_strides.inner, grid->to_strides.outer,
		 grid->to_strides.inner);
}

static void check(size_t rows, size_t columns, size_t element, const struct gaps *gaps,
		  bool down)
{
	const struct dtc_grid grid = grid_of(rows, columns, element, gaps, down);

	set_grid(&grid);
	moves_check(&moves);
}

/* ---- every size ---------------------------------------------------------------------------- */

static const size_t elements[] = { 1, 2, 4, 8, 16, 24 };

START_TEST(every_number_of_rows_and_columns_is_transposed)
{
	static const struct gaps none = { 0 };

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(sizes); i++)
		for (size_t j = 0; j < DTC_ARRAY_LENGTH(sizes); j++)
			check(sizes[i], sizes[j], elements[_i], &none, false);
}
END_TEST

/* ---- every kind of sides ------------------------------------------------------------------- */

static const struct gaps kinds[] = {
	{ 0, 0, 0, 5 },  { 0, 0, 3, 0 },  { 0, 0, 64, 128 },  { 0, 1, 0, 0 },
	{ 1, 0, 0, 0 },  { 8, 0, 0, 24 }, { 0, 16, 100, 16 }, { 3, 5, 7, 9 },
	{ 0, 0, 9, -1 }, /* what is read may overlap */
};

/* The largest squares are such as are not in the first cache. */
static const size_t few_sizes[] = { 1, 3, 4, 7, 8, 9, 13, 16, 17, 33, 64, 66, 97 };

static void check_kinds(size_t element, bool down)
{
	for (size_t kind = 0; kind < DTC_ARRAY_LENGTH(kinds); kind++)
		for (size_t i = 0; i < DTC_ARRAY_LENGTH(few_sizes); i++)
			for (size_t j = 0; j < DTC_ARRAY_LENGTH(few_sizes); j++)
				check(few_sizes[i], few_sizes[j], element, &kinds[kind],
				      down);
}

START_TEST(sides_with_gaps_are_transposed_and_the_gaps_are_kept)
{
	check_kinds(elements[_i], false);
}
END_TEST

START_TEST(sides_may_run_downwards)
{
	check_kinds(elements[_i], true);
}
END_TEST

/* As large as no core keeps both sides of; bands are shorter there. */
START_TEST(large_matrices_are_transposed)
{
	static const struct gaps pitches = { 0, 0, 16, 48 };

	check(261, 259, 16, &pitches, false);
	check(370, 363, 8, &pitches, true);
}
END_TEST

/* ---- other elements, other places ---------------------------------------------------------- */

START_TEST(elements_of_every_length_are_transposed)
{
	static const struct gaps pitches = { 0, 0, 1, 3 };

	for (size_t element = 1; element <= 136; element++) {
		check(9, 18, element, &pitches, false);
		check(18, 9, element, &pitches, false);
		check(66, 5, element, &pitches, false);
	}
}
END_TEST

START_TEST(every_alignment_of_both_sides_is_the_same)
{
	static const struct gaps pitches = { 0, 0, 3, 5 };

	for (size_t rows = 8; rows <= 20; rows += 4) {
		const struct dtc_grid grid =
			grid_of(rows, 17, elements[_i], &pitches, false);

		set_grid(&grid);
		moves_check_alignments(&moves, rows == 8 ? 1 : 29);
	}
}
END_TEST

static void setup(void)
{
	moves_setup();
	moves.run = moves_run_transpose;
}

static void setup_stream(void)
{
	moves_setup();
	moves.run = moves_run_transpose_stream;
}

static void teardown(void)
{
	moves_destroy(&moves);
	moves_teardown();
}

int main(void)
{
	Suite *suite = suite_create("cpu transpositions");
	TCase *grids = fixture_case(suite, "transpositions", 60);
	TCase *streams = fixture_case(suite, "streams", 60);

	tcase_add_checked_fixture(grids, setup, teardown);
	tcase_add_loop_test(grids, every_number_of_rows_and_columns_is_transposed, 0,
			    (int)DTC_ARRAY_LENGTH(elements));
	tcase_add_loop_test(grids, sides_with_gaps_are_transposed_and_the_gaps_are_kept,
			    0, (int)DTC_ARRAY_LENGTH(elements));
	tcase_add_loop_test(grids, sides_may_run_downwards, 0,
			    (int)DTC_ARRAY_LENGTH(elements));
	tcase_add_test(grids, large_matrices_are_transposed);
	tcase_add_test(grids, elements_of_every_length_are_transposed);
	tcase_add_loop_test(grids, every_alignment_of_both_sides_is_the_same, 0,
			    (int)DTC_ARRAY_LENGTH(elements));
	tcase_add_checked_fixture(streams, setup_stream, teardown);
	tcase_add_loop_test(streams, every_number_of_rows_and_columns_is_transposed, 0,
			    (int)DTC_ARRAY_LENGTH(elements));
	tcase_add_loop_test(streams, every_alignment_of_both_sides_is_the_same, 0,
			    (int)DTC_ARRAY_LENGTH(elements));
	return fixture_run(suite);
}
