/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_pack and dtconv_unpack: whole buffers in one call, rooms that are too short or too
 * long, every misalignment of both sides, and buffers that are addressed from NULL.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"

#define INSTANCES 3

/* Packs into guarded memory that starts `shift` bytes past a 64-byte boundary. */
static void pack_once(const struct stage *stage, size_t capacity, size_t shift)
{
	size_t expected = capacity < stage->bytes ? capacity : stage->bytes;
	size_t room = (capacity + shift + 3 * STAGE_GUARD) / 64 * 64;
	unsigned char *memory = aligned_alloc(64, room);
	unsigned char *packed = memory + STAGE_GUARD + shift;
	size_t moved = SIZE_MAX;

	ck_assert_ptr_nonnull(memory);
	stage_guard(memory, room);
	ck_assert_int_eq(dtconv_pack(stage->type, stage->count, stage->source, packed,
				     capacity, &moved),
			 capacity < stage->bytes ? DTCONV_ERR_TRUNCATE : 0);
	ck_assert_uint_eq(moved, expected);
	ck_assert_mem_eq(packed, stage->stream, expected);
	for (size_t i = 0; i < expected; i++)
		packed[i] = stage_guard_byte((size_t)(packed + i - memory));
	ck_assert_uint_eq(stage_guard_first_wrong(memory, room), STAGE_RIGHT);
	free(memory);
}

/* Unpacks from memory that starts `shift` bytes past a 64-byte boundary. */
static void unpack_once(struct stage *stage, size_t bytes, size_t shift)
{
	size_t expected = bytes < stage->bytes ? bytes : stage->bytes;
	unsigned char *memory = aligned_alloc(64, (bytes + shift + 64) / 64 * 64);
	size_t moved = SIZE_MAX;

	ck_assert_ptr_nonnull(memory);
	memset(memory + shift, 0x5a, bytes);
	memcpy(memory + shift, stage->stream, expected);
	stage_blank(stage);
	ck_assert_int_eq(dtconv_unpack(stage->type, stage->count, stage->target,
				       memory + shift, bytes, &moved),
			 bytes > stage->bytes ? DTCONV_ERR_TRUNCATE : 0);
	ck_assert_uint_eq(moved, expected);
	stage_deliver(stage, 0, expected);
	fixture_arrived(stage);
	free(memory);
}

START_TEST(any_capacity_gives_the_beginning_of_the_stream)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	for (size_t capacity = 0; capacity <= stage.bytes + 9; capacity++)
		pack_once(&stage, capacity, 0);
	fixture_close(&stage);
}
END_TEST

START_TEST(any_length_unpacks_as_far_as_it_goes)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	for (size_t bytes = 0; bytes <= stage.bytes + 9; bytes++)
		unpack_once(&stage, bytes, 0);
	fixture_close(&stage);
}
END_TEST

START_TEST(every_misalignment_of_both_sides)
{
	struct dtconv_type *type = fixture_type(layouts[_i].text);
	struct stage stage;

	for (size_t user = 0; user < 16; user++) {
		ck_assert(!stage_open(&stage, type, INSTANCES, user, 15 - user, user));
		for (size_t packed = 0; packed < 16; packed++) {
			pack_once(&stage, stage.bytes, packed);
			unpack_once(&stage, stage.bytes, packed);
		}
		stage_close(&stage);
	}
	dtconv_type_unref(type);
}
END_TEST

START_TEST(every_count)
{
	for (size_t count = 0; count <= 20; count++) {
		struct stage stage;

		fixture_open(&stage, layouts[_i].text, count);
		pack_once(&stage, stage.bytes, 0);
		unpack_once(&stage, stage.bytes, 0);
		fixture_close(&stage);
	}
}
END_TEST

START_TEST(moved_may_be_null)
{
	unsigned char packed[16];
	struct stage stage;

	fixture_open(&stage, "vector(4, 1, 2, int)", 1);
	fixture_ok(dtconv_pack(stage.type, 1, stage.source, packed, 16, NULL));
	ck_assert_mem_eq(packed, stage.stream, 16);
	fixture_ok(dtconv_unpack(stage.type, 1, stage.target, packed, 16, NULL));
	stage_deliver(&stage, 0, 16);
	fixture_arrived(&stage);
	fixture_ok(dtconv_copy(stage.type, 1, stage.source, stage.type, 1, stage.target,
			       NULL));
	fixture_arrived(&stage);
	fixture_close(&stage);
}
END_TEST

/* ---- nothing to move, and nowhere ---------------------------------------------------- */

START_TEST(zero_counts_move_nothing_at_null)
{
	struct dtconv_type *type = fixture_type(layouts[_i].text);
	struct dtconv_convertor *convertor = NULL;
	size_t moved = SIZE_MAX;

	fixture_ok(dtconv_pack(type, 0, NULL, NULL, 0, &moved));
	ck_assert_uint_eq(moved, 0);
	moved = SIZE_MAX;
	fixture_ok(dtconv_unpack(type, 0, NULL, NULL, 0, &moved));
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_copy(type, 0, NULL, type, 0, NULL, &moved));
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_convertor_create_pack(type, 0, NULL, &convertor));
	fixture_ok(dtconv_convertor_seek(convertor, 0));
	fixture_ok(dtconv_convertor_pack(convertor, NULL, 0, &moved));
	ck_assert_uint_eq(moved, 0);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(types_without_data_move_nothing_at_null)
{
	static const char *const empty[] = {
		"contiguous(0, int)",
		"vector(3, 0, 4, double)",
		"indexed([0, 0], [5, 7], int)",
		"struct([], [], [])",
		"resized(contiguous(0, byte), -3, 11)",
		"contiguous(5, contiguous(0, double))",
		"darray(4, 3, [3], [block], [1], [4], c, int)",
	};
	unsigned char byte = 0x77;
	size_t moved = SIZE_MAX;

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		struct dtconv_type *type = fixture_type(empty[i]);

		fixture_ok(dtconv_pack(type, 1000, NULL, &byte, 1, &moved));
		ck_assert_uint_eq(moved, 0);
		fixture_ok(dtconv_unpack(type, 1000, NULL, &byte, 0, &moved));
		ck_assert_uint_eq(moved, 0);
		fixture_status(dtconv_unpack(type, 1000, NULL, &byte, 1, &moved),
			       DTCONV_ERR_TRUNCATE);
		ck_assert_uint_eq(moved, 0);
		ck_assert_uint_eq(byte, 0x77);
		dtconv_type_unref(type);
	}
}
END_TEST

/* An array and a lone number, named by their addresses as MPI_BOTTOM users do. */
struct absolute {
	int array[6];
	double number;
};

static struct dtconv_type *absolute_type(struct absolute *data)
{
	const size_t lengths[] = { 3, 1 };
	const ptrdiff_t displacements[] = { (ptrdiff_t)(uintptr_t)&data->array[2],
					    (ptrdiff_t)(uintptr_t)&data->number };
	struct dtconv_type *const types[] = {
		dtconv_type_predefined(fixture_context, DTCONV_INT),
		dtconv_type_predefined(fixture_context, DTCONV_DOUBLE)
	};
	struct dtconv_type *type = NULL;

	fixture_ok(dtconv_type_create_struct(fixture_context, 2, lengths, displacements,
					     types, &type));
	fixture_ok(dtconv_type_commit(type));
	return type;
}

START_TEST(absolute_addresses_work_from_null)
{
	struct absolute *from = calloc(1, sizeof(*from)), *to = calloc(1, sizeof(*to));
	struct dtconv_type *from_type = absolute_type(from), *to_type = absolute_type(to);
	struct dtconv_convertor *convertor = NULL;
	unsigned char packed[20], again[20];
	struct iovec iov[3];
	size_t moved, iov_count;

	for (int i = 0; i < 6; i++)
		from->array[i] = 100 + i;
	from->number = 2.5;
	fixture_ok(dtconv_pack(from_type, 1, NULL, packed, sizeof(packed), &moved));
	ck_assert_uint_eq(moved, 20);
	ck_assert_mem_eq(packed, &from->array[2], 12);
	ck_assert_mem_eq(packed + 12, &from->number, 8);
	fixture_ok(dtconv_unpack(to_type, 1, NULL, packed, 20, &moved));
	ck_assert_int_eq(to->array[1], 0);
	ck_assert_int_eq(to->array[2], 102);
	ck_assert_int_eq(to->array[4], 104);
	ck_assert_int_eq(to->array[5], 0);
	ck_assert_double_eq(to->number, 2.5);

	fixture_ok(dtconv_convertor_create_pack(from_type, 1, NULL, &convertor));
	for (size_t i = 0; i < 20; i++)
		fixture_ok(dtconv_convertor_pack(convertor, again + i, 1, &moved));
	ck_assert_mem_eq(again, packed, 20);
	fixture_seek(convertor, 0);
	fixture_ok(dtconv_convertor_iov(convertor, iov, 3, SIZE_MAX, &iov_count, &moved));
	ck_assert_uint_eq(iov_count, 2);
	ck_assert_ptr_eq(iov[0].iov_base, &from->array[2]);
	ck_assert_ptr_eq(iov[1].iov_base, &from->number);

	to->array[3] = 0;
	fixture_ok(dtconv_copy(from_type, 1, NULL, to_type, 1, NULL, &moved));
	ck_assert_int_eq(to->array[3], 103);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(from_type);
	dtconv_type_unref(to_type);
	free(from);
	free(to);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("one-shot");
	TCase *rooms = fixture_case(suite, "rooms", 60);
	TCase *nothing = fixture_case(suite, "nothing", 60);

	tcase_add_loop_test(rooms, any_capacity_gives_the_beginning_of_the_stream, 0,
			    layout_count);
	tcase_add_loop_test(rooms, any_length_unpacks_as_far_as_it_goes, 0, layout_count);
	tcase_add_loop_test(rooms, every_misalignment_of_both_sides, 0, layout_count);
	tcase_add_loop_test(rooms, every_count, 0, layout_count);
	tcase_add_test(rooms, moved_may_be_null);
	tcase_add_loop_test(nothing, zero_counts_move_nothing_at_null, 0, layout_count);
	tcase_add_test(nothing, types_without_data_move_nothing_at_null);
	tcase_add_test(nothing, absolute_addresses_work_from_null);
	return fixture_run(suite);
}
