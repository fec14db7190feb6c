/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum kernel against the host's: any length, any address, any number of blocks; and its
 * constants against their definitions.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu_moves.h"
#include "kernels/launch/checksum.h"
#include "kernels/numbers/crc32c.h"

#define ROOM (UINT64_C(3) << 20)

static unsigned char *memory;

static void open_memory(void)
{
	struct choices choices = fixture_choices(31);

	memory = aligned_alloc(256, ROOM);
	ck_assert_ptr_nonnull(memory);
	for (size_t i = 0; i < ROOM; i++)
		memory[i] = (unsigned char)choose(&choices, 256);
}

static void close_memory(void)
{
	free(memory);
}

static void check(size_t offset, size_t bytes)
{
	_Alignas(8) uint32_t counter[2] = { 0, 0 };
	uint64_t packed = (uintptr_t)memory + offset, result = UINT64_MAX;
	const struct dtc_gpu_checksum_job job = { .packed = packed,
						  .bytes = bytes,
						  .counter = (uintptr_t)counter,
						  .result = (uintptr_t)&result };
	struct dtc_gpu_launch launch;

	ck_assert_int_eq(dtc_gpu_plan_checksum(&job, &launch), 0);
	gpu_launch(&launch);
	ck_assert_uint_eq(counter[0] | counter[1], 0);
	ck_assert_uint_eq(result >> 32, 0);
	ck_assert_msg(dtc_gpu_checksum_of(packed, bytes, (uint32_t)result) ==
			      dtc_crc32c(0, memory + offset, bytes),
		      "%zu bytes at %zu", bytes, offset);
}

START_TEST(short_rows_at_every_address)
{
	for (size_t offset = 0; offset < 33; offset++)
		for (size_t bytes = 1; bytes < 40; bytes++)
			check(offset, bytes);
}
END_TEST

START_TEST(rows_of_some_tiles)
{
	struct choices choices = fixture_choices(32);

	for (int round = 0; round < 60; round++)
		check(choose(&choices, 300), 1 + choose(&choices, 5 * DTC_GPU_CRC_TILE));
	for (size_t tiles = 1; tiles < 4; tiles++)
		for (size_t offset = 0; offset < 3; offset++)
			check(offset, tiles * DTC_GPU_CRC_TILE - offset);
}
END_TEST

/* As many blocks as a device gets, with fewer tiles: the rest of the plan does not know. */
START_TEST(rows_of_many_blocks)
{
	check(5, ROOM - 9);
	check(16, ROOM - 16);
}
END_TEST

START_TEST(long_rows_have_blocks_of_several_tiles)
{
	const uint64_t tile = DTC_GPU_CRC_TILE, most = 1u << DTC_GPU_CRC_BLOCKS_LOG;
	struct dtc_gpu_checksum_job job = { .packed = 4096 };
	struct dtc_gpu_launch launch;

	job.bytes = most * tile;
	ck_assert_int_eq(dtc_gpu_plan_checksum(&job, &launch), 0);
	ck_assert_uint_eq(launch.grid, most);
	ck_assert_uint_eq(launch.params.crc.tiles, 1);
	job.bytes++;
	ck_assert_int_eq(dtc_gpu_plan_checksum(&job, &launch), 0);
	ck_assert_uint_eq(launch.grid, most / 2 + 1);
	ck_assert_uint_eq(launch.params.crc.tiles, 2);
	ck_assert_uint_eq(launch.params.crc.blocks[3],
			  dtc_crc32c_forward(0x80000000, 8 * 2 * tile));
	job.bytes = 0;
	ck_assert_int_eq(dtc_gpu_plan_checksum(&job, &launch), DTCONV_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(blocks_of_several_tiles_sum_up)
{
	/* The planner takes one tile a block for so few bytes; two are as right. */
	_Alignas(8) uint32_t counter[2] = { 0, 0 };
	const size_t bytes = 6 * DTC_GPU_CRC_TILE - 100;
	uint64_t result = 0;
	const struct dtc_gpu_checksum_job job = { .packed = (uintptr_t)memory + 32,
						  .bytes = bytes,
						  .counter = (uintptr_t)counter,
						  .result = (uintptr_t)&result };
	struct dtc_gpu_launch launch;

	ck_assert_int_eq(dtc_gpu_plan_checksum(&job, &launch), 0);
	launch.grid /= 2;
	launch.params.crc.tiles *= 2;
	memmove(launch.params.crc.blocks, launch.params.crc.blocks + 1,
		sizeof(launch.params.crc.blocks) - sizeof(launch.params.crc.blocks[0]));
	gpu_launch(&launch);
	ck_assert_uint_eq(dtc_gpu_checksum_of(job.packed, bytes, (uint32_t)result),
			  dtc_crc32c(0, memory + 32, bytes));
}
END_TEST

START_TEST(constants_are_what_they_stand_for)
{
	const struct dtc_gpu_crc_constants *constants = &dtc_gpu_crc_constants;
	const uint64_t step = DTC_GPU_CRC_TILE - DTC_GPU_CRC_PIECE;

	for (uint32_t bit = 0; bit < 32; bit++)
		ck_assert_uint_eq(constants->bits[bit],
				  dtc_crc32c_forward(UINT32_C(1) << bit, 4));
	for (uint32_t bit = 0; bit < 8; bit++)
		for (uint32_t row = 0; row < DTC_GPU_CRC_ROWS; row++)
			ck_assert_uint_eq(
				constants->rows[row][bit],
				dtc_crc32c_forward(UINT32_C(1) << (8 * row + bit), step));
	for (uint32_t i = 0; i < 16; i++) {
		ck_assert_uint_eq(constants->threads[i],
				  dtc_crc32c_forward(0x80000000,
						     DTC_GPU_CRC_PIECE * (15 - i)));
		ck_assert_uint_eq(constants->groups[i],
				  dtc_crc32c_forward(0x80000000,
						     16 * DTC_GPU_CRC_PIECE * (15 - i)));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu checksum");
	TCase *rows = fixture_case(suite, "rows", 60);
	TCase *plans = fixture_case(suite, "plans", 60);

	tcase_add_checked_fixture(rows, open_memory, close_memory);
	tcase_add_test(rows, short_rows_at_every_address);
	tcase_add_test(rows, rows_of_some_tiles);
	tcase_add_test(rows, rows_of_many_blocks);
	tcase_add_test(rows, blocks_of_several_tiles_sum_up);
	tcase_add_test(plans, long_rows_have_blocks_of_several_tiles);
	tcase_add_test(plans, constants_are_what_they_stand_for);
	return fixture_run(suite);
}
