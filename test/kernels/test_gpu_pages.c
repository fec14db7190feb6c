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

/* A list of the job with its tables. Addresses are set for each launch. */
struct side {
	struct dtc_gpu_page_list list;
	int32_t narrow[ENTRIES];
	int64_t wide[ENTRIES];
	size_t base; /* of page 0 in the pool */
	uint64_t fault;
	bool given; /* launches take its numbers along, where they can */
};

static struct side from, to;
static struct dtc_gpu_pages_job job;

/* ---- the oracle ------------------------------------------------------------------------------ */

static uint64_t stream_bytes(void)
{
	return job.layer_count * job.part_count * job.plane_bytes;
}

static uint64_t entry_of(const struct side *side, uint64_t position)
{
	return position % job.plane_bytes / side->list.page_bytes;
}

static int64_t number_of(const struct side *side, uint64_t position)
{
	const uint64_t entry = entry_of(side, position);

	return side->list.wide ? side->wide[entry] : side->narrow[entry];
}

static bool is_bad(const struct side *side, uint64_t position)
{
	return (uint64_t)number_of(side, position) >= side->list.pool_pages;
}

static size_t place_of(const struct side *side, uint64_t position)
{
	const struct dtc_gpu_page_list *list = &side->list;
	const uint64_t plane = position / job.plane_bytes;
	const uint64_t at = position % job.plane_bytes % list->page_bytes;

	return (size_t)(side->base +
			plane / job.part_count * (uint64_t)list->layer_stride +
			plane % job.part_count * (uint64_t)list->part_stride +
			(uint64_t)number_of(side, position) * list->page_stride +
			at / list->row_bytes * list->row_stride + at % list->row_bytes);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* What a page reaches over. */
static uint64_t page_span(const struct dtc_gpu_page_list *list)
{
	return (list->page_bytes / list->row_bytes - 1) * list->row_stride +
	       list->row_bytes;
}

/* Pages on from one another in memory, with a gap of a multiple of @grain; parts and layers outside or inside. */
static void choose_strides(struct choices *choices, struct dtc_gpu_page_list *list,
			   size_t grain)
{
	const bool inside = chance(choices, 2);
	uint64_t next = page_span(list) + grain * choose(choices, 3);

	if (inside) {
		list->part_stride = (int64_t)next;
		list->layer_stride = (int64_t)(next * job.part_count);
		next *= job.part_count * job.layer_count;
	}
	list->page_stride = next;
	if (inside)
		return;
	next *= list->pool_pages;
	list->part_stride = (int64_t)next;
	list->layer_stride = (int64_t)(next * job.part_count);
}

static void reverse_layers(struct side *side)
{
	side->base += (size_t)((int64_t)(job.layer_count - 1) * side->list.layer_stride);
	side->list.layer_stride = -side->list.layer_stride;
}

/* Numbers without repetition. */
static void choose_numbers(struct choices *choices, struct side *side, size_t count)
{
	static int32_t all[ENTRIES];

	for (size_t i = 0; i < side->list.pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < count; i++) {
		const size_t chosen =
			i + choose(choices, (size_t)side->list.pool_pages - i);

		side->wide[i] = side->narrow[i] = all[chosen];
		all[chosen] = all[i];
	}
}

/* Rows of some divisor of the page. */
static void choose_rows(struct choices *choices, struct dtc_gpu_page_list *list,
			size_t grain)
{
	uint64_t rows = 1 + choose(choices, 12);

	while (list->page_bytes % (rows * grain))
		rows--;
	list->row_bytes = list->page_bytes / rows;
	list->row_stride = list->row_bytes + grain * choose(choices, 4);
}

static size_t choose_page_bytes(struct choices *choices, size_t grain)
{
	static const size_t sizes[] = { 1,  2,   3,   8,    16,   48,   64,
					80, 100, 576, 1000, 1024, 4096, 16384 };
	const size_t bytes = sizes[choose(choices, DTC_ARRAY_LENGTH(sizes))];

	return (bytes + grain - 1) / grain * grain;
}

/* Pages of a side, as many as there is room for; returns how many numbers it may have without repetition. */
static size_t choose_pages(struct choices *choices, struct side *side, size_t grain)
{
	struct dtc_gpu_page_list *list = &side->list;
	const size_t planes = (size_t)(job.layer_count * job.part_count);

	*list = (struct dtc_gpu_page_list){ .wide = chance(choices, 2) };
	list->page_bytes = choose_page_bytes(choices, grain);
	choose_rows(choices, list, grain);
	const size_t most =
		(POOL - 64) / ((size_t)(page_span(list) + 2 * grain) * planes);
	if (most == 0)
		return choose_pages(choices, side, grain);
	list->pool_pages = 1 + choose(choices, DTC_MIN(most, (size_t)ENTRIES));
	side->base = grain > 1 ? 16 : choose(choices, 17);
	choose_strides(choices, list, grain);
	return 1 + choose(choices, (size_t)list->pool_pages);
}

static void choose_table(struct choices *choices, struct side *side)
{
	side->given = chance(choices, 2);
	choose_numbers(choices, side,
		       (size_t)dtc_divide_up(job.plane_bytes, side->list.page_bytes));
	if (chance(choices, 4))
		reverse_layers(side);
}

static size_t choose_planes(struct choices *choices)
{
	job = (struct dtc_gpu_pages_job){ .layer_count = 1 + choose(choices, 4),
					  .part_count = 1 + choose(choices, 3) };
	return chance(choices, 2) ? 16 : 1;
}

static void choose_list(struct choices *choices)
{
	const size_t grain = choose_planes(choices);
	const size_t count = choose_pages(choices, &from, grain);

	job.plane_bytes = count * from.list.page_bytes;
	if (chance(choices, 2))
		job.plane_bytes = 1 + choose(choices, (size_t)job.plane_bytes);
	choose_table(choices, &from);
}

/* Two lists that share a stream. */
static void choose_both(struct choices *choices)
{
	const size_t grain = choose_planes(choices);
	const uint64_t bytes = choose_pages(choices, &from, grain) * from.list.page_bytes;
	const uint64_t more = choose_pages(choices, &to, chance(choices, 4) ? 1 : grain) *
			      to.list.page_bytes;

	job.plane_bytes = DTC_MIN(bytes, more);
	if (chance(choices, 2))
		job.plane_bytes = 1 + choose(choices, (size_t)job.plane_bytes);
	choose_table(choices, &from);
	choose_table(choices, &to);
}

/* ---- launches -------------------------------------------------------------------------------- */

static const void *table_of(const struct side *side, uint64_t entry)
{
	return side->list.wide ? (const void *)&side->wide[entry]
			       : (const void *)&side->narrow[entry];
}

/* What a launch can take along of one side, so that there is room for the other one. */
static bool can_be_given(const struct side *side, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++)
		if (side->list.wide && (uint64_t)side->wide[i] > UINT32_MAX)
			return false;
	return end - first <= DTC_GPU_PAGE_NUMBERS / 2;
}

/* The table, or the numbers that the stretch needs. */
static void place_numbers(struct side *side, uint64_t begin, uint64_t end)
{
	struct dtc_gpu_page_list *list = &side->list;
	const bool in_one_plane = begin / job.plane_bytes == (end - 1) / job.plane_bytes;
	const uint64_t first = in_one_plane ? entry_of(side, begin) : 0;
	const uint64_t last =
		entry_of(side, in_one_plane ? end - 1 : job.plane_bytes - 1);
	const bool given = side->given && can_be_given(side, first, last + 1);

	list->table = given ? 0 : (uintptr_t)table_of(side, 0);
	list->given = given ? table_of(side, first) : NULL;
	list->given_first = first;
	list->given_count = last + 1 - first;
}

static void place_side(struct side *side, unsigned char *memory, uint64_t begin,
		       uint64_t end)
{
	side->list.pool = (uintptr_t)memory + side->base;
	side->list.fault = (uintptr_t)&side->fault;
	place_numbers(side, begin, end);
}

static void plan_and_run(uint64_t begin, uint64_t end)
{
	static struct dtc_gpu_launch planned;

	job.list = from.list;
	job.begin = begin;
	job.end = end;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
	gpu_launch(&planned);
}

static void launch(unsigned char *memory, size_t shift, uint64_t begin, uint64_t end,
		   enum dtc_direction direction)
{
	place_side(&from, memory, begin, end);
	job.packed = (uintptr_t)packed + shift + begin;
	job.direction = direction;
	plan_and_run(begin, end);
}

static void launch_copy(uint64_t begin, uint64_t end)
{
	place_side(&from, pool, begin, end);
	place_side(&to, other, begin, end);
	job.to = &to.list;
	plan_and_run(begin, end);
	job.to = NULL;
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
		const unsigned char wanted =
			is_bad(&from, at) ? GUARD : pool[place_of(&from, at)];

		ck_assert_msg(packed[shift + at] == wanted, "byte %zu of the stream",
			      (size_t)at);
	}
	for (size_t i = 0; i < shift; i++)
		ck_assert_uint_eq(packed[i], GUARD);
	for (size_t i = shift + stream_bytes(); i < sizeof(packed); i++)
		ck_assert_uint_eq(packed[i], GUARD);
}

static void fill(struct choices *choices)
{
	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)choose(choices, 251);
	memset(packed, GUARD, sizeof(packed));
	memset(other, GUARD, sizeof(other));
	memset(expected, GUARD, sizeof(expected));
	from.fault = to.fault = UINT64_MAX;
}

static void move_both_ways(struct choices *choices)
{
	const size_t shift = chance(choices, 2) ? 0 : choose(choices, 32);

	fill(choices);
	move_cut(choices, pool, shift, DTC_PACK);
	check_packed(shift);
	move_cut(choices, other, shift, DTC_UNPACK);
	for (uint64_t at = 0; at < stream_bytes(); at++)
		if (!is_bad(&from, at))
			expected[place_of(&from, at)] = packed[shift + at];
	ck_assert(!memcmp(expected, other, POOL));
}

START_TEST(random_lists_move_every_byte)
{
	struct choices choices = fixture_choices(41);

	for (int i = 0; i < 400; i++) {
		choose_list(&choices);
		move_both_ways(&choices);
		ck_assert_uint_eq(from.fault, UINT64_MAX);
	}
}
END_TEST

static void copy_pages(struct choices *choices)
{
	const uint64_t bytes = stream_bytes();
	const uint64_t most = chance(choices, 2) ? bytes : 1 + choose(choices, 9000);

	fill(choices);
	for (uint64_t at = 0; at < bytes; at += DTC_MIN(most, bytes - at))
		launch_copy(at, at + DTC_MIN(most, bytes - at));
	for (uint64_t at = 0; at < bytes; at++)
		if (!is_bad(&from, at) && !is_bad(&to, at))
			expected[place_of(&to, at)] = pool[place_of(&from, at)];
	ck_assert(!memcmp(expected, other, POOL));
}

START_TEST(random_lists_are_copied_to_others)
{
	struct choices choices = fixture_choices(43);

	for (int i = 0; i < 600; i++) {
		choose_both(&choices);
		copy_pages(&choices);
		ck_assert_uint_eq(from.fault, UINT64_MAX);
		ck_assert_uint_eq(to.fault, UINT64_MAX);
	}
}
END_TEST

/* Every distance of the two sides from aligned addresses, for rows that are aligned otherwise. */
START_TEST(every_alignment_of_two_lists)
{
	struct choices choices = fixture_choices(44);

	for (size_t shifts = 0; shifts < 256; shifts++) {
		job = (struct dtc_gpu_pages_job){ .layer_count = 2,
						  .part_count = 2,
						  .plane_bytes = 3 * 192 - 16 };
		from.list = (struct dtc_gpu_page_list){ .pool_pages = 5,
							.page_bytes = 192,
							.page_stride = 4 * 128,
							.row_bytes = 48,
							.row_stride = 128,
							.part_stride = 64,
							.layer_stride = 5 * 4 * 128 };
		to.list = (struct dtc_gpu_page_list){ .pool_pages = 10,
						      .page_bytes = 96,
						      .page_stride = 96,
						      .row_bytes = 96,
						      .row_stride = 96,
						      .part_stride = 960,
						      .layer_stride = 1920,
						      .wide = true };
		from.base = shifts % 16;
		to.base = shifts / 16;
		choose_table(&choices, &from);
		choose_table(&choices, &to);
		copy_pages(&choices);
	}
}
END_TEST

/* All is aligned but the second row of each page. */
START_TEST(rows_at_odd_distances)
{
	struct choices choices = fixture_choices(46);

	job = (struct dtc_gpu_pages_job){ .layer_count = 1,
					  .part_count = 1,
					  .plane_bytes = (uint64_t)20 * 96 };
	from.list = (struct dtc_gpu_page_list){ .pool_pages = 30,
						.page_bytes = 96,
						.page_stride = 112,
						.row_bytes = 48,
						.row_stride = 56 };
	from.base = 0;
	choose_table(&choices, &from);
	move_both_ways(&choices);
}
END_TEST

/* ---- numbers out of range -------------------------------------------------------------------- */

static void spoil(struct choices *choices, struct side *side, size_t entry)
{
	const int64_t bad[] = { -1,
				(int64_t)side->list.pool_pages,
				INT32_MIN,
				INT32_MAX,
				INT64_MIN,
				INT64_MAX,
				INT64_C(1) << 32 };

	side->wide[entry] = bad[choose(choices, DTC_ARRAY_LENGTH(bad))];
	side->narrow[entry] = (int32_t)bad[choose(choices, 4)];
}

/* Two entries; returns the first. */
static size_t spoil_some(struct choices *choices, struct side *side)
{
	const size_t count = (size_t)entry_of(side, job.plane_bytes - 1) + 1;
	const size_t first = choose(choices, count);

	spoil(choices, side, first);
	spoil(choices, side, first + choose(choices, count - first));
	return first;
}

START_TEST(numbers_out_of_range_are_left_out_and_the_first_is_reported)
{
	struct choices choices = fixture_choices(42);

	for (int i = 0; i < 200; i++) {
		choose_list(&choices);
		const size_t first = spoil_some(&choices, &from);

		move_both_ways(&choices);
		ck_assert_uint_eq(from.fault, first);
	}
}
END_TEST

/* Each list's word has the first of its own numbers. */
START_TEST(numbers_out_of_range_of_either_list_are_reported)
{
	struct choices choices = fixture_choices(45);

	for (int i = 0; i < 300; i++) {
		uint64_t first[2] = { UINT64_MAX, UINT64_MAX };

		choose_both(&choices);
		if (i % 3 != 1)
			first[0] = spoil_some(&choices, &from);
		if (i % 3)
			first[1] = spoil_some(&choices, &to);
		to.list.fault_bias = i % 3 == 2 ? 1000000 : 0;
		copy_pages(&choices);
		ck_assert_uint_eq(from.fault, first[0]);
		ck_assert_uint_eq(to.fault, first[1] + to.list.fault_bias);
	}
}
END_TEST

/* The first entry of a stretch that is out of range. */
static uint64_t first_bad(const struct side *side, uint64_t begin, uint64_t end)
{
	uint64_t first = UINT64_MAX;

	for (uint64_t at = begin; at < end; at++)
		if (is_bad(side, at))
			first = DTC_MIN(first, entry_of(side, at));
	return first;
}

/* 38400 bytes of aligned rows in so many parts, from pages of two rows to pages of three. */
static void use_aligned_lists(struct choices *choices, uint64_t parts)
{
	job = (struct dtc_gpu_pages_job){ .layer_count = 1 + (parts > 2),
					  .part_count = 1 + (parts > 1),
					  .plane_bytes = 38400 / parts };
	from.list = (struct dtc_gpu_page_list){ .wide = chance(choices, 2),
						.pool_pages = 480 / parts,
						.page_bytes = 96,
						.page_stride = 128,
						.row_bytes = 48,
						.row_stride = 64,
						.part_stride = 120 * 128,
						.layer_stride = 2 * 120 * 128 };
	to.list = (struct dtc_gpu_page_list){ .wide = chance(choices, 2),
					      .pool_pages = 280 / parts,
					      .page_bytes = 144,
					      .page_stride = 4 * 144,
					      .row_bytes = 48,
					      .row_stride = 48,
					      .part_stride = 144,
					      .layer_stride = 2 * 144 };
	from.base = to.base = 16;
	choose_table(choices, &from);
	choose_table(choices, &to);
}

/* A place inside a page, which does not exist any more. */
static uint64_t begin_in_bad_page(struct choices *choices, struct side *side)
{
	const size_t entry = choose(choices, 150), words = side->list.page_bytes / 16;

	spoil(choices, side, entry);
	return entry * side->list.page_bytes + (1 + choose(choices, words - 1)) * 16;
}

static void copy_stretch(struct choices *choices, uint64_t begin, uint64_t end)
{
	fill(choices);
	launch_copy(begin, end);
	for (uint64_t at = begin; at < end; at++)
		if (!is_bad(&from, at) && !is_bad(&to, at))
			expected[place_of(&to, at)] = pool[place_of(&from, at)];
	ck_assert(!memcmp(expected, other, POOL));
	ck_assert_uint_eq(from.fault, first_bad(&from, begin, end));
	ck_assert_uint_eq(to.fault, first_bad(&to, begin, end));
}

/* Longer stretches of whole words have one for each thread. */
START_TEST(long_stretches_are_copied_by_a_word_a_thread)
{
	struct choices choices = fixture_choices(48);

	for (int i = 0; i < 120; i++) {
		use_aligned_lists(&choices, UINT64_C(1) << i % 3);
		const uint64_t words = stream_bytes() / 16;
		uint64_t begin = choose(&choices, words - 1024) * 16;

		if (i % 3 == 0)
			begin = begin_in_bad_page(&choices, i % 2 ? &from : &to);
		else if (i % 2)
			spoil_some(&choices, i % 4 == 1 ? &from : &to);
		copy_stretch(
			&choices, begin,
			begin + (1025 + choose(&choices, words - 1024 - begin / 16)) *
					16);
	}
}
END_TEST

/* Pages of one row, at the start of the pool. */
static void use_job(const struct dtc_gpu_pages_job *given)
{
	job = *given;
	job.list.row_bytes = job.list.page_bytes;
	from.list = job.list;
	from.base = 0;
	from.fault = UINT64_MAX;
}

/* A stretch reports the entries that it needs, whatever the others are. */
START_TEST(a_stretch_looks_at_its_own_entries)
{
	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool_pages = 9,
						       .page_bytes = 64,
						       .page_stride = 64,
						       .layer_stride = 1024 },
					     .layer_count = 2,
					     .part_count = 1,
					     .plane_bytes = 5 * 64 });
	for (int i = 0; i < 5; i++)
		from.narrow[i] = i % 2 ? i : -1 - i;
	from.fault = UINT64_MAX;
	launch(pool, 0, 64, 128, DTC_PACK);
	launch(pool, 0, 5 * 64 + 3 * 64 + 7, 5 * 64 + 4 * 64 - 1, DTC_PACK);
	ck_assert_uint_eq(from.fault, UINT64_MAX);
	launch(pool, 0, 5 * 64 + 3 * 64 + 7, 5 * 64 + 4 * 64 + 1, DTC_PACK);
	ck_assert_uint_eq(from.fault, 4);
	launch(pool, 0, 191, 192, DTC_UNPACK);
	ck_assert_uint_eq(from.fault, 2);
	/* By words, too. */
	from.fault = UINT64_MAX;
	launch(pool, 0, 4 * 64 + 16, 4 * 64 + 32, DTC_UNPACK);
	ck_assert_uint_eq(from.fault, 4);
	/* Into the next page. */
	from.fault = UINT64_MAX;
	launch(pool, 0, 2 * 64 + 16, 3 * 64 + 16, DTC_UNPACK);
	ck_assert_uint_eq(from.fault, 2);
	from.fault = 0;
	launch(pool, 0, 0, stream_bytes(), DTC_PACK);
	ck_assert_uint_eq(from.fault, 0);
}
END_TEST

/* Words of several thread blocks, of which the first and the last one are moved in part: the bytes around stay. */
START_TEST(only_the_stretch_is_moved)
{
	const uint64_t begin = 7, end = 40005;
	struct choices choices = fixture_choices(47);

	use_job(&(struct dtc_gpu_pages_job){
		.list = { .pool_pages = 12, .page_bytes = 4096, .page_stride = 4096 },
		.layer_count = 1,
		.part_count = 1,
		.plane_bytes = 12 * 4096 });
	choose_table(&choices, &from);
	fill(&choices);
	launch(pool, 0, begin, end, DTC_PACK);
	for (uint64_t at = 0; at < job.plane_bytes; at++)
		ck_assert_uint_eq(packed[at], at < begin || at >= end
						      ? GUARD
						      : pool[place_of(&from, at)]);
	launch(other, 0, begin, end, DTC_UNPACK);
	for (uint64_t at = begin; at < end; at++)
		expected[place_of(&from, at)] = packed[at];
	ck_assert(!memcmp(expected, other, POOL));
}
END_TEST

/* A block whose words are all in one page looks its number up once. This is the first number that is out of range. */
START_TEST(a_page_that_a_block_moves_alone_does_not_exist)
{
	struct choices choices = fixture_choices(49);

	use_job(&(struct dtc_gpu_pages_job){
		.list = { .pool_pages = 3, .page_bytes = 8192, .page_stride = 8192 },
		.layer_count = 1,
		.part_count = 1,
		.plane_bytes = 2 * 8192 });
	from.narrow[0] = 1;
	from.narrow[1] = 3;
	fill(&choices);
	launch(pool, 0, 8192, 16384, DTC_PACK);
	ck_assert_uint_eq(from.fault, 1);
	for (size_t i = 0; i < sizeof(packed); i++)
		ck_assert_uint_eq(packed[i], GUARD);
	from.fault = UINT64_MAX;
	memset(packed, GUARD + 1, sizeof(packed));
	launch(other, 0, 8192 + 32, 16384, DTC_UNPACK);
	ck_assert_uint_eq(from.fault, 1);
	ck_assert(!memcmp(expected, other, POOL));
}
END_TEST

START_TEST(without_a_word_for_faults_bad_pages_are_left_out)
{
	static struct dtc_gpu_launch planned;

	from.narrow[0] = -1;
	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool = (uintptr_t)pool,
						       .table = (uintptr_t)from.narrow,
						       .pool_pages = 1,
						       .page_bytes = 64,
						       .page_stride = 64 },
					     .packed = (uintptr_t)packed,
					     .layer_count = 1,
					     .part_count = 1,
					     .plane_bytes = 64,
					     .end = 64 });
	memset(packed, GUARD, sizeof(packed));
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
	gpu_launch(&planned);
	ck_assert_uint_eq(packed[0], GUARD);
}
END_TEST

/* A pool may have more pages than numbers of 32 bits can name. */
START_TEST(negative_numbers_are_out_of_range_in_any_pool)
{
	use_job(&(struct dtc_gpu_pages_job){
		.list = { .pool_pages = UINT32_MAX, .page_bytes = 64, .page_stride = 64 },
		.layer_count = 1,
		.part_count = 1,
		.plane_bytes = 2 * 64 });
	from.base = 0;
	from.narrow[0] = 5;
	from.narrow[1] = INT32_MIN;
	from.fault = UINT64_MAX;
	memset(packed, GUARD, sizeof(packed));
	launch(pool, 0, 0, 128, DTC_PACK);
	ck_assert_uint_eq(from.fault, 1);
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
	use_job(&(struct dtc_gpu_pages_job){
		.list = { .pool_pages = 2, .page_bytes = page, .page_stride = page },
		.layer_count = 1,
		.part_count = 1,
		.plane_bytes = 2 * page });
	from.base = 0;
	from.narrow[0] = 1;
	from.narrow[1] = 0;
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
	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool = (uintptr_t)pool,
						       .table = (uintptr_t)table,
						       .pool_pages = 3,
						       .page_bytes = 16,
						       .page_stride = 16,
						       .layer_stride = 4096,
						       .part_stride = 1024 },
					     .packed = (uintptr_t)packed,
					     .layer_count = 2,
					     .part_count = 2,
					     .plane_bytes = count * 16 });
	((int32_t *)(void *)table)[count - 1] = 2;
	job.begin = job.plane_bytes - around;
	job.end = job.plane_bytes + around;
	static struct dtc_gpu_launch planned;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
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
	const struct dtc_gpu_pages_job short_list = {
		.list = { .pool_pages = 1, .page_bytes = 16, .page_stride = 16 },
		.layer_count = most,
		.part_count = most,
		.plane_bytes = 16 * most,
		.end = 1
	};

	use_job(&short_list);
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
	job.layer_count++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), DTCONV_ERR_UNSUPPORTED);
	use_job(&short_list);
	job.part_count++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), DTCONV_ERR_UNSUPPORTED);
	use_job(&short_list);
	job.plane_bytes++;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), DTCONV_ERR_UNSUPPORTED);
	use_job(&short_list);
	job.list.page_bytes = job.list.row_bytes = job.plane_bytes = 16 * most;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), DTCONV_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(more_tiles_than_a_grid_has_are_refused)
{
	static struct dtc_gpu_launch planned;

	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool_pages = 1,
						       .page_bytes = 1 << 20,
						       .page_stride = 1 << 20 },
					     .layer_count = 1 << 20,
					     .part_count = 1,
					     .plane_bytes = UINT64_C(1) << 30,
					     .end = UINT64_C(1) << 45 });
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), DTCONV_ERR_UNSUPPORTED);
	job.end -= 1024 * 16;
	ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
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

	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool_pages = 1,
						       .page_bytes = 1 << 30,
						       .page_stride = 1 << 30 },
					     .layer_count = 1,
					     .part_count = 1,
					     .plane_bytes = 1 << 30 });
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(cases); i++) {
		job.end = cases[i].bytes;
		ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
		ck_assert_uint_eq(planned.grid, cases[i].blocks);
		ck_assert_uint_eq(planned.word, 16);
	}
}
END_TEST

/* Aligned words are moved one by a thread if the stretch is short, or a copy, and not of one block. */
START_TEST(threads_that_move_one_word_have_a_kernel)
{
	static const struct {
		uint64_t begin, end;
		bool is_copy;
		enum dtc_gpu_kernel kernel;
		uint32_t blocks;
	} cases[] = {
		{ 0, 16384, true, DTC_GPU_pages, 1 },
		{ 0, 16400, true, DTC_GPU_page_words, 5 },
		{ 0, 16400, false, DTC_GPU_page_words, 5 },
		{ 0, 4 << 20, true, DTC_GPU_page_words, 1024 },
		{ 0, 4 << 20, false, DTC_GPU_pages, 256 },
		{ 1, 32768, true, DTC_GPU_pages, 8 },
		{ 0, 32767, true, DTC_GPU_pages, 8 },
		{ 1, (4 << 20) + 1, true, DTC_GPU_pages, 257 },
		{ (UINT64_C(16) * INT32_MAX) - 32768, UINT64_C(16) * INT32_MAX, true,
		  DTC_GPU_page_words, 8 },
		{ (UINT64_C(16) * INT32_MAX) - 32768, UINT64_C(16) * INT32_MAX + 16, true,
		  DTC_GPU_pages, 9 },
	};
	static struct dtc_gpu_launch planned;

	use_job(&(struct dtc_gpu_pages_job){ .list = { .pool_pages = 1,
						       .page_bytes = 1 << 30,
						       .page_stride = 1 << 30 },
					     .layer_count = 64,
					     .part_count = 1,
					     .plane_bytes = 1 << 30 });
	to.list = job.list;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(cases); i++) {
		job.to = cases[i].is_copy ? &to.list : NULL;
		job.begin = job.packed = cases[i].begin;
		job.end = cases[i].end;
		ck_assert_int_eq(dtc_gpu_plan_pages(&job, &planned), 0);
		ck_assert_int_eq(planned.kernel, cases[i].kernel);
		ck_assert_uint_eq(planned.grid, cases[i].blocks);
	}
	job.to = NULL;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu_pages");
	TCase *lists = fixture_case(suite, "lists", 60);

	tcase_add_test(lists, random_lists_move_every_byte);
	tcase_add_test(lists, random_lists_are_copied_to_others);
	tcase_add_test(lists, every_alignment_of_two_lists);
	tcase_add_test(lists, rows_at_odd_distances);
	tcase_add_test(lists,
		       numbers_out_of_range_are_left_out_and_the_first_is_reported);
	tcase_add_test(lists, numbers_out_of_range_of_either_list_are_reported);
	tcase_add_test(lists, long_stretches_are_copied_by_a_word_a_thread);
	tcase_add_test(lists, a_stretch_looks_at_its_own_entries);
	tcase_add_test(lists, only_the_stretch_is_moved);
	tcase_add_test(lists, a_page_that_a_block_moves_alone_does_not_exist);
	tcase_add_test(lists, negative_numbers_are_out_of_range_in_any_pool);
	tcase_add_test(lists, without_a_word_for_faults_bad_pages_are_left_out);
	TCase *large = fixture_case(suite, "large", 60);
	tcase_add_test(large, a_stretch_crosses_from_a_long_page_to_the_next);
	tcase_add_test(large, a_stretch_crosses_from_a_long_table_to_the_next_part);
	tcase_add_test(large, what_is_too_long_is_refused);
	tcase_add_test(large, more_tiles_than_a_grid_has_are_refused);
	tcase_add_test(large, grids_fill_the_device);
	tcase_add_test(large, threads_that_move_one_word_have_a_kernel);
	return fixture_run(suite);
}
