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
static int32_t narrow[PAGES_MOST], narrow_target[PAGES_MOST];
static int64_t wide[PAGES_MOST], wide_target[PAGES_MOST];
/* Of the pages. */
static struct dtconv_pages pages;
static ptrdiff_t base; /* of displacement 0 in the pool */
/* Of a list that is copied to. */
static struct dtconv_pages target;
static ptrdiff_t target_base;

static size_t number_of(const struct dtconv_pages *list, size_t entry)
{
	return list->number == DTCONV_PAGE_NUMBER_64
		       ? (size_t)((const int64_t *)list->table)[entry]
		       : (size_t)((const int32_t *)list->table)[entry];
}

/* Where a byte of a list's stream lies behind displacement 0. */
static ptrdiff_t disp_of(const struct dtconv_pages *list, size_t position)
{
	const size_t parts = list->part_count ? list->part_count : 1;
	const size_t row = list->row_bytes ? list->row_bytes : list->page_bytes;
	const size_t apart = list->row_stride ? list->row_stride : row;
	const size_t stride = list->page_stride ? list->page_stride
						: list->page_bytes / row * apart;
	const size_t bytes = list->bytes ? list->bytes : list->count * list->page_bytes;
	const size_t plane = position / bytes, at = position % bytes;
	const size_t inside = at % list->page_bytes;

	return list->offset + (ptrdiff_t)(plane / parts) * list->layer_stride +
	       (ptrdiff_t)(plane % parts) * list->part_stride +
	       (ptrdiff_t)(number_of(list, at / list->page_bytes) * stride +
			   inside / row * apart + inside % row);
}

static size_t place_of(size_t position)
{
	return (size_t)(base + disp_of(&pages, position));
}

static size_t total(void)
{
	size_t bytes;

	t_ok(dtconv_pages_query_bytes(t_context, &pages, &bytes));
	return bytes;
}

/* Numbers without repetition, so that unpacking is defined. */
static void shuffle(struct random_stream *random, const struct dtconv_pages *list,
		    int32_t *few, int64_t *many)
{
	static int32_t all[4096];

	for (size_t i = 0; i < list->pool_pages; i++)
		all[i] = (int32_t)i;
	for (size_t i = 0; i < list->count; i++) {
		const size_t chosen = i + random_below(random, list->pool_pages - i);

		few[i] = all[chosen];
		many[i] = all[chosen];
		all[chosen] = all[i];
	}
}

static void use_table(bool is_wide)
{
	pages.number = is_wide ? DTCONV_PAGE_NUMBER_64 : DTCONV_PAGE_NUMBER_32;
	pages.table = is_wide ? (const void *)wide : (const void *)narrow;
}

/* What the rows of a page reach over. */
static size_t span_of(const struct dtconv_pages *list)
{
	const size_t rows = list->row_bytes ? list->page_bytes / list->row_bytes : 1;

	return rows == 1 ? list->page_bytes
			 : (rows - 1) * list->row_stride + list->row_bytes;
}

/* Lay the dimensions [layer][part][page] out in one of three orders, with gaps. */
static void choose_strides(struct random_stream *random, struct dtconv_pages *list)
{
	const size_t gap = random_below(random, 9);
	const size_t order = random_below(random, 3);
	size_t next = span_of(list) + gap;

	if (order == 1) {
		list->part_stride = (ptrdiff_t)next;
		next *= list->part_count;
	}
	if (order == 2) {
		list->part_stride = (ptrdiff_t)next;
		list->layer_stride = (ptrdiff_t)(next * list->part_count);
		next *= list->part_count * list->layer_count;
	}
	list->page_stride = next;
	next *= list->pool_pages;
	if (order == 0) {
		list->part_stride = (ptrdiff_t)next;
		next *= list->part_count;
	}
	if (order != 2)
		list->layer_stride = (ptrdiff_t)next;
}

/* Turn the layers around: the last one is first in memory. */
static void reverse_layers(struct dtconv_pages *list, ptrdiff_t *first)
{
	*first += (ptrdiff_t)(list->layer_count - 1) * list->layer_stride;
	list->layer_stride = -list->layer_stride;
}

/* Rows of a divisor of the page, mostly with gaps. */
static void choose_rows(struct random_stream *random, struct dtconv_pages *list)
{
	size_t rows = 1 + random_below(random, 8);

	while (list->page_bytes % rows)
		rows--;
	if (random_once_in(random, 3))
		return;
	list->row_bytes = list->page_bytes / rows;
	list->row_stride = list->row_bytes + random_below(random, list->row_bytes + 1);
}

/* The pages of a list whose layers and parts are chosen. */
static void choose_pages(struct random_stream *random, struct dtconv_pages *list,
			 ptrdiff_t *first)
{
	static const size_t sizes[] = { 1, 3, 8, 16, 64, 100, 576, 1024, 4096 };

	list->page_bytes = sizes[random_below(random, COUNT_OF(sizes))];
	choose_rows(random, list);
	const size_t step = span_of(list) + 8;
	list->pool_pages = 1 + random_below(random, POOL / 8 / step + 1);
	if (list->pool_pages > 4096)
		list->pool_pages = 4096;
	if (list->pool_pages * step * 6 > POOL - 64)
		list->pool_pages = 1;
	list->count = random_below(
		random,
		(list->pool_pages < PAGES_MOST ? list->pool_pages : PAGES_MOST) + 1);
	list->offset = (ptrdiff_t)random_below(random, 16) - 8;
	*first = 8;
	choose_strides(random, list);
	if (random_once_in(random, 4))
		reverse_layers(list, first);
}

static void choose_table(struct random_stream *random, struct dtconv_pages *list,
			 int32_t *few, int64_t *many)
{
	const bool is_wide = random_once_in(random, 2);

	shuffle(random, list, few, many);
	list->number = is_wide ? DTCONV_PAGE_NUMBER_64 : DTCONV_PAGE_NUMBER_32;
	list->table = is_wide ? (const void *)many : few;
}

static void choose_list(struct random_stream *random)
{
	pages = (struct dtconv_pages){ .struct_size = sizeof(pages),
				       .layer_count = 1 + random_below(random, 3),
				       .part_count = 1 + random_below(random, 2) };
	choose_pages(random, &pages, &base);
	if (pages.count && random_once_in(random, 2))
		pages.bytes = 1 + random_below(random, pages.count * pages.page_bytes);
	choose_table(random, &pages, narrow, wide);
}

/* Two lists that share a stream. */
static void choose_both(struct random_stream *random)
{
	choose_list(random);
	target = (struct dtconv_pages){ .struct_size = sizeof(target),
					.layer_count = pages.layer_count,
					.part_count = pages.part_count };
	choose_pages(random, &target, &target_base);
	choose_table(random, &target, narrow_target, wide_target);
	const size_t one = pages.count * pages.page_bytes;
	const size_t two = target.count * target.page_bytes;
	const size_t most = one < two ? one : two;
	/* 0 bytes would be all of them. */
	if (most == 0)
		pages.count = target.count = 0;
	pages.bytes = target.bytes = most ? 1 + random_below(random, most) : 0;
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

static void copy_in_pieces(struct dtconv_context *context, struct random_stream *random)
{
	const size_t bytes = total();
	const size_t most = random_once_in(random, 2) ? bytes
						      : 1 + random_below(random, 700);
	size_t moved;

	for (size_t at = 0; at < bytes; at += moved) {
		const size_t n = most < bytes - at ? most : bytes - at;
		const bool rest = n == bytes - at && random_once_in(random, 2);

		t_ok(dtconv_pages_copy(context, &pages, pool + base, &target,
				       other + target_base, at, rest ? SIZE_MAX : n,
				       &moved));
		ck_assert_uint_eq(moved, n);
	}
}

static void check_copy(struct dtconv_context *context, uint64_t seed)
{
	struct random_stream random = { seed };

	choose_both(&random);
	const size_t bytes = total();
	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)(random_next(&random) >> 32);
	memset(other, GUARD, sizeof(other));
	memset(expected, GUARD, sizeof(expected));
	copy_in_pieces(context, &random);
	for (size_t at = 0; at < bytes; at++)
		expected[(size_t)(target_base + disp_of(&target, at))] =
			pool[place_of(at)];
	ck_assert_msg(memcmp(expected, other, POOL) == 0,
		      "seed 0x%llx: wrong bytes in the pool that is copied to",
		      (unsigned long long)seed);
}

START_TEST(random_lists_are_copied_to_others)
{
	struct random_stream seeds = { random_seed(12) };

	for (int i = 0; i < 1000; i++)
		check_copy(t_context, random_next(&seeds));
}
END_TEST

/* Rows of both sides are of the same length, or one side has several in one run. */
START_TEST(heads_are_split_and_joined)
{
	enum { TOKENS = 64, HEAD = 128, HEADS = 4 };
	static const int32_t some[] = { 5, 2, 7, 0 };
	const struct dtconv_pages slice = { .struct_size = sizeof(slice),
					    .table = some,
					    .count = 4,
					    .pool_pages = 8,
					    .page_bytes = (size_t)16 * 2 * HEAD,
					    .row_bytes = (size_t)2 * HEAD,
					    .row_stride = (size_t)HEADS * HEAD,
					    .offset = (ptrdiff_t)2 * HEAD };
	const struct dtconv_pages whole = { .struct_size = sizeof(whole),
					    .table = some + 3,
					    .count = 1,
					    .pool_pages = 1,
					    .page_bytes = (size_t)TOKENS * 2 * HEAD };

	for (size_t i = 0; i < POOL; i++)
		pool[i] = (unsigned char)(i * 7 + (i >> 8));
	memset(other, GUARD, sizeof(other));
	t_ok(dtconv_pages_copy(t_context, &slice, pool, &whole, other, 0, SIZE_MAX,
			       NULL));
	for (size_t token = 0; token < TOKENS; token++)
		ck_assert_mem_eq(other + token * 2 * HEAD,
				 pool +
					 ((size_t)some[token / 16] * 16 + token % 16) *
						 HEADS * HEAD +
					 (size_t)2 * HEAD,
				 (size_t)2 * HEAD);
	ck_assert_uint_eq(other[(size_t)TOKENS * 2 * HEAD], GUARD);
	memset(expected, GUARD, sizeof(expected));
	t_ok(dtconv_pages_copy(t_context, &whole, other, &slice, expected, 0, SIZE_MAX,
			       NULL));
	for (size_t token = 0; token < TOKENS; token++) {
		const size_t row =
			((size_t)some[token / 16] * 16 + token % 16) * HEADS * HEAD;

		ck_assert_mem_eq(expected + row + (size_t)2 * HEAD,
				 pool + row + (size_t)2 * HEAD, (size_t)2 * HEAD);
		ck_assert_uint_eq(expected[row], GUARD);
		ck_assert_uint_eq(expected[row + (size_t)2 * HEAD - 1], GUARD);
	}
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
	static const int32_t zero;
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

	const struct dtconv_pages whole = { .struct_size = sizeof(whole),
					    .table = &zero,
					    .count = 1,
					    .pool_pages = 1,
					    .page_bytes = bytes };

	for (size_t i = 0; i < COUNT; i++)
		many[i] = few[i] = (int32_t)((i * 1237 + 11) % COUNT * 2 + i % 2);
	for (size_t i = 0; i < 2 * bytes; i++)
		from[i] = (unsigned char)(i * 31 >> 3);
	memset(to, GUARD, 2 * bytes);
	t_ok(dtconv_pages_pack(context, &list, from, 0, stream, bytes, NULL));
	t_ok(dtconv_pages_unpack(context, &list, to, 0, stream, bytes, NULL));
	t_ok(dtconv_pages_copy(context, &list, to, &whole, stream, 0, bytes, NULL));
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
		ck_assert_uint_eq(counters.pack_calls, 2 * 3);
		ck_assert_uint_eq(counters.unpack_bytes,
				  (size_t)2 * 3000 * (576 + 4096 + 5000));
		ck_assert_uint_eq(counters.pack_bytes, counters.unpack_bytes);
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
	pages.flags = 4;
	refuse(DTCONV_ERR_INVAL, "pages.flags is 4");
	good_list();
	pages.stream = pool;
	refuse(DTCONV_ERR_INVAL, "which needs DTCONV_PAGES_STREAM");
	good_list();
	pages.pool_memory = (enum dtconv_memory_kind)77;
	refuse(DTCONV_ERR_INVAL, "pages.pool_memory is 77");
	t_status(dtconv_pages_query_bytes(t_context, &pages, &bytes), DTCONV_ERR_INVAL);
}
END_TEST

START_TEST(wrong_rows_are_refused)
{
	size_t bytes;

	good_list();
	pages.row_bytes = 5;
	refuse(DTCONV_ERR_INVAL,
	       "pages.row_bytes is 5, but page_bytes has to be a multiple of it");
	good_list();
	pages.row_bytes = 17;
	refuse(DTCONV_ERR_INVAL, "pages.row_bytes is 17, but page_bytes");
	good_list();
	pages.row_bytes = 4;
	pages.row_stride = 3;
	refuse(DTCONV_ERR_INVAL, "pages.row_stride is 3, less than row_bytes");
	good_list();
	pages.row_bytes = 4;
	pages.row_stride = 5;
	pages.page_stride = 18;
	refuse(DTCONV_ERR_INVAL,
	       "pages.page_stride is 18, less than a page's rows reach over");
	pages.page_stride = 19;
	t_ok(dtconv_pages_query_bytes(t_context, &pages, &bytes));
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

/* The rows of one page, of a default stride, and of the last page of the pool. */
START_TEST(rows_that_overflow_are_refused)
{
	size_t bytes;

	good_list();
	pages.row_bytes = 4;
	pages.row_stride = SIZE_MAX / 3 + 1;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	pages.row_stride = SIZE_MAX / 3;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	pages.row_stride = SIZE_MAX / 4 + 1;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	pages.pool_pages = 1;
	pages.row_stride = (size_t)PTRDIFF_MAX / 3;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
	pages.row_stride = (size_t)PTRDIFF_MAX / 4;
	t_ok(dtconv_pages_query_bytes(t_context, &pages, &bytes));
	pages.pool_pages = 2;
	refuse(DTCONV_ERR_OVERFLOW, "or displacements ptrdiff_t");
}
END_TEST

/* A program of an older version says nothing of rows. */
START_TEST(older_structures_have_no_rows)
{
	size_t bytes;

	good_list();
	pages.row_bytes = 5;
	pages.struct_size = offsetof(struct dtconv_pages, row_bytes);
	t_ok(dtconv_pages_query_bytes(t_context, &pages, &bytes));
	ck_assert_uint_eq(bytes, 1600);
}
END_TEST

/* ---- what is wrong with two lists ------------------------------------------------------ */

static void good_lists(void)
{
	good_list();
	target = pages;
	for (size_t i = 0; i < 100; i++)
		narrow_target[i] = (int32_t)i;
	target.table = narrow_target;
	memset(other, 1, sizeof(other));
}

static void refuse_copy(int status, size_t position, size_t bytes, const char *sentence)
{
	size_t moved = 9;

	t_status(dtconv_pages_copy(t_context, &pages, pool, &target, other, position,
				   bytes, &moved),
		 status);
	ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
	ck_assert_uint_eq(moved, 0);
	for (size_t i = 0; i < 4096; i++)
		ck_assert_uint_eq(other[i], 1);
}

START_TEST(a_number_out_of_range_in_either_list_is_named_and_nothing_moves)
{
	good_lists();
	narrow[70] = 120;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX,
		    "from.table[70] is 120, but the pool has 120 pages");
	t_ok(dtconv_pages_copy(t_context, &pages, pool, &target, expected, 0, 70 * 16,
			       NULL));
	narrow_target[3] = -1;
	refuse_copy(DTCONV_ERR_INVAL, 0, 70 * 16,
		    "to.table[3] is -1, but the pool has 120 pages");
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "from.table[70] is 120");
}
END_TEST

START_TEST(lists_of_different_streams_are_refused)
{
	good_lists();
	target.layer_count = 2;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX,
		    "from.layer_count is 1, but to.layer_count is 2");
	good_lists();
	pages.part_count = 2;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX,
		    "from.part_count is 2, but to.part_count is 1");
	good_lists();
	target.count = 99;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX,
		    "from.bytes is 1600, but to.bytes is 1584");
	good_lists();
	target.page_bytes = 0;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "to.page_bytes is 0");
	good_lists();
	pages.page_bytes = 0;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "from.page_bytes is 0");
	good_lists();
	target.struct_size = 0;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "to.struct_size is 0");
}
END_TEST

START_TEST(the_order_of_a_copy_is_that_of_its_target)
{
	size_t moved;

	good_lists();
	pages.flags = DTCONV_PAGES_STREAM;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "which order the copy");
	target.flags = DTCONV_PAGES_STREAM;
	target.stream = pool;
	refuse_copy(DTCONV_ERR_INVAL, 0, SIZE_MAX, "which order the copy");
	pages.stream = pool;
	t_ok(dtconv_pages_copy(t_context, &pages, pool, &target, other, 0, SIZE_MAX,
			       &moved));
	ck_assert_uint_eq(moved, 1600);
	pages.flags = 0;
	pages.stream = NULL;
	t_ok(dtconv_pages_copy(t_context, &pages, pool, &target, other, 0, SIZE_MAX,
			       &moved));
	ck_assert_mem_eq(other, pool, 1600);
}
END_TEST

START_TEST(positions_of_copies_are_checked)
{
	size_t moved = 9;

	good_lists();
	refuse_copy(DTCONV_ERR_INVAL, 1601, 0, "position (argument 6) is 1601");
	refuse_copy(DTCONV_ERR_TRUNCATE, 1592, 9, "bytes (argument 7) is 9");
	t_ok(dtconv_pages_copy(t_context, &pages, pool, &target, other, 1600, SIZE_MAX,
			       &moved));
	ck_assert_uint_eq(moved, 0);
	t_ok(dtconv_pages_copy(t_context, &pages, pool, &target, other, 0, 0, &moved));
	ck_assert_uint_eq(moved, 0);
}
END_TEST

/* ---- memory and order ------------------------------------------------------------------ */

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
	tcase_add_test(lists, random_lists_are_copied_to_others);
	tcase_add_test(lists, heads_are_split_and_joined);
	tcase_add_test(lists, pages_of_different_sizes_have_the_same_stream);
	tcase_add_test(lists, large_moves_bypass_the_caches_and_use_threads);
	tcase_add_test(errors, a_number_out_of_range_is_named_and_nothing_moves);
	tcase_add_test(errors, only_numbers_that_are_needed_are_checked);
	tcase_add_test(errors, wrong_lists_are_refused);
	tcase_add_test(errors, wrong_rows_are_refused);
	tcase_add_test(errors, lists_that_overflow_are_refused);
	tcase_add_test(errors, rows_that_overflow_are_refused);
	tcase_add_test(errors, older_structures_have_no_rows);
	tcase_add_test(errors,
		       a_number_out_of_range_in_either_list_is_named_and_nothing_moves);
	tcase_add_test(errors, lists_of_different_streams_are_refused);
	tcase_add_test(errors, the_order_of_a_copy_is_that_of_its_target);
	tcase_add_test(errors, positions_of_copies_are_checked);
	tcase_add_test(errors, a_stream_orders_nothing_in_host_memory);
	tcase_add_test(errors, memory_of_a_device_needs_a_driver);
	tcase_add_test(errors, words_for_faults_belong_to_streams);
	tcase_add_test(errors, positions_are_checked);
	return t_run(suite);
}
