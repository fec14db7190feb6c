/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a convertor stands: seek to any byte, clone at any byte, rebind, and what a binding
 * keeps alive.
 */
#include "config.h"

#include <stdlib.h>

#include "support/fixture.h"
#include "support/layouts.h"

#define INSTANCES 3

/* ---- seek ---------------------------------------------------------------------------- */

START_TEST(seek_then_pack_is_pack_then_skip)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t at = 0; at <= stage.bytes; at++) {
		fixture_seek(packs, at);
		ck_assert_uint_eq(fixture_position(packs), at);
		fixture_pack_next(&stage, packs, at, stage.bytes - at);
		ck_assert_uint_eq(fixture_position(packs), stage.bytes);
	}
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

START_TEST(seek_then_unpack_fills_the_rest_only)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, INSTANCES);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	for (size_t at = 0; at <= stage.bytes; at++) {
		stage_blank(&stage);
		fixture_seek(unpacks, at);
		fixture_unpack_next(&stage, unpacks, at, stage.bytes - at);
		fixture_arrived(&stage);
	}
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

/* From every byte to every byte: no trace of the old position may remain. */
START_TEST(seek_from_anywhere_to_anywhere)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 2);
	size_t step = 1 + stage.bytes / 100;
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t from = 0; from <= stage.bytes; from += step)
		for (size_t to = 0; to <= stage.bytes; to += step) {
			fixture_seek(packs, from);
			fixture_pack_next(&stage, packs, from, 3);
			fixture_seek(packs, to);
			fixture_pack_next(&stage, packs, to, 5);
		}
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

START_TEST(seek_past_the_end_is_refused_and_changes_nothing)
{
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 2);
	size_t third = stage.bytes / 3;
	struct dtconv_convertor *packs = fixture_pack(&stage);
	fixture_seek(packs, third);
	fixture_status(dtconv_convertor_seek(packs, stage.bytes + 1), DTCONV_ERR_INVAL);
	fixture_status(dtconv_convertor_seek(packs, SIZE_MAX), DTCONV_ERR_INVAL);
	ck_assert_uint_eq(fixture_position(packs), third);
	fixture_pack_next(&stage, packs, third, stage.bytes);
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

/* ---- clone --------------------------------------------------------------------------- */

/* Original and clone take turns, in fragments of different sizes, from the same byte on. */
static void both_finish(struct stage *stage, struct dtconv_convertor *packs,
			struct dtconv_convertor *unpacks, size_t at)
{
	struct dtconv_convertor *pack_clone = NULL, *unpack_clone = NULL;
	size_t half = (stage->bytes - at) / 2;

	fixture_seek(packs, 0);
	fixture_seek(unpacks, 0);
	stage_blank(stage);
	fixture_pack_next(stage, packs, 0, at);
	fixture_unpack_next(stage, unpacks, 0, at);
	fixture_ok(dtconv_convertor_clone(packs, &pack_clone));
	fixture_ok(dtconv_convertor_clone(unpacks, &unpack_clone));
	ck_assert_uint_eq(fixture_position(pack_clone), at);

	fixture_pack_next(stage, pack_clone, at, half);
	fixture_pack_next(stage, packs, at, stage->bytes - at);
	fixture_pack_next(stage, pack_clone, at + half, stage->bytes - at - half);

	fixture_unpack_next(stage, unpacks, at, half);
	fixture_arrived(stage);
	dtconv_convertor_destroy(pack_clone);
	fixture_unpack_next(stage, unpack_clone, at, stage->bytes - at);
	fixture_arrived(stage);
	fixture_unpack_next(stage, unpacks, at + half, stage->bytes - at - half);
	fixture_arrived(stage);
	dtconv_convertor_destroy(unpack_clone);
}

START_TEST(a_clone_made_at_any_byte_finishes_like_the_original)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 2);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	for (size_t at = 0; at <= stage.bytes; at++)
		both_finish(&stage, packs, unpacks, at);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	fixture_close(&stage);
}
END_TEST

START_TEST(a_clone_outlives_its_original)
{
	struct dtconv_convertor *packs, *clone = NULL;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 2);
	size_t third = stage.bytes / 3;
	packs = fixture_pack(&stage);
	fixture_pack_next(&stage, packs, 0, third);
	fixture_ok(dtconv_convertor_clone(packs, &clone));
	dtconv_convertor_destroy(packs);
	fixture_pack_next(&stage, clone, third, stage.bytes);
	dtconv_convertor_destroy(clone);
	fixture_close(&stage);
}
END_TEST

/* ---- binding ------------------------------------------------------------------------- */

/* From the middle of one layout to another, in the other direction, and back. */
START_TEST(rebind_starts_at_the_beginning_of_the_new_data)
{
	struct stage stage, other;

	fixture_open(&stage, layouts[_i].text, 2);
	fixture_open(&other, layouts[(_i + 7) % layout_count].text, 3);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	fixture_pack_next(&stage, convertor, 0, stage.bytes / 2 + 1);
	fixture_ok(dtconv_convertor_rebind_unpack(convertor, other.type, other.count,
						  other.target));
	ck_assert_uint_eq(fixture_position(convertor), 0);
	fixture_unpack_next(&other, convertor, 0, other.bytes / 2);
	fixture_unpack_next(&other, convertor, other.bytes / 2,
			    other.bytes - other.bytes / 2);
	fixture_arrived(&other);
	fixture_ok(dtconv_convertor_rebind_pack(convertor, stage.type, stage.count,
						stage.source));
	fixture_pack_next(&stage, convertor, 0, stage.bytes);
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
	fixture_close(&other);
}
END_TEST

/* One instance, again and again: the way of most messages, which has no cursor. */
START_TEST(one_instance_is_moved_as_often_as_it_is_bound)
{
	struct stage stage;
	size_t moved = 99;

	fixture_open(&stage, layouts[_i].text, 1);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	for (int i = 0; i < 2; i++) {
		fixture_ok(dtconv_convertor_rebind_pack(convertor, stage.type, 1,
							stage.source));
		fixture_pack_next(&stage, convertor, 0, stage.bytes);
		ck_assert_uint_eq(fixture_position(convertor), stage.bytes);
		fixture_ok(dtconv_convertor_pack(convertor, stage.target, 0, &moved));
		ck_assert_uint_eq(moved, 0);
		stage_blank(&stage);
		fixture_ok(dtconv_convertor_rebind_unpack(convertor, stage.type, 1,
							  stage.target));
		fixture_unpack_next(&stage, convertor, 0, stage.bytes);
		ck_assert_uint_eq(fixture_position(convertor), stage.bytes);
		fixture_arrived(&stage);
	}
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

START_TEST(a_failed_rebind_keeps_the_old_binding)
{
	const char *text = "vector(3, 1, 2, int)";
	struct dtconv_type *uncommitted = NULL,
			   *large = fixture_type("contiguous(16, byte)");
	struct stage stage;

	fixture_open(&stage, text, 3);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	fixture_pack_next(&stage, convertor, 0, 5);
	fixture_ok(dtconv_type_create_contiguous(2, stage.type, &uncommitted));
	fixture_status(dtconv_convertor_rebind_pack(convertor, uncommitted, 1,
						    stage.source),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_rebind_unpack(convertor, large, SIZE_MAX / 15,
						      stage.target),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(fixture_position(convertor), 5);
	fixture_pack_next(&stage, convertor, 5, stage.bytes);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(uncommitted);
	dtconv_type_unref(large);
	fixture_close(&stage);
}
END_TEST

START_TEST(a_type_released_by_its_owner_lives_in_its_convertors)
{
	struct dtconv_convertor *packs, *clone = NULL;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 2);
	packs = fixture_pack(&stage);
	dtconv_type_unref(stage.type);
	fixture_pack_next(&stage, packs, 0, stage.bytes / 2);
	fixture_ok(dtconv_convertor_clone(packs, &clone));
	dtconv_convertor_destroy(packs);
	fixture_pack_next(&stage, clone, stage.bytes / 2, stage.bytes);
	dtconv_convertor_destroy(clone);
	stage_close(&stage);
}
END_TEST

START_TEST(rebind_releases_the_old_type)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };
	struct stage stage, other;

	fixture_open(&stage, "vector(3, 1, 2, int)", 1);
	fixture_open(&other, "vector(3, 1, 2, double)", 1);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	dtconv_type_unref(stage.type);
	fixture_ok(dtconv_convertor_rebind_pack(convertor, other.type, other.count,
						other.source));
	fixture_ok(dtconv_context_query_counters(fixture_context, &counters));
	ck_assert_uint_eq(counters.types_live, 1);
	dtconv_convertor_destroy(convertor);
	stage_close(&stage);
	fixture_close(&other);
}
END_TEST

START_TEST(destroy_accepts_null)
{
	dtconv_convertor_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("position");
	TCase *seek = fixture_case(suite, "seek", 60);
	TCase *clone = fixture_case(suite, "clone", 60);
	TCase *binding = fixture_case(suite, "binding", 60);

	tcase_add_loop_test(seek, seek_then_pack_is_pack_then_skip, 0, layout_count);
	tcase_add_loop_test(seek, seek_then_unpack_fills_the_rest_only, 0, layout_count);
	tcase_add_loop_test(seek, seek_from_anywhere_to_anywhere, 0, layout_count);
	tcase_add_loop_test(seek, seek_past_the_end_is_refused_and_changes_nothing, 0,
			    layout_count);
	tcase_add_loop_test(clone, a_clone_made_at_any_byte_finishes_like_the_original, 0,
			    layout_count);
	tcase_add_loop_test(clone, a_clone_outlives_its_original, 0, layout_count);
	tcase_add_loop_test(binding, rebind_starts_at_the_beginning_of_the_new_data, 0,
			    layout_count);
	tcase_add_loop_test(binding, one_instance_is_moved_as_often_as_it_is_bound, 0,
			    layout_count);
	tcase_add_test(binding, a_failed_rebind_keeps_the_old_binding);
	tcase_add_loop_test(binding, a_type_released_by_its_owner_lives_in_its_convertors,
			    0, layout_count);
	tcase_add_test(binding, rebind_releases_the_old_type);
	tcase_add_test(binding, destroy_accepts_null);
	return fixture_run(suite);
}
