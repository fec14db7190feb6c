/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Convertors with options from one call, and in storage of the caller's: they move what others move,
 * allocate nothing, and stay within their storage.
 */
#include "config.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"

#define INSTANCES 2

/* Storage of exactly as many bytes as asked for, so that sanitizers see a byte too many. */
static void *storage(void)
{
	size_t bytes = dtconv_convertor_storage_bytes();
	void *memory = malloc(bytes);

	ck_assert_ptr_nonnull(memory);
	memset(memory, 0xdb, bytes);
	return memory;
}

static struct dtconv_convertor *init(void *place, const struct stage *stage, bool packs,
				     const struct dtconv_convertor_params *params)
{
	const size_t bytes = dtconv_convertor_storage_bytes();
	struct dtconv_convertor *convertor = NULL;

	if (packs)
		fixture_ok(dtconv_convertor_init_pack(place, bytes, stage->type,
						      stage->count, stage->source, params,
						      &convertor));
	else
		fixture_ok(dtconv_convertor_init_unpack(place, bytes, stage->type,
							stage->count, stage->target,
							params, &convertor));
	ck_assert_ptr_eq(convertor, place);
	return convertor;
}

START_TEST(convertors_in_storage_move_all_layouts)
{
	void *place[2] = { storage(), storage() };
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	for (int message = 0; message < 3; message++) {
		struct dtconv_convertor *packs = init(place[0], &stage, true, NULL);
		struct dtconv_convertor *unpacks = init(place[1], &stage, false, NULL);
		size_t step = message ? 1 + (size_t)message * 4 : stage.bytes;

		stage_blank(&stage);
		for (size_t at = 0; at < stage.bytes; at += step) {
			size_t rest = stage.bytes - at;

			fixture_pack_next(&stage, packs, at, rest < step ? rest : step);
			fixture_unpack_next(&stage, unpacks, at,
					    rest < step ? rest : step);
		}
		fixture_arrived(&stage);
		dtconv_convertor_destroy(packs);
		dtconv_convertor_destroy(unpacks);
	}
	free(place[0]);
	free(place[1]);
	fixture_close(&stage);
}
END_TEST

START_TEST(messages_allocate_nothing)
{
	alignas(DTCONV_CONVERTOR_ALIGNMENT) static char place[DTCONV_CONVERTOR_STORAGE];
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_CRC32C,
							.user_memory = DTCONV_MEMORY_HOST,
							.packed_memory =
								DTCONV_MEMORY_HOST };
	unsigned char packed[64];
	struct stage stage;
	size_t moved;

	ck_assert_uint_le(dtconv_convertor_storage_bytes(), sizeof(place));
	fixture_open(&stage, "vector(5, 1, 3, int)", 2);
	size_t before = fixture_allocations();
	for (int i = 0; i < 10; i++) {
		struct dtconv_convertor *packs, *unpacks;
		uint32_t crc;

		fixture_ok(dtconv_convertor_init_pack(place, sizeof(place), stage.type, 2,
						      stage.source, &params, &packs));
		fixture_ok(dtconv_convertor_pack(packs, packed, sizeof(packed), &moved));
		fixture_ok(dtconv_convertor_crc32c(packs, &crc));
		ck_assert_uint_eq(crc, dtconv_crc32c(0, stage.stream, stage.bytes));
		dtconv_convertor_destroy(packs);
		fixture_ok(dtconv_convertor_init_unpack(place, sizeof(place), stage.type,
							2, stage.target, NULL, &unpacks));
		fixture_ok(dtconv_convertor_unpack(unpacks, packed, moved, &moved));
		dtconv_convertor_destroy(unpacks);
	}
	ck_assert_uint_eq(fixture_allocations(), before);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	fixture_close(&stage);
}
END_TEST

/* Options come with the convertor, and what they allocate goes with it. */
START_TEST(options_come_with_the_convertor)
{
	const int values[] = { 3, -4, 5 };
	struct dtconv_representation external32;
	const struct dtconv_convertor_params converts = { .struct_size = sizeof(converts),
							  .representation = &external32 };
	const struct dtconv_convertor_params adds = { .struct_size = sizeof(adds),
						      .representation = &external32,
						      .op = DTCONV_OP_SUM };
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	void *place = _i ? storage() : NULL;
	struct dtconv_convertor *convertor, *clone;
	int sums[] = { 10, 10, 10 };
	unsigned char wire[12];
	size_t moved, bytes = dtconv_convertor_storage_bytes();

	fixture_ok(dtconv_representation_find("external32", &external32));
	fixture_ok(place ? dtconv_convertor_init_pack(place, bytes, type, 3, values,
						      &converts, &convertor)
			 : dtconv_convertor_create_pack_with(type, 3, values, &converts,
							     &convertor));
	fixture_ok(dtconv_convertor_clone(convertor, &clone));
	dtconv_convertor_destroy(convertor);
	fixture_ok(dtconv_convertor_pack(clone, wire, 12, &moved));
	ck_assert_uint_eq(wire[3], 3);
	ck_assert_uint_eq(wire[4], 255);
	dtconv_convertor_destroy(clone);
	fixture_ok(place ? dtconv_convertor_init_unpack(place, bytes, type, 3, sums,
							&adds, &convertor)
			 : dtconv_convertor_create_unpack_with(type, 3, sums, &adds,
							       &convertor));
	fixture_ok(dtconv_convertor_unpack(convertor, wire, 12, &moved));
	ck_assert_int_eq(sums[0], 13);
	ck_assert_int_eq(sums[1], 6);
	ck_assert_int_eq(sums[2], 15);
	fixture_ok(dtconv_convertor_rebind_pack(convertor, type, 2, values));
	fixture_ok(dtconv_convertor_pack(convertor, wire, 12, &moved));
	ck_assert_uint_eq(moved, 8);
	dtconv_convertor_destroy(convertor);
	free(place);
}
END_TEST

static void refused(int status, int expected, const char *sentence)
{
	ck_assert_int_eq(status, expected);
	ck_assert_str_eq(fixture_error(), sentence);
}

START_TEST(wrong_storage_and_options_are_refused)
{
	struct dtconv_convertor_params wrong = { .struct_size = sizeof(wrong),
						 .flags = 64 };
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)"), *uncommitted;
	alignas(16) static char place[DTCONV_CONVERTOR_STORAGE + 1];
	const size_t bytes = dtconv_convertor_storage_bytes();
	struct dtconv_convertor *none = NULL;
	char sentence[200];
	int data[6];

	snprintf(sentence, sizeof(sentence),
		 "dtconv_convertor_init_pack: storage_bytes (argument 2) is %zu, but a "
		 "convertor needs %zu",
		 bytes - 1, bytes);
	refused(dtconv_convertor_init_pack(place, bytes - 1, type, 1, data, NULL, &none),
		DTCONV_ERR_INVAL, sentence);
	refused(dtconv_convertor_init_unpack(place + 1, bytes, type, 1, data, NULL,
					     &none),
		DTCONV_ERR_INVAL,
		"dtconv_convertor_init_unpack: storage (argument 1) is not aligned to 8 "
		"bytes");
	refused(dtconv_convertor_init_pack(place, bytes, type, 1, data, &wrong, &none),
		DTCONV_ERR_INVAL,
		"dtconv_convertor_init_pack: params.flags has unknown bits: 0x40");
	refused(dtconv_convertor_create_pack_with(type, 1, data, &wrong, &none),
		DTCONV_ERR_INVAL,
		"dtconv_convertor_create_pack_with: params.flags has unknown bits: 0x40");
	refused(dtconv_convertor_create_unpack_with(type, 1, data, &wrong, &none),
		DTCONV_ERR_INVAL,
		"dtconv_convertor_create_unpack_with: params.flags has unknown bits: 0x40");
	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	refused(dtconv_convertor_init_unpack(place, bytes, uncommitted, 1, data, NULL,
					     &none),
		DTCONV_ERR_STATE,
		"dtconv_convertor_init_unpack: type (argument 3) is not committed");
	refused(dtconv_convertor_create_unpack_with(uncommitted, 1, data, NULL, &none),
		DTCONV_ERR_STATE,
		"dtconv_convertor_create_unpack_with: type (argument 1) is not committed");
	ck_assert_ptr_null(none);
	dtconv_type_unref(type);
	dtconv_type_unref(uncommitted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storage");
	TCase *place = fixture_case(suite, "storage", 60);

	tcase_add_loop_test(place, convertors_in_storage_move_all_layouts, 0,
			    layout_count);
	tcase_add_test(place, messages_allocate_nothing);
	tcase_add_loop_test(place, options_come_with_the_convertor, 0, 2);
	tcase_add_test(place, wrong_storage_and_options_are_refused);
	return fixture_run(suite);
}
