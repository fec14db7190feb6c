/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench's judgement: engines that err in each way that matters are caught, in words.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench/harness/arena.h"
#include "bench/harness/engine.h"
#include "bench/harness/rounds.h"
#include "bench/harness/verify.h"
#include "bench/layouts/layout.h"
#include "support/t.h"

static struct arena arena;
static struct bench_case row;
static struct verify judge;

/* What the bad engine does after dtconv has done the work. */
enum fault {
	FAULT_NONE,
	FAULT_PACK_WRONG_BYTE,
	FAULT_PACK_TOO_LONG,
	FAULT_UNPACK_WRONG_BYTE,
	FAULT_UNPACK_GAP,
	FAULT_UNPACK_BELOW,
	FAULT_UNPACK_BEHIND,
	FAULT_UNPACK_STREAM,
	FAULT_NO_WORK
};

static enum fault fault;

static void spoil(enum bench_op op)
{
	unsigned char *user = arena_user(&arena);
	unsigned char *packed = arena_packed(&arena);

	if (op == BENCH_PACK && fault == FAULT_PACK_WRONG_BYTE)
		packed[row.bytes - 1] ^= 1;
	if (op == BENCH_PACK && fault == FAULT_PACK_TOO_LONG)
		packed[row.bytes] ^= 1;
	if (op == BENCH_UNPACK && fault == FAULT_UNPACK_WRONG_BYTE)
		user[16] ^= 1;
	if (op == BENCH_UNPACK && fault == FAULT_UNPACK_GAP)
		user[8] ^= 1;
	if (op == BENCH_UNPACK && fault == FAULT_UNPACK_BELOW)
		user[-1] ^= 1;
	if (op == BENCH_UNPACK && fault == FAULT_UNPACK_BEHIND)
		user[row.arena_bytes] ^= 1;
	if (op == BENCH_UNPACK && fault == FAULT_UNPACK_STREAM)
		packed[0] ^= 1;
}

static int bad_prepare(struct engine *e, const struct bench_case *c,
		       const struct arena *a)
{
	(void)e, (void)c, (void)a;
	return 0;
}

static int bad_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		   double *ns)
{
	struct engine good;
	int status = 0;

	engine_dtconv(&good, "dtconv");
	engine_prepare(&good, e->c, e->arena);
	if (fault != FAULT_NO_WORK)
		status = engine_run(&good, op, warm, calls, ns);
	spoil(op);
	*ns = 1e4 * (double)calls;
	return status;
}

static struct engine bad_engine(void)
{
	static const struct engine_ops ops = { .prepare = bad_prepare, .run = bad_run };
	struct engine e = { .name = "bad", .ops = &ops };

	engine_prepare(&e, &row, &arena);
	return e;
}

static void set_up(void)
{
	char why[256];

	t_setup();
	ck_assert_int_eq(bench_case_parse(t_context, "vector(100, 1, 2, double)", 1, &row,
					  why, sizeof(why)),
			 0);
	ck_assert_int_eq(arena_create(&arena, arena_bytes_for(&row)), 0);
	arena_place(&arena, &row);
	t_ok(verify_create(&judge, &arena, &row, 3));
}

static void tear_down(void)
{
	verify_destroy(&judge);
	arena_destroy(&arena);
	bench_case_release(&row);
	t_teardown();
}

static void expect(enum fault planted, enum bench_op op, const char *words)
{
	struct engine e = bad_engine();

	fault = planted;
	ck_assert_msg(verify_engine(&judge, &e, op) == -1, "not caught: %s", words);
	ck_assert_msg(strstr(e.problem, words), "'%s' instead of '%s'", e.problem, words);
	/* and the next engine is not blamed for it */
	fault = FAULT_NONE;
	e.problem[0] = '\0';
	ck_assert_msg(!verify_engine(&judge, &e, BENCH_PACK), "pack after: %s",
		      e.problem);
	ck_assert_msg(!verify_engine(&judge, &e, BENCH_UNPACK), "unpack after: %s",
		      e.problem);
}

START_TEST(a_good_engine_is_not_blamed)
{
	struct engine e = bad_engine();

	fault = FAULT_NONE;
	ck_assert_int_eq(verify_engine(&judge, &e, BENCH_PACK), 0);
	ck_assert_int_eq(verify_engine(&judge, &e, BENCH_UNPACK), 0);
}
END_TEST

START_TEST(wrong_packed_bytes_are_caught)
{
	expect(FAULT_PACK_WRONG_BYTE, BENCH_PACK, "wrong byte at 799 of 800");
	expect(FAULT_PACK_TOO_LONG, BENCH_PACK, "wrote 0 bytes past the end");
	expect(FAULT_NO_WORK, BENCH_PACK, "wrong byte at 0");
}
END_TEST

START_TEST(wrong_unpacked_bytes_are_caught)
{
	expect(FAULT_UNPACK_WRONG_BYTE, BENCH_UNPACK,
	       "wrong byte unpacked from 8 of 800");
	expect(FAULT_NO_WORK, BENCH_UNPACK, "wrong byte unpacked from 0");
}
END_TEST

START_TEST(stores_outside_the_typemap_are_caught)
{
	expect(FAULT_UNPACK_GAP, BENCH_UNPACK, "gap byte at displacement 8");
	expect(FAULT_UNPACK_BELOW, BENCH_UNPACK, "gap byte at displacement -1");
	expect(FAULT_UNPACK_BEHIND, BENCH_UNPACK, "gap byte at displacement 1592");
	expect(FAULT_UNPACK_STREAM, BENCH_UNPACK, "changed byte 0 of the stream");
}
END_TEST

START_TEST(overlapping_elements_are_allowed)
{
	struct bench_case overlapping;
	struct engine e;
	struct verify v;
	char why[256];

	ck_assert_int_eq(bench_case_parse(t_context, "vector(3, 2, 1, int)", 1,
					  &overlapping, why, sizeof(why)),
			 0);
	arena_place(&arena, &overlapping);
	t_ok(verify_create(&v, &arena, &overlapping, 3));
	ck_assert(v.overlapping);
	engine_dtconv(&e, "dtconv");
	engine_prepare(&e, &overlapping, &arena);
	ck_assert_msg(!verify_engine(&v, &e, BENCH_PACK), "%s", e.problem);
	ck_assert_msg(!verify_engine(&v, &e, BENCH_UNPACK), "%s", e.problem);
	verify_destroy(&v);
	bench_case_release(&overlapping);
	arena_place(&arena, &row);
}
END_TEST

START_TEST(patterns_show_any_changed_byte)
{
	static uint64_t memory[3000];
	unsigned char *bytes = (unsigned char *)memory;
	const size_t length = sizeof(memory) - 3;

	pattern_fill(memory, length, 9);
	ck_assert_int_eq(pattern_check(memory, length, 9), -1);
	ck_assert_int_ge(pattern_check(memory, length, 10), 0);
	for (size_t i = 0; i < length; i += 997) {
		bytes[i] ^= 0x10;
		ck_assert_int_eq(pattern_check(memory, length, 9), (ptrdiff_t)i);
		bytes[i] ^= 0x10;
	}
	bytes[length - 1] ^= 0x80;
	ck_assert_int_eq(pattern_check(memory, length, 9), (ptrdiff_t)length - 1);
}
END_TEST

START_TEST(medians_and_deciles)
{
	double values[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5, 10, 0 };
	struct timing t = { 0 };

	timing_sum_up(&t, values, 11);
	ck_assert(t.ns == 5 && t.ns_p10 == 1 && t.ns_p90 == 9 && t.rounds == 11);
	values[0] = 42;
	timing_sum_up(&t, values, 1);
	ck_assert(t.ns == 42 && t.ns_p10 == 42 && t.ns_p90 == 42);
}
END_TEST

/* An engine that fails in the middle is left out; the others go on. */
static int failing_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		       double *ns)
{
	(void)op, (void)warm;
	*ns = (double)calls * 1e4;
	if (++*(int *)e->state < 6)
		return 0;
	engine_problem(e, "had enough");
	return -1;
}

START_TEST(an_engine_that_fails_is_left_out)
{
	static const struct engine_ops ops = { .prepare = bad_prepare,
					       .run = failing_run };
	int runs = 0;
	struct engine good = bad_engine();
	struct engine failing = { .name = "failing", .ops = &ops, .state = &runs };
	struct engine *both[] = { &good, &failing };
	struct timing timings[2];

	fault = FAULT_NONE;
	rounds_time(both, 2, BENCH_PACK, 1e7, 5, timings);
	ck_assert(timings[0].ns > 0);
	ck_assert(timings[1].ns == 0);
	ck_assert_str_eq(failing.problem, "had enough");
	ck_assert_int_eq(runs, 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench verify");
	TCase *tcase = tcase_create("verify");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_good_engine_is_not_blamed);
	tcase_add_test(tcase, wrong_packed_bytes_are_caught);
	tcase_add_test(tcase, wrong_unpacked_bytes_are_caught);
	tcase_add_test(tcase, stores_outside_the_typemap_are_caught);
	tcase_add_test(tcase, overlapping_elements_are_allowed);
	tcase_add_test(tcase, patterns_show_any_changed_byte);
	tcase_add_test(tcase, medians_and_deciles);
	tcase_add_test(tcase, an_engine_that_fails_is_left_out);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
