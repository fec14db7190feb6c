/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU kernels against a byte loop: every short block length, both directions, strides that
 * overlap nothing, every alignment of both sides; not a byte outside the blocks changes.
 */
#include "config.h"

#include <check.h>
#include <string.h>

#include "kernels/cpu.h"
#include "support/fixture.h"

#define LONGEST 80
#define ROOM 65536

static unsigned char source[ROOM], target[ROOM], expected[ROOM];

static void fill(void)
{
	for (size_t i = 0; i < ROOM; i++) {
		source[i] = (unsigned char)(i * 7 + i / 251);
		target[i] = expected[i] = 0xa5;
	}
}

/* What dtc_cpu_grid promises, byte by byte. */
static void copy_bytes(size_t to_at, struct dtc_grid_side to, size_t from_at,
		       struct dtc_grid_side from, size_t outer, size_t inner, size_t block)
{
	for (size_t i = 0; i < outer; i++)
		for (size_t j = 0; j < inner; j++)
			for (size_t k = 0; k < block; k++)
				expected[(ptrdiff_t)(to_at + k) + (ptrdiff_t)i * to.outer +
					 (ptrdiff_t)j * to.inner] =
					source[(ptrdiff_t)(from_at + k) +
					       (ptrdiff_t)i * from.outer +
					       (ptrdiff_t)j * from.inner];
}

static void check_grid(size_t to_at, struct dtc_grid_side to, size_t from_at,
		       struct dtc_grid_side from, size_t outer, size_t inner, size_t block)
{
	fill();
	copy_bytes(to_at, to, from_at, from, outer, inner, block);
	const struct dtc_grid grid = { (char *)target + to_at, (const char *)source + from_at,
				       to, from, outer, inner, block };
	dtc_cpu_best()->grid(&grid);
	ck_assert_msg(memcmp(target, expected, ROOM) == 0,
		      "%zu x %zu blocks of %zu bytes, at %zu from %zu", outer, inner, block,
		      to_at, from_at);
}

START_TEST(grids_of_every_length_copy_their_blocks_and_nothing_else)
{
	size_t block = (size_t)_i;
	ptrdiff_t dense = (ptrdiff_t)block, apart = dense + 3;

	for (size_t inner = 0; inner <= 9; inner++) {
		struct dtc_grid_side packed = { dense * (ptrdiff_t)inner, dense };
		struct dtc_grid_side user = { apart * (ptrdiff_t)inner + 5, apart };

		check_grid(1024, packed, 2048, user, 3, inner, block);
		check_grid(1024, user, 2048, packed, 3, inner, block);
	}
}
END_TEST

START_TEST(grids_may_run_downwards)
{
	size_t block = (size_t)_i;
	ptrdiff_t apart = (ptrdiff_t)block + 1;
	struct dtc_grid_side packed = { 7 * (ptrdiff_t)block, (ptrdiff_t)block };
	struct dtc_grid_side user = { -7 * apart, -apart };

	check_grid(256, packed, 32768, user, 4, 7, block);
	check_grid(32768, user, 256, packed, 4, 7, block);
}
END_TEST

START_TEST(every_alignment_of_both_sides_is_the_same)
{
	size_t block = (size_t)_i;
	struct dtc_grid_side packed = { 0, (ptrdiff_t)block };
	struct dtc_grid_side user = { 0, 2 * (ptrdiff_t)block };

	for (size_t to = 0; to < 64; to += block > 16 ? 7 : 1)
		for (size_t from = 0; from < 64; from += 9)
			check_grid(512 + to, packed, 4096 + from, user, 1, 6, block);
}
END_TEST

START_TEST(runs_of_every_length_are_copied)
{
	for (size_t bytes = 0; bytes <= 300; bytes++) {
		fill();
		memcpy(expected + 77, source + 33, bytes);
		dtc_cpu_run((char *)target + 77, (const char *)source + 33, bytes);
		ck_assert_msg(memcmp(target, expected, ROOM) == 0, "%zu bytes", bytes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu kernels");
	TCase *grids = fixture_case(suite, "grids", 60);

	tcase_add_loop_test(grids, grids_of_every_length_copy_their_blocks_and_nothing_else, 1,
			    LONGEST);
	tcase_add_loop_test(grids, grids_may_run_downwards, 1, LONGEST);
	tcase_add_loop_test(grids, every_alignment_of_both_sides_is_the_same, 1, LONGEST);
	tcase_add_test(grids, runs_of_every_length_are_copied);
	return fixture_run(suite);
}
