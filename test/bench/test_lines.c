/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines that only touch cache lines: they touch each line with data once and no other, in
 * each of their ways, and engines that touch fewer or more are caught.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/arena.h"
#include "bench/harness/lines.h"
#include "bench/harness/oracle.h"
#include "bench/harness/verify.h"
#include "bench/layouts/layout.h"
#include "support/t.h"

/* ---- the lines of a layout ------------------------------------------------------------ */

static struct line_masks masks_of(const char *text, size_t count, struct bench_case *c,
				  struct arena *arena)
{
	struct line_masks masks;
	struct oracle *oracle = NULL;
	char why[256];

	ck_assert_int_eq(bench_case_parse(t_context, text, count, c, why, sizeof(why)),
			 0);
	ck_assert_int_eq(arena_create(arena, arena_bytes_for(c)), 0);
	arena_place(arena, c);
	t_ok(oracle_create(c->type, c->count, &oracle));
	t_ok(line_masks_create(oracle, arena, &masks));
	oracle_destroy(oracle);
	return masks;
}

/* The masks from displacement 0 on, and nothing anywhere else. */
static void expect_masks(const char *text, size_t count, ptrdiff_t first,
			 const uint64_t *expected, size_t lines)
{
	struct bench_case c;
	struct arena arena;
	struct line_masks masks = masks_of(text, count, &c, &arena);
	ptrdiff_t zero = (ptrdiff_t)((arena.user - arena.region) / HAND_LINE);

	for (size_t i = 0; i < masks.count; i++) {
		ptrdiff_t k = (ptrdiff_t)i - zero - first;
		uint64_t mask = k >= 0 && k < (ptrdiff_t)lines ? expected[k] : 0;

		ck_assert_msg(masks.masks[i] == mask,
			      "%s: line %td has mask %llx, not %llx", text, k,
			      (unsigned long long)masks.masks[i],
			      (unsigned long long)mask);
	}
	line_masks_free(&masks);
	arena_destroy(&arena);
	bench_case_release(&c);
}

START_TEST(masks_have_the_bytes_of_the_typemap)
{
	static const uint64_t doubles[] = { 0x00ff00ff00ff00ff, 0x00ff00ff00ff00ff };
	static const uint64_t across[] = { UINT64_C(0xf) << 60, UINT64_MAX, 0xf };
	static const uint64_t below[] = { UINT64_C(0xff) << 56, 0xff };
	static const uint64_t apart[] = { 0xf, 0, 0xf, 0, 0xf };
	static const uint64_t twice[] = { 0xfff };

	expect_masks("vector(8, 1, 2, double)", 1, 0, doubles, 2);
	expect_masks("hindexed([72], [60], byte)", 1, 0, across, 3);
	expect_masks("hindexed([1, 1], [-8, 0], double)", 1, -1, below, 2);
	expect_masks("resized(int, 0, 128)", 3, 0, apart, 5);
	/* bytes of elements that overlap count once */
	expect_masks("vector(2, 2, 1, int)", 1, 0, twice, 1);
}
END_TEST

/* ---- the list of groups --------------------------------------------------------------- */

/* The lines of a list have to be those of the masks, each with its kind. */
static void expect_lines(const struct line_masks *m, const struct hand_line_group *groups,
			 size_t count)
{
	size_t line = 0, seen = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = groups[i].repeats; k; k--) {
			line += groups[i].skip;
			for (size_t j = groups[i].count; j; j--, line++, seen++) {
				ck_assert_uint_lt(line, m->count);
				ck_assert(m->masks[line] != 0);
				ck_assert(groups[i].whole ==
					  (m->masks[line] == UINT64_MAX));
			}
		}
	}
	for (size_t i = 0; i < m->count; i++)
		all += m->masks[i] != 0;
	ck_assert_uint_eq(seen, all);
}

#define LINES 300000

START_TEST(groups_have_all_lines_and_no_other)
{
	uint64_t *list = calloc(LINES, sizeof(*list));
	const struct line_masks masks = { list, LINES };
	struct hand_line_group *groups = NULL;
	uint64_t state = 11;
	size_t count, at = 0;

	while (at < LINES) {
		size_t skip = bench_random_below(&state, 4)
				      ? bench_random_below(&state, 3)
				      : bench_random_below(&state, 90000);
		size_t lines = 1 + bench_random_below(&state, 200);

		for (at += skip; lines && at < LINES; lines--)
			list[at++] = bench_random_below(&state, 9) ? UINT64_MAX : 1;
	}
	t_ok(line_groups_create(&masks, &groups, &count));
	expect_lines(&masks, groups, count);
	free(groups);
	free(list);
}
END_TEST

/* A list must be short, or reading it would be traffic that engines do not have. */
START_TEST(regular_layouts_have_short_lists)
{
	static const struct {
		const char *text;
		size_t most;
	} cases[] = {
		{ "vector(1048576, 1, 2, double)", 70 },
		{ "vector(16384, 256, 512, byte)", 140 },
		{ "contiguous(8388608, double)", 140 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bench_case c;
		struct arena arena;
		struct line_masks masks = masks_of(cases[i].text, 1, &c, &arena);
		struct hand_line_group *groups = NULL;
		size_t count;

		t_ok(line_groups_create(&masks, &groups, &count));
		expect_lines(&masks, groups, count);
		ck_assert_msg(count <= cases[i].most, "%s: %zu groups", cases[i].text,
			      count);
		free(groups);
		line_masks_free(&masks);
		arena_destroy(&arena);
		bench_case_release(&c);
	}
}
END_TEST

/* ---- the engines ---------------------------------------------------------------------- */

static const char *const layouts[] = {
	"vector(100, 1, 2, double)",
	"vector(500, 256, 512, byte)",
	"vector(300, 264, 528, byte)",
	"contiguous(100000, double)",
	"hindexed([1, 3, 700], [-90, 0, 5], byte)",
	"hindexed([8, 8], [0, 9000000], byte)",
	"byte",
	"contiguous(63, byte)",
};

/* What a wrong engine does before or after the work. */
enum fault {
	FAULT_NONE,
	FAULT_LEAVES_OUT,   /* the last group */
	FAULT_ONE_MORE,     /* line */
	FAULT_WHOLE,        /* stores all of a line with gaps */
	FAULT_SHORT_STREAM, /* does not fill packed memory */
	FAULT_LONG_STREAM,
};

static void check_ways(const char *text, size_t behind)
{
	struct bench_case c;
	struct arena arena;
	struct verify v;
	char why[256];

	ck_assert_int_eq(bench_case_parse(t_context, text, 1, &c, why, sizeof(why)), 0);
	ck_assert_int_eq(arena_create(&arena, arena_bytes_for(&c)), 0);
	arena.behind = behind;
	arena_place(&arena, &c);
	t_ok(verify_create(&v, &arena, &c, 3));
	for (int way = 0; way < HAND_LINES_WAYS; way++) {
		struct engine e;

		engine_lines(&e, (enum hand_lines_way)way);
		if (e.absent) {
			engine_destroy(&e);
			continue;
		}
		ck_assert_msg(!engine_prepare(&e, &c, &arena), "%s", e.problem);
		for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
			ck_assert_msg(!verify_engine(&v, &e, (enum bench_op)op),
				      "%s, %s %s: %s", text, e.name,
				      bench_op_name((enum bench_op)op), e.problem);
		engine_release(&e);
		engine_destroy(&e);
	}
	verify_destroy(&v);
	arena_destroy(&arena);
	bench_case_release(&c);
}

START_TEST(each_way_touches_each_line_once)
{
	check_ways(layouts[_i], ARENA_ANYWHERE);
	/* packed memory that begins within a line */
	check_ways(layouts[_i], 8);
}
END_TEST

static enum fault planted;
static struct engine good;

static int spoiled_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		       double *ns)
{
	unsigned char *user = arena_user(e->arena);
	unsigned char *packed = arena_packed(e->arena);
	struct hand_lines *lines = engine_lines_list(&good);
	size_t groups = lines->group_count;
	int status;

	if (planted == FAULT_LEAVES_OUT)
		lines->group_count--;
	status = engine_run(&good, op, warm, calls, ns);
	lines->group_count = groups;
	if (planted == FAULT_ONE_MORE)
		user[-HAND_LINE] = HAND_LINE_BYTE;
	if (planted == FAULT_WHOLE)
		memset(user, HAND_LINE_BYTE, HAND_LINE);
	if (planted == FAULT_SHORT_STREAM)
		packed[e->c->bytes - 1] = 0;
	if (planted == FAULT_LONG_STREAM)
		packed[e->c->bytes] = HAND_LINE_BYTE;
	e->state = good.state;
	return status;
}

static void expect_fault(enum fault fault, enum bench_op op, const char *words)
{
	static const struct engine_ops ops = { .run = spoiled_run };
	struct engine bad = { .name = "bad", .ops = &ops, .bound = true };
	struct bench_case c;
	struct arena arena;
	struct verify v;
	char why[256];

	ck_assert_int_eq(bench_case_parse(t_context,
					  "hindexed([8, 9, 8], [0, 640, 1280], byte)", 1,
					  &c, why, sizeof(why)),
			 0);
	ck_assert_int_eq(arena_create(&arena, arena_bytes_for(&c)), 0);
	arena_place(&arena, &c);
	t_ok(verify_create(&v, &arena, &c, 3));
	engine_lines(&good, HAND_LINES_PLAIN);
	if (!good.absent) {
		ck_assert_int_eq(engine_prepare(&good, &c, &arena), 0);
		bad.c = &c;
		bad.arena = &arena;
		bad.state = good.state;
		planted = fault;
		ck_assert_msg(verify_engine(&v, &bad, op) == (fault ? -1 : 0), "%s: %s",
			      fault ? "not caught" : "blamed", words);
		ck_assert_msg(strstr(bad.problem, words), "'%s' instead of '%s'",
			      bad.problem, words);
		/* and the next engine finds the arena as it was */
		ck_assert_msg(!verify_engine(&v, &good, BENCH_UNPACK), "%s",
			      good.problem);
		engine_release(&good);
	}
	engine_destroy(&good);
	verify_destroy(&v);
	arena_destroy(&arena);
	bench_case_release(&c);
}

START_TEST(wrong_lines_are_caught)
{
	expect_fault(FAULT_NONE, BENCH_PACK, "");
	expect_fault(FAULT_NONE, BENCH_UNPACK, "");
	expect_fault(FAULT_LEAVES_OUT, BENCH_PACK, "did not load from each");
	expect_fault(FAULT_LEAVES_OUT, BENCH_UNPACK, "did not store into line 74");
	expect_fault(FAULT_ONE_MORE, BENCH_UNPACK, "stored into byte 4032");
	expect_fault(FAULT_WHOLE, BENCH_UNPACK, "stored into byte 4097");
	expect_fault(FAULT_SHORT_STREAM, BENCH_PACK, "did not store byte 24 of 25");
	expect_fault(FAULT_LONG_STREAM, BENCH_PACK, "wrote past the end");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench lines");
	TCase *tcase = t_case(suite, "lines");

	tcase_add_test(tcase, masks_have_the_bytes_of_the_typemap);
	tcase_add_test(tcase, groups_have_all_lines_and_no_other);
	tcase_add_test(tcase, regular_layouts_have_short_lists);
	tcase_add_loop_test(tcase, each_way_touches_each_line_once, 0, COUNT_OF(layouts));
	tcase_add_test(tcase, wrong_lines_are_caught);
	return t_run(suite);
}
