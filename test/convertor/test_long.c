/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of tens of kilobytes and more, where the host changes its ways: tiles for long
 * transpositions, passes over arrays of structs, prefetches for tables that reach far. They
 * are too long for every cut, so random ones and those near round sizes must do.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "support/fixture.h"

static const char *const texts[] = {
	"contiguous(40, resized(vector(300, 1, 40, float), 0, 4))",
	"contiguous(33, resized(vector(257, 1, 33, double), 0, 8))",
	"contiguous(50, resized(vector(100, 1, 64, short), 0, 2))",
	"contiguous(7, resized(hvector(400, 3, 21, byte), 0, 3))",
	"contiguous(5, resized(hvector(300, 40, 203, byte), 0, 40))",
	"contiguous(9, resized(hvector(300, 70, 640, byte), 0, 70))",
	"contiguous(40, resized(vector(300, 1, -40, float), 0, 4))",
	"contiguous(40, resized(vector(300, 1, 40, float), 0, -4))",
	"contiguous(4000, struct([1, 1], [0, 8], [int, double]))",
	"contiguous(1500, struct([1, 30, 1], [0, 4, 40], [byte, byte, double]))",
	"contiguous(900, struct([3, 1, 2], [40, 0, 10], [double, int, vector(3, 1, 2, short)]))",
	"contiguous(300, indexed([3, 1, 2], [0, 9, 4], struct([1, 1], [0, 4], [int, short])))",
	"contiguous(3, struct([20000, 1, 9000], [0, 20001, 20004], [byte, byte, byte]))",
	"vector(3000, 3, 5, double)",
	"vector(9000, 1, 2, int)",
	"hvector(20, 5000, 6001, byte)",
	"subarray([40, 40, 40], [31, 33, 35], [3, 2, 1], c, double)",
	"subarray([40, 40, 40], [40, 1, 40], [0, 7, 0], fortran, double)",
	"struct([1, 1, 3000], [0, 128000, 260000], [hvector(1000, 12, 128, byte), hvector(1000, 68, 128, byte), byte])",
};

#define TEXTS ((int)(sizeof(texts) / sizeof(texts[0])))

/* Both ways, in fragments whose lengths the function chooses. */
static void move_in_fragments(struct stage *stage, struct choices *choices,
			      size_t longest)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);
	size_t bytes;

	stage_blank(stage);
	for (size_t at = 0; at < stage->bytes; at += bytes) {
		bytes = 1 + choose(choices, longest);
		if (bytes > stage->bytes - at)
			bytes = stage->bytes - at;
		fixture_pack_next(stage, packs, at, bytes);
		fixture_unpack_next(stage, unpacks, at, bytes);
	}
	fixture_arrived(stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

static void move_all_ways(struct stage *stage, struct choices *choices)
{
	for (size_t longest = 100; longest < stage->bytes; longest *= 5)
		move_in_fragments(stage, choices, longest);
	for (int i = 0; i < 8; i++)
		move_in_fragments(stage, choices, 2 * stage->bytes);
}

/* Through the caches, then past them, where some go other ways. */
START_TEST(random_fragments_of_long_streams)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtconv_type *type = fixture_type(texts[_i % TEXTS]);

	if (_i >= TEXTS)
		fixture_context->tuning.stream_bytes = 0;
	for (size_t count = 1; count <= 3; count++) {
		struct stage stage;

		ck_assert(!stage_open(&stage, type, count, choose(&choices, 64),
				      choose(&choices, 64), count));
		move_all_ways(&stage, &choices);
		stage_close(&stage);
	}
	dtconv_type_unref(type);
}
END_TEST

START_TEST(seeks_in_long_streams)
{
	struct choices choices = fixture_choices((uint64_t)_i + 100);
	struct stage stage;

	fixture_open(&stage, texts[_i], 2);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (int i = 0; i < 500; i++) {
		size_t at = choose(&choices, stage.bytes);

		fixture_seek(packs, at);
		fixture_pack_next(&stage, packs, at, choose(&choices, 300));
	}
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

/* ---- tables that reach over megabytes ------------------------------------------------ */

#define BLOCKS 300
#define REACH  (3 << 20)

/* Blocks of one length, or of many, in random order, apart from each other. */
static struct dtconv_type *far_blocks(struct choices *choices, size_t length)
{
	size_t lengths[BLOCKS];
	ptrdiff_t displacements[BLOCKS];
	struct dtconv_type *made = NULL;

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t other = choose(choices, i + 1);

		lengths[i] = length ? length : 1 + choose(choices, 90);
		displacements[i] = displacements[other];
		displacements[other] =
			(ptrdiff_t)(i * (REACH / BLOCKS) + choose(choices, 9000));
	}
	fixture_ok(dtconv_type_create_hindexed(
		BLOCKS, lengths, displacements,
		dtconv_type_predefined(fixture_context, DTCONV_BYTE), &made));
	return made;
}

START_TEST(tables_that_reach_over_megabytes)
{
	static const size_t lengths[] = { 0, 1, 4, 8, 12, 16, 24, 32, 33, 64, 100 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct choices choices = fixture_choices(i + 200);
		struct dtconv_type *type = far_blocks(&choices, lengths[i]);
		struct stage stage;

		ck_assert(!stage_open(&stage, type, 1, 5, 0, i));
		for (int round = 0; round < 3; round++)
			move_in_fragments(&stage, &choices,
					  stage.bytes / (size_t)(round + 1));
		stage_close(&stage);
		dtconv_type_unref(type);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("long");
	TCase *streams = fixture_case(suite, "streams", 120);

	tcase_add_loop_test(streams, random_fragments_of_long_streams, 0, 2 * TEXTS);
	tcase_add_loop_test(streams, seeks_in_long_streams, 0, TEXTS);
	tcase_add_test(streams, tables_that_reach_over_megabytes);
	return fixture_run(suite);
}
