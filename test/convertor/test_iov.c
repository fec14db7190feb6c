/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The iov export names the bytes of the stream, in order, merged, and stops exactly where the
 * limits on entries and bytes say; it can go on from any position.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define ROOM      160
#define INSTANCES 2

/* Blocks of the stage's memory, merged, that the stream [from, to) touches. */
static size_t count_blocks(const struct stage *stage, size_t from, size_t to)
{
	size_t blocks = from < to;

	for (size_t i = from + 1; i < to; i++)
		blocks += stage->map[i] != stage->map[i - 1] + 1;
	return blocks;
}

/* The entries name the bytes that follow position, none is empty, no two neighbours touch. */
static void check_entries(const struct stage *stage, const unsigned char *origin,
			  const struct iovec iov[], size_t iov_count, size_t position)
{
	const char *end = NULL;

	for (size_t i = 0; i < iov_count; i++) {
		const char *base = iov[i].iov_base;

		if (!iov[i].iov_len || base == end)
			ck_abort_msg("entry %zu is empty or continues the one before", i);
		for (size_t j = 0; j < iov[i].iov_len; j++, position++)
			if (base + j != (const char *)origin + stage->map[position])
				ck_abort_msg(
					"byte %zu of entry %zu is not byte %zu of the stream",
					j, i, position);
		end = base + iov[i].iov_len;
	}
}

/* One export from a position; answers how far it went. */
static size_t export_next(const struct stage *stage, struct dtconv_convertor *convertor,
			  const unsigned char *origin, size_t position, size_t max_iov,
			  size_t max_bytes)
{
	struct iovec iov[ROOM];
	size_t iov_count = SIZE_MAX, moved = SIZE_MAX;
	size_t rest = stage->bytes - position;
	size_t most = max_bytes < rest ? max_bytes : rest;

	fixture_ok(dtconv_convertor_iov(convertor, iov, max_iov, max_bytes, &iov_count,
					&moved));
	ck_assert_uint_le(iov_count, max_iov);
	ck_assert_uint_le(moved, most);
	ck_assert_uint_eq(iov_count, count_blocks(stage, position, position + moved));
	/* It stopped for a reason: all bytes allowed, or the next one needs another entry. */
	if (moved < most) {
		ck_assert_uint_eq(iov_count, max_iov);
		ck_assert_uint_eq(count_blocks(stage, position, position + moved + 1),
				  max_iov + 1);
	}
	check_entries(stage, origin, iov, iov_count, position);
	ck_assert_uint_eq(fixture_position(convertor), position + moved);
	return moved;
}

/* The whole stream in exports under the same limits. */
static void export_all(const struct stage *stage, struct dtconv_convertor *convertor,
		       const unsigned char *origin, size_t max_iov, size_t max_bytes)
{
	size_t position = 0;

	fixture_seek(convertor, 0);
	while (position < stage->bytes) {
		size_t moved = export_next(stage, convertor, origin, position, max_iov,
					   max_bytes);

		ck_assert_uint_gt(moved, 0);
		position += moved;
	}
	ck_assert_uint_eq(
		export_next(stage, convertor, origin, position, max_iov, max_bytes), 0);
}

static struct dtconv_convertor *open_layout(struct stage *stage, int which)
{
	fixture_open(stage, layouts[which].text, INSTANCES);
	return fixture_pack(stage);
}

static void close_layout(struct stage *stage, struct dtconv_convertor *packs)
{
	dtconv_convertor_destroy(packs);
	fixture_close(stage);
}

START_TEST(every_limit_on_entries_covers_the_stream_in_order)
{
	struct stage stage;
	struct dtconv_convertor *packs = open_layout(&stage, _i);
	for (size_t max_iov = 1; max_iov <= 40;
	     max_iov += max_iov < 8 || fixture_everything() ? 1 : 9)
		export_all(&stage, packs, stage.source, max_iov, SIZE_MAX);
	export_all(&stage, packs, stage.source, ROOM, SIZE_MAX);
	close_layout(&stage, packs);
}
END_TEST

START_TEST(every_limit_on_bytes_covers_the_stream_in_order)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	for (size_t max_bytes = 1; max_bytes <= stage.bytes + 1;
	     max_bytes += max_bytes < 20 || fixture_everything() ? 1 : 13)
		export_all(&stage, unpacks, stage.target, ROOM, max_bytes);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(both_limits_hold_together)
{
	struct stage stage;
	struct dtconv_convertor *packs = open_layout(&stage, _i);
	for (size_t max_iov = 1; max_iov <= 5; max_iov++)
		for (size_t max_bytes = 1; max_bytes <= 40;
		     max_bytes += max_bytes < 9 || fixture_everything() ? 1 : 5)
			export_all(&stage, packs, stage.source, max_iov, max_bytes);
	close_layout(&stage, packs);
}
END_TEST

START_TEST(an_export_may_begin_at_any_byte)
{
	struct stage stage;
	struct dtconv_convertor *packs = open_layout(&stage, _i);
	for (size_t at = 0; at <= stage.bytes; at++)
		for (size_t max_iov = 1; max_iov <= 3; max_iov++) {
			fixture_seek(packs, at);
			export_next(&stage, packs, stage.source, at, max_iov, SIZE_MAX);
		}
	close_layout(&stage, packs);
}
END_TEST

START_TEST(exports_and_moves_take_turns)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;
	size_t position = 0;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	while (position < stage.bytes) {
		size_t rest = stage.bytes - position;
		size_t bytes = rest < 5 ? rest : 5;

		fixture_pack_next(&stage, packs, position, bytes);
		fixture_unpack_next(&stage, unpacks, position, bytes);
		position += bytes;
		export_next(&stage, packs, stage.source, position, 2, 7);
		position += export_next(&stage, unpacks, stage.target, position, 2, 7);
	}
	fixture_arrived(&stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(no_room_gives_no_entries)
{
	struct stage stage;
	struct dtconv_convertor *packs = open_layout(&stage, _i);
	ck_assert_uint_eq(export_next(&stage, packs, stage.source, 0, 0, SIZE_MAX), 0);
	ck_assert_uint_eq(export_next(&stage, packs, stage.source, 0, ROOM, 0), 0);
	close_layout(&stage, packs);
}
END_TEST

START_TEST(entries_stay_untouched_past_the_count)
{
	struct iovec iov[8], before[8];
	struct stage stage;
	size_t iov_count, moved;

	fixture_open(&stage, "vector(3, 1, 2, int)", 1);
	memset(iov, 0x11, sizeof(iov));
	memcpy(before, iov, sizeof(iov));
	struct dtconv_convertor *packs = fixture_pack(&stage);
	fixture_ok(dtconv_convertor_iov(packs, iov, 8, SIZE_MAX, &iov_count, &moved));
	ck_assert_uint_eq(iov_count, 3);
	ck_assert_mem_eq(iov + 3, before + 3, 5 * sizeof(iov[0]));
	close_layout(&stage, packs);
}
END_TEST

/* ---- by number ----------------------------------------------------------------------- */

/* Entries first.. of a stage, at most so many, begin and end where the map's runs do. */
static void list_from(const struct stage *stage, size_t position, size_t first,
		      size_t all, size_t max_iov)
{
	size_t expected = first < all ? all - first : 0, iov_count = SIZE_MAX, bytes = 0;
	struct iovec iov[9];

	memset(iov, 0x11, sizeof(iov));
	fixture_ok(dtconv_iov(stage->type, stage->count, stage->source, first, iov,
			      max_iov, &iov_count));
	ck_assert_uint_eq(iov_count, expected < max_iov ? expected : max_iov);
	check_entries(stage, stage->source, iov, iov_count, position);
	for (size_t i = 0; i < iov_count; i++)
		bytes += iov[i].iov_len;
	ck_assert_uint_eq(count_blocks(stage, position, position + bytes), iov_count);
	if (position + bytes < stage->bytes)
		ck_assert_uint_eq(count_blocks(stage, position, position + bytes + 1),
				  iov_count + 1);
	for (size_t i = iov_count; i < 9; i++)
		ck_assert_uint_eq(iov[i].iov_len, (size_t)UINT64_C(0x1111111111111111));
}

/* Every entry is found by its number, or one in @step. */
static void list_all(const struct stage *stage, size_t step)
{
	size_t all = count_blocks(stage, 0, stage->bytes), n = 0, counted = SIZE_MAX;

	fixture_ok(dtconv_iov_count(stage->type, stage->count, &counted));
	ck_assert_uint_eq(counted, all);
	for (size_t at = 0; at < stage->bytes; at++)
		if (!at || stage->map[at] != stage->map[at - 1] + 1) {
			if (n % step == 0)
				list_from(stage, at, n, all, 1 + n % 8);
			n++;
		}
	list_from(stage, stage->bytes, all, all, 3);
	list_from(stage, stage->bytes, all + 7, all, 3);
	list_from(stage, 0, 0, all, 0);
}

START_TEST(entries_are_found_by_their_number)
{
	for (size_t count = 0; count <= 4; count++) {
		struct stage stage;

		fixture_open(&stage, layouts[_i].text, count);
		list_all(&stage, 1);
		fixture_close(&stage);
	}
}
END_TEST

START_TEST(entries_of_random_types_are_found)
{
	struct choices choices = fixture_choices((uint64_t)_i + 500);
	struct dtconv_type *type =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct stage stage;

	if (stage_open(&stage, type, 1 + choose(&choices, 4), 0, 0, (uint64_t)_i)) {
		dtconv_type_unref(type);
		return;
	}
	list_all(&stage, 1);
	fixture_close(&stage);
}
END_TEST

/* What lists are made of: a run, one with a gap, runs that touch the next ones, a strip. */
static const char *const parts[] = {
	"byte",
	"resized(contiguous(3, byte), 0, 5)",
	"resized(hindexed([2, 2], [0, 4], byte), 0, 6)",
	"resized(hindexed([2, 2], [2, 0], byte), 0, 4)",
	"resized(hvector(3, 1, 4, byte), 0, 9)",
	"resized(hindexed([1, 3, 2], [0, 4, 8], byte), 0, 12)",
};

#define PARTS  6
#define BLOCKS 700

/* A long list whose blocks touch the one before now and then. */
static struct dtconv_type *list(struct choices *choices, const char *part, bool equal)
{
	struct dtconv_type *old = fixture_type(part), *type = NULL;
	const size_t extent = (size_t)fixture_attr(old).extent;
	static size_t lengths[BLOCKS];
	static ptrdiff_t displacements[BLOCKS];

	for (size_t i = 0, at = 0; i < BLOCKS; i++) {
		lengths[i] = equal ? 2 : 1 + choose(choices, 3);
		at += choose(choices, 2) * (1 + choose(choices, 7));
		displacements[i] = (ptrdiff_t)at;
		at += lengths[i] * extent;
	}
	for (size_t i = 0; i < 20; i++) {
		size_t a = choose(choices, BLOCKS), b = choose(choices, BLOCKS);
		ptrdiff_t kept = displacements[a];

		displacements[a] = displacements[b];
		displacements[b] = kept;
	}
	fixture_ok(
		dtconv_type_create_hindexed(BLOCKS, lengths, displacements, old, &type));
	fixture_ok(dtconv_type_commit(type));
	dtconv_type_unref(old);
	return type;
}

START_TEST(entries_of_long_lists_are_found)
{
	struct choices choices = fixture_choices((uint64_t)_i + 900);
	struct dtconv_type *type = list(&choices, parts[_i / 2], _i % 2);
	struct stage stage;

	ck_assert(!stage_open(&stage, type, 2, 0, 0, 1));
	list_all(&stage, fixture_everything() ? 1 : 3);
	fixture_close(&stage);
}
END_TEST

/* No entry is walked to: rows of three entries, a million in each instance. */
START_TEST(entries_of_huge_types_are_found_without_a_walk)
{
	static const char text[] = "resized(hvector(1000000, 1, 64, "
				   "hindexed([4, 8, 4], [0, 8, 24], byte)), 0, 64000000)";
	struct dtconv_type *type = fixture_type(text);
	struct iovec iov[2];
	size_t iov_count;

	fixture_ok(dtconv_iov_count(type, 5, &iov_count));
	ck_assert_uint_eq(iov_count, 15000000);
	fixture_ok(dtconv_iov(type, 5, NULL, 13333333, iov, 2, &iov_count));
	ck_assert_uint_eq(iov_count, 2);
	ck_assert_uint_eq((uintptr_t)iov[0].iov_base, (uintptr_t)4444444 * 64 + 8);
	ck_assert_uint_eq(iov[0].iov_len, 8);
	ck_assert_uint_eq((uintptr_t)iov[1].iov_base, (uintptr_t)4444444 * 64 + 24);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(wrong_listings_are_refused)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)"), *uncommitted;
	size_t iov_count = 77;

	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	fixture_status(dtconv_iov_count(uncommitted, 1, &iov_count), DTCONV_ERR_STATE);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_iov_count: type (argument 1) is not committed");
	fixture_status(dtconv_iov(uncommitted, 1, NULL, 0, NULL, 0, &iov_count),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_iov_count(type, SIZE_MAX, &iov_count), DTCONV_ERR_OVERFLOW);
	fixture_status(dtconv_iov(type, SIZE_MAX, NULL, 0, NULL, 0, &iov_count),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(iov_count, 77);
	dtconv_type_unref(type);
	dtconv_type_unref(uncommitted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("iov");
	TCase *limits = fixture_case(suite, "limits", 60);
	TCase *entry = fixture_case(suite, "re-entry", 60);

	tcase_add_loop_test(limits, every_limit_on_entries_covers_the_stream_in_order, 0,
			    layout_count);
	tcase_add_loop_test(limits, every_limit_on_bytes_covers_the_stream_in_order, 0,
			    layout_count);
	tcase_add_loop_test(limits, both_limits_hold_together, 0, layout_count);
	tcase_add_loop_test(limits, no_room_gives_no_entries, 0, layout_count);
	tcase_add_test(limits, entries_stay_untouched_past_the_count);
	tcase_add_loop_test(entry, an_export_may_begin_at_any_byte, 0, layout_count);
	tcase_add_loop_test(entry, exports_and_moves_take_turns, 0, layout_count);
	TCase *number = fixture_case(suite, "number", 120);

	tcase_add_loop_test(number, entries_are_found_by_their_number, 0, layout_count);
	tcase_add_loop_test(number, entries_of_random_types_are_found, 0, 300);
	tcase_add_loop_test(number, entries_of_long_lists_are_found, 0, 2 * PARTS);
	tcase_add_test(number, entries_of_huge_types_are_found_without_a_walk);
	tcase_add_test(number, wrong_listings_are_refused);
	return fixture_run(suite);
}
