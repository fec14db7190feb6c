/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: against an oracle that finds each byte of the stream by itself, between pages of different sizes,
 * in fragments and threads, and with tables that are wrong.
 */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_type.h"
#include "support/t.h"

enum { POOL = 1 << 18, GUARD = 0xd5, PAGES_MOST = 200 };

/* ---- the oracle ------------------------------------------------------------------------ */

static unsigned char pool[POOL], other[POOL], packed[POOL], expected[POOL];
static int32_t narrow[PAGES_MOST];
static int64_t wide[PAGES_MOST];
/* Of the pages. */
static struct dtconv_pages pages;
static ptrdiff_t base; /* of displacement 0 in the pool */

/* Where a byte of the stream lies in the pool. */
static size_t place_of(size_t position)
{
	const size_t parts = pages.part_count ? pages.part_count : 1;
	const size_t stride = pages.page_stride ? pages.page_stride : pages.page_bytes;
	const size_t bytes = pages.bytes ? pages.bytes : pages.count * pages.page_bytes;
	const size_t plane = position / bytes, at = position % bytes;
	const size_t number = pages.number == DTCONV_PAGE_NUMBER_64
				      ? (size_t)wide[at / pages.page_bytes]
				      : (size_t)narrow[at / pages.page_bytes];

	return (size_t)(base + pages.offset +
			(ptrdiff_t)(plane / parts) * pages.layer_stride +
			(ptrdiff_t)(plane % parts) * pages.part_stride) +
	       number * stride + at % pages.page_bytes;
}

static size_t total(void)
{
	size_t bytes;

	t_ok(dtconv_pages_query_bytes(t_context, &pages, &bytes));
	return bytes;
}

/* Numbers without repetition, so that unpacking is defined. */
static void shuffle(struct random_stream *random, size_t pool_pages)
{
	static int32_t all[4096];

	for (size_t i = 0; i < pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < pages.count; i++) {
		const size_t chosen = i + random_below(random, pool_pages - i);

		narrow[i] = all[chosen];
		wide[i] = all[chosen];
		all[chosen] = all[i];
	}
}

static void use_table(bool is_wide)
{
	pages.number = is_wide ? DTCONV_PAGE_NUMBER_64 : DTCONV_PAGE_NUMBER_32;
	pages.table = is_wide ? (const void *)wide : (const void *)narrow;
}

/* Lay the dimensions [layer][part][page] out in one of three orders, with gaps. */
static void choose_strides(struct random_stream *random)
{
	const size_t gap = random_below(random, 9);
	const size_t order = random_below(random, 3);
	size_t next = pages.page_bytes + gap;

	if (order == 1) {
		pages.part_stride = (ptrdiff_t)next;
		next *= pages.part_count;
	}
	if (order == 2) {
		pages.part_stride = (ptrdiff_t)next;
		pages.layer_stride = (ptrdiff_t)(next * pages.part_count);
		next *= pages.part_count * pages.layer_count;
	}
	pages.page_stride = next;
	next *= pages.pool_pages;
	if (order == 0) {
		pages.part_stride = (ptrdiff_t)next;
		next *= pages.part_count;
	}
	if (order != 2)
		pages.layer_stride = (ptrdiff_t)next;
}

/* Turn the layers around: the last one is first in memory. */
static void reverse_layers(void)
{
	base += (ptrdiff_t)(pages.layer_count - 1) * pages.layer_stride;
	pages.layer_stride = -pages.layer_stride;
}

static void choose_list(struct random_stream *random)
{
	static const size_t sizes[] = { 1, 3, 8, 16, 64, 100, 576, 1024, 4096 };

	pages = (struct dtconv_pages){ .struct_size = sizeof(pages) };
	pages.page_bytes = sizes[random_below(random, COUNT_OF(sizes))];
	pages.layer_count = 1 + random_below(random, 3);
	pages.part_count = 1 + random_below(random, 2);
	pages.pool_pages =
		1 + random_below(random, POOL / 8 / (pages.page_bytes + 8) + 1);
	if (pages.pool_pages > 4096)
		pages.pool_pages = 4096;
	if (pages.pool_pages * (pages.page_bytes + 8) * 6 > POOL - 64)
		pages.pool_pages = 1;
	pages.count = random_below(
		random,
		(pages.pool_pages < PAGES_MOST ? pages.pool_pages : PAGES_MOST) + 1);
	pages.offset = (ptrdiff_t)random_below(random, 16) - 8;
	base = 8;
	choose_strides(random);
	if (random_once_in(random, 4))
		reverse_layers();
	if (pages.count && random_once_in(random, 2))
		pages.bytes = 1 + random_below(random, pages.count * pages.page_bytes);
	shuffle(random, pages.pool_pages);
	use_table(random_once_in(random, 2));
}

/* Move the stream in one call, or in pieces of any lengths. */
static void move_in_pieces(struct random_stream *random, bool pack, unsigned char *memory)
{
	const size_t bytes = total();
	const size_t most = random_once_in(random, 2) ? bytes
						      : 1 + random_below(random, 700);
	size_t moved;

	for (size_t at = 0; at < bytes; at += moved) {
		const size_t n = most < bytes - at ? most : bytes - at;

		if (pack)
			t_ok(dtconv_pages_pack(t_context, &pages, memory + base, at,
					       packed + at, n, &moved));
		else
			t_ok(dtconv_pages_unpack(t_context, &pages, memory + base, at,
						 packed + at, n, &moved));
		ck_assert_uint_eq(moved, n);
	}
}

static void check_list(uint64_t seed)
{
	struct random_stream random = { seed };

	choose_list(&random);
	const size_t bytes = total();
	ck_assert_uint_eq(bytes, pages.layer_count * pages.part_count *
					 (pages.bytes ? pages.bytes
						      : pages.count * pages.page_bytes));
	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)(random_next(&random) >> 32);
	memset(packed, GUARD, sizeof(packed));
	memset(other, GUARD, sizeof(other));
	memset(expected, GUARD, sizeof(expected));
	move_in_pieces(&random, true, pool);
	for (size_t at = 0; at < bytes; at++)
		ck_assert_msg(packed[at] == pool[place_of(at)],
			      "seed 0x%llx: byte %zu of the stream",
			      (unsigned long long)seed, at);
	ck_assert_uint_eq(packed[bytes], GUARD);
	move_in_pieces(&random, false, other);
	for (size_t at = 0; at < bytes; at++)
		expected[place_of(at)] = packed[at];
	ck_assert_msg(memcmp(expected, other, POOL) == 0,
		      "seed 0x%llx: wrong bytes in the pool", (unsigned long long)seed);
}

START_TEST(random_lists_move_every_byte)
{
	struct random_stream seeds = { random_seed(11) };

	for (int i = 0; i < 1000; i++)
		check_list(random_next(&seeds));
}
END_TEST

/* ---- two ends -------------------------------------------------------------------------- */

/* 100 tokens of 24 bytes: pages of 16 tokens at one end, of 32 at the other. */
START_TEST(pages_of_different_sizes_have_the_same_stream)
{
	enum { TOKEN = 24, TOKENS = 100, LAYERS = 3 };
	static const int32_t small[] = { 9, 2, 5, 0, 7, 1, 3 };
	static const int64_t large[] = { 3, 0, 4, 1 };
	struct dtconv_pages from = { .struct_size = sizeof(from),
				     .table = small,
				     .count = 7,
				     .pool_pages = 10,
				     .page_bytes = (size_t)16 * TOKEN,
				     .layer_count = LAYERS,
				     .layer_stride = (ptrdiff_t)2 * 10 * 16 * TOKEN,
				     .part_count = 2,
				     .part_stride = (ptrdiff_t)10 * 16 * TOKEN,
				     .bytes = (size_t)TOKENS * TOKEN };
	struct dtconv_pages to = from;
	size_t bytes, same;

	to.table = large;
	to.number = DTCONV_PAGE_NUMBER_64;
	to.count = 4;
	to.pool_pages = 5;
	to.page_bytes = (size_t)32 * TOKEN;
	to.page_stride = (size_t)2 * 32 * TOKEN;
	to.part_stride = (ptrdiff_t)32 * TOKEN;
	to.layer_stride = (ptrdiff_t)5 * 2 * 32 * TOKEN;
	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)(i * 7 + (i >> 8));
	t_ok(dtconv_pages_pack(t_context, &from, pool, 0, packed, sizeof(packed),
			       &bytes));
	ck_assert_uint_eq(bytes, (size_t)LAYERS * 2 * TOKENS * TOKEN);
	t_ok(dtconv_pages_unpack(t_context, &to, other, 0, packed, bytes, NULL));
	memset(expected, 0, sizeof(expected));
	t_ok(dtconv_pages_pack(t_context, &to, other, 0, expected, sizeof(expected),
			       &same));
	ck_assert_uint_eq(same, bytes);
	ck_assert_int_eq(memcmp(expected, packed, bytes), 0);
	/* Token 50 of layer 1's values: in the fourth small page, and in the second large one. */
	ck_assert_int_eq(memcmp(pool + ((size_t)1 * 2 * 10 + 10 + 0) * 16 * TOKEN +
					(size_t)2 * TOKEN,
				other + ((size_t)1 * 5 * 2 + 0 * 2 + 1) * 32 * TOKEN +
					(size_t)18 * TOKEN,
				TOKEN),
			 0);
}
END_TEST

/* ---- large moves ----------------------------------------------------------------------- */

/* Both table types and both directions with stores that bypass the caches, by one thread and by several. */
static void check_large(struct dtconv_context *context, size_t page_bytes, bool is_wide)
{
	enum { COUNT = 3000 };
	static int32_t few[COUNT];
	static int64_t many[COUNT];
	const size_t bytes = COUNT * page_bytes;
	unsigned char *from = malloc(2 * bytes), *stream = malloc(bytes),
		      *to = malloc(2 * bytes);
	struct dtconv_pages list = { .struct_size = sizeof(list),
				     .table = is_wide ? (const void *)many : few,
				     .number = is_wide ? DTCONV_PAGE_NUMBER_64
						       : DTCONV_PAGE_NUMBER_32,
				     .count = COUNT,
				     .pool_pages = (size_t)2 * COUNT,
				     .page_bytes = page_bytes };

	for (size_t i = 0; i < COUNT; i++)
		many[i] = few[i] = (int32_t)((i * 1237 + 11) % COUNT * 2 + i % 2);
	for (size_t i = 0; i < 2 * bytes; i++)
		from[i] = (unsigned char)(i * 31 >> 3);
	memset(to, GUARD, 2 * bytes);
	t_ok(dtconv_pages_pack(context, &list, from, 0, stream, bytes, NULL));
	t_ok(dtconv_pages_unpack(context, &list, to, 0, stream, bytes, NULL));
	for (size_t i = 0; i < COUNT; i++) {
		const size_t used = (size_t)few[i] * page_bytes;

		ck_assert_int_eq(memcmp(stream + i * page_bytes, from + used, page_bytes),
				 0);
		ck_assert_int_eq(memcmp(to + used, from + used, page_bytes), 0);
		ck_assert_int_eq(to[((size_t)few[i] ^ 1) * page_bytes], GUARD);
	}
	free(from);
	free(stream);
	free(to);
}

START_TEST(large_moves_bypass_the_caches_and_use_threads)
{
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		const struct dtconv_context_params params = {
			.struct_size = sizeof(params),
			.flags = DTCONV_CONTEXT_COUNTERS,
			.threads = threads
		};
		struct dtconv_counters counters = { .struct_size = sizeof(counters) };
		struct dtconv_context *context;

		t_ok(dtconv_context_create(&params, &context));
		check_large(context, 576, false);
		check_large(context, 4096, true);
		check_large(context, 5000, false);
		t_ok(dtconv_context_query_counters(context, &counters));
		ck_assert_uint_eq(counters.pack_calls, 3);
		ck_assert_uint_eq(counters.unpack_bytes,
				  (size_t)3000 * (576 + 4096 + 5000));
		ck_assert_int_eq(counters.parallel_moves > 0, threads > 1);
		dtconv_context_destroy(context);
	}
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------- */

static void good_list(void)
{
	pages = (struct dtconv_pages){ .struct_size = sizeof(pages),
				       .table = narrow,
				       .count = 100,
				       .pool_pages = 120,
				       .page_bytes = 16 };
	for (size_t i = 0; i < 100; i++)
		wide[i] = narrow[i] = (int32_t)i;
	memset(pool, GUARD, sizeof(pool));
	memset(packed, 1, sizeof(packed));
}

/* Neither side has changed. */
static void expect_untouched(void)
{
	for (size_t i = 0; i < 4096; i++) {
		ck_assert_uint_eq(pool[i], GUARD);
		ck_assert_uint_eq(packed[i], 1);
	}
}

static void refuse(int status, const char *sentence)
{
	size_t moved = 9;

	t_status(dtconv_pages_pack(t_context, &pages, pool, 0, packed, 4096, &moved),
		 status);
	ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
	ck_assert_uint_eq(moved, 0);
	moved = 9;
	t_status(dtconv_pages_unpack(t_context, &pages, pool, 0, packed, 1600, &moved),
		 status);
	ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
	ck_assert_uint_eq(moved, 0);
	expect_untouched();
}

/* At every position of the table, as the last good number and the first bad one. */
START_TEST(a_number_out_of_range_is_named_and_nothing_moves)
{
	char sentence[64];

	for (int is_wide = 0; is_wide < 2; is_wide++) {
		good_list();
		use_table(is_wide);
		for (size_t i = 0; i < 100; i++) {
			wide[i] = narrow[i] = 120;
			snprintf(sentence, sizeof(sentence),
				 "pages.table[%zu] is 120, but the pool has 120 pages",
				 i);
			refuse(DTCONV_ERR_INVAL, sentence);
			wide[i] = narrow[i] = 119;
			t_ok(dtconv_pages_pack(t_context, &pages, pool, 0, expected, POOL,
					       NULL));
			wide[i] = narrow[i] = -1;
			snprintf(sentence, sizeof(sentence), "pages.table[%zu] is -1", i);
			refuse(DTCONV_ERR_INVAL, sentence);
			wide[i] = narrow[i] = (int32_t)i;
		}
	}
	wide[70] = INT64_MIN;
	refuse(DTCONV_ERR_INVAL, "pages.table[70] is -9223372036854775808");
	wide[70] = INT64_C(1) << 32;
	refuse(DTCONV_ERR_INVAL, "pages.table[70] is 4294967296");
#if SIZE_MAX > UINT32_MAX
	/* As an unsigned number it is below the number of pages. */
	use_table(false);
	narrow[3] = INT32_MIN;
	pages.pool_pages = (size_t)UINT32_MAX;
	refuse(DTCONV_ERR_INVAL, "pages.table[3] is -2147483648");
#endif
}
END_TEST

/* Entries that a fragment does not need may be anything. */
START_TEST(only_numbers_that_are_needed_are_checked)
{
	size_t moved;

	good_list();
	narrow[0] = narrow[50] = -5;
	t_ok(dtconv_pages_pack(t_context, &pages, pool, 16, expected, (size_t)49 * 16,
			       &moved));
	ck_assert_uint_eq(moved, 49 * 16);
	t_status(dtconv_pages_pack(t_context, &pages, pool, 15, packed, 2, NULL),
		 DTCONV_ERR_INVAL);
	t_status(dtconv_pages_pack(t_context, &pages, pool, 16, packed, 49 * 16 + 1,
				   NULL),
		 DTCONV_ERR_INVAL);
	expect_untouched();
	/* The end of one layer and the beginning of the next one. */
	pages.layer_count = 2;
	t_status(dtconv_pages_pack(t_context, &pages, pool, 99 * 16, packed, 32, NULL),
		 DTCONV_ERR_INVAL);
	narrow[0] = 0;
	pages.bytes = (size_t)50 * 16;
	t_ok(dtconv_pages_pack(t_context, &pages, pool, 0, expected, POOL, &moved));
	ck_assert_uint_eq(moved, (size_t)2 * 50 * 16);
}
END_TEST

START_TEST(wrong_lists_are_refused)
{
	size_t bytes;

	good_list();
	pages.struct_size = 0;
	refuse(DTCONV_ERR_INVAL, "pages.struct_size is 0");
	good_list();
	pages.page_bytes = 0;
	refuse(DTCONV_ERR_INVAL, "pages.page_bytes is 0");
	good_list();
	pages.page_stride = 15;
	refuse(DTCONV_ERR_INVAL, "pages.page_stride is 15, less than page_bytes");
	good_list();
	pages.number = (enum dtconv_page_number)2;
	refuse(DTCONV_ERR_INVAL, "pages.number is 2");
	good_list();
	pages.table = NULL;
	refuse(DTCONV_ERR_INVAL, "pages.count is 100, but pages.table is NULL");
	good_list();
	pages.bytes = 1601;
	refuse(DTCONV_ERR_INVAL,
	       "pages.bytes is 1601, but 100 pages of 16 bytes have 1600");
	good_list();
	pages.flags = 2;
	refuse(DTCONV_ERR_INVAL, "pages.flags is 2");
	good_list();
	pages.stream = pool;
	refuse(DTCONV_ERR_INVAL, "which needs DTCONV_PAGES_STREAM");
	good_list();
	pages.pool_memory = (enum dtconv_memory_kind)77;
	refuse(DTCONV_ERR_INVAL, "pages.pool_memory is 77");
	t_status(dtconv_pages_query_bytes(t_context, &pages, &bytes), DTCONV_ERR_INVAL);
}
END_TEST

START_TEST(lists_that_overflow_are_refused)
{
	good_list();
	pages.pool_pages = (size_t)PTRDIFF_MAX / 8;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	good_list();
	pages.count = SIZE_MAX / 8;
	refuse(DTCONV_ERR_OVERFLOW, "lengths exceed size_t");
	good_list();
	pages.layer_count = SIZE_MAX / 1600 + 1;
	refuse(DTCONV_ERR_OVERFLOW, "bytes overflow size_t");
	good_list();
	pages.layer_count = 3;
	pages.layer_stride = PTRDIFF_MIN / 2;
	pages.offset = -1;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	good_list();
	pages.page_stride = (size_t)PTRDIFF_MAX + 1;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
}
END_TEST

/* No work of a device is concerned: the call moves at once. */
START_TEST(a_stream_orders_nothing_in_host_memory)
{
	int64_t fault = -1;
	size_t moved;

	good_list();
	pages.flags = DTCONV_PAGES_STREAM;
	pages.fault = &fault;
	t_ok(dtconv_pages_pack(t_context, &pages, pool, 0, expected, POOL, &moved));
	ck_assert_uint_eq(moved, 1600);
	ck_assert_mem_eq(expected, pool, 1600);
	narrow[7] = 120;
	refuse(DTCONV_ERR_INVAL, "pages.table[7] is 120");
	ck_assert_int_eq(fault, -1);
}
END_TEST

START_TEST(memory_of_a_device_needs_a_driver)
{
	good_list();
	pages.table_memory = DTCONV_MEMORY_DEVICE;
	refuse(DTCONV_ERR_BACKEND, "does not say what memory pages.table is");
	good_list();
	pages.pool_memory = DTCONV_MEMORY_MANAGED;
	refuse(DTCONV_ERR_BACKEND, "does not say what memory pool is");
	good_list();
	pages.packed_memory = DTCONV_MEMORY_PINNED;
	refuse(DTCONV_ERR_BACKEND, "does not say what memory packed is");
}
END_TEST

START_TEST(words_for_faults_belong_to_streams)
{
	int64_t faults[2];

	good_list();
	pages.fault = faults;
	refuse(DTCONV_ERR_INVAL, "pages.fault is set, which needs DTCONV_PAGES_STREAM");
	pages.flags = DTCONV_PAGES_STREAM;
	pages.fault = (int64_t *)(void *)((char *)faults + 4);
	refuse(DTCONV_ERR_INVAL, "which is not aligned to 8 bytes");
}
END_TEST

START_TEST(positions_are_checked)
{
	size_t moved = 9;

	good_list();
	t_status(dtconv_pages_pack(t_context, &pages, pool, 1601, packed, 8, &moved),
		 DTCONV_ERR_INVAL);
	ck_assert_uint_eq(moved, 0);
	t_ok(dtconv_pages_pack(t_context, &pages, pool, 1600, packed, 8, &moved));
	ck_assert_uint_eq(moved, 0);
	t_status(dtconv_pages_unpack(t_context, &pages, pool, 1592, packed, 9, &moved),
		 DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 0);
	expect_untouched();
	pages.count = 0;
	pages.table = NULL;
	t_ok(dtconv_pages_pack(t_context, &pages, pool, 0, packed, 8, &moved));
	ck_assert_uint_eq(moved, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page lists");
	TCase *lists = t_case(suite, "lists");
	TCase *errors = t_case(suite, "errors");

	tcase_set_timeout(lists, 120);
	tcase_add_test(lists, random_lists_move_every_byte);
	tcase_add_test(lists, pages_of_different_sizes_have_the_same_stream);
	tcase_add_test(lists, large_moves_bypass_the_caches_and_use_threads);
	tcase_add_test(errors, a_number_out_of_range_is_named_and_nothing_moves);
	tcase_add_test(errors, only_numbers_that_are_needed_are_checked);
	tcase_add_test(errors, wrong_lists_are_refused);
	tcase_add_test(errors, lists_that_overflow_are_refused);
	tcase_add_test(errors, a_stream_orders_nothing_in_host_memory);
	tcase_add_test(errors, memory_of_a_device_needs_a_driver);
	tcase_add_test(errors, words_for_faults_belong_to_streams);
	tcase_add_test(errors, positions_are_checked);
	return t_run(suite);
}
