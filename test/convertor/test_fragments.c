/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packed stream does not depend on how it is cut: fragments of any length, in any order,
 * delivered once, twice or overlapping, end in the same bytes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "convertor/convertor.h"
#include "support/fixture.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define INSTANCES         2
#define RANDOM_TYPES      150
#define MANY_RANDOM_TYPES 3000

/* ---- in order ------------------------------------------------------------------------ */

/* Packs and unpacks first a, then b, then the rest. */
static void move_in_three(struct stage *stage, struct dtconv_convertor *packs,
			  struct dtconv_convertor *unpacks, size_t a, size_t b)
{
	const size_t cuts[] = { a, b, stage->bytes - a - b };
	size_t position = 0;

	fixture_seek(packs, 0);
	fixture_seek(unpacks, 0);
	stage_blank(stage);
	for (size_t i = 0; i < 3; i++) {
		fixture_pack_next(stage, packs, position, cuts[i]);
		fixture_unpack_next(stage, unpacks, position, cuts[i]);
		position += cuts[i];
	}
	fixture_arrived(stage);
}

START_TEST(every_cut_in_two_gives_the_same_stream)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	for (size_t cut = 0; cut <= stage.bytes; cut++)
		move_in_three(&stage, packs, unpacks, cut, stage.bytes - cut);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(every_cut_in_three_gives_the_same_stream)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 1);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	size_t step = fixture_everything() ? 1 : 1 + stage.bytes / 24;
	for (size_t a = 0; a <= stage.bytes; a += step)
		for (size_t b = 0; a + b <= stage.bytes; b += step)
			move_in_three(&stage, packs, unpacks, a, b);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

/* The whole stream, both ways, in fragments of one size. */
static void move_in_fragments(struct stage *stage, size_t size)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);

	stage_blank(stage);
	for (size_t at = 0; at < stage->bytes; at += size) {
		size_t bytes = size < stage->bytes - at ? size : stage->bytes - at;

		fixture_pack_next(stage, packs, at, size);
		fixture_unpack_next(stage, unpacks, at, bytes);
	}
	fixture_arrived(stage);
	fixture_pack_next(stage, packs, stage->bytes, size);
	ck_assert_uint_eq(fixture_position(packs), stage->bytes);
	ck_assert_uint_eq(fixture_position(unpacks), stage->bytes);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

/* Enough instances that a stream has many fragments of all but the largest sizes. */
static size_t instances_for(const char *text, size_t bytes)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = fixture_type(text);

	dtconv_type_query(type, &attr);
	dtconv_type_unref(type);
	return attr.size ? bytes / attr.size + 1 : 3;
}

START_TEST(every_fragment_size_gives_the_same_stream)
{
	size_t bytes = fixture_everything() ? 20000 : 1000;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, instances_for(layouts[_i].text, bytes));
	for (size_t i = 0; fixture_size(i) && fixture_size(i) <= 2 * stage.bytes; i++)
		move_in_fragments(&stage, fixture_size(i));
	fixture_close(&stage);
}
END_TEST

START_TEST(an_empty_fragment_moves_nothing_anywhere)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	for (size_t at = 0; at <= stage.bytes; at++) {
		fixture_seek(packs, at);
		fixture_seek(unpacks, at);
		fixture_pack_next(&stage, packs, at, 0);
		fixture_unpack_next(&stage, unpacks, at, 0);
		ck_assert_uint_eq(fixture_position(packs), at);
		ck_assert_uint_eq(fixture_position(unpacks), at);
	}
	fixture_arrived(&stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(a_fragment_past_the_end_is_truncated)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	fixture_pack_next(&stage, packs, 0, stage.bytes + 9);
	fixture_unpack_next(&stage, unpacks, 0, stage.bytes + 9);
	fixture_arrived(&stage);
	fixture_unpack_next(&stage, unpacks, stage.bytes, 1);
	fixture_arrived(&stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

/* ---- in any order -------------------------------------------------------------------- */

/* Fragments of a stream: where each begins and ends. */
struct fragment {
	size_t from, bytes;
};

/* Cuts a stream into fragments of random length up to `longest`; answers how many. */
static size_t cut(const struct stage *stage, struct choices *choices, size_t longest,
		  struct fragment fragments[])
{
	size_t count = 0;

	for (size_t at = 0; at < stage->bytes; count++) {
		size_t bytes = 1 + choose(choices, longest);

		if (bytes > stage->bytes - at)
			bytes = stage->bytes - at;
		fragments[count] = (struct fragment){ .from = at, .bytes = bytes };
		at += bytes;
	}
	return count;
}

static void move_in_order(struct stage *stage, const struct fragment fragments[],
			  size_t count)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);

	stage_blank(stage);
	for (size_t i = 0; i < count; i++) {
		fixture_seek(packs, fragments[i].from);
		fixture_seek(unpacks, fragments[i].from);
		fixture_pack_next(stage, packs, fragments[i].from, fragments[i].bytes);
		fixture_unpack_next(stage, unpacks, fragments[i].from,
				    fragments[i].bytes);
	}
	fixture_arrived(stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

static void swap(struct fragment *a, struct fragment *b)
{
	struct fragment kept = *a;

	*a = *b;
	*b = kept;
}

static void shuffle(struct fragment fragments[], size_t count, struct choices *choices)
{
	for (size_t i = count; i > 1; i--)
		swap(&fragments[i - 1], &fragments[choose(choices, i)]);
}

static void reverse(struct fragment fragments[], size_t count, struct choices *choices)
{
	(void)choices;
	for (size_t i = 0; i < count / 2; i++)
		swap(&fragments[i], &fragments[count - 1 - i]);
}

static void last_to_front(struct fragment fragments[], size_t count,
			  struct choices *choices)
{
	(void)choices;
	for (size_t i = count; i > 1; i--)
		swap(&fragments[i - 1], &fragments[i - 2]);
}

/* Every fragment begins earlier and ends later than its cut, as far as the stream goes. */
static void widen(struct fragment fragments[], size_t count, struct choices *choices)
{
	size_t end = count ? fragments[count - 1].from + fragments[count - 1].bytes : 0;

	for (size_t i = 0; i < count; i++) {
		size_t before = choose(choices, 9) % (fragments[i].from + 1);
		size_t after = choose(choices, 9);

		fragments[i].from -= before;
		fragments[i].bytes += before + after;
		if (fragments[i].bytes > end - fragments[i].from)
			fragments[i].bytes = end - fragments[i].from;
	}
	shuffle(fragments, count, choices);
}

typedef void (*rearrange_fn)(struct fragment fragments[], size_t count,
			     struct choices *choices);

static void move_rearranged(int which, rearrange_fn rearrange)
{
	struct choices choices = fixture_choices((uint64_t)which);
	struct fragment *fragments;
	struct stage stage;

	fixture_open(&stage, layouts[which].text, 3);
	fragments = calloc(stage.bytes + 1, sizeof(fragments[0]));
	ck_assert_ptr_nonnull(fragments);
	for (size_t longest = 1; longest <= 2 * stage.bytes; longest = 2 * longest + 1) {
		size_t count = cut(&stage, &choices, longest, fragments);

		rearrange(fragments, count, &choices);
		move_in_order(&stage, fragments, count);
	}
	free(fragments);
	fixture_close(&stage);
}

START_TEST(the_last_fragment_may_come_first)
{
	move_rearranged(_i, last_to_front);
}
END_TEST

START_TEST(fragments_may_come_backwards)
{
	move_rearranged(_i, reverse);
}
END_TEST

START_TEST(fragments_may_come_in_any_order)
{
	move_rearranged(_i, shuffle);
}
END_TEST

START_TEST(fragments_may_overlap)
{
	move_rearranged(_i, widen);
}
END_TEST

START_TEST(a_fragment_may_come_twice)
{
	struct fragment twice[6];
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	size_t third = stage.bytes / 3;
	twice[0] = twice[1] = (struct fragment){ .from = 0, .bytes = third };
	twice[2] = twice[4] = (struct fragment){ .from = third, .bytes = third };
	twice[3] = twice[5] = (struct fragment){ 2 * third, stage.bytes - 2 * third };
	move_in_order(&stage, twice, 6);
	fixture_close(&stage);
}
END_TEST

START_TEST(a_single_byte_may_come_first)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 1);
	for (size_t at = 0; at < stage.bytes; at++) {
		const struct fragment parts[] = {
			{ at, 1 },
			{ 0, at },
			{ at + 1, stage.bytes - at - 1 },
		};

		move_in_order(&stage, parts, 3);
	}
	fixture_close(&stage);
}
END_TEST

/* ---- rows ---------------------------------------------------------------------------------- */

#define ROW_BLOCKS   64
#define ROW_BLOCK    4096
#define ROW_FRAGMENT 40000

static const char row_text[] = "hvector(64, 4096, 8192, byte)";

static void fill_blocks(unsigned char *user, unsigned char *expected)
{
	for (size_t i = 0; i < (size_t)2 * ROW_BLOCKS * ROW_BLOCK; i++)
		user[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t i = 0; i < ROW_BLOCKS; i++)
		memcpy(expected + i * ROW_BLOCK, user + i * 2 * ROW_BLOCK, ROW_BLOCK);
}

/*
 * Packed memory that fragments fill one behind the other is written past the caches where it gets long, and
 * memory that is used again is not. Case: bytes between two fragments.
 */
START_TEST(fragments_of_one_row_are_counted_together)
{
	static unsigned char user[2 * ROW_BLOCKS * ROW_BLOCK];
	static unsigned char expected[ROW_BLOCKS * ROW_BLOCK];
	static unsigned char packed[ROW_BLOCKS * ROW_BLOCK + 100];
	struct dtconv_type *type = fixture_type(row_text);
	struct dtconv_convertor *convertor;
	size_t moved, gap = (size_t)_i;

	fill_blocks(user, expected);
	fixture_context->tuning.stream_bytes = 100000;
	fixture_ok(dtconv_convertor_create_pack(type, 1, user, &convertor));
	for (size_t at = 0, to = 3; at < sizeof(expected);
	     at += moved, to += moved + gap) {
		fixture_ok(dtconv_convertor_pack(convertor, packed + to, ROW_FRAGMENT,
						 &moved));
		ck_assert_uint_eq(convertor->row.bytes, gap ? moved : at + moved);
		ck_assert_mem_eq(packed + to, expected + at, moved);
	}
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* ---- random types -------------------------------------------------------------------- */

START_TEST(random_cuts_of_random_types_give_the_same_stream)
{
	struct choices choices = fixture_choices((uint64_t)_i + 1000);
	struct dtconv_type *type =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct fragment *fragments;
	struct stage stage;

	if (stage_open(&stage, type, 1 + choose(&choices, 4), choose(&choices, 16),
		       choose(&choices, 16), (uint64_t)_i)) {
		dtconv_type_unref(type);
		return;
	}
	fragments = calloc(stage.bytes + 1, sizeof(fragments[0]));
	ck_assert_ptr_nonnull(fragments);
	for (int round = 0; round < 8; round++) {
		size_t longest = 1 + choose(&choices, round % 2 ? 40 : stage.bytes + 1);
		size_t count = cut(&stage, &choices, longest, fragments);

		if (round >= 4)
			shuffle(fragments, count, &choices);
		move_in_order(&stage, fragments, count);
	}
	free(fragments);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fragments");
	TCase *cuts = fixture_case(suite, "cuts", 60);
	TCase *orders = fixture_case(suite, "orders", 60);
	TCase *random = fixture_case(suite, "random", 60);

	tcase_add_loop_test(cuts, every_cut_in_two_gives_the_same_stream, 0,
			    layout_count);
	tcase_add_loop_test(cuts, every_cut_in_three_gives_the_same_stream, 0,
			    layout_count);
	tcase_add_loop_test(cuts, every_fragment_size_gives_the_same_stream, 0,
			    layout_count);
	tcase_add_loop_test(cuts, an_empty_fragment_moves_nothing_anywhere, 0,
			    layout_count);
	tcase_add_loop_test(cuts, a_fragment_past_the_end_is_truncated, 0, layout_count);
	tcase_add_loop_test(cuts, fragments_of_one_row_are_counted_together, 0, 2);
	tcase_add_loop_test(orders, the_last_fragment_may_come_first, 0, layout_count);
	tcase_add_loop_test(orders, fragments_may_come_backwards, 0, layout_count);
	tcase_add_loop_test(orders, fragments_may_come_in_any_order, 0, layout_count);
	tcase_add_loop_test(orders, fragments_may_overlap, 0, layout_count);
	tcase_add_loop_test(orders, a_fragment_may_come_twice, 0, layout_count);
	tcase_add_loop_test(orders, a_single_byte_may_come_first, 0, layout_count);
	tcase_add_loop_test(random, random_cuts_of_random_types_give_the_same_stream, 0,
			    fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES);
	return fixture_run(suite);
}
