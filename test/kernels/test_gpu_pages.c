/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of lists of pages against an oracle that finds each byte by itself: any sizes, strides, alignments and
 * cuts; numbers out of range are reported and nothing of their pages is touched; digits too long to be divided by.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "kernels/gpu_moves.h"
#include "kernels/launch/pages.h"

enum { POOL = 1 << 18, ENTRIES = 3000, GUARD = 0xd5 };

static _Alignas(64) unsigned char pool[POOL], other[POOL], expected[POOL];
static _Alignas(64) unsigned char packed[POOL + 64];
static int32_t narrow[ENTRIES];
static int64_t wide[ENTRIES];
static uint64_t fault;
static struct dtc_gpu_pages_job list; /* its addresses are set for each launch */
static size_t base;                   /* of page 0 in the pool */

/* ---- the oracle ------------------------------------------------------------------------------ */

static uint64_t stream_bytes(void)
{
	return list.layer_count * list.part_count * list.plane_bytes;
}

static uint64_t entry_of(uint64_t position)
{
	return position % list.plane_bytes / list.page_bytes;
}

static int64_t number_of(uint64_t position)
{
	return list.wide ? wide[entry_of(position)] : narrow[entry_of(position)];
}

static bool is_bad(uint64_t position)
{
	return (uint64_t)number_of(position) >= list.pool_pages;
}

static size_t place_of(uint64_t position)
{
	const uint64_t plane = position / list.plane_bytes;

	return (size_t)(base + plane / list.part_count * (uint64_t)list.layer_stride +
			plane % list.part_count * (uint64_t)list.part_stride +
			(uint64_t)number_of(position) * list.page_stride +
			position % list.plane_bytes % list.page_bytes);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Pages on from one another in memory, with a gap of a multiple of @grain; parts and layers outside or inside. */
static void choose_strides(struct choices *choices, size_t grain)
{
	const bool inside = chance(choices, 2);
	uint64_t next = list.page_bytes + grain * choose(choices, 3);

	if (inside) {
		list.part_stride = (int64_t)next;
		list.layer_stride = (int64_t)(next * list.part_count);
		next *= list.part_count * list.layer_count;
	}
	list.page_stride = next;
	if (inside)
		return;
	next *= list.pool_pages;
	list.part_stride = (int64_t)next;
	list.layer_stride = (int64_t)(next * list.part_count);
}

static void reverse_layers(void)
{
	base += (size_t)((int64_t)(list.layer_count - 1) * list.layer_stride);
	list.layer_stride = -list.layer_stride;
}

/* Numbers without repetition. */
static void choose_numbers(struct choices *choices, size_t count)
{
	static int32_t all[4096];

	for (size_t i = 0; i < list.pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < count; i++) {
		const size_t chosen = i + choose(choices, (size_t)list.pool_pages - i);

		wide[i] = narrow[i] = all[chosen];
		all[chosen] = all[i];
	}
}

static void choose_list(struct choices *choices)
{
	static const size_t sizes[] = { 1,  2,   3,   8,    16,   48,   64,
					80, 100, 576, 1000, 1024, 4096, 16384 };
	const bool aligned = chance(choices, 2);
	const size_t grain = aligned ? 16 : 1;
	size_t most;

	list = (struct dtc_gpu_pages_job){ .wide = chance(choices, 2) };
	list.page_bytes = sizes[choose(choices, DTC_ARRAY_LENGTH(sizes))];
	if (aligned)
		list.page_bytes = (list.page_bytes + 15) / 16 * 16;
	list.layer_count = 1 + choose(choices, 4);
	list.part_count = 1 + choose(choices, 3);
	most = (POOL - 64) /
	       ((list.page_bytes + 2 * grain) * list.layer_count * list.part_count);
	list.pool_pages = 1 + choose(choices, DTC_MIN(DTC_MAX(most, 1), (size_t)ENTRIES));
	if (most == 0)
		list.layer_count = list.part_count = 1;
	const size_t count = 1 + choose(choices, (size_t)list.pool_pages);
	list.plane_bytes = count * list.page_bytes;
	if (chance(choices, 2))
		list.plane_bytes = 1 + choose(choices, (size_t)list.plane_bytes);
	base = aligned ? 16 : choose(choices, 17);
	choose_strides(choices, grain);
	choose_numbers(choices, count);
	if (chance(choices, 4))
		reverse_layers();
}

/* ---- launches -------------------------------------------------------------------------------- */

static void launch(unsigned char *memory, size_t shift, uint64_t begin, uint64_t end,
		   enum dtc_direction direction)
{
	static struct dtc_gpu_launch planned;

	list.pool = (uintptr_t)memory + base;
	list.packed = (uintptr_t)packed + shift + begin;
	list.table = list.wide ? (uintptr_t)wide : (uintptr_t)narrow;
	list.fault = (uintptr_t)&fault;
	list.begin = begin;
	list.end = end;
	list.direction = direction;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
	gpu_launch(&planned);
}

/* The whole stream, or cut anywhere. */
static void move_cut(struct choices *choices, unsigned char *memory, size_t shift,
		     enum dtc_direction direction)
{
	const uint64_t bytes = stream_bytes();
	const uint64_t most = chance(choices, 2) ? bytes : 1 + choose(choices, 9000);

	for (uint64_t at = 0; at < bytes; at += DTC_MIN(most, bytes - at))
		launch(memory, shift, at, at + DTC_MIN(most, bytes - at), direction);
}

static void check_packed(size_t shift)
{
	for (uint64_t at = 0; at < stream_bytes(); at++) {
		const unsigned char wanted = is_bad(at) ? GUARD : pool[place_of(at)];

		ck_assert_msg(packed[shift + at] == wanted, "byte %zu of the stream",
			      (size_t)at);
	}
	for (size_t i = 0; i < shift; i++)
		ck_assert_uint_eq(packed[i], GUARD);
	for (size_t i = shift + stream_bytes(); i < sizeof(packed); i++)
		ck_assert_uint_eq(packed[i], GUARD);
}

static void move_both_ways(struct choices *choices)
{
	const size_t shift = chance(choices, 2) ? 0 : choose(choices, 32);

	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)choose(choices, 251);
	memset(packed, GUARD, sizeof(packed));
	memset(other, GUARD, sizeof(other));
	memset(expected, GUARD, sizeof(expected));
	fault = UINT64_MAX;
	move_cut(choices, pool, shift, DTC_PACK);
	check_packed(shift);
	move_cut(choices, other, shift, DTC_UNPACK);
	for (uint64_t at = 0; at < stream_bytes(); at++)
		if (!is_bad(at))
			expected[place_of(at)] = packed[shift + at];
	ck_assert(!memcmp(expected, other, POOL));
}

START_TEST(random_lists_move_every_byte)
{
	struct choices choices = fixture_choices(41);

	for (int i = 0; i < 400; i++) {
		choose_list(&choices);
		move_both_ways(&choices);
		ck_assert_uint_eq(fault, UINT64_MAX);
	}
}
END_TEST

/* ---- numbers out of range -------------------------------------------------------------------- */

static void spoil(struct choices *choices, size_t entry)
{
	const int64_t bad[] = {
		-1,        (int64_t)list.pool_pages, INT32_MIN, INT32_MAX, INT64_MIN,
		INT64_MAX, INT64_C(1) << 32
	};

	wide[entry] = bad[choose(choices, DTC_ARRAY_LENGTH(bad))];
	narrow[entry] = (int32_t)bad[choose(choices, 4)];
}

START_TEST(numbers_out_of_range_are_left_out_and_the_first_is_reported)
{
	struct choices choices = fixture_choices(42);

	for (int i = 0; i < 200; i++) {
		choose_list(&choices);
		const size_t count = (size_t)entry_of(list.plane_bytes - 1) + 1;
		const size_t first = choose(&choices, count);

		spoil(&choices, first);
		spoil(&choices, first + choose(&choices, count - first));
		move_both_ways(&choices);
		ck_assert_uint_eq(fault, first);
	}
}
END_TEST

/* A stretch reports the entries that it needs, whatever the others are. */
START_TEST(a_stretch_looks_at_its_own_entries)
{
	list = (struct dtc_gpu_pages_job){ .pool_pages = 9,
					   .page_bytes = 64,
					   .page_stride = 64,
					   .layer_count = 2,
					   .layer_stride = 1024,
					   .part_count = 1,
					   .plane_bytes = 5 * 64 };
	for (int i = 0; i < 5; i++)
		narrow[i] = i % 2 ? i : -1 - i;
	fault = UINT64_MAX;
	launch(pool, 0, 64, 128, DTC_PACK);
	launch(pool, 0, 5 * 64 + 3 * 64 + 7, 5 * 64 + 4 * 64 - 1, DTC_PACK);
	ck_assert_uint_eq(fault, UINT64_MAX);
	launch(pool, 0, 5 * 64 + 3 * 64 + 7, 5 * 64 + 4 * 64 + 1, DTC_PACK);
	ck_assert_uint_eq(fault, 4);
	launch(pool, 0, 191, 192, DTC_UNPACK);
	ck_assert_uint_eq(fault, 2);
	fault = 0;
	launch(pool, 0, 0, stream_bytes(), DTC_PACK);
	ck_assert_uint_eq(fault, 0);
}
END_TEST

START_TEST(without_a_word_for_faults_bad_pages_are_left_out)
{
	static struct dtc_gpu_launch planned;

	narrow[0] = -1;
	list = (struct dtc_gpu_pages_job){ .pool = (uintptr_t)pool,
					   .packed = (uintptr_t)packed,
					   .table = (uintptr_t)narrow,
					   .pool_pages = 1,
					   .page_bytes = 64,
					   .page_stride = 64,
					   .layer_count = 1,
					   .part_count = 1,
					   .plane_bytes = 64,
					   .end = 64 };
	memset(packed, GUARD, sizeof(packed));
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
	gpu_launch(&planned);
	ck_assert_uint_eq(packed[0], GUARD);
}
END_TEST

/* A pool may have more pages than numbers of 32 bits can name. */
START_TEST(negative_numbers_are_out_of_range_in_any_pool)
{
	list = (struct dtc_gpu_pages_job){ .pool_pages = UINT32_MAX,
					   .page_bytes = 64,
					   .page_stride = 64,
					   .layer_count = 1,
					   .part_count = 1,
					   .plane_bytes = 2 * 64 };
	base = 0;
	narrow[0] = 5;
	narrow[1] = INT32_MIN;
	fault = UINT64_MAX;
	memset(packed, GUARD, sizeof(packed));
	launch(pool, 0, 0, 128, DTC_PACK);
	ck_assert_uint_eq(fault, 1);
	ck_assert(!memcmp(packed, pool + 5 * 64, 64));
	ck_assert_uint_eq(packed[64], GUARD);
}
END_TEST

/* ---- large lists ------------------------------------------------------------------------------ */

static unsigned char *reserve(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Pages as long as they may be. */
START_TEST(a_stretch_crosses_from_a_long_page_to_the_next)
{
	const uint64_t page = (UINT64_C(16) << 30) - 32, around = 40000;
	unsigned char *memory = reserve(2 * page);

	if (!memory)
		return;
	list = (struct dtc_gpu_pages_job){ .pool_pages = 2,
					   .page_bytes = page,
					   .page_stride = page,
					   .layer_count = 1,
					   .part_count = 1,
					   .plane_bytes = 2 * page };
	base = 0;
	narrow[0] = 1;
	narrow[1] = 0;
	for (size_t i = 0; i < around; i++) {
		memory[2 * page - around + i] = (unsigned char)(i % 251);
		memory[i] = (unsigned char)(i % 241);
	}
	for (size_t shift = 0; shift < 2; shift++) {
		memset(packed, GUARD, sizeof(packed));
		launch(memory, shift - (page - around), page - around, page + around,
		       DTC_PACK);
		ck_assert(!memcmp(packed + shift, memory + 2 * page - around, around));
		ck_assert(!memcmp(packed + shift + around, memory, around));
	}
	munmap(memory, 2 * page);
}
END_TEST

/* As many entries as there may be; those round the end of a part are used. */
START_TEST(a_stretch_crosses_from_a_long_table_to_the_next_part)
{
	const uint64_t count = UINT64_C(1) << 30, around = 3000;
	unsigned char *table = reserve(count * 4);

	if (!table)
		return;
	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)(i % 251);
	list = (struct dtc_gpu_pages_job){ .pool = (uintptr_t)pool,
					   .packed = (uintptr_t)packed,
					   .table = (uintptr_t)table,
					   .pool_pages = 3,
					   .page_bytes = 16,
					   .page_stride = 16,
					   .layer_count = 2,
					   .layer_stride = 4096,
					   .part_count = 2,
					   .part_stride = 1024,
					   .plane_bytes = count * 16 };
	((int32_t *)(void *)table)[count - 1] = 2;
	list.begin = list.plane_bytes - around;
	list.end = list.plane_bytes + around;
	static struct dtc_gpu_launch planned;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
	gpu_launch(&planned);
	ck_assert(!memcmp(packed + around - 32, pool, 16));
	ck_assert(!memcmp(packed + around - 16, pool + 32, 16));
	ck_assert(!memcmp(packed + around, pool + 1024, 16));
	munmap(table, count * 4);
}
END_TEST

START_TEST(what_is_too_long_is_refused)
{
	static struct dtc_gpu_launch planned;
	const uint64_t most = UINT64_C(1) << 30;
	const struct dtc_gpu_pages_job short_list = { .pool_pages = 1,
						      .page_bytes = 16,
						      .page_stride = 16,
						      .layer_count = most,
						      .part_count = most,
						      .plane_bytes = 16 * most,
						      .end = 1 };

	list = short_list;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
	list.layer_count++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), DTCONV_ERR_UNSUPPORTED);
	list = short_list;
	list.part_count++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), DTCONV_ERR_UNSUPPORTED);
	list = short_list;
	list.plane_bytes++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), DTCONV_ERR_UNSUPPORTED);
	list = short_list;
	list.page_bytes = list.plane_bytes = 16 * most;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), DTCONV_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(more_tiles_than_a_grid_has_are_refused)
{
	static struct dtc_gpu_launch planned;

	list = (struct dtc_gpu_pages_job){ .pool_pages = 1,
					   .page_bytes = 1 << 20,
					   .page_stride = 1 << 20,
					   .layer_count = 1 << 20,
					   .part_count = 1,
					   .plane_bytes = UINT64_C(1) << 30,
					   .end = UINT64_C(1) << 45 };
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), DTCONV_ERR_UNSUPPORTED);
	list.end -= 1024 * 16;
	ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
	ck_assert_uint_eq(planned.grid, INT32_MAX);
}
END_TEST

/* One block ends the job itself; short streams have many blocks, long ones blocks of four pieces a thread. */
START_TEST(grids_fill_the_device)
{
	static const struct {
		uint64_t bytes;
		uint32_t blocks;
	} cases[] = {
		{ 16384, 1 }, { 16400, 5 }, { (4 << 20) - 16, 1024 }, { 4 << 20, 256 }
	};
	static struct dtc_gpu_launch planned;

	list = (struct dtc_gpu_pages_job){ .pool_pages = 1,
					   .page_bytes = 1 << 30,
					   .page_stride = 1 << 30,
					   .layer_count = 1,
					   .part_count = 1,
					   .plane_bytes = 1 << 30 };
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(cases); i++) {
		list.end = cases[i].bytes;
		ck_assert_int_eq(dtc_gpu_plan_pages(&list, &planned), 0);
		ck_assert_uint_eq(planned.grid, cases[i].blocks);
		ck_assert_uint_eq(planned.word, 16);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu_pages");
	TCase *lists = fixture_case(suite, "lists", 60);

	tcase_add_test(lists, random_lists_move_every_byte);
	tcase_add_test(lists,
		       numbers_out_of_range_are_left_out_and_the_first_is_reported);
	tcase_add_test(lists, a_stretch_looks_at_its_own_entries);
	tcase_add_test(lists, negative_numbers_are_out_of_range_in_any_pool);
	tcase_add_test(lists, without_a_word_for_faults_bad_pages_are_left_out);
	TCase *large = fixture_case(suite, "large", 60);
	tcase_add_test(large, a_stretch_crosses_from_a_long_page_to_the_next);
	tcase_add_test(large, a_stretch_crosses_from_a_long_table_to_the_next_part);
	tcase_add_test(large, what_is_too_long_is_refused);
	tcase_add_test(large, more_tiles_than_a_grid_has_are_refused);
	tcase_add_test(large, grids_fill_the_device);
	return fixture_run(suite);
}
