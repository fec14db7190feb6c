/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of a stream in one call, and packed memory in several buffers: dtconv_pack_at, _unpack_at,
 * dtconv_pack_iov, _unpack_iov and the same of convertors, on every layout and on random types.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define INSTANCES    2
#define RANDOM_TYPES 150
#define ENTRIES      24

/* Memory of exactly so many bytes, so that sanitizers see a byte too many. */
static unsigned char *exactly(size_t bytes)
{
	unsigned char *memory = malloc(bytes ? bytes : 1);

	ck_assert_ptr_nonnull(memory);
	return memory;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- at a position ------------------------------------------------------------------- */

static void pack_at(const struct stage *stage, size_t position, size_t capacity)
{
	size_t expected = least(capacity, stage->bytes - position), moved = SIZE_MAX;
	unsigned char *packed = exactly(capacity);

	memset(packed, 0x5a, capacity);
	fixture_ok(dtconv_pack_at(stage->type, stage->count, stage->source, position,
				  packed, capacity, &moved));
	ck_assert_uint_eq(moved, expected);
	ck_assert_mem_eq(packed, stage->stream + position, expected);
	for (size_t i = expected; i < capacity; i++)
		ck_assert_uint_eq(packed[i], 0x5a);
	free(packed);
}

static void unpack_at(struct stage *stage, size_t position, size_t bytes)
{
	size_t expected = least(bytes, stage->bytes - position), moved = SIZE_MAX;
	unsigned char *packed = exactly(bytes);

	memset(packed, 0x77, bytes);
	memcpy(packed, stage->stream + position, expected);
	fixture_status(dtconv_unpack_at(stage->type, stage->count, stage->target,
					position, packed, bytes, &moved),
		       bytes > expected ? DTCONV_ERR_TRUNCATE : 0);
	ck_assert_uint_eq(moved, expected);
	stage_deliver(stage, position, expected);
	free(packed);
}

START_TEST(every_range_of_a_stream)
{
	struct stage stage;
	size_t step = fixture_everything() ? 1 : 5;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	for (size_t from = 0; from <= stage.bytes; from += from < 24 ? 1 : step)
		for (size_t bytes = 0; bytes <= stage.bytes - from + 3;
		     bytes += bytes < 20 ? 1 : step) {
			pack_at(&stage, from, bytes);
			stage_blank(&stage);
			unpack_at(&stage, from, bytes);
			fixture_arrived(&stage);
		}
	fixture_close(&stage);
}
END_TEST

/* Fragments from the last to the first, none of which knows of another. */
START_TEST(ranges_in_any_order_make_the_stream)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	stage_blank(&stage);
	for (size_t end = stage.bytes; end > 0;) {
		size_t from = end > 7 ? end - 7 : 0;

		unpack_at(&stage, from, end - from);
		end = from;
	}
	fixture_arrived(&stage);
	fixture_close(&stage);
}
END_TEST

/* ---- several buffers ----------------------------------------------------------------- */

/* Buffers of their own for the bytes of a stream from a position on, or for as many. */
struct buffers {
	struct iovec iov[ENTRIES];
	size_t count;
	size_t bytes;
};

static void open_buffers(struct buffers *buffers, struct choices *choices, size_t bytes)
{
	*buffers = (struct buffers){ .bytes = bytes };
	while (bytes || chance(choices, 2)) {
		size_t longest = buffers->count + 1 == ENTRIES ? bytes : bytes / 2 + 2;
		size_t some = least(bytes, choose(choices, longest + 1));

		if (buffers->count == ENTRIES)
			break;
		if (buffers->count + 1 == ENTRIES)
			some = bytes;
		buffers->iov[buffers->count++] =
			(struct iovec){ some ? exactly(some) : NULL, some };
		bytes -= some;
	}
}

static void fill(const struct buffers *buffers, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0, at = 0; i < buffers->count; at += buffers->iov[i++].iov_len) {
		memset(buffers->iov[i].iov_base ? buffers->iov[i].iov_base : &at, 0x5a,
		       buffers->iov[i].iov_len);
		if (at < count)
			memcpy(buffers->iov[i].iov_base ? buffers->iov[i].iov_base : &at,
			       bytes + at, least(buffers->iov[i].iov_len, count - at));
	}
}

/* The first bytes are these; the others were not touched. */
static void hold(const struct buffers *buffers, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0, at = 0; i < buffers->count; i++) {
		const unsigned char *base = buffers->iov[i].iov_base;

		for (size_t j = 0; j < buffers->iov[i].iov_len; j++, at++)
			ck_assert_uint_eq(base[j], at < count ? bytes[at] : 0x5a);
	}
}

static void close_buffers(struct buffers *buffers)
{
	for (size_t i = 0; i < buffers->count; i++)
		free(buffers->iov[i].iov_base);
}

static void pack_into_buffers(const struct stage *stage, struct choices *choices,
			      size_t bytes)
{
	size_t expected = least(bytes, stage->bytes), moved = SIZE_MAX;
	struct buffers buffers;

	open_buffers(&buffers, choices, bytes);
	fill(&buffers, NULL, 0);
	fixture_status(dtconv_pack_iov(stage->type, stage->count, stage->source,
				       buffers.iov, buffers.count, &moved),
		       bytes < stage->bytes ? DTCONV_ERR_TRUNCATE : 0);
	ck_assert_uint_eq(moved, expected);
	hold(&buffers, stage->stream, expected);
	close_buffers(&buffers);
}

static void unpack_from_buffers(struct stage *stage, struct choices *choices,
				size_t bytes)
{
	size_t expected = least(bytes, stage->bytes), moved = SIZE_MAX;
	struct buffers buffers;

	open_buffers(&buffers, choices, bytes);
	fill(&buffers, stage->stream, expected);
	stage_blank(stage);
	fixture_status(dtconv_unpack_iov(stage->type, stage->count, stage->target,
					 buffers.iov, buffers.count, &moved),
		       bytes > stage->bytes ? DTCONV_ERR_TRUNCATE : 0);
	ck_assert_uint_eq(moved, expected);
	stage_deliver(stage, 0, expected);
	fixture_arrived(stage);
	close_buffers(&buffers);
}

/* A convertor of each direction, in two calls whose cut may be anywhere. */
static void move_with_convertors(struct stage *stage, struct choices *choices)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);
	size_t cut = choose(choices, stage->bytes + 1), moved;

	stage_blank(stage);
	for (size_t from = 0, part = 0; part < 2; part++) {
		size_t bytes = part ? stage->bytes - cut : cut;
		struct buffers buffers;

		open_buffers(&buffers, choices, bytes);
		fill(&buffers, NULL, 0);
		fixture_ok(dtconv_convertor_pack_iov(packs, buffers.iov, buffers.count,
						     &moved));
		ck_assert_uint_eq(moved, bytes);
		hold(&buffers, stage->stream + from, bytes);
		fixture_ok(dtconv_convertor_unpack_iov(unpacks, buffers.iov,
						       buffers.count, &moved));
		ck_assert_uint_eq(moved, bytes);
		stage_deliver(stage, from, bytes);
		from += bytes;
		ck_assert_uint_eq(fixture_position(packs), from);
		close_buffers(&buffers);
	}
	fixture_arrived(stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

START_TEST(any_cut_into_buffers_is_the_same_stream)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	for (int round = 0; round < 40; round++) {
		size_t bytes = round % 4 ? stage.bytes
					 : choose(&choices, stage.bytes + 9);

		pack_into_buffers(&stage, &choices, bytes);
		unpack_from_buffers(&stage, &choices, bytes);
		move_with_convertors(&stage, &choices);
	}
	fixture_close(&stage);
}
END_TEST

START_TEST(random_types)
{
	struct choices choices = fixture_choices((uint64_t)_i + 7000);
	struct dtconv_type *type =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct stage stage;

	if (stage_open(&stage, type, 1 + choose(&choices, 4), choose(&choices, 16),
		       choose(&choices, 16), (uint64_t)_i)) {
		dtconv_type_unref(type);
		return;
	}
	for (int round = 0; round < 20; round++) {
		size_t from = choose(&choices, stage.bytes + 1);
		size_t bytes = choose(&choices, stage.bytes - from + 3);

		pack_at(&stage, from, bytes);
		stage_blank(&stage);
		unpack_at(&stage, from, bytes);
		fixture_arrived(&stage);
		pack_into_buffers(&stage, &choices, stage.bytes);
		unpack_from_buffers(&stage, &choices, stage.bytes);
		move_with_convertors(&stage, &choices);
	}
	fixture_close(&stage);
}
END_TEST

/* ---- representations ----------------------------------------------------------------- */

/* Entries of one byte cut every element; the convertor keeps the bytes until all are there. */
START_TEST(buffers_cut_elements_of_a_representation)
{
	struct dtconv_representation external32;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external32 };
	const int values[] = { 1, -2, 0x1234567 };
	const unsigned char wire[] = {
		0, 0, 0, 1, 255, 255, 255, 254, 1, 0x23, 0x45, 0x67
	};
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	unsigned char bytes[12];
	struct iovec iov[12];
	int back[3] = { 0 };
	size_t moved;

	fixture_ok(dtconv_representation_find("external32", &external32));
	struct dtconv_convertor *packs = fixture_packer(type, 3, values, &params);
	for (size_t i = 0; i < 12; i++)
		iov[i] = (struct iovec){ &bytes[11 - i], 1 };
	fixture_ok(dtconv_convertor_pack_iov(packs, iov, 12, &moved));
	ck_assert_uint_eq(moved, 12);
	for (size_t i = 0; i < 12; i++)
		ck_assert_uint_eq(bytes[11 - i], wire[i]);
	struct dtconv_convertor *unpacks = fixture_unpacker(type, 3, back, &params);
	fixture_ok(dtconv_convertor_unpack_iov(unpacks, iov, 12, &moved));
	ck_assert_mem_eq(back, values, sizeof(back));
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}
END_TEST

/* ---- errors -------------------------------------------------------------------------- */

static void refused(int status, int expected, const char *sentence)
{
	ck_assert_int_eq(status, expected);
	ck_assert_str_eq(fixture_error(), sentence);
}

START_TEST(wrong_ranges_are_refused)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)"), *uncommitted;
	unsigned char packed[32];
	int data[6] = { 0 };
	size_t moved = 99;

	refused(dtconv_pack_at(type, 1, data, 13, packed, 1, &moved), DTCONV_ERR_INVAL,
		"dtconv_pack_at: position (argument 4) is 13, past the stream's end at 12");
	ck_assert_uint_eq(moved, 0);
	moved = 99;
	refused(dtconv_unpack_at(type, 1, data, 13, packed, 1, &moved), DTCONV_ERR_INVAL,
		"dtconv_unpack_at: position (argument 4) is 13, past the stream's end at "
		"12");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_unpack_at(type, 1, data, 8, packed, 5, &moved),
		DTCONV_ERR_TRUNCATE,
		"dtconv_unpack_at: bytes (argument 6) is 5, but only 4 bytes of the stream "
		"follow the position");
	ck_assert_uint_eq(moved, 4);
	fixture_ok(dtconv_pack_at(type, 1, data, 12, NULL, 0, NULL));
	fixture_ok(dtconv_unpack_at(type, 1, data, 12, NULL, 0, NULL));
	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	refused(dtconv_pack_at(uncommitted, 1, data, 0, packed, 1, NULL),
		DTCONV_ERR_STATE, "dtconv_pack_at: type (argument 1) is not committed");
	refused(dtconv_unpack_at(uncommitted, 1, data, 0, packed, 1, NULL),
		DTCONV_ERR_STATE, "dtconv_unpack_at: type (argument 1) is not committed");
	fixture_status(dtconv_pack_at(type, SIZE_MAX, data, 0, packed, 1, NULL),
		       DTCONV_ERR_OVERFLOW);
	dtconv_type_unref(type);
	dtconv_type_unref(uncommitted);
}
END_TEST

START_TEST(wrong_buffers_are_refused)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)"), *uncommitted;
	unsigned char packed[32];
	const struct iovec iov[] = { { packed, 5 }, { NULL, 0 }, { packed + 8, 8 } };
	const struct iovec huge[] = { { packed, SIZE_MAX }, { packed, 2 } };
	struct dtconv_convertor *packs, *unpacks;
	int data[6] = { 0 };
	size_t moved = 99;

	refused(dtconv_pack_iov(type, 1, data, iov, 2, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_pack_iov: iov (argument 4) has room for 5 bytes, but the packed "
		"stream has 12");
	ck_assert_uint_eq(moved, 5);
	refused(dtconv_unpack_iov(type, 1, data, iov, 3, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_unpack_iov: iov (argument 4) has 13 bytes, but the type and count "
		"have room for 12");
	ck_assert_uint_eq(moved, 12);
	fixture_ok(dtconv_pack_iov(type, 1, data, huge, 2, &moved));
	fixture_ok(dtconv_pack_iov(type, 0, NULL, NULL, 0, NULL));
	fixture_ok(dtconv_convertor_create_pack(type, 1, data, &packs));
	fixture_ok(dtconv_convertor_create_unpack(type, 1, data, &unpacks));
	refused(dtconv_convertor_pack_iov(unpacks, iov, 3, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_pack_iov: the convertor is bound to unpack");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_convertor_unpack_iov(packs, NULL, 0, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_unpack_iov: the convertor is bound to pack");
	refused(dtconv_convertor_unpack_iov(unpacks, iov, 3, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_convertor_unpack_iov: iov (argument 2) has 13 bytes, but only 12 "
		"bytes of the stream were left");
	ck_assert_uint_eq(moved, 12);
	fixture_ok(dtconv_convertor_start(packs, packed, 4, NULL, NULL));
	refused(dtconv_convertor_pack_iov(packs, iov, 3, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_pack_iov: an operation is in flight; test or wait for it "
		"first");
	fixture_ok(dtconv_convertor_wait(packs, &moved));
	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	refused(dtconv_unpack_iov(uncommitted, 1, data, iov, 3, &moved), DTCONV_ERR_STATE,
		"dtconv_unpack_iov: type (argument 1) is not committed");
	ck_assert_uint_eq(moved, 0);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	dtconv_type_unref(type);
	dtconv_type_unref(uncommitted);
}
END_TEST

START_TEST(nothing_is_allocated)
{
	struct stage stage;
	size_t moved;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	unsigned char *packed = exactly(stage.bytes);
	const struct iovec iov[] = { { packed, stage.bytes / 2 },
				     { packed + stage.bytes / 2,
				       stage.bytes - stage.bytes / 2 } };
	size_t before = fixture_allocations();
	fixture_ok(dtconv_pack_iov(stage.type, INSTANCES, stage.source, iov, 2, &moved));
	fixture_ok(
		dtconv_unpack_iov(stage.type, INSTANCES, stage.target, iov, 2, &moved));
	for (size_t at = 0; at <= stage.bytes; at += 3) {
		fixture_ok(dtconv_pack_at(stage.type, INSTANCES, stage.source, at, packed,
					  stage.bytes - at, &moved));
		fixture_ok(dtconv_unpack_at(stage.type, INSTANCES, stage.target, at,
					    packed, stage.bytes - at, &moved));
	}
	ck_assert_uint_eq(fixture_allocations(), before);
	free(packed);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ranges");
	TCase *positions = fixture_case(suite, "positions", 120);
	TCase *buffers = fixture_case(suite, "buffers", 120);
	TCase *errors = fixture_case(suite, "errors", 60);

	tcase_add_loop_test(positions, every_range_of_a_stream, 0, layout_count);
	tcase_add_loop_test(positions, ranges_in_any_order_make_the_stream, 0,
			    layout_count);
	tcase_add_loop_test(buffers, any_cut_into_buffers_is_the_same_stream, 0,
			    layout_count);
	tcase_add_loop_test(buffers, random_types, 0, RANDOM_TYPES);
	tcase_add_test(buffers, buffers_cut_elements_of_a_representation);
	tcase_add_test(errors, wrong_ranges_are_refused);
	tcase_add_test(errors, wrong_buffers_are_refused);
	tcase_add_loop_test(errors, nothing_is_allocated, 0, layout_count);
	return fixture_run(suite);
}
