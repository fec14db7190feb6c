/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids of blocks, streamed past the caches or not, every set of kernels against a byte loop: all
 * short block lengths and some long ones, rows of any number of blocks, any stride and alignment.
 */
#include "config.h"

#include <stdio.h>

#include "base/base.h"
#include "kernels/moves.h"
#include "support/fixture.h"

/* Lengths around the words and the limits of longer blocks; all up to SHORT come first. */
#define SHORT 131

static const size_t long_blocks[] = { 143,  160,  191,  192,  193,  255,  256,
				      257,  300,  511,  512,  513,  600,  767,
				      1000, 1023, 1024, 1025, 1087, 1088, 1089,
				      2000, 4095, 4096, 4097 };

/* What moves grids: every case goes through each. */
static const struct entry {
	const char *name;
	void (*run)(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		    char *to, const char *from);
} entries[] = { { "grid", moves_run_grid },
		{ "stream to packed", moves_run_stream_packed },
		{ "stream to user", moves_run_stream_user },
		{ "fetched", moves_run_fetched } };

#define ENTRIES ((int)DTC_ARRAY_LENGTH(entries))

static struct moves moves;
static const char *entry_name;

static void for_every_block(int entry, void (*check)(size_t block))
{
	entry_name = entries[entry].name;
	moves.run = entries[entry].run;
	for (size_t block = 1; block <= SHORT; block++)
		check(block);
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(long_blocks); i++)
		check(long_blocks[i]);
}

/* The blocks and the name of a grid, which must live until they are checked. */
static void set_grid(const struct dtc_grid *grid)
{
	moves_clear(&moves);
	moves.arg = grid;
	moves_add_grid(&moves, grid);
	snprintf(moves.text, sizeof(moves.text),
		 "%s %zu x %zu blocks of %zu bytes, strides %td, %td to %td, %td",
		 entry_name, grid->outer, grid->inner, grid->block,
		 grid->from_strides.outer, grid->from_strides.inner,
		 grid->to_strides.outer, grid->to_strides.inner);
}

static void check_grid(struct dtc_grid_side to, struct dtc_grid_side from, size_t outer,
		       size_t inner, size_t block)
{
	const struct dtc_grid grid = { .to_strides = to,
				       .from_strides = from,
				       .outer = outer,
				       .inner = inner,
				       .block = block };

	set_grid(&grid);
	moves_check(&moves);
}

/* Blocks @stride apart in rows with so many bytes between them. */
static struct dtc_grid_side rows_of(ptrdiff_t stride, size_t inner, ptrdiff_t apart)
{
	return (struct dtc_grid_side){ stride * (ptrdiff_t)inner + apart, stride };
}

static void check_rows(size_t block)
{
	ptrdiff_t dense = (ptrdiff_t)block;

	for (size_t inner = 0; inner <= 17; inner++)
		for (size_t outer = 1; outer <= 3; outer += 2) {
			struct dtc_grid_side packed = rows_of(dense, inner, 0);
			struct dtc_grid_side user = rows_of(dense + 3, inner, 5);

			check_grid(packed, user, outer, inner, block);
			check_grid(user, packed, outer, inner, block);
		}
}

START_TEST(grids_of_every_length_copy_their_blocks_and_nothing_else)
{
	for_every_block(_i, check_rows);
}
END_TEST

static void check_narrow_gaps(size_t block)
{
	ptrdiff_t dense = (ptrdiff_t)block;

	for (ptrdiff_t gap = 0; gap <= 1; gap++) {
		check_grid(rows_of(dense, 8, 0), rows_of(dense + gap, 8, gap), 4, 8,
			   block);
		check_grid(rows_of(dense + gap, 7, gap), rows_of(dense, 7, 0), 4, 7,
			   block);
	}
}

START_TEST(gaps_of_one_byte_and_of_none_are_respected)
{
	for_every_block(_i, check_narrow_gaps);
}
END_TEST

static void check_downwards(size_t block)
{
	ptrdiff_t dense = (ptrdiff_t)block;

	for (size_t inner = 7; inner <= 8; inner++) {
		struct dtc_grid_side packed = rows_of(dense, inner, 0);
		struct dtc_grid_side user = rows_of(-dense - 1, inner, -2);

		check_grid(packed, user, 4, inner, block);
		check_grid(user, packed, 4, inner, block);
	}
}

START_TEST(grids_may_run_downwards)
{
	for_every_block(_i, check_downwards);
}
END_TEST

/* Strides at which many words are moved at a pace of their own. */
START_TEST(columns_of_matrices_are_copied_at_every_power_of_two)
{
	static const ptrdiff_t strides[] = { 1024, 2048, 4096, 16384, -16384 };
	static const size_t lengths[] = { 63, 64, 67, 90 };

	entry_name = entries[_i].name;
	moves.run = entries[_i].run;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(strides); i++)
		for (size_t j = 0; j < DTC_ARRAY_LENGTH(lengths); j++) {
			struct dtc_grid_side packed = rows_of(8, lengths[j], 0);
			struct dtc_grid_side user = { 8, strides[i] };

			check_grid(packed, user, 2, lengths[j], 8);
			check_grid(user, packed, 2, lengths[j], 8);
		}
}
END_TEST

/* So many that some processors want a pace where they share sets, or are in more pages than a TLB knows. */
START_TEST(long_columns_are_copied)
{
	static const struct {
		ptrdiff_t stride;
		size_t words;
	} columns[] = { { 2048, 1000 }, { -2048, 1000 }, { 4104, 500 } };

	entry_name = entries[_i].name;
	moves.run = entries[_i].run;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(columns); i++) {
		size_t words = columns[i].words;
		struct dtc_grid_side packed = rows_of(8, words, 0);
		struct dtc_grid_side user = { 8, columns[i].stride };

		check_grid(packed, user, 5, words, 8);
		check_grid(user, packed, 5, words, 8);
	}
}
END_TEST

static void check_overlap(size_t block)
{
	struct dtc_grid_side packed = rows_of((ptrdiff_t)block, 9, 0);

	for (ptrdiff_t stride = 0; stride < 2; stride++)
		check_grid(packed, rows_of(stride, 9, -3), 3, 9, block);
}

START_TEST(what_is_read_may_overlap)
{
	for_every_block(_i, check_overlap);
}
END_TEST

/* A row of blocks with gaps, packed and unpacked. */
static void check_alignments(size_t block, size_t inner, size_t step)
{
	struct dtc_grid_side packed = rows_of((ptrdiff_t)block, inner, 0);
	struct dtc_grid_side user = rows_of((ptrdiff_t)block + 2, inner, 0);

	for (int unpack = 0; unpack < 2; unpack++) {
		const struct dtc_grid grid = { .to_strides = unpack ? user : packed,
					       .from_strides = unpack ? packed : user,
					       .outer = 1,
					       .inner = inner,
					       .block = block };

		set_grid(&grid);
		moves_check_alignments(&moves, step);
	}
}

static void check_places(size_t block)
{
	check_alignments(block, 5, block <= 64 ? 1 : 37);
	check_alignments(block, 8, 61);
}

START_TEST(every_alignment_of_both_sides_is_the_same)
{
	for_every_block(_i, check_places);
}
END_TEST

static void teardown(void)
{
	moves_destroy(&moves);
	moves_teardown();
}

int main(void)
{
	Suite *suite = suite_create("cpu grids");
	TCase *grids = fixture_case(suite, "grids", 60);
	TCase *places = fixture_case(suite, "places", 60);

	tcase_add_checked_fixture(grids, moves_setup, teardown);
	tcase_add_checked_fixture(places, moves_setup, teardown);
	tcase_add_loop_test(grids,
			    grids_of_every_length_copy_their_blocks_and_nothing_else, 0,
			    ENTRIES);
	tcase_add_loop_test(grids, gaps_of_one_byte_and_of_none_are_respected, 0,
			    ENTRIES);
	tcase_add_loop_test(grids, grids_may_run_downwards, 0, ENTRIES);
	tcase_add_loop_test(grids, long_columns_are_copied, 0, ENTRIES);
	tcase_add_loop_test(grids, columns_of_matrices_are_copied_at_every_power_of_two, 0,
			    ENTRIES);
	tcase_add_loop_test(grids, what_is_read_may_overlap, 0, ENTRIES);
	tcase_add_loop_test(places, every_alignment_of_both_sides_is_the_same, 0,
			    ENTRIES);
	return fixture_run(suite);
}
