/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages on a device: memory of every kind, any cuts and alignments, numbers out of range, the order of the
 * caller's stream, graphs, a peer's memory, and refused calls of the driver. An oracle finds each byte by itself.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* The numbers of short lists in host memory are parameters of the launch, those of long ones are copied. */
enum { POOL = 1 << 17, ENTRIES = 1000, GUARD = 0xd5, SMALL = 40, LONG = 700 };

static unsigned char source[POOL], target[POOL], expected[POOL];
static unsigned char stream_bytes[POOL], got[POOL];
static int32_t narrow[ENTRIES];
static int64_t wide[ENTRIES];
static struct dtconv_pages pages; /* of the oracle; its table is one of the two above */
static size_t base;               /* of displacement 0 in the pool */

/* ---- the oracle ------------------------------------------------------------------------------ */

static size_t plane_bytes(void)
{
	return pages.bytes ? pages.bytes : pages.count * pages.page_bytes;
}

static size_t total(void)
{
	return pages.layer_count * pages.part_count * plane_bytes();
}

static int64_t number_of(size_t position)
{
	const size_t entry = position % plane_bytes() / pages.page_bytes;

	return pages.number == DTCONV_PAGE_NUMBER_64 ? wide[entry] : narrow[entry];
}

static bool is_good(size_t position)
{
	return (uint64_t)number_of(position) < pages.pool_pages;
}

static size_t place_of(size_t position)
{
	const size_t plane = position / plane_bytes();
	const size_t inside = position % plane_bytes() % pages.page_bytes;
	const size_t row = pages.row_bytes ? pages.row_bytes : pages.page_bytes;

	return base +
	       (size_t)(pages.offset +
			(ptrdiff_t)(plane / pages.part_count) * pages.layer_stride +
			(ptrdiff_t)(plane % pages.part_count) * pages.part_stride) +
	       (size_t)number_of(position) * pages.page_stride +
	       inside / row * pages.row_stride + inside % row;
}

static void fill_numbers(struct choices *choices)
{
	static int32_t all[2 * ENTRIES];

	for (size_t i = 0; i < pages.pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < pages.count; i++) {
		const size_t chosen = i + choose(choices, pages.pool_pages - i);

		wide[i] = narrow[i] = all[chosen];
		all[chosen] = all[i];
	}
}

static void fill_bytes(struct choices *choices)
{
	for (size_t i = 0; i < POOL; i++)
		source[i] = (unsigned char)choose(choices, 251);
	memset(target, GUARD, POOL);
}

/* Layers one behind another, the last one first; keys and values in each. */
static void make_list_of(struct choices *choices, size_t count, size_t page_bytes,
			 bool is_wide)
{
	pages = (struct dtconv_pages){
		.struct_size = sizeof(pages),
		.table = is_wide ? (const void *)wide : (const void *)narrow,
		.number = is_wide ? DTCONV_PAGE_NUMBER_64 : DTCONV_PAGE_NUMBER_32,
		.count = count,
		.pool_pages = count + 7,
		.page_bytes = page_bytes,
		.page_stride = page_bytes,
		.layer_count = 3,
		.part_count = 2
	};
	pages.part_stride = (ptrdiff_t)(pages.pool_pages * page_bytes);
	pages.layer_stride = -2 * pages.part_stride;
	base = (size_t)(-2 * pages.layer_stride);
	fill_numbers(choices);
	fill_bytes(choices);
}

static void make_list(struct choices *choices, size_t page_bytes, bool is_wide)
{
	make_list_of(choices, SMALL, page_bytes, is_wide);
}

/* What the device's part of the list is made of. */
struct scene {
	struct arena pool, packed, table, fault;
	struct dtconv_pages pages;
	size_t shift; /* of packed memory */
};

static size_t table_bytes(void)
{
	return pages.count * (pages.number == DTCONV_PAGE_NUMBER_64 ? 8 : 4);
}

static void write_fault(const struct scene *scene, int64_t value)
{
	arena_write(&scene->fault, 0, &value, sizeof(value));
}

static int64_t read_fault(const struct scene *scene)
{
	int64_t value;

	arena_read(&scene->fault, 0, &value, sizeof(value));
	return value;
}

static void scene_open(struct scene *scene, enum arena_kind pool, enum arena_kind packed,
		       enum arena_kind table)
{
	*scene = (struct scene){ .pages = pages };
	arena_open(&scene->pool, pool, POOL);
	arena_open(&scene->packed, packed, POOL);
	arena_open(&scene->table, table, ENTRIES * 8);
	arena_open(&scene->fault, ARENA_PINNED, 64);
	arena_write(&scene->table, 0, pages.table, table_bytes());
	scene->pages.table = scene->table.memory;
	write_fault(scene, -1);
}

static void scene_close(struct scene *scene)
{
	arena_close(&scene->pool);
	arena_close(&scene->packed);
	arena_close(&scene->table);
	arena_close(&scene->fault);
}

static void use_stream(struct scene *scene, CUstream stream)
{
	scene->pages.flags = DTCONV_PAGES_STREAM;
	scene->pages.stream = stream;
	scene->pages.fault = (int64_t *)(void *)scene->fault.memory;
}

static int pack_part(const struct scene *scene, size_t at, size_t bytes, size_t *moved)
{
	return dtconv_pages_pack(fixture_context, &scene->pages,
				 scene->pool.memory + base, at,
				 scene->packed.memory + scene->shift + at, bytes, moved);
}

static int unpack_part(const struct scene *scene, size_t at, size_t bytes, size_t *moved)
{
	return dtconv_pages_unpack(fixture_context, &scene->pages,
				   scene->pool.memory + base, at,
				   scene->packed.memory + scene->shift + at, bytes,
				   moved);
}

static void before_pack(const struct scene *scene)
{
	memset(got, GUARD, POOL);
	arena_write(&scene->packed, 0, got, POOL);
	arena_write(&scene->pool, 0, source, POOL);
}

static void must_be_packed(const struct scene *scene, const char *what)
{
	arena_read(&scene->packed, 0, got, POOL);
	for (size_t at = 0; at < total(); at++)
		ck_assert_msg(got[scene->shift + at] ==
				      (is_good(at) ? source[place_of(at)] : GUARD),
			      "%s: byte %zu of the stream", what, at);
	for (size_t i = 0; i < scene->shift; i++)
		ck_assert_uint_eq(got[i], GUARD);
	for (size_t i = scene->shift + total(); i < POOL; i++)
		ck_assert_uint_eq(got[i], GUARD);
}

static void before_unpack(const struct scene *scene)
{
	for (size_t at = 0; at < total(); at++)
		stream_bytes[at] = (unsigned char)(at * 7 + at / 256);
	arena_write(&scene->packed, scene->shift, stream_bytes, total());
	arena_write(&scene->pool, 0, target, POOL);
}

static void must_be_unpacked(const struct scene *scene, const char *what)
{
	memcpy(expected, target, POOL);
	for (size_t at = 0; at < total(); at++)
		if (is_good(at))
			expected[place_of(at)] = stream_bytes[at];
	arena_read(&scene->pool, 0, got, POOL);
	ck_assert_msg(!memcmp(got, expected, POOL), "%s: wrong bytes in the pool", what);
}

static void move_both_ways(const struct scene *scene, const char *what)
{
	size_t moved;

	before_pack(scene);
	fixture_ok(pack_part(scene, 0, total(), &moved));
	ck_assert_uint_eq(moved, total());
	if (scene->pages.stream)
		MUST(StreamSynchronize(scene->pages.stream));
	must_be_packed(scene, what);
	before_unpack(scene);
	fixture_ok(unpack_part(scene, 0, total(), &moved));
	ck_assert_uint_eq(moved, total());
	if (scene->pages.stream)
		MUST(StreamSynchronize(scene->pages.stream));
	must_be_unpacked(scene, what);
	ck_assert_int_eq(read_fault(scene), -1);
}

/* ---- kinds of memory ------------------------------------------------------------------------- */

static bool is_of_device(enum arena_kind kind)
{
	return kind >= ARENA_DEVICE;
}

/* Whether a device moves: a device's memory is concerned, or the stream's order is, and memory that it accesses. */
static bool is_for_device(const struct scene *scene)
{
	const enum arena_kind kinds[] = { scene->pool.kind, scene->packed.kind,
					  scene->table.kind };

	for (size_t i = 0; i < 3; i++)
		if (is_of_device(kinds[i]) ||
		    (scene->pages.flags && kinds[i] != ARENA_HOST))
			return true;
	return false;
}

static void check_kinds(const struct scene *scene, const char *what)
{
	size_t moved = 9;

	if (!is_for_device(scene) ||
	    (scene->pool.kind != ARENA_HOST && scene->packed.kind != ARENA_HOST)) {
		move_both_ways(scene, what);
		return;
	}
	fixture_status(pack_part(scene, 0, total(), &moved), DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	ck_assert_msg(strstr(fixture_error(), "pageable host memory") != NULL, "%s",
		      fixture_error());
}

START_TEST(memory_of_every_kind)
{
	const enum arena_kind pool = (enum arena_kind)(_i % ARENA_KINDS);
	const enum arena_kind packed = (enum arena_kind)(_i / ARENA_KINDS);
	struct choices choices = fixture_choices(1 + (uint64_t)_i);
	CUstream stream = gpu_stream();
	struct scene scene;
	char what[100];

	for (int table = 0; table < ARENA_KINDS; table++) {
		make_list(&choices, table % 2 ? 64 : 100, table % 3 == 0);
		scene_open(&scene, pool, packed, (enum arena_kind)table);
		snprintf(what, sizeof(what), "pool %s, packed %s, table %s",
			 arena_kind_names[pool], arena_kind_names[packed],
			 arena_kind_names[table]);
		check_kinds(&scene, what);
		use_stream(&scene, stream);
		check_kinds(&scene, what);
		scene_close(&scene);
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- random lists ---------------------------------------------------------------------------- */

/* Rows with gaps; returns what those of a page reach over. */
static size_t choose_rows(struct choices *choices)
{
	size_t rows = 1 + choose(choices, 6);

	while (pages.page_bytes % rows)
		rows--;
	pages.row_bytes = pages.page_bytes / rows;
	pages.row_stride = pages.row_bytes + 16 * choose(choices, 3);
	return (rows - 1) * pages.row_stride + pages.row_bytes;
}

static void choose_list(struct choices *choices)
{
	static const size_t sizes[] = { 1, 3, 16, 64, 100, 576, 1024, 4096 };
	const bool inside = chance(choices, 2);

	make_list(choices, sizes[choose(choices, 8)], chance(choices, 2));
	size_t next = choose_rows(choices);
	pages.layer_count = 1 + choose(choices, 3);
	pages.part_count = 1 + choose(choices, 2);
	const size_t planes = pages.layer_count * pages.part_count;
	next += choose(choices, 9);
	const size_t most = (POOL - 64) / (planes * (next + 1));
	pages.pool_pages = 1 + choose(choices, most < ENTRIES ? most : ENTRIES);
	pages.count = 1 + choose(choices, pages.pool_pages);
	if (chance(choices, 2))
		pages.bytes = 1 + choose(choices, pages.count * pages.page_bytes);
	base = choose(choices, 33);
	pages.page_stride = inside ? next * planes : next;
	pages.part_stride = (ptrdiff_t)(inside ? next : next * pages.pool_pages);
	pages.layer_stride = pages.part_stride * (ptrdiff_t)pages.part_count;
	fill_numbers(choices);
}

static void move_in_pieces(const struct scene *scene, struct choices *choices, bool packs)
{
	const size_t most = chance(choices, 2) ? total() : 1 + choose(choices, total());
	size_t moved;

	for (size_t at = 0; at < total(); at += moved) {
		const size_t n = most < total() - at ? most : total() - at;

		fixture_ok(packs ? pack_part(scene, at, n, &moved)
				 : unpack_part(scene, at, n, &moved));
		ck_assert_uint_eq(moved, n);
	}
}

START_TEST(random_lists_in_any_pieces)
{
	struct choices choices = fixture_choices(1000 + (uint64_t)_i);
	struct scene scene;

	for (int round = 0; round < 12; round++) {
		choose_list(&choices);
		scene_open(&scene, ARENA_DEVICE, round % 4 ? ARENA_DEVICE : ARENA_PINNED,
			   round % 3 ? ARENA_DEVICE : ARENA_HOST);
		scene.shift = chance(&choices, 2) ? choose(&choices, 32) : 0;
		before_pack(&scene);
		move_in_pieces(&scene, &choices, true);
		must_be_packed(&scene, "random");
		before_unpack(&scene);
		move_in_pieces(&scene, &choices, false);
		must_be_unpacked(&scene, "random");
		scene_close(&scene);
	}
}
END_TEST

/* Several of one sequence's pages may be the same to pack. */
START_TEST(pages_are_packed_twice)
{
	struct choices choices = fixture_choices(2);
	struct scene scene;

	make_list(&choices, 256, false);
	for (size_t i = 0; i < SMALL; i++)
		narrow[i] = (int32_t)(i / 3);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	before_pack(&scene);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	must_be_packed(&scene, "twice");
	scene_close(&scene);
}
END_TEST

START_TEST(one_launch_moves_all_layers_and_parts)
{
	struct choices choices = fixture_choices(3);
	struct scene scene;

	make_list(&choices, 256, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	before_pack(&scene);
	const uint64_t before = fixture_counters().launches_indexed;
	const size_t calls = gpu.standin ? gpu.standin->calls("cuLaunchKernel") : 0;
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	ck_assert_uint_eq(fixture_counters().launches_indexed, before + 1);
	ck_assert_uint_eq(fixture_counters().pack_bytes, total());
	ck_assert(!gpu.standin || gpu.standin->calls("cuLaunchKernel") == calls + 1);
	scene_close(&scene);
}
END_TEST

/* ---- numbers out of range -------------------------------------------------------------------- */

static const int64_t bad_numbers[] = { -1,        SMALL + 7, INT32_MIN,
				       INT32_MAX, INT64_MIN, INT64_C(1) << 32 };

#define BAD_NUMBERS (int)(sizeof(bad_numbers) / sizeof(bad_numbers[0]))

static void spoil(size_t entry, int bad)
{
	wide[entry] = bad_numbers[bad];
	narrow[entry] = (int32_t)bad_numbers[bad];
}

static int64_t number_at(size_t entry)
{
	return pages.number == DTCONV_PAGE_NUMBER_64 ? wide[entry] : narrow[entry];
}

static void expect_refusal(const struct scene *scene, bool packs, size_t entry,
			   int64_t number)
{
	char sentence[100];
	size_t moved = 9;

	snprintf(sentence, sizeof(sentence),
		 "pages.table[%zu] is %lld, but the pool has %zu pages", entry,
		 (long long)number, pages.pool_pages);
	fixture_status(packs ? pack_part(scene, 0, total(), &moved)
			     : unpack_part(scene, 0, total(), &moved),
		       DTCONV_ERR_INVAL);
	ck_assert_uint_eq(moved, 0);
	ck_assert_msg(strstr(fixture_error(), sentence) != NULL, "%s, not %s",
		      fixture_error(), sentence);
}

/* First, in the middle and last; the last one is bad each time, too. The other pages are moved. */
START_TEST(the_first_number_out_of_range_is_named)
{
	static const enum arena_kind tables[] = { ARENA_DEVICE, ARENA_PINNED,
						  ARENA_MANAGED };
	static const size_t entries[] = { 0, SMALL / 2, SMALL - 1 };
	struct choices choices = fixture_choices(4);
	const bool is_wide = _i >= 4;
	struct scene scene;

	for (int i = 0; i < 9; i++) {
		make_list(&choices, i % 2 ? 128 : 100, is_wide);
		spoil(SMALL - 1, 0);
		spoil(entries[i % 3], _i);
		const int64_t number = number_at(entries[i % 3]);
		scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, tables[i / 3]);
		before_pack(&scene);
		expect_refusal(&scene, true, entries[i % 3], number);
		must_be_packed(&scene, "bad");
		before_unpack(&scene);
		expect_refusal(&scene, false, entries[i % 3], number);
		must_be_unpacked(&scene, "bad");
		scene_close(&scene);
	}
	gpu_must_be_idle(fixture_context, "numbers out of range");
}
END_TEST

static void nothing_is_packed(const struct scene *scene)
{
	arena_read(&scene->packed, 0, got, POOL);
	for (size_t i = 0; i < POOL; i++)
		ck_assert_uint_eq(got[i], GUARD);
}

/*
 * The host reads such a table before anything moves, also for a stream; those that travel with the launch, those that
 * are copied with 32 bits a number, and those of pools that need 64.
 */
START_TEST(a_table_in_host_memory_is_checked_first)
{
	const size_t count = _i < 2 ? SMALL : LONG;
	const size_t entries[] = { 0, 1, count / 2, count - 1 };
	struct choices choices = fixture_choices(5);
	CUstream stream = gpu_stream();
	struct scene scene;

	for (int i = 0; i < 4 * BAD_NUMBERS; i++) {
		make_list_of(&choices, count, 16, _i % 2);
		if (_i == 5)
			pages.pool_pages = (size_t)3 << 30;
		spoil(count - 1, 0);
		spoil(entries[i % 4], i / 4);
		if ((uint64_t)number_at(entries[i % 4]) < pages.pool_pages)
			continue;
		scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
		for (int ordered = 0; ordered < 2; ordered++) {
			before_pack(&scene);
			expect_refusal(&scene, true, entries[i % 4],
				       number_at(entries[i % 4]));
			nothing_is_packed(&scene);
			use_stream(&scene, stream);
		}
		ck_assert_int_eq(read_fault(&scene), -1);
		MUST(StreamSynchronize(stream));
		scene_close(&scene);
	}
	gpu_must_be_idle(fixture_context, "a table in host memory");
	MUST(StreamDestroy(stream));
}
END_TEST

START_TEST(a_stream_learns_of_faults_by_a_word)
{
	static const enum arena_kind words[] = { ARENA_PINNED, ARENA_MANAGED,
						 ARENA_DEVICE };
	struct choices choices = fixture_choices(6);
	CUstream stream = gpu_stream();
	struct scene scene;

	for (int i = 0; i < 3; i++) {
		make_list(&choices, 128, i > 0);
		spoil(9, 0);
		spoil(30, 1);
		scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
		arena_close(&scene.fault);
		arena_open(&scene.fault, words[i], 64);
		write_fault(&scene, -1);
		use_stream(&scene, stream);
		before_pack(&scene);
		fixture_ok(pack_part(&scene, 10 * 128, 5 * 128, NULL));
		MUST(StreamSynchronize(stream));
		ck_assert_int_eq(read_fault(&scene), -1);
		before_pack(&scene);
		fixture_ok(pack_part(&scene, 0, total(), NULL));
		MUST(StreamSynchronize(stream));
		ck_assert_int_eq(read_fault(&scene), 9);
		must_be_packed(&scene, "in the stream");
		scene.pages.fault = NULL;
		before_pack(&scene);
		fixture_ok(pack_part(&scene, 0, total(), NULL));
		MUST(StreamSynchronize(stream));
		must_be_packed(&scene, "without a word");
		scene_close(&scene);
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_sentence(const struct scene *scene, int status, const char *sentence)
{
	size_t moved = 9;

	fixture_status(pack_part(scene, 0, total(), &moved), status);
	ck_assert_uint_eq(moved, 0);
	ck_assert_msg(strstr(fixture_error(), sentence) != NULL, "%s", fixture_error());
}

START_TEST(what_a_device_cannot_do_is_refused)
{
	struct choices choices = fixture_choices(7);
	CUstream stream = gpu_stream();
	static int64_t ordinary;
	struct scene scene;

	make_list(&choices, 128, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	scene.pages.table = scene.table.memory + 2;
	expect_sentence(&scene, DTCONV_ERR_INVAL, "aligned to 4 bytes");
	scene.pages.number = DTCONV_PAGE_NUMBER_64;
	scene.pages.table = scene.table.memory + 4;
	expect_sentence(&scene, DTCONV_ERR_INVAL, "aligned to 8 bytes");
	scene.pages = pages;
	scene.pages.table = scene.table.memory;
	scene.pages.fault = (int64_t *)(void *)scene.fault.memory;
	expect_sentence(&scene, DTCONV_ERR_INVAL, "which needs DTCONV_PAGES_STREAM");
	use_stream(&scene, stream);
	scene.pages.fault = (int64_t *)(void *)(scene.fault.memory + 4);
	expect_sentence(&scene, DTCONV_ERR_INVAL, "not aligned to 8 bytes");
	scene.pages.fault = &ordinary;
	expect_sentence(&scene, DTCONV_ERR_UNSUPPORTED, "pages.fault is pageable");
	use_stream(&scene, stream);
	scene.pages.part_count = ((size_t)1 << 30) + 1;
	scene.pages.part_stride = 0;
	expect_sentence(&scene, DTCONV_ERR_UNSUPPORTED,
			"too many or too long for one launch");
	scene_close(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* A table at any address of the host is copied. */
START_TEST(a_table_of_the_host_needs_no_alignment)
{
	struct choices choices = fixture_choices(8);
	struct scene scene;

	make_list(&choices, 128, true);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
	memmove(scene.table.memory + 3, scene.table.memory, table_bytes());
	scene.pages.table = scene.table.memory + 3;
	move_both_ways(&scene, "odd");
	scene_close(&scene);
}
END_TEST

START_TEST(hints_are_taken_for_granted)
{
	struct choices choices = fixture_choices(9);
	struct scene scene;

	make_list(&choices, 128, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	scene.pages.table_memory = DTCONV_MEMORY_DEVICE;
	scene.pages.pool_memory = DTCONV_MEMORY_DEVICE;
	scene.pages.packed_memory = DTCONV_MEMORY_DEVICE;
	move_both_ways(&scene, "hints");
	const size_t asked = gpu.standin ? gpu.standin->calls("cuPointerGetAttributes")
					 : 0;
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	ck_assert(!gpu.standin || gpu.standin->calls("cuPointerGetAttributes") == asked);
	scene_close(&scene);
}
END_TEST

static void with_backends(const char *backends)
{
	struct dtconv_context *kept = fixture_context;

	ck_assert_int_eq(setenv("DTCONV_BACKENDS", backends, 1), 0);
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
	unsetenv("DTCONV_BACKENDS");
	struct choices choices = fixture_choices(10);
	struct scene scene;

	make_list(&choices, 128, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	if (strstr(backends, "cuda_kernel") == backends) {
		move_both_ways(&scene, backends);
		/* The number cannot be copied to the host. */
		spoil(3, 0);
		arena_write(&scene.table, 0, narrow, table_bytes());
		expect_sentence(&scene, DTCONV_ERR_INVAL,
				"pages.table[3] is out of range");
	} else {
		expect_sentence(&scene, DTCONV_ERR_UNSUPPORTED,
				"need backend cuda_kernel");
	}
	scene_close(&scene);
	dtconv_context_destroy(fixture_context);
	fixture_context = kept;
}

START_TEST(backends_may_be_forbidden)
{
	with_backends("cuda_kernel");
	with_backends("host,cuda_copy");
}
END_TEST

/* ---- the order of a stream ------------------------------------------------------------------- */

/* The table arrives behind a kernel that still runs, and the call returns. */
START_TEST(a_list_waits_for_its_stream)
{
	struct choices choices = fixture_choices(11);
	CUstream stream = _i ? NULL : gpu_stream();
	struct scene scene;
	struct spin spin;

	make_list(&choices, 128, true);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	use_stream(&scene, stream);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	MUST(StreamSynchronize(stream));
	before_pack(&scene);
	struct arena late;
	arena_open(&late, ARENA_PINNED, ENTRIES * 8);
	arena_write(&late, 0, wide, table_bytes());
	MUST(MemsetD8((CUdeviceptr)(uintptr_t)scene.table.memory, 0xff, table_bytes()));
	MUST(CtxSynchronize());
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.table.memory,
			 (CUdeviceptr)(uintptr_t)late.memory, table_bytes(), stream));
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	ck_assert_int_eq(gpu.StreamQuery(stream), CUDA_ERROR_NOT_READY);
	spin_end(&spin);
	ck_assert_int_eq(read_fault(&scene), -1);
	must_be_packed(&scene, "behind a kernel");
	arena_close(&late);
	scene_close(&scene);
	if (stream)
		MUST(StreamDestroy(stream));
}
END_TEST

static void *release_later(void *spin)
{
	gpu_nap(20);
	spin_release(spin);
	return NULL;
}

/* Behind a kernel that ends meanwhile, and the list is moved when the call returns; bad numbers fail it. */
START_TEST(a_call_may_wait_in_its_stream)
{
	struct choices choices = fixture_choices(17);
	CUstream stream = _i ? NULL : gpu_stream();
	struct scene scene;
	struct arena late;
	struct spin spin;
	pthread_t thread;

	make_list(&choices, 128, true);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	use_stream(&scene, stream);
	scene.pages.flags |= DTCONV_PAGES_WAIT;
	expect_sentence(&scene, DTCONV_ERR_INVAL, "and no fault word");
	scene.pages.fault = NULL;
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	for (int round = 0; round < 2; round++) {
		arena_open(&late, ARENA_PINNED, ENTRIES * 8);
		arena_write(&late, 0, wide, table_bytes());
		before_pack(&scene);
		MUST(MemsetD8((CUdeviceptr)(uintptr_t)scene.table.memory, 0xff,
			      table_bytes()));
		MUST(CtxSynchronize());
		spin_begin(&spin, stream);
		MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.table.memory,
				 (CUdeviceptr)(uintptr_t)late.memory, table_bytes(),
				 stream));
		ck_assert(!pthread_create(&thread, NULL, release_later, &spin));
		if (round)
			expect_refusal(&scene, true, 3, wide[3]);
		else
			fixture_ok(pack_part(&scene, 0, total(), NULL));
		pthread_join(thread, NULL);
		spin_end(&spin);
		must_be_packed(&scene, "waited for");
		arena_close(&late);
		spoil(3, 0);
	}
	scene.pages.flags = DTCONV_PAGES_WAIT;
	scene.pages.stream = NULL;
	expect_sentence(&scene, DTCONV_ERR_INVAL, "needs DTCONV_PAGES_STREAM");
	scene_close(&scene);
	gpu_must_be_idle(fixture_context, "calls that wait");
	if (stream)
		MUST(StreamDestroy(stream));
}
END_TEST

enum { COPIES = 64 }; /* of tables in host memory that may be in flight */

/* Spoils the table behind the call, which may do that. */
static int pack_and_spoil(const struct scene *scene, size_t at, size_t bytes)
{
	arena_write(&scene->table, 0, pages.table, table_bytes());
	int status = pack_part(scene, at, bytes, NULL);
	memset(scene->table.memory, 0xff, table_bytes());
	return status;
}

/* A table in host memory may change when the call returns. Of those that have to be copied, only so many. */
START_TEST(tables_of_the_host_travel_along)
{
	const bool is_long = _i;
	struct choices choices = fixture_choices(12);
	CUstream stream = gpu_stream();
	struct scene scene;
	struct spin spin;

	make_list_of(&choices, is_long ? LONG : SMALL, is_long ? 16 : 128, true);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
	use_stream(&scene, stream);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	MUST(StreamSynchronize(stream));
	for (int round = 0; round < 3; round++) {
		before_pack(&scene);
		spin_begin(&spin, stream);
		for (size_t i = 0; i < COPIES; i++)
			fixture_ok(pack_and_spoil(&scene, i, total() - i));
		fixture_status(pack_and_spoil(&scene, 0, total()),
			       is_long ? DTCONV_ERR_AGAIN : 0);
		spin_end(&spin);
		must_be_packed(&scene, "tables of the host");
	}
	arena_write(&scene.table, 0, wide, table_bytes());
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	MUST(StreamSynchronize(stream));
	scene_close(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* Copies are made of what a call needs, and only if that is more than a launch can take along. */
START_TEST(only_long_tables_are_copied)
{
	static const size_t needed[] = { LONG, 600, 513, 512, 511, 100, 1 };
	struct choices choices = fixture_choices(15 + (uint64_t)_i);
	struct scene scene;

	make_list_of(&choices, LONG, 16, _i);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
	move_both_ways(&scene, "a long table");
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(needed); i++) {
		const size_t first = LONG - needed[i], bytes = needed[i] * 16;
		const size_t before = gpu.standin ? gpu.standin->calls("cuMemcpyAsync")
						  : 0;

		before_pack(&scene);
		fixture_ok(pack_part(&scene, first * 16, bytes, NULL));
		if (gpu.standin)
			ck_assert_uint_eq(gpu.standin->calls("cuMemcpyAsync") - before,
					  needed[i] > 512);
		arena_read(&scene.packed, 0, got, POOL);
		for (size_t at = 0; at < bytes; at++)
			ck_assert_uint_eq(got[first * 16 + at],
					  source[place_of(first * 16 + at)]);
	}
	scene_close(&scene);
}
END_TEST

/* Long ones are copied in parts, which the device and the host work on at the same time. */
START_TEST(a_table_of_many_parts)
{
	enum { PAGES = 100000 };
	static int64_t many[PAGES];
	static int32_t few[PAGES];
	struct scene scene;

	for (size_t i = 0; i < PAGES; i++)
		few[i] = (int32_t)(many[i] = (int64_t)(i * 7919 % PAGES));
	struct choices choices = fixture_choices(17);
	make_list(&choices, 1, false);
	pages.layer_count = pages.part_count = 1;
	base = 0;
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
	scene.pages.table = _i ? (const void *)many : (const void *)few;
	scene.pages.number = _i ? DTCONV_PAGE_NUMBER_64 : DTCONV_PAGE_NUMBER_32;
	scene.pages.count = scene.pages.pool_pages = PAGES;
	for (size_t first = 0; first < 10; first += 7) {
		before_pack(&scene);
		fixture_ok(pack_part(&scene, first, PAGES - first, NULL));
		arena_read(&scene.packed, 0, got, POOL);
		for (size_t i = first; i < PAGES; i++)
			ck_assert_msg(got[i] == source[few[i]], "page %zu", i);
	}
	scene_close(&scene);
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
	struct scene scene;

	make_list_of(&choices, _i == 2 ? LONG : SMALL, 16, true);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, _i ? ARENA_HOST : ARENA_DEVICE);
	for (int round = 0; round < 60; round++) {
		for (size_t i = 0; gpu.standin && round == 36 && i < MAKERS; i++)
			before[i] = gpu.standin->calls(makers[i]);
		scene.pages.flags = 0;
		scene.pages.stream = scene.pages.fault = NULL;
		if (round % 2)
			use_stream(&scene, stream);
		fixture_ok(pack_part(&scene, 0, total(), NULL));
		MUST(StreamSynchronize(stream));
	}
	for (size_t i = 0; gpu.standin && i < MAKERS; i++)
		ck_assert_msg(gpu.standin->calls(makers[i]) == before[i], "%s",
			      makers[i]);
	gpu_must_be_idle(fixture_context, "the steady state");
	scene_close(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* With the flag, calls without a stream are in the order of the legacy default stream. */
START_TEST(the_default_stream_orders_blocking_calls)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_DEFAULT_STREAM
	};
	struct dtconv_context *kept = fixture_context;
	struct choices choices = fixture_choices(14);
	struct spin_releaser releaser;
	struct scene scene;
	struct spin spin;

	if (!gpu.standin)
		return;
	fixture_ok(dtconv_context_create(&params, &fixture_context));
	make_list(&choices, 128, true);
	scene_open(&scene, ARENA_PINNED, ARENA_PINNED, ARENA_PINNED);
	before_pack(&scene);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	before_pack(&scene);
	struct arena late;
	arena_open(&late, ARENA_DEVICE, ENTRIES * 8);
	arena_write(&late, 0, wide, table_bytes());
	memset(scene.table.memory, 0xff, table_bytes());
	spin_begin(&spin, NULL);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.table.memory,
			 (CUdeviceptr)(uintptr_t)late.memory, table_bytes(), NULL));
	releaser_begin(&releaser, &spin, "cuLaunchKernel", 1);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	ck_assert(releaser_end(&releaser));
	spin_end(&spin);
	must_be_packed(&scene, "the default stream");
	arena_close(&late);
	scene_close(&scene);
	dtconv_context_destroy(fixture_context);
	fixture_context = kept;
}
END_TEST

/* A graph reads the table anew with each launch; one in host memory would not be read. */
START_TEST(a_captured_list_reads_its_table_at_each_launch)
{
	struct choices choices = fixture_choices(15);
	CUstream stream = gpu_stream();
	struct scene scene, host;
	CUgraphExec exec;
	CUgraph graph;

	make_list(&choices, 128, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	scene_open(&host, ARENA_DEVICE, ARENA_DEVICE, ARENA_HOST);
	use_stream(&scene, stream);
	use_stream(&host, stream);
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	MUST(StreamSynchronize(stream));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(pack_part(&scene, 0, total(), NULL));
	fixture_status(pack_part(&host, 0, total(), NULL), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "is being captured"));
	struct scene waiting = scene;
	waiting.pages.flags |= DTCONV_PAGES_WAIT;
	waiting.pages.fault = NULL;
	fixture_status(pack_part(&waiting, 0, total(), NULL), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "nothing can be waited for"));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < 3; round++) {
		fill_numbers(&choices);
		if (round == 2)
			spoil(7, 0);
		arena_write(&scene.table, 0, narrow, table_bytes());
		before_pack(&scene);
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		must_be_packed(&scene, "a graph");
		ck_assert_int_eq(read_fault(&scene), round == 2 ? 7 : -1);
	}
	MUST(GraphExecDestroy(exec));
	MUST(GraphDestroy(graph));
	scene_close(&scene);
	scene_close(&host);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- a peer's memory ------------------------------------------------------------------------- */

/* Memory of device 1, which device 0 may access or not. */
static void move_to_peer(bool is_open)
{
	struct choices choices = fixture_choices(16);
	CUcontext first, second;
	struct scene scene;
	struct arena far;

	MUST(CtxGetCurrent(&first));
	MUST(DevicePrimaryCtxRetain(&second, 1));
	MUST(CtxSetCurrent(second));
	arena_open(&far, ARENA_DEVICE, POOL);
	MUST(CtxSetCurrent(first));
	if (is_open)
		MUST(CtxEnablePeerAccess(second, 0));
	make_list(&choices, 128, false);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE, ARENA_DEVICE);
	struct arena near = scene.packed;
	scene.packed = far;
	if (is_open)
		move_both_ways(&scene, "a peer");
	else
		expect_sentence(&scene, DTCONV_ERR_UNSUPPORTED, "no device");
	scene.packed = near;
	scene_close(&scene);
	if (is_open)
		MUST(CtxDisablePeerAccess(second));
	MUST(CtxSetCurrent(second));
	arena_close(&far);
	MUST(CtxSetCurrent(first));
	MUST(DevicePrimaryCtxRelease(1));
}

START_TEST(packed_memory_of_a_peer)
{
	int count = 0, there = 0;

	MUST(DeviceGetCount(&count));
	if (count > 1)
		MUST(DeviceCanAccessPeer(&there, 0, 1));
	if (!there)
		return;
	move_to_peer(true);
	move_to_peer(false);
}
END_TEST

/* ---- refused calls --------------------------------------------------------------------------- */

enum way { BLOCKING, GIVEN, COPIED, ORDERED, ORDERED_COPIED, FAULTY, WAYS };

static int pack_by(struct scene *scene, enum way way)
{
	int status = pack_part(scene, 0, total(), NULL);

	if (way == FAULTY && status == DTCONV_ERR_INVAL)
		return 0;
	return status;
}

/* One call fails; the next list works, and nothing is left behind. */
static bool inject(const char *entry, unsigned nth, int way)
{
	struct dtconv_context *kept = fixture_context;
	const bool is_copied = way == COPIED || way == ORDERED_COPIED;
	struct choices choices = fixture_choices(17);
	struct scene scene;
	char fault[100];

	gpu_open();
	CUstream stream = gpu_stream();
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
	make_list_of(&choices, is_copied ? LONG : SMALL, is_copied ? 16 : 256, false);
	if (way == FAULTY)
		spoil(5, 0);
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE,
		   is_copied || way == GIVEN ? ARENA_HOST : ARENA_DEVICE);
	if (way == ORDERED || way == ORDERED_COPIED)
		use_stream(&scene, stream);
	before_pack(&scene);
	gpu_refuse(entry, nth);
	int status = pack_by(&scene, (enum way)way);
	const bool fired = gpu_was_refused();
	MUST(CtxSynchronize());
	ck_assert_msg(status <= 0, "%s, call %u: status %d", entry, nth, status);
	if (!status)
		must_be_packed(&scene, entry);
	gpu_must_be_idle(fixture_context, entry);
	before_pack(&scene);
	if (pack_by(&scene, (enum way)way))
		ck_abort_msg("%s, call %u: the next list fails, too: %s", entry, nth,
			     fixture_error());
	MUST(CtxSynchronize());
	must_be_packed(&scene, entry);
	scene_close(&scene);
	dtconv_context_destroy(fixture_context);
	fixture_context = kept;
	MUST(StreamDestroy(stream));
	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_fails_its_list_and_no_later_one)
{
	for (int way = 0; way < WAYS; way++)
		gpu_refuse_calls(gpu_entries[_i], inject, way);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("page lists on a device");
	TCase *lists = gpu_case(suite, "lists", 60);
	TCase *errors = gpu_case(suite, "errors", 60);
	TCase *order = gpu_case(suite, "order", 60);

	tcase_add_loop_test(lists, memory_of_every_kind, 0, ARENA_KINDS * ARENA_KINDS);
	tcase_add_loop_test(lists, random_lists_in_any_pieces, 0, 6);
	tcase_add_test(lists, pages_are_packed_twice);
	tcase_add_test(lists, one_launch_moves_all_layers_and_parts);
	tcase_add_test(lists, a_table_of_the_host_needs_no_alignment);
	tcase_add_test(lists, hints_are_taken_for_granted);
	tcase_add_test(lists, packed_memory_of_a_peer);
	tcase_add_loop_test(errors, the_first_number_out_of_range_is_named, 0,
			    BAD_NUMBERS);
	tcase_add_loop_test(errors, a_table_in_host_memory_is_checked_first, 0, 6);
	tcase_add_test(errors, a_stream_learns_of_faults_by_a_word);
	tcase_add_test(errors, what_a_device_cannot_do_is_refused);
	tcase_add_test(errors, backends_may_be_forbidden);
	tcase_add_loop_test(order, a_list_waits_for_its_stream, 0, 2);
	tcase_add_loop_test(order, a_call_may_wait_in_its_stream, 0, 2);
	tcase_add_loop_test(order, tables_of_the_host_travel_along, 0, 2);
	tcase_add_loop_test(order, only_long_tables_are_copied, 0, 2);
	tcase_add_loop_test(order, a_table_of_many_parts, 0, 2);
	tcase_add_loop_test(order, the_steady_state_makes_nothing, 0, 3);
	tcase_add_test(order, the_default_stream_orders_blocking_calls);
	tcase_add_test(order, a_captured_list_reads_its_table_at_each_launch);
	tcase_add_loop_test(gpu_faults(suite),
			    a_refused_call_fails_its_list_and_no_later_one, 0,
			    gpu_refusals());
	return fixture_run(suite);
}
