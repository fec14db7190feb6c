/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copiers in host memory: started as often as wanted, one copy in flight, one completion, one callback; what they
 * refuse, and a target that has less room.
 */
#include "config.h"

#include <string.h>

#include "support/fixture.h"
#include "support/seen.h"

static const char *const layouts[] = {
	"contiguous(300, double)",
	"vector(100, 3, 5, double)",
	"vector(300, 1, 2, double)",
	"contiguous(100, resized(struct([1,2], [0,16], [double,double]), 0, 40))",
};

#define LAYOUTS (int)(sizeof(layouts) / sizeof(layouts[0]))

static int test_until_done(struct dtconv_copier *copier, size_t *moved)
{
	int status;

	do
		status = dtconv_copier_test(copier, moved);
	while (status == DTCONV_INPROGRESS);
	return status;
}

static struct dtconv_copier *copier_of(struct stage *from, struct stage *to)
{
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(from->type, from->count, from->source, to->type,
					to->count, to->target, NULL, &copier));
	return copier;
}

START_TEST(a_copier_copies_as_often_as_it_is_started)
{
	struct stage from, to;
	size_t moved;

	fixture_open(&from, layouts[_i / LAYOUTS], 2);
	fixture_open(&to, layouts[_i % LAYOUTS], 2);
	struct dtconv_copier *copier = copier_of(&from, &to);
	for (int round = 0; round < 4; round++) {
		struct seen seen = { .calls = 0 };

		stage_blank(&to);
		fixture_ok(dtconv_copier_start(copier, see, &seen));
		ck_assert_int_eq(seen.calls, 0);
		fixture_ok(round % 2 ? test_until_done(copier, &moved)
				     : dtconv_copier_wait(copier, &moved));
		ck_assert_int_eq(seen.calls, 1);
		ck_assert_int_eq(seen.status, 0);
		ck_assert_uint_eq(seen.moved, from.bytes);
		ck_assert_uint_eq(moved, from.bytes);
		memcpy(to.stream, from.stream, from.bytes);
		stage_deliver(&to, 0, from.bytes);
		fixture_arrived(&to);
	}
	dtconv_copier_destroy(copier);
	fixture_close(&from);
	fixture_close(&to);
}
END_TEST

/* A type that the application has released lives as long as the copier. */
START_TEST(a_copier_holds_its_types)
{
	double source[6] = { 1, 2, 3, 4, 5, 6 }, target[6] = { 0 };
	struct dtconv_type *from = fixture_type("vector(3, 1, 2, double)"),
			   *to = fixture_type("vector(1, 3, 3, double)");
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(from, 1, source, to, 1, target, NULL, &copier));
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	dtconv_copier_destroy(copier);
	ck_assert(target[0] == 1 && target[1] == 3 && target[2] == 5);
}
END_TEST

START_TEST(a_target_with_less_room_is_filled)
{
	double source[6] = { 1, 2, 3, 4, 5, 6 }, target[6] = { 0 };
	struct dtconv_type *from = fixture_type("vector(3, 1, 2, double)"),
			   *to = fixture_type("vector(2, 1, 3, double)");
	struct dtconv_copier *copier;
	struct seen seen = { .calls = 0 };
	size_t moved;

	fixture_ok(dtconv_copier_create(from, 1, source, to, 1, target, NULL, &copier));
	fixture_ok(dtconv_copier_start(copier, see, &seen));
	fixture_status(dtconv_copier_wait(copier, &moved), DTCONV_ERR_TRUNCATE);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_copier_wait: the source packs to 24 bytes, but the "
			 "target has room for 16");
	ck_assert_uint_eq(moved, 16);
	ck_assert_int_eq(seen.status, DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(seen.moved, 16);
	ck_assert(target[0] == 1 && target[3] == 3 && target[1] == 0);
	dtconv_copier_destroy(copier);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

START_TEST(calls_out_of_turn_are_refused)
{
	double source[2] = { 1, 2 }, target[2];
	struct dtconv_type *type = fixture_type("double");
	struct dtconv_copier *copier;
	size_t moved = 7;

	fixture_ok(dtconv_copier_create(type, 2, source, type, 2, target, NULL, &copier));
	fixture_status(dtconv_copier_test(copier, &moved), DTCONV_ERR_STATE);
	fixture_status(dtconv_copier_wait(copier, &moved), DTCONV_ERR_STATE);
	ck_assert_str_eq(fixture_error(), "dtconv_copier_wait: no copy was started");
	ck_assert_uint_eq(moved, 7);
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_status(dtconv_copier_start(copier, NULL, NULL), DTCONV_ERR_STATE);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_copier_start: a copy is in flight; test or wait for it "
			 "first");
	fixture_ok(dtconv_copier_wait(copier, &moved));
	ck_assert_uint_eq(moved, 16);
	dtconv_copier_destroy(copier);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(wrong_types_and_options_are_refused)
{
	const struct dtconv_copier_params none = { .struct_size = 0 };
	const struct dtconv_copier_params flags = { .struct_size = sizeof(flags),
						    .flags = 6 };
	const struct dtconv_copier_params stream = { .struct_size = sizeof(stream),
						     .stream = (void *)&none };
	double data[4] = { 0 }, target[4];
	struct dtconv_type *type = fixture_type("double"), *other = fixture_type("int");
	struct dtconv_type *uncommitted;
	struct dtconv_copier *copier = NULL;

#define REFUSED(status, ...) \
	fixture_status(dtconv_copier_create(__VA_ARGS__, &copier), status)
	REFUSED(DTCONV_ERR_INVAL, type, 1, data, type, 1, target, &none);
	REFUSED(DTCONV_ERR_INVAL, type, 1, data, type, 1, target, &flags);
	REFUSED(DTCONV_ERR_INVAL, type, 1, data, type, 1, target, &stream);
	REFUSED(DTCONV_ERR_SIGNATURE, type, 1, data, other, 1, target, NULL);
	REFUSED(DTCONV_ERR_OVERFLOW, type, SIZE_MAX / 4, data, type, 1, target, NULL);
	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	REFUSED(DTCONV_ERR_STATE, uncommitted, 1, data, type, 1, target, NULL);
	REFUSED(DTCONV_ERR_STATE, type, 1, data, uncommitted, 1, target, NULL);
	ck_assert_ptr_null(copier);
	dtconv_type_unref(uncommitted);
	dtconv_type_unref(type);
	dtconv_type_unref(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("copier");
	TCase *copiers = fixture_case(suite, "copiers", 60);

	tcase_add_loop_test(copiers, a_copier_copies_as_often_as_it_is_started, 0,
			    LAYOUTS * LAYOUTS);
	tcase_add_test(copiers, a_copier_holds_its_types);
	tcase_add_test(copiers, a_target_with_less_room_is_filled);
	tcase_add_test(copiers, calls_out_of_turn_are_refused);
	tcase_add_test(copiers, wrong_types_and_options_are_refused);
	return fixture_run(suite);
}
