/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start, test and wait: one operation in flight, one completion, one callback; every other
 * call refused meanwhile.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/seen.h"

static int in_flight(const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_convertor_query(convertor, &attr));
	return attr.in_flight;
}

/* Tests until finished; answers the final status. */
static int test_until_done(struct dtconv_convertor *convertor, size_t *moved)
{
	int status;

	do
		status = dtconv_convertor_test(convertor, moved);
	while (status == DTCONV_INPROGRESS);
	return status;
}

typedef int (*finish_fn)(struct dtconv_convertor *convertor, size_t *moved);

/* The stream in started fragments of seven bytes, each ended by `finish`. */
static void move_started(struct stage *stage, struct dtconv_convertor *convertor,
			 unsigned char *packed, finish_fn finish)
{
	for (size_t at = 0; at < stage->bytes;) {
		size_t bytes = stage->bytes - at < 7 ? stage->bytes - at : 7;
		struct seen seen = { .calls = 0 };
		size_t moved = SIZE_MAX;

		fixture_ok(dtconv_convertor_start(convertor, packed + at, bytes, see,
						  &seen));
		ck_assert_int_eq(seen.calls, 0);
		ck_assert_int_eq(in_flight(convertor), 1);
		ck_assert_uint_eq(fixture_position(convertor), at);
		ck_assert_int_eq(finish(convertor, &moved), 0);
		ck_assert_uint_eq(moved, bytes);
		ck_assert_int_eq(seen.calls, 1);
		ck_assert_int_eq(seen.status, 0);
		ck_assert_uint_eq(seen.moved, bytes);
		ck_assert_int_eq(in_flight(convertor), 0);
		at += bytes;
		ck_assert_uint_eq(fixture_position(convertor), at);
	}
}

static void both_ways(const char *text, finish_fn finish)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, text, 3);
	unsigned char *packed = malloc(stage.bytes + 1);
	ck_assert_ptr_nonnull(packed);
	packs = fixture_pack(&stage);
	move_started(&stage, packs, packed, finish);
	ck_assert(!memcmp(packed, stage.stream, stage.bytes));
	unpacks = fixture_unpack(&stage);
	move_started(&stage, unpacks, packed, finish);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	free(packed);
	fixture_close(&stage);
}

START_TEST(started_fragments_end_by_wait)
{
	both_ways(layouts[_i].text, dtconv_convertor_wait);
}
END_TEST

START_TEST(started_fragments_end_by_test)
{
	both_ways(layouts[_i].text, test_until_done);
}
END_TEST

/* A convertor of a small vector and a packed fragment of its first eight bytes. */
struct scene {
	struct stage stage;
	struct dtconv_convertor *convertor;
	unsigned char packed[64];
	struct seen seen;
};

static void open_scene(struct scene *scene, bool packs)
{
	*scene = (struct scene){ .convertor = NULL };
	fixture_open(&scene->stage, "vector(4, 1, 2, int)", 1);
	memcpy(scene->packed, scene->stage.stream, scene->stage.bytes);
	scene->convertor = packs ? fixture_pack(&scene->stage)
				 : fixture_unpack(&scene->stage);
}

static void close_scene(struct scene *scene)
{
	dtconv_convertor_destroy(scene->convertor);
	fixture_close(&scene->stage);
}

START_TEST(every_call_is_refused_while_in_flight)
{
	struct dtconv_convertor *clone = NULL;
	struct scene scene;
	struct iovec iov;
	size_t iov_count = 99, moved = 99;

	open_scene(&scene, _i);
	struct dtconv_convertor *it = scene.convertor;
	fixture_ok(dtconv_convertor_start(it, scene.packed, 8, see, &scene.seen));
	fixture_status(dtconv_convertor_seek(it, 0), DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_clone(it, &clone), DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_iov(it, &iov, 1, 1, &iov_count, &moved),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_pack(it, scene.packed, 1, &moved),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_unpack(it, scene.packed, 1, &moved),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_start(it, scene.packed, 1, NULL, NULL),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_rebind_pack(it, scene.stage.type, 1,
						    scene.stage.source),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_rebind_unpack(it, scene.stage.type, 1,
						      scene.stage.target),
		       DTCONV_ERR_STATE);
	ck_assert_ptr_null(clone);
	ck_assert_uint_eq(iov_count, 99);
	ck_assert_int_eq(scene.seen.calls, 0);
	fixture_ok(dtconv_convertor_wait(it, &moved));
	ck_assert_uint_eq(moved, 8);
	ck_assert_int_eq(scene.seen.calls, 1);
	/* And accepted again. */
	fixture_ok(dtconv_convertor_seek(it, 3));
	close_scene(&scene);
}
END_TEST

/* The position is still 0 then, as it is before any call. */
START_TEST(an_empty_operation_is_in_flight_too)
{
	struct scene scene;
	size_t moved = 99;

	open_scene(&scene, true);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 0, NULL, NULL));
	fixture_status(dtconv_convertor_pack(scene.convertor, scene.packed, 64, &moved),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_rebind_pack(scene.convertor, scene.stage.type, 1,
						    scene.stage.source),
		       DTCONV_ERR_STATE);
	fixture_ok(dtconv_convertor_wait(scene.convertor, &moved));
	ck_assert_uint_eq(moved, 0);
	close_scene(&scene);
}
END_TEST

START_TEST(completion_is_reported_exactly_once)
{
	struct scene scene;
	size_t moved = 99;

	open_scene(&scene, _i);
	fixture_status(dtconv_convertor_test(scene.convertor, &moved), DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_wait(scene.convertor, &moved), DTCONV_ERR_STATE);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 8, see,
					  &scene.seen));
	ck_assert_int_eq(test_until_done(scene.convertor, &moved), 0);
	fixture_status(dtconv_convertor_test(scene.convertor, &moved), DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_wait(scene.convertor, &moved), DTCONV_ERR_STATE);
	ck_assert_int_eq(scene.seen.calls, 1);
	close_scene(&scene);
}
END_TEST

START_TEST(callback_and_moved_may_be_null)
{
	struct scene scene;

	open_scene(&scene, _i);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 8, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(scene.convertor, NULL));
	ck_assert_uint_eq(fixture_position(scene.convertor), 8);
	fixture_ok(
		dtconv_convertor_start(scene.convertor, scene.packed + 8, 8, NULL, NULL));
	ck_assert_int_eq(test_until_done(scene.convertor, NULL), 0);
	ck_assert_uint_eq(fixture_position(scene.convertor), 16);
	close_scene(&scene);
}
END_TEST

START_TEST(destroy_in_flight_waits_and_runs_no_callback)
{
	struct scene scene;

	open_scene(&scene, _i);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 16, see,
					  &scene.seen));
	dtconv_convertor_destroy(scene.convertor);
	ck_assert_int_eq(scene.seen.calls, 0);
	if (_i) {
		ck_assert_mem_eq(scene.packed, scene.stage.stream, 16);
	} else {
		stage_deliver(&scene.stage, 0, 16);
		fixture_arrived(&scene.stage);
	}
	fixture_close(&scene.stage);
}
END_TEST

START_TEST(a_type_may_be_released_in_flight)
{
	struct scene scene;

	open_scene(&scene, _i);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 16, see,
					  &scene.seen));
	dtconv_type_unref(scene.stage.type);
	fixture_ok(dtconv_convertor_wait(scene.convertor, NULL));
	dtconv_convertor_destroy(scene.convertor);
	stage_close(&scene.stage);
}
END_TEST

START_TEST(a_started_pack_stops_at_the_end)
{
	struct scene scene;
	size_t moved = 0;

	open_scene(&scene, true);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 40, see,
					  &scene.seen));
	fixture_ok(dtconv_convertor_wait(scene.convertor, &moved));
	ck_assert_uint_eq(moved, 16);
	ck_assert_uint_eq(scene.packed[16], 0);
	close_scene(&scene);
}
END_TEST

/* With room for the whole stream, from its middle on. */
START_TEST(a_started_pack_moves_the_rest)
{
	struct scene scene;
	size_t moved = 0;

	open_scene(&scene, true);
	memset(scene.packed, 0, sizeof(scene.packed));
	fixture_seek(scene.convertor, 4);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 40, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(scene.convertor, &moved));
	ck_assert_uint_eq(moved, 12);
	ck_assert(!memcmp(scene.packed, scene.stage.stream + 4, 12));
	ck_assert_uint_eq(scene.packed[12], 0);
	close_scene(&scene);
}
END_TEST

START_TEST(a_started_unpack_of_too_much_is_truncated)
{
	struct scene scene;
	size_t moved = 0;

	open_scene(&scene, false);
	fixture_ok(dtconv_convertor_start(scene.convertor, scene.packed, 17, see,
					  &scene.seen));
	ck_assert_int_eq(_i ? test_until_done(scene.convertor, &moved)
			    : dtconv_convertor_wait(scene.convertor, &moved),
			 DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 16);
	ck_assert_int_eq(scene.seen.calls, 1);
	ck_assert_int_eq(scene.seen.status, DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(scene.seen.moved, 16);
	ck_assert_uint_eq(fixture_position(scene.convertor), 16);
	stage_deliver(&scene.stage, 0, 16);
	fixture_arrived(&scene.stage);
	close_scene(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request");
	TCase *moves = fixture_case(suite, "moves", 60);
	TCase *states = fixture_case(suite, "states", 60);

	tcase_add_loop_test(moves, started_fragments_end_by_wait, 0, layout_count);
	tcase_add_loop_test(moves, started_fragments_end_by_test, 0, layout_count);
	tcase_add_loop_test(states, every_call_is_refused_while_in_flight, 0, 2);
	tcase_add_loop_test(states, completion_is_reported_exactly_once, 0, 2);
	tcase_add_loop_test(states, callback_and_moved_may_be_null, 0, 2);
	tcase_add_loop_test(states, destroy_in_flight_waits_and_runs_no_callback, 0, 2);
	tcase_add_loop_test(states, a_type_may_be_released_in_flight, 0, 2);
	tcase_add_test(states, an_empty_operation_is_in_flight_too);
	tcase_add_test(states, a_started_pack_stops_at_the_end);
	tcase_add_test(states, a_started_pack_moves_the_rest);
	tcase_add_loop_test(states, a_started_unpack_of_too_much_is_truncated, 0, 2);
	return fixture_run(suite);
}
