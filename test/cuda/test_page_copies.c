/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one list of pages to another on a device: pools and tables of every kind of memory, lists that differ in all
 * that may differ, numbers out of range on either side, the order of the caller's stream, graphs, two devices, and refused
 * calls of the driver. An oracle finds each byte by itself.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

enum { POOL = 1 << 17, ENTRIES = 1000, GUARD = 0xd5, BASE = 4096 };

static unsigned char source[POOL], target[POOL], expected[POOL], got[POOL];

/* A list with its tables on the host, and the device's. */
struct side {
	struct dtconv_pages pages;
	int32_t narrow[ENTRIES];
	int64_t wide[ENTRIES];
	struct arena pool, table, fault;
};

static struct side from, to;
static size_t plane_bytes;

/* ---- the oracle ------------------------------------------------------------------------------ */

static size_t total(void)
{
	return from.pages.layer_count * from.pages.part_count * plane_bytes;
}

static int64_t number_of(const struct side *side, size_t position)
{
	const size_t entry = position % plane_bytes / side->pages.page_bytes;

	return side->pages.number == DTCONV_PAGE_NUMBER_64 ? side->wide[entry]
							   : side->narrow[entry];
}

static bool is_good(const struct side *side, size_t position)
{
	return (uint64_t)number_of(side, position) < side->pages.pool_pages;
}

static size_t place_of(const struct side *side, size_t position)
{
	const struct dtconv_pages *pages = &side->pages;
	const size_t plane = position / plane_bytes;
	const size_t inside = position % plane_bytes % pages->page_bytes;

	return BASE +
	       (size_t)(pages->offset +
			(ptrdiff_t)(plane / pages->part_count) * pages->layer_stride +
			(ptrdiff_t)(plane % pages->part_count) * pages->part_stride) +
	       (size_t)number_of(side, position) * pages->page_stride +
	       inside / pages->row_bytes * pages->row_stride + inside % pages->row_bytes;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void fill_numbers(struct choices *choices, struct side *side)
{
	static int32_t all[2 * ENTRIES];

	for (size_t i = 0; i < side->pages.pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < side->pages.count; i++) {
		const size_t chosen = i + choose(choices, side->pages.pool_pages - i);

		side->wide[i] = side->narrow[i] = all[chosen];
		all[chosen] = all[i];
	}
}

/* Layers and parts one behind another, with some pages in each that no table lists. */
static void lay_out(struct side *side, size_t rows)
{
	struct dtconv_pages *pages = &side->pages;

	pages->page_bytes = rows * pages->row_bytes;
	pages->page_stride = rows * pages->row_stride;
	pages->count = (plane_bytes + pages->page_bytes - 1) / pages->page_bytes;
	pages->pool_pages = pages->count + 2;
	pages->bytes = plane_bytes;
	pages->part_stride = (ptrdiff_t)(pages->pool_pages * pages->page_stride);
	pages->layer_stride = (ptrdiff_t)pages->part_count * pages->part_stride;
}

static void start_side(struct side *side, size_t row_bytes, size_t row_stride, bool wide)
{
	side->pages = (struct dtconv_pages){ .struct_size = sizeof(side->pages),
					     .number = wide ? DTCONV_PAGE_NUMBER_64
							    : DTCONV_PAGE_NUMBER_32,
					     .layer_count = 3,
					     .part_count = 2,
					     .row_bytes = row_bytes,
					     .row_stride = row_stride };
}

/* Four of eight heads of 16 bytes in pages of 4 tokens become all heads in pages of 10, of 50 tokens. */
static void make_lists(struct choices *choices, bool wide)
{
	plane_bytes = (size_t)50 * 64;
	start_side(&from, 64, 128, wide);
	from.pages.offset = 64;
	lay_out(&from, 4);
	start_side(&to, 640, 640, !wide);
	lay_out(&to, 1);
	fill_numbers(choices, &from);
	fill_numbers(choices, &to);
	for (size_t i = 0; i < POOL; i++)
		source[i] = (unsigned char)choose(choices, 251);
	memset(target, GUARD, POOL);
}

static void choose_side(struct choices *choices, struct side *side, size_t grain)
{
	const size_t row = grain * (1 + choose(choices, 40));

	start_side(side, row, row + grain * choose(choices, 3), chance(choices, 2));
	side->pages.layer_count = from.pages.layer_count;
	side->pages.part_count = from.pages.part_count;
	lay_out(side, 1 + choose(choices, 9));
	side->pages.offset = (ptrdiff_t)(grain * choose(choices, 20));
	if (chance(choices, 3)) {
		side->pages.offset += (ptrdiff_t)(side->pages.layer_count - 1) *
				      side->pages.layer_stride;
		side->pages.layer_stride = -side->pages.layer_stride;
	}
	fill_numbers(choices, side);
}

/* They fit into their pools: 4 planes of at most 2000 bytes, three times as far apart, and the pages that are not listed. */
static void choose_lists(struct choices *choices)
{
	const size_t grain = chance(choices, 2) ? 16 : 1;

	make_lists(choices, false);
	from.pages.layer_count = 1 + choose(choices, 2);
	from.pages.part_count = 1 + choose(choices, 2);
	plane_bytes = 1 + choose(choices, grain > 1 ? 2000 : 500);
	if (grain > 1 && chance(choices, 2))
		plane_bytes = (plane_bytes + 15) / 16 * 16;
	choose_side(choices, &from, grain);
	choose_side(choices, &to, chance(choices, 4) ? 1 : grain);
}

/* More pages than a launch takes along: 701 to 351. */
static void make_long_lists(struct choices *choices, bool wide)
{
	make_lists(choices, wide);
	plane_bytes = (size_t)701 * 16;
	start_side(&from, 16, 16, wide);
	start_side(&to, 32, 48, !wide);
	from.pages.layer_count = to.pages.layer_count = 1;
	lay_out(&from, 1);
	lay_out(&to, 1);
	fill_numbers(choices, &from);
	fill_numbers(choices, &to);
}

/* ---- on the device --------------------------------------------------------------------------- */

static size_t table_bytes(const struct side *side)
{
	return side->pages.count * (side->pages.number == DTCONV_PAGE_NUMBER_64 ? 8 : 4);
}

static void write_table(struct side *side)
{
	const bool wide = side->pages.number == DTCONV_PAGE_NUMBER_64;

	arena_write(&side->table, 0,
		    wide ? (const void *)side->wide : (const void *)side->narrow,
		    table_bytes(side));
}

static void write_fault(const struct side *side, int64_t value)
{
	arena_write(&side->fault, 0, &value, sizeof(value));
}

static int64_t read_fault(const struct side *side)
{
	int64_t value;

	arena_read(&side->fault, 0, &value, sizeof(value));
	return value;
}

static void open_side(struct side *side, enum arena_kind pool, enum arena_kind table)
{
	arena_open(&side->pool, pool, POOL);
	arena_open(&side->table, table, ENTRIES * 8);
	arena_open(&side->fault, ARENA_PINNED, 64);
	write_table(side);
	side->pages.table = side->table.memory;
	write_fault(side, -1);
}

static void close_side(struct side *side)
{
	arena_close(&side->pool);
	arena_close(&side->table);
	arena_close(&side->fault);
}

static void open_sides(enum arena_kind kind, enum arena_kind table)
{
	open_side(&from, kind, table);
	open_side(&to, kind, table);
}

static void close_sides(void)
{
	close_side(&from);
	close_side(&to);
}

static void use_stream(CUstream stream)
{
	struct side *sides[] = { &from, &to };

	for (size_t i = 0; i < 2; i++) {
		sides[i]->pages.flags = DTCONV_PAGES_STREAM;
		sides[i]->pages.stream = stream;
		sides[i]->pages.fault = (int64_t *)(void *)sides[i]->fault.memory;
	}
}

static int copy_part(size_t at, size_t bytes, size_t *moved)
{
	return dtconv_pages_copy(fixture_context, &from.pages, from.pool.memory + BASE,
				 &to.pages, to.pool.memory + BASE, at, bytes, moved);
}

static void before_copy(void)
{
	arena_write(&from.pool, 0, source, POOL);
	arena_write(&to.pool, 0, target, POOL);
}

static void must_be_copied(const char *what)
{
	memcpy(expected, target, POOL);
	for (size_t at = 0; at < total(); at++)
		if (is_good(&from, at) && is_good(&to, at))
			expected[place_of(&to, at)] = source[place_of(&from, at)];
	arena_read(&to.pool, 0, got, POOL);
	ck_assert_msg(!memcmp(got, expected, POOL), "%s: wrong bytes in the pool", what);
}

static void must_be_untouched(void)
{
	arena_read(&to.pool, 0, got, POOL);
	ck_assert(!memcmp(got, target, POOL));
}

static void copy_all(const char *what)
{
	size_t moved = 9;

	before_copy();
	fixture_ok(copy_part(0, SIZE_MAX, &moved));
	ck_assert_uint_eq(moved, total());
	if (to.pages.stream)
		MUST(StreamSynchronize(to.pages.stream));
	must_be_copied(what);
	ck_assert_int_eq(read_fault(&from), -1);
	ck_assert_int_eq(read_fault(&to), -1);
}

static void expect_sentence(int status, const char *sentence)
{
	size_t moved = 9;

	fixture_status(copy_part(0, SIZE_MAX, &moved), status);
	ck_assert_uint_eq(moved, 0);
	ck_assert_msg(strstr(fixture_error(), sentence) != NULL, "%s, not %s",
		      fixture_error(), sentence);
}

/* ---- kinds of memory ------------------------------------------------------------------------- */

/* Whether a device moves: a device's memory is concerned, or the stream's order is, and memory that it accesses. */
static bool is_for_device(void)
{
	const enum arena_kind kinds[] = { from.pool.kind, from.table.kind, to.pool.kind,
					  to.table.kind };

	for (size_t i = 0; i < 4; i++)
		if (kinds[i] >= ARENA_DEVICE ||
		    (to.pages.flags && kinds[i] != ARENA_HOST))
			return true;
	return false;
}

static void check_kinds(const char *what)
{
	if (!is_for_device() ||
	    (from.pool.kind != ARENA_HOST && to.pool.kind != ARENA_HOST)) {
		copy_all(what);
		return;
	}
	before_copy();
	expect_sentence(DTCONV_ERR_UNSUPPORTED,
			from.pool.kind == ARENA_HOST ? "from_pool is pageable host memory"
						     : "to_pool is pageable host memory");
	must_be_untouched();
}

START_TEST(memory_of_every_kind)
{
	const enum arena_kind pool = (enum arena_kind)(_i % ARENA_KINDS);
	const enum arena_kind other = (enum arena_kind)(_i / ARENA_KINDS);
	struct choices choices = fixture_choices(1 + (uint64_t)_i);
	CUstream stream = gpu_stream();
	char what[100];

	for (int table = 0; table < ARENA_KINDS; table++) {
		const enum arena_kind second =
			(enum arena_kind)((table * 3 + _i) % ARENA_KINDS);

		make_lists(&choices, table % 2);
		open_side(&from, pool, (enum arena_kind)table);
		open_side(&to, other, second);
		snprintf(what, sizeof(what), "pools %s, %s, tables %s, %s",
			 arena_kind_names[pool], arena_kind_names[other],
			 arena_kind_names[table], arena_kind_names[second]);
		check_kinds(what);
		use_stream(stream);
		check_kinds(what);
		close_sides();
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- any lists ------------------------------------------------------------------------------- */

START_TEST(random_lists_in_any_pieces)
{
	struct choices choices = fixture_choices(1000 + (uint64_t)_i);
	size_t moved;

	for (int round = 0; round < 20; round++) {
		choose_lists(&choices);
		open_side(&from, ARENA_DEVICE, round % 3 ? ARENA_DEVICE : ARENA_HOST);
		open_side(&to, round % 4 ? ARENA_DEVICE : ARENA_PINNED,
			  round % 2 ? ARENA_DEVICE : ARENA_HOST);
		before_copy();
		const size_t most = chance(&choices, 2) ? total()
							: 1 + choose(&choices, total());
		for (size_t at = 0; at < total(); at += moved) {
			const size_t n = most < total() - at ? most : total() - at;

			fixture_ok(copy_part(at, n, &moved));
			ck_assert_uint_eq(moved, n);
		}
		must_be_copied("random");
		close_sides();
	}
}
END_TEST

START_TEST(long_lists_in_any_pieces)
{
	struct choices choices = fixture_choices(1100 + (uint64_t)_i);
	size_t moved;

	make_long_lists(&choices, _i & 1);
	open_sides(ARENA_DEVICE, ARENA_HOST);
	before_copy();
	copy_all("long lists");
	before_copy();
	for (size_t at = 0; at < total(); at += moved)
		fixture_ok(copy_part(at, 1 + choose(&choices, total() - at), &moved));
	must_be_copied("pieces of long lists");
	close_sides();
}
END_TEST

START_TEST(one_launch_copies_all_layers_and_parts)
{
	struct choices choices = fixture_choices(3);

	make_lists(&choices, false);
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	before_copy();
	const struct dtconv_counters before = fixture_counters();
	const size_t calls = gpu.standin ? gpu.standin->calls("cuLaunchKernel") : 0;
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	const struct dtconv_counters after = fixture_counters();
	ck_assert_uint_eq(after.launches_indexed, before.launches_indexed + 1);
	ck_assert_uint_eq(after.pack_bytes, before.pack_bytes + total());
	ck_assert_uint_eq(after.unpack_bytes, before.unpack_bytes + total());
	ck_assert(!gpu.standin || gpu.standin->calls("cuLaunchKernel") == calls + 1);
	close_sides();
}
END_TEST

/* Pages 0 to 39 of one pool to its pages 40 to 79. */
START_TEST(pages_of_one_pool)
{
	struct choices choices = fixture_choices(4);

	make_lists(&choices, false);
	plane_bytes = 2560;
	start_side(&from, 64, 64, false);
	lay_out(&from, 1);
	from.pages.pool_pages = 80;
	from.pages.part_stride = 80 * 64;
	from.pages.layer_stride = 2 * 80 * 64;
	to.pages = from.pages;
	for (int32_t i = 0; i < 40; i++) {
		from.narrow[i] = (i * 7 + 3) % 40;
		to.narrow[i] = 79 - i;
	}
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	before_copy();
	memcpy(target, source, POOL);
	const struct arena apart = to.pool;
	to.pool = from.pool;
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	must_be_copied("one pool");
	to.pool = apart;
	close_sides();
}
END_TEST

/* ---- numbers out of range -------------------------------------------------------------------- */

static void spoil(struct side *side, size_t entry, int64_t number)
{
	side->wide[entry] = number;
	side->narrow[entry] = (int32_t)number;
}

static void expect_number(const char *list, const struct side *side, size_t entry)
{
	const int64_t number = side->pages.number == DTCONV_PAGE_NUMBER_64
				       ? side->wide[entry]
				       : side->narrow[entry];
	char sentence[100];

	snprintf(sentence, sizeof(sentence),
		 "%s.table[%zu] is %lld, but the pool has %zu pages", list, entry,
		 (long long)number, side->pages.pool_pages);
	expect_sentence(DTCONV_ERR_INVAL, sentence);
}

/* First, in the middle and last; the first of the source's comes first. The other pages are copied. */
START_TEST(the_first_number_out_of_range_is_named)
{
	static const int64_t numbers[] = { -1, 15, INT32_MIN, INT32_MAX };
	static const enum arena_kind tables[] = { ARENA_DEVICE, ARENA_PINNED };
	struct choices choices = fixture_choices(5);

	for (int i = 0; i < 24; i++) {
		make_lists(&choices, i % 2);
		const size_t entries[] = { 0, 2, to.pages.count - 1 };
		spoil(&to, entries[i % 3], numbers[_i]);
		spoil(&to, to.pages.count - 1, -1);
		if (i >= 12)
			spoil(&from, entries[i % 3], numbers[_i]);
		open_sides(ARENA_DEVICE, tables[i / 6 % 2]);
		before_copy();
		expect_number(i >= 12 ? "from" : "to", i >= 12 ? &from : &to,
			      entries[i % 3]);
		must_be_copied("bad");
		close_sides();
	}
	gpu_must_be_idle(fixture_context, "numbers out of range");
}
END_TEST

/* The host reads such tables before anything moves, also for a stream. */
START_TEST(tables_in_host_memory_are_checked_first)
{
	struct choices choices = fixture_choices(6);
	CUstream stream = gpu_stream();

	make_lists(&choices, _i);
	spoil(_i ? &from : &to, 4, -1);
	open_sides(ARENA_DEVICE, ARENA_HOST);
	for (int ordered = 0; ordered < 2; ordered++) {
		before_copy();
		expect_number(_i ? "from" : "to", _i ? &from : &to, 4);
		must_be_untouched();
		use_stream(stream);
	}
	MUST(StreamSynchronize(stream));
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

/* So does the host where it moves, whatever memory they are in. */
START_TEST(tables_are_checked_first_where_the_host_moves)
{
	struct choices choices = fixture_choices(16);

	make_lists(&choices, true);
	spoil(_i ? &from : &to, 3, 99);
	open_sides(ARENA_HOST, ARENA_PINNED);
	before_copy();
	expect_number(_i ? "from" : "to", _i ? &from : &to, 3);
	must_be_untouched();
	close_sides();
}
END_TEST

/* Each list's word has its own, whatever the other list's are. */
START_TEST(a_stream_learns_of_faults_by_two_words)
{
	struct choices choices = fixture_choices(7);
	CUstream stream = gpu_stream();

	for (int i = 0; i < 4; i++) {
		make_lists(&choices, i % 2);
		if (i & 1)
			spoil(&from, 0, -1);
		if (i & 2)
			spoil(&to, 0, 1000);
		open_sides(ARENA_DEVICE, ARENA_DEVICE);
		use_stream(stream);
		before_copy();
		fixture_ok(copy_part(plane_bytes - 1, 1, NULL));
		MUST(StreamSynchronize(stream));
		ck_assert_int_eq(read_fault(&from), -1);
		ck_assert_int_eq(read_fault(&to), -1);
		before_copy();
		fixture_ok(copy_part(0, SIZE_MAX, NULL));
		MUST(StreamSynchronize(stream));
		ck_assert_int_eq(read_fault(&from), i & 1 ? 0 : -1);
		ck_assert_int_eq(read_fault(&to), i & 2 ? 0 : -1);
		must_be_copied("in the stream");
		from.pages.fault = to.pages.fault = NULL;
		before_copy();
		fixture_ok(copy_part(0, SIZE_MAX, NULL));
		MUST(StreamSynchronize(stream));
		must_be_copied("without words");
		close_sides();
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(what_a_device_cannot_do_is_refused)
{
	struct choices choices = fixture_choices(8);
	CUstream stream = gpu_stream();
	static int64_t ordinary;

	make_lists(&choices, true);
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	from.pages.table = from.table.memory + 4;
	expect_sentence(DTCONV_ERR_INVAL, "from.table is");
	from.pages.table = from.table.memory;
	to.pages.table = to.table.memory + 2;
	expect_sentence(DTCONV_ERR_INVAL, "to.table is");
	to.pages.table = to.table.memory;
	use_stream(stream);
	from.pages.fault = &ordinary;
	expect_sentence(DTCONV_ERR_UNSUPPORTED, "from.fault is pageable");
	use_stream(stream);
	to.pages.fault = &ordinary;
	expect_sentence(DTCONV_ERR_UNSUPPORTED, "to.fault is pageable");
	use_stream(stream);
	from.pages.part_count = to.pages.part_count = ((size_t)1 << 30) + 1;
	from.pages.part_stride = to.pages.part_stride = 0;
	expect_sentence(DTCONV_ERR_UNSUPPORTED, "too many or too long for one launch");
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

static void with_backends(const char *backends, bool moves)
{
	struct dtconv_context *kept = fixture_context;
	struct choices choices = fixture_choices(9);

	ck_assert_int_eq(setenv("DTCONV_BACKENDS", backends, 1), 0);
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
	unsetenv("DTCONV_BACKENDS");
	make_lists(&choices, false);
	if (moves)
		spoil(&to, 3, -1);
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	before_copy();
	/* If it moves, the number cannot be copied to the host. */
	if (moves)
		expect_sentence(DTCONV_ERR_INVAL, "to.table[3] is out of range");
	else
		expect_sentence(DTCONV_ERR_UNSUPPORTED, "need backend cuda_kernel");
	close_sides();
	open_sides(ARENA_HOST, ARENA_HOST);
	if (moves) {
		spoil(&to, 3, 0);
		write_table(&to);
		expect_sentence(DTCONV_ERR_UNSUPPORTED, "host");
	}
	close_sides();
	dtconv_context_destroy(fixture_context);
	fixture_context = kept;
}

START_TEST(backends_may_be_forbidden)
{
	with_backends("cuda_kernel", true);
	with_backends("host,cuda_copy", false);
}
END_TEST

/* ---- the order of a stream ------------------------------------------------------------------- */

/* The tables arrive behind a kernel that still runs, and the call returns. The source may have no order of its own. */
START_TEST(a_copy_waits_for_its_stream)
{
	struct choices choices = fixture_choices(10);
	CUstream stream = gpu_stream();
	struct spin spin;

	make_lists(&choices, true);
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	use_stream(stream);
	if (_i) {
		from.pages.flags = 0;
		from.pages.stream = from.pages.fault = NULL;
	}
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	MUST(StreamSynchronize(stream));
	before_copy();
	struct arena late;
	arena_open(&late, ARENA_PINNED, ENTRIES * 8);
	arena_write(&late, 0, to.narrow, table_bytes(&to));
	MUST(MemsetD8((CUdeviceptr)(uintptr_t)to.table.memory, 0xff, table_bytes(&to)));
	MUST(CtxSynchronize());
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)to.table.memory,
			 (CUdeviceptr)(uintptr_t)late.memory, table_bytes(&to), stream));
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	ck_assert_int_eq(gpu.StreamQuery(stream), CUDA_ERROR_NOT_READY);
	spin_end(&spin);
	ck_assert_int_eq(read_fault(&to), -1);
	must_be_copied("behind a kernel");
	arena_close(&late);
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

/* Tables in host memory may change when the call returns: one of the lists', the other's, or both. */
START_TEST(tables_of_the_host_travel_along)
{
	struct choices choices = fixture_choices(11);
	CUstream stream = gpu_stream();
	struct spin spin;

	if (_i & 8)
		make_long_lists(&choices, _i & 1);
	else
		make_lists(&choices, _i & 1);
	open_side(&from, ARENA_DEVICE, _i & 2 ? ARENA_HOST : ARENA_DEVICE);
	open_side(&to, ARENA_DEVICE, _i & 4 ? ARENA_HOST : ARENA_DEVICE);
	use_stream(stream);
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	MUST(StreamSynchronize(stream));
	before_copy();
	spin_begin(&spin, stream);
	for (size_t i = 0; i < total() / plane_bytes; i++) {
		const size_t at = plane_bytes * i;

		write_table(&from);
		write_table(&to);
		fixture_ok(copy_part(at + i, plane_bytes - i, NULL));
		fixture_ok(copy_part(at, i, NULL));
		if (_i & 2)
			memset(from.table.memory, 0xff, table_bytes(&from));
		if (_i & 4)
			memset(to.table.memory, 0xff, table_bytes(&to));
	}
	spin_end(&spin);
	must_be_copied("tables of the host");
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

/* A graph reads the tables anew with each launch; those in host memory would not be read. */
START_TEST(a_captured_copy_reads_its_tables_at_each_launch)
{
	struct choices choices = fixture_choices(12);
	CUstream stream = gpu_stream();
	CUgraphExec exec;
	CUgraph graph;

	make_lists(&choices, false);
	open_sides(ARENA_DEVICE, ARENA_DEVICE);
	use_stream(stream);
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	MUST(StreamSynchronize(stream));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(copy_part(0, SIZE_MAX, NULL));
	to.pages.table = to.wide;
	fixture_status(copy_part(0, SIZE_MAX, NULL), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "is being captured"));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < 3; round++) {
		fill_numbers(&choices, &from);
		fill_numbers(&choices, &to);
		if (round == 2)
			spoil(&to, 3, -1);
		write_table(&from);
		write_table(&to);
		before_copy();
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		must_be_copied("a graph");
		ck_assert_int_eq(read_fault(&from), -1);
		ck_assert_int_eq(read_fault(&to), round == 2 ? 3 : -1);
	}
	MUST(GraphExecDestroy(exec));
	MUST(GraphDestroy(graph));
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

static const char *const makers[] = { "cuMemAlloc",        "cuMemFree",
				      "cuEventCreate",     "cuEventDestroy",
				      "cuMemHostRegister", "cuStreamCreateWithPriority" };

#define MAKERS (sizeof(makers) / sizeof(makers[0]))

/* It begins when the upload ring has gone round. */
START_TEST(the_steady_state_makes_nothing)
{
	struct choices choices = fixture_choices(13);
	CUstream stream = gpu_stream();
	size_t before[MAKERS] = { 0 };

	if (_i == 2)
		make_long_lists(&choices, true);
	else
		make_lists(&choices, true);
	open_sides(ARENA_DEVICE, _i ? ARENA_HOST : ARENA_DEVICE);
	for (int round = 0; round < 60; round++) {
		for (size_t i = 0; gpu.standin && round == 36 && i < MAKERS; i++)
			before[i] = gpu.standin->calls(makers[i]);
		from.pages.flags = to.pages.flags = 0;
		from.pages.stream = to.pages.stream = NULL;
		from.pages.fault = to.pages.fault = NULL;
		if (round % 2)
			use_stream(stream);
		fixture_ok(copy_part(0, SIZE_MAX, NULL));
		MUST(StreamSynchronize(stream));
	}
	for (size_t i = 0; gpu.standin && i < MAKERS; i++)
		ck_assert_msg(gpu.standin->calls(makers[i]) == before[i], "%s",
			      makers[i]);
	gpu_must_be_idle(fixture_context, "the steady state");
	close_sides();
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- two devices ----------------------------------------------------------------------------- */

/* Memory of device 1 on one side; device 0 has access to it, device 1 to device 0's, both, or none. */
static void between_devices(bool is_target, unsigned access)
{
	struct choices choices = fixture_choices(14);
	struct side *far = is_target ? &to : &from;
	CUcontext first, second;

	MUST(CtxGetCurrent(&first));
	MUST(DevicePrimaryCtxRetain(&second, 1));
	if (access & 1)
		MUST(CtxEnablePeerAccess(second, 0));
	MUST(CtxSetCurrent(second));
	if (access & 2)
		MUST(CtxEnablePeerAccess(first, 0));
	make_lists(&choices, false);
	arena_open(&far->pool, ARENA_DEVICE, POOL);
	const struct arena apart = far->pool;
	MUST(CtxSetCurrent(first));
	open_sides(ARENA_DEVICE, ARENA_HOST);
	const struct arena unused = far->pool;
	far->pool = apart;
	if (access)
		copy_all("two devices");
	else
		expect_sentence(DTCONV_ERR_UNSUPPORTED,
				"no device that could work on the list has access to "
				"both pools and their tables");
	far->pool = unused;
	close_sides();
	if (access & 1)
		MUST(CtxDisablePeerAccess(second));
	MUST(CtxSetCurrent(second));
	if (access & 2)
		MUST(CtxDisablePeerAccess(first));
	struct arena closed = apart;
	arena_close(&closed);
	MUST(CtxSetCurrent(first));
	MUST(DevicePrimaryCtxRelease(1));
}

START_TEST(pools_of_two_devices)
{
	int count = 0, there = 0, back = 0;

	MUST(DeviceGetCount(&count));
	if (count > 1) {
		MUST(DeviceCanAccessPeer(&there, 0, 1));
		MUST(DeviceCanAccessPeer(&back, 1, 0));
	}
	if (!there || !back)
		return;
	for (unsigned access = 1; access <= 3; access++) {
		between_devices(true, access);
		between_devices(false, access);
	}
	between_devices(true, 0);
	between_devices(false, 0);
}
END_TEST

/* ---- refused calls --------------------------------------------------------------------------- */

enum way { BLOCKING, GIVEN, COPIED, ORDERED, ORDERED_COPIED, FAULTY, WAYS };

static int copy_by(enum way way)
{
	int status = copy_part(0, SIZE_MAX, NULL);

	if (way == FAULTY && status == DTCONV_ERR_INVAL)
		return 0;
	return status;
}

static void open_way(struct choices *choices, enum way way, CUstream stream)
{
	const bool is_copied = way == COPIED || way == ORDERED_COPIED;

	if (is_copied)
		make_long_lists(choices, false);
	else
		make_lists(choices, false);
	if (way == FAULTY)
		spoil(&to, 2, -1);
	open_sides(ARENA_DEVICE, is_copied || way == GIVEN ? ARENA_HOST : ARENA_DEVICE);
	if (way == ORDERED || way == ORDERED_COPIED)
		use_stream(stream);
}

/* One call fails; the next copy works, and nothing is left behind. */
static bool inject(const char *entry, unsigned nth, int way)
{
	struct dtconv_context *kept = fixture_context;
	struct choices choices = fixture_choices(15);
	char fault[100];

	gpu_open();
	CUstream stream = gpu_stream();
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
	open_way(&choices, (enum way)way, stream);
	before_copy();
	gpu_refuse(entry, nth);
	int status = copy_by((enum way)way);
	const bool fired = gpu_was_refused();
	MUST(CtxSynchronize());
	ck_assert_msg(status <= 0, "%s, call %u: status %d", entry, nth, status);
	if (!status)
		must_be_copied(entry);
	gpu_must_be_idle(fixture_context, entry);
	before_copy();
	if (copy_by((enum way)way))
		ck_abort_msg("%s, call %u: the next copy fails, too: %s", entry, nth,
			     fixture_error());
	MUST(CtxSynchronize());
	must_be_copied(entry);
	close_sides();
	dtconv_context_destroy(fixture_context);
	fixture_context = kept;
	MUST(StreamDestroy(stream));
	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_fails_its_copy_and_no_later_one)
{
	for (int way = 0; way < WAYS; way++)
		gpu_refuse_calls(gpu_entries[_i], inject, way);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("copies of pages on a device");
	TCase *lists = gpu_case(suite, "lists", 60);
	TCase *errors = gpu_case(suite, "errors", 60);
	TCase *order = gpu_case(suite, "order", 60);

	tcase_add_loop_test(lists, memory_of_every_kind, 0, ARENA_KINDS * ARENA_KINDS);
	tcase_add_loop_test(lists, random_lists_in_any_pieces, 0, 8);
	tcase_add_loop_test(lists, long_lists_in_any_pieces, 0, 4);
	tcase_add_test(lists, one_launch_copies_all_layers_and_parts);
	tcase_add_test(lists, pages_of_one_pool);
	tcase_add_test(lists, pools_of_two_devices);
	tcase_add_loop_test(errors, the_first_number_out_of_range_is_named, 0, 4);
	tcase_add_loop_test(errors, tables_in_host_memory_are_checked_first, 0, 2);
	tcase_add_loop_test(errors, tables_are_checked_first_where_the_host_moves, 0, 2);
	tcase_add_test(errors, a_stream_learns_of_faults_by_two_words);
	tcase_add_test(errors, what_a_device_cannot_do_is_refused);
	tcase_add_test(errors, backends_may_be_forbidden);
	tcase_add_loop_test(order, a_copy_waits_for_its_stream, 0, 2);
	tcase_add_loop_test(order, tables_of_the_host_travel_along, 0, 16);
	tcase_add_loop_test(order, the_steady_state_makes_nothing, 0, 3);
	tcase_add_test(order, a_captured_copy_reads_its_tables_at_each_launch);
	tcase_add_loop_test(gpu_faults(suite),
			    a_refused_call_fails_its_copy_and_no_later_one, 0,
			    gpu_refusals());
	return fixture_run(suite);
}
