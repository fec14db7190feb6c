/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many started convertors tested in one call: any, some and all, with convertors that are NULL, idle or
 * fail among them. A fake backend decides when a job ends.
 */
#include "config.h"

#include <string.h>

#include "convertor/convertor.h"
#include "support/fixture.h"

#define MANY 5

/* A job of the fake backend: what its next test returns. */
static int answers[MANY];

static int fake_test(struct dtc_event *event)
{
	return answers[(size_t)event->value];
}

static const struct dtc_backend_ops fake = { .name = "fake", .test = fake_test };

static struct dtconv_convertor *convertors[MANY];
static struct dtconv_type *type;
static int data[6] = { 1, 2, 3, 4, 5, 6 };
static unsigned char packed[MANY][12];
static int calls[MANY], call_status[MANY];

static void done(void *arg, int status, size_t moved)
{
	size_t i = (size_t)((int *)arg - calls);

	(void)moved;
	calls[i]++;
	call_status[i] = status;
}

/* Convertor 1 is idle and 3 is NULL; the others are in flight at the fake backend. */
static void setup(void)
{
	type = fixture_type("vector(3, 1, 2, int)");
	memset(calls, 0, sizeof(calls));
	for (size_t i = 0; i < MANY; i++) {
		answers[i] = DTCONV_INPROGRESS;
		convertors[i] = NULL;
		if (i == 3)
			continue;
		fixture_ok(dtconv_convertor_create_pack(type, 1, data, &convertors[i]));
		if (i == 1)
			continue;
		fixture_ok(dtconv_convertor_start(convertors[i], packed[i], 12, done,
						  &calls[i]));
		convertors[i]->request.flight.event =
			(struct dtc_event){ .backend = &fake, .value = i };
		convertors[i]->request.flight.status = DTCONV_INPROGRESS;
		convertors[i]->flights = 1;
	}
}

static void teardown(void)
{
	for (size_t i = 0; i < MANY; i++) {
		answers[i] = 0;
		dtconv_convertor_destroy(convertors[i]);
	}
	dtconv_type_unref(type);
}

START_TEST(any_reports_one_at_a_time)
{
	size_t index = 77, moved = 77;

	ck_assert_int_eq(dtconv_convertor_test_any(convertors, MANY, &index, &moved),
			 DTCONV_INPROGRESS);
	ck_assert_uint_eq(index, DTCONV_UNDEFINED);
	answers[2] = answers[4] = 0;
	fixture_ok(dtconv_convertor_test_any(convertors, MANY, &index, &moved));
	ck_assert_uint_eq(index, 2);
	ck_assert_uint_eq(moved, 12);
	ck_assert(calls[2] == 1 && calls[4] == 0);
	fixture_ok(dtconv_convertor_test_any(convertors, MANY, &index, NULL));
	ck_assert_uint_eq(index, 4);
	answers[0] = DTCONV_ERR_BACKEND;
	ck_assert_int_eq(dtconv_convertor_test_any(convertors, MANY, &index, &moved),
			 DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(index, 0);
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_convertor_test_any(convertors, MANY, &index, &moved));
	ck_assert_uint_eq(index, DTCONV_UNDEFINED);
	ck_assert(calls[0] == 1 && calls[1] == 0 && calls[2] == 1 && calls[4] == 1);
	fixture_ok(dtconv_convertor_test_any(NULL, 0, &index, &moved));
}
END_TEST

START_TEST(some_report_each_once)
{
	size_t indices[MANY], moved[MANY], completed = 77;
	int statuses[MANY];

	memset(statuses, 0x11, sizeof(statuses));
	ck_assert_int_eq(dtconv_convertor_test_some(convertors, MANY, indices, statuses,
						    moved, &completed),
			 DTCONV_INPROGRESS);
	ck_assert_uint_eq(completed, 0);
	ck_assert_int_eq(statuses[0], DTCONV_INPROGRESS);
	ck_assert_int_eq(statuses[1], 0x11111111);
	ck_assert_int_eq(statuses[3], 0x11111111);
	answers[0] = DTCONV_ERR_BACKEND;
	answers[4] = 0;
	ck_assert_int_eq(dtconv_convertor_test_some(convertors, MANY, indices, statuses,
						    moved, &completed),
			 DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(completed, 2);
	ck_assert(indices[0] == 0 && indices[1] == 4);
	ck_assert(statuses[0] == DTCONV_ERR_BACKEND && statuses[4] == 0 &&
		  statuses[2] == DTCONV_INPROGRESS);
	ck_assert(moved[0] == 0 && moved[4] == 12);
	ck_assert(call_status[0] == DTCONV_ERR_BACKEND && call_status[4] == 0);
	answers[2] = 0;
	fixture_ok(dtconv_convertor_test_some(convertors, MANY, indices, NULL, NULL,
					      &completed));
	ck_assert(completed == 1 && indices[0] == 2);
	fixture_ok(dtconv_convertor_test_some(convertors, MANY, indices, NULL, NULL,
					      &completed));
	ck_assert_uint_eq(completed, 0);
	ck_assert(calls[0] == 1 && calls[2] == 1 && calls[4] == 1);
}
END_TEST

START_TEST(all_are_reported_when_none_is_left)
{
	int statuses[MANY] = { 9, 9, 9, 9, 9 };
	size_t moved[MANY] = { 0 };

	answers[2] = 0;
	ck_assert_int_eq(dtconv_convertor_test_all(convertors, MANY, statuses, moved),
			 DTCONV_INPROGRESS);
	ck_assert(statuses[0] == DTCONV_INPROGRESS && statuses[2] == 0);
	answers[0] = 0;
	answers[2] = DTCONV_ERR_BACKEND; /* nobody asks again */
	ck_assert_int_eq(dtconv_convertor_test_all(convertors, MANY, statuses, moved),
			 DTCONV_INPROGRESS);
	answers[4] = 0;
	fixture_ok(dtconv_convertor_test_all(convertors, MANY, statuses, moved));
	ck_assert(statuses[0] == 0 && statuses[1] == 9 && statuses[2] == 0 &&
		  statuses[3] == 9 && statuses[4] == 0);
	ck_assert(moved[0] == 12 && moved[1] == 0 && moved[2] == 12 && moved[4] == 12);
	fixture_ok(dtconv_convertor_test_all(convertors, MANY, NULL, NULL));
	fixture_ok(dtconv_convertor_test_all(NULL, 0, NULL, NULL));
}
END_TEST

START_TEST(a_failure_is_returned_while_others_are_left)
{
	int statuses[MANY];

	answers[2] = DTCONV_ERR_BACKEND;
	ck_assert_int_eq(dtconv_convertor_test_all(convertors, MANY, statuses, NULL),
			 DTCONV_ERR_BACKEND);
	ck_assert(statuses[2] == DTCONV_ERR_BACKEND && statuses[4] == DTCONV_INPROGRESS);
	ck_assert_int_eq(dtconv_convertor_test_all(convertors, MANY, statuses, NULL),
			 DTCONV_INPROGRESS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("many");
	TCase *many = fixture_case(suite, "many", 60);

	tcase_add_checked_fixture(many, setup, teardown);
	tcase_add_test(many, any_reports_one_at_a_time);
	tcase_add_test(many, some_report_each_once);
	tcase_add_test(many, all_are_reported_when_none_is_left);
	tcase_add_test(many, a_failure_is_returned_while_others_are_left);
	return fixture_run(suite);
}
