/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves shared among threads: the same bytes, positions and errors as alone, whoever runs the
 * slices and however badly. check_parallel runs the other suites so. Meant to be run under
 * ThreadSanitizer too, hence no layouts that touch a byte twice.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/script.h"
#include "threads.h"

static const char *const long_texts[] = {
	"contiguous(40, resized(vector(300, 1, 40, float), 0, 4))",
	"contiguous(9, resized(hvector(300, 70, 640, byte), 0, 70))",
	"contiguous(4000, struct([1, 1], [0, 8], [int, double]))",
	"contiguous(300, indexed([3, 1, 2], [0, 9, 4], struct([1, 1], [0, 4], [int, short])))",
	"contiguous(3, struct([20000, 1, 9000], [0, 20001, 20004], [byte, byte, byte]))",
	"vector(9000, 1, 2, int)",
	"subarray([40, 40, 40], [31, 33, 35], [3, 2, 1], c, double)",
	"contiguous(70000, byte)",
};

#define LONG_TEXTS ((int)(sizeof(long_texts) / sizeof(long_texts[0])))

/* ---- contexts ------------------------------------------------------------------------------ */

static struct dtconv_context *new_context(size_t threads, dtconv_parallel_fn hook,
					  void *arg)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.flags = DTCONV_CONTEXT_COUNTERS,
						.threads = threads,
						.parallel = hook,
						.parallel_arg = arg };
	struct dtconv_context *context = NULL;

	fixture_ok(dtconv_context_create(&params, &context));
	return context;
}

static struct dtconv_type *new_type(struct dtconv_context *context, const char *text)
{
	struct dtconv_type *type = NULL;

	type = fixture_type_in(context, text);
	return type;
}

static size_t shared_moves(struct dtconv_context *context)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	fixture_ok(dtconv_context_query_counters(context, &counters));
	return (size_t)counters.parallel_moves;
}

/* The fixture's context has threads (main says so); all moves of it are worth sharing. */
static void share(void)
{
	fixture_share(fixture_context, 1);
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* One-shot calls, both ways, with the packed side anywhere. */
static void move_whole(struct stage *stage, size_t shift)
{
	unsigned char *packed = malloc(stage->bytes + shift + 1);
	size_t moved = 0;

	fixture_ok(dtconv_pack(stage->type, stage->count, stage->source, packed + shift,
			       stage->bytes, &moved));
	ck_assert_uint_eq(moved, stage->bytes);
	ck_assert(!memcmp(packed + shift, stage->stream, moved));
	stage_blank(stage);
	fixture_ok(dtconv_unpack(stage->type, stage->count, stage->target, packed + shift,
				 moved, &moved));
	stage_deliver(stage, 0, moved);
	fixture_arrived(stage);
	free(packed);
}

/* Fragments through a convertor, whose position must be right after each. */
static void move_in_fragments(struct stage *stage, size_t bytes)
{
	struct dtconv_convertor *packs = fixture_pack(stage);
	struct dtconv_convertor *unpacks = fixture_unpack(stage);

	stage_blank(stage);
	for (size_t at = 0; at < stage->bytes; at += bytes) {
		size_t after = at + bytes < stage->bytes ? at + bytes : stage->bytes;

		fixture_pack_next(stage, packs, at, bytes);
		fixture_unpack_next(stage, unpacks, at, after - at);
		ck_assert_uint_eq(fixture_position(packs), after);
		ck_assert_uint_eq(fixture_position(unpacks), after);
	}
	fixture_arrived(stage);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

/* Several instances may overlap where one does not. */
static bool touches_twice(const struct stage *stage)
{
	unsigned char *touched = calloc(1, stage->span + 1);
	bool twice = false;

	ck_assert_ptr_nonnull(touched);
	for (size_t i = 0; i < stage->bytes; i++) {
		unsigned char *byte = &touched[stage->map[i] - stage->low];

		twice |= *byte;
		*byte = 1;
	}
	free(touched);
	return twice;
}

static void move_all_ways(const char *text, size_t count)
{
	struct stage stage;

	share();
	fixture_open(&stage, text, count);
	if (touches_twice(&stage)) {
		fixture_close(&stage);
		return;
	}
	for (size_t shift = 0; shift < 3; shift++)
		move_whole(&stage, 31 * shift);
	for (size_t pieces = 1; pieces < 6; pieces++)
		move_in_fragments(&stage, stage.bytes / pieces + 1);
	if (stage.bytes > 1)
		ck_assert_uint_gt(shared_moves(fixture_context), 0);
	fixture_close(&stage);
}

START_TEST(every_layout_arrives)
{
	move_all_ways(layouts[_i].text, 1);
	move_all_ways(layouts[_i].text, 7);
}
END_TEST

START_TEST(long_streams_arrive)
{
	move_all_ways(long_texts[_i], 1);
	move_all_ways(long_texts[_i], 2);
}
END_TEST

START_TEST(errors_are_those_of_one_thread)
{
	unsigned char packed[2000];
	struct stage stage;
	size_t moved;

	share();
	fixture_open(&stage, "vector(100, 1, 2, double)", 2);
	fixture_status(dtconv_pack(stage.type, 2, stage.source, packed, 999, &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 999);
	ck_assert(!memcmp(packed, stage.stream, moved));
	fixture_status(dtconv_unpack(stage.type, 2, stage.target, packed, 1700, &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 1600);
	struct dtconv_convertor *convertor = fixture_unpack(&stage);
	fixture_seek(convertor, 1000);
	fixture_status(dtconv_convertor_unpack(convertor, packed, 601, &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 600);
	ck_assert_uint_eq(fixture_position(convertor), 1600);
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

/* ---- what is shared ------------------------------------------------------------------------ */

/* At the thresholds users have. */
static size_t moves_shared_of(const char *text, size_t count, size_t threads)
{
	struct dtconv_context *context = new_context(threads, NULL, NULL);
	struct dtconv_type *type = new_type(context, text);
	struct stage stage;

	ck_assert_int_eq(stage_open(&stage, type, count, 0, 0, 1), 0);
	move_whole(&stage, 8);
	size_t shared = shared_moves(context);
	stage_close(&stage);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return shared;
}

START_TEST(only_large_moves_are_shared)
{
	ck_assert_uint_eq(moves_shared_of("vector(65535, 1, 2, double)", 1, 2), 0);
	ck_assert_uint_eq(moves_shared_of("vector(65536, 1, 2, double)", 1, 2), 2);
	ck_assert_uint_eq(moves_shared_of("vector(65536, 1, 2, double)", 4, 1), 0);
	ck_assert_uint_eq(moves_shared_of("double", 65535, 3), 0);
	ck_assert_uint_eq(moves_shared_of("double", 400000, 3), 2);
}
END_TEST

/* ---- hooks --------------------------------------------------------------------------------- */

/* What a hook does; what is odd about it is in its name. */
enum manner { IN_ORDER, BACKWARDS, HALF, NONE, TWICE, TOO_MANY, IN_THREADS, MANNERS };

struct hook {
	enum manner manner;
	size_t calls;
	size_t tasks;
};

struct call {
	pthread_t thread;
	void (*task)(void *, size_t);
	void *task_arg;
	size_t index;
};

static void *run_call(void *arg)
{
	struct call *call = arg;

	call->task(call->task_arg, call->index);
	return NULL;
}

static int run_in_threads(size_t tasks, void (*task)(void *, size_t), void *task_arg)
{
	struct call calls[64];

	for (size_t i = 0; i < tasks; i++) {
		calls[i] =
			(struct call){ .task = task, .task_arg = task_arg, .index = i };
		if (pthread_create(&calls[i].thread, NULL, run_call, &calls[i]))
			abort();
	}
	for (size_t i = 0; i < tasks; i++)
		pthread_join(calls[i].thread, NULL);
	return 0;
}

static int run_hook(void *arg, size_t tasks, void (*task)(void *, size_t), void *task_arg)
{
	struct hook *hook = arg;
	enum manner manner = hook->manner;
	size_t wanted = manner == NONE ? 0 : manner == HALF ? tasks / 2 : tasks;

	hook->calls++;
	hook->tasks = tasks;
	if (manner == IN_THREADS)
		return run_in_threads(tasks, task, task_arg);
	for (size_t i = 0; i < wanted; i++) {
		task(task_arg, manner == BACKWARDS ? tasks - 1 - i : i);
		if (manner == TWICE)
			task(task_arg, i);
	}
	if (manner == TOO_MANY)
		task(task_arg, tasks);
	return wanted == tasks ? 0 : -1;
}

START_TEST(a_hook_may_do_as_it_likes)
{
	struct hook hook = { .manner = (enum manner)_i };
	struct dtconv_context *context = new_context(3, run_hook, &hook);

	fixture_share(context, 100);
	for (int i = 0; i < LONG_TEXTS; i++) {
		struct dtconv_type *type = new_type(context, long_texts[i]);
		struct stage stage;

		ck_assert_int_eq(stage_open(&stage, type, 1, 0, 0, 1), 0);
		move_whole(&stage, 1);
		stage_close(&stage);
		dtconv_type_unref(type);
	}
	ck_assert_uint_eq(hook.calls, 2 * (size_t)LONG_TEXTS);
	ck_assert_uint_eq(shared_moves(context), hook.calls);
	dtconv_context_destroy(context);
}
END_TEST

static void count_run(void *arg, size_t index)
{
	((int *)arg)[index]++;
}

START_TEST(whatever_a_hook_does_each_task_runs_once)
{
	struct hook hook = { .manner = (enum manner)_i };
	struct dtconv_context *context = new_context(3, run_hook, &hook);

	for (size_t tasks = 2; tasks <= DTC_THREADS_MAX; tasks++) {
		int runs[DTC_THREADS_MAX + 1] = { 0 };

		ck_assert(dtc_threads_run(context, 3, tasks, count_run, runs));
		ck_assert_uint_eq(hook.tasks, tasks);
		for (size_t i = 0; i <= DTC_THREADS_MAX; i++)
			ck_assert_int_eq(runs[i], i < tasks);
	}
	dtconv_context_destroy(context);
}
END_TEST

/* ---- where moves are cut --------------------------------------------------------------------- */

/* Runs tasks in order and looks how far each has packed. */
struct frontier {
	const unsigned char *packed, *stream;
	size_t bytes;
	size_t cuts[64];
	size_t count;
};

static int watch_frontier(void *arg, size_t tasks, void (*task)(void *, size_t),
			  void *task_arg)
{
	struct frontier *frontier = arg;

	frontier->count = tasks;
	for (size_t i = 0; i < tasks; i++) {
		size_t packed = 0;

		task(task_arg, i);
		while (packed < frontier->bytes &&
		       frontier->packed[packed] == frontier->stream[packed])
			packed++;
		frontier->cuts[i] = packed;
	}
	return 0;
}

/*
 * Packs from a byte of the stream to @shift bytes past a cache line, and wants cuts at multiples
 * of @unit: of the stream if the type transposes, else of the packed side's address.
 */
static void expect_cuts(const char *text, size_t from, size_t shift, size_t unit,
			bool transposes)
{
	struct frontier frontier = { .count = 0 };
	struct dtconv_context *context = new_context(2, watch_frontier, &frontier);
	struct dtconv_type *type = new_type(context, text);
	unsigned char *memory;
	struct stage stage;
	size_t moved;

	ck_assert_int_eq(stage_open(&stage, type, 1, 0, 0, 1), 0);
	ck_assert_int_eq(posix_memalign((void **)&memory, 64, stage.bytes + 64), 0);
	/* Every byte differs from what will stand there. */
	frontier = (struct frontier){ .packed = memory + shift,
				      .stream = stage.stream + from,
				      .bytes = stage.bytes - from };
	for (size_t i = 0; i < frontier.bytes; i++)
		memory[shift + i] = (unsigned char)~frontier.stream[i];
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	fixture_seek(convertor, from);
	fixture_ok(
		dtconv_convertor_pack(convertor, memory + shift, frontier.bytes, &moved));
	ck_assert_uint_ge(frontier.count, 6);
	ck_assert_uint_le(frontier.count, 9);
	for (size_t i = 0; i + 1 < frontier.count; i++)
		ck_assert_uint_eq((frontier.cuts[i] + (transposes ? from : shift)) % unit,
				  0);
	ck_assert_uint_eq(frontier.cuts[frontier.count - 1], frontier.bytes);
	dtconv_convertor_destroy(convertor);
	free(memory);
	stage_close(&stage);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}

START_TEST(cuts_are_between_cache_lines)
{
	expect_cuts("vector(100000, 1, 2, double)", 0, 0, 64, false);
	expect_cuts("vector(100000, 1, 2, double)", 12345, 3, 64, false);
	expect_cuts("contiguous(800000, byte)", 0, 63, 64, false);
}
END_TEST

/* 8 doubles, or 16 floats, of 300 columns share a cache line. */
START_TEST(cuts_are_between_tiles)
{
	expect_cuts("contiguous(300, resized(vector(500, 1, 300, double), 0, 8))", 0, 5,
		    8 * 500 * 8, true);
	expect_cuts("contiguous(300, resized(vector(500, 1, 300, double), 0, 8))", 70001,
		    0, 8 * 500 * 8, true);
	expect_cuts("contiguous(512, resized(vector(512, 1, 512, float), 0, 4))", 0, 0,
		    16 * 512 * 4, true);
	/* Whole small transpositions stay whole. */
	expect_cuts("contiguous(40, resized(contiguous(50, resized(vector(60, 1, 50, "
		    "double), 0, 8)), 0, 24000))",
		    0, 0, 50 * 60 * 8, true);
}
END_TEST

/* ---- threads of the application --------------------------------------------------------------- */

struct player {
	pthread_t thread;
	const char *text;
	uint64_t seed;
	char failure[SCRIPT_FAILURE];
	int failed;
};

static void *play(void *arg)
{
	struct player *player = arg;

	for (size_t i = 0; i < 6 && !player->failed; i++) {
		struct dtconv_type *type = NULL;
		struct choices choices;
		struct stage stage;

		choices_from_seed(&choices, player->seed + i);
		player->failed = dtconv_type_parse(fixture_context, player->text,
						   strlen(player->text), &type);
		if (!player->failed)
			player->failed = stage_open(&stage, type, 1, i % 16, 0, i);
		if (!player->failed) {
			player->failed =
				script_play(&stage, &choices, 60, player->failure);
			stage_close(&stage);
		}
		dtconv_type_unref(type);
	}
	return NULL;
}

START_TEST(many_threads_share_one_context)
{
	struct player players[8];

	share();
	for (size_t i = 0; i < 8; i++) {
		players[i] = (struct player){ .text = long_texts[i % LONG_TEXTS],
					      .seed = 100 * i };
		ck_assert_int_eq(
			pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		pthread_join(players[i].thread, NULL);
		ck_assert_msg(!players[i].failed, "%s", players[i].failure);
	}
	ck_assert_uint_gt(shared_moves(fixture_context), 0);
}
END_TEST

/* ---- children -------------------------------------------------------------------------------- */

START_TEST(a_forked_child_moves_alone)
{
	struct dtconv_context *context = new_context(4, NULL, NULL);
	struct dtconv_type *type = new_type(context, long_texts[0]);
	struct stage stage;
	int status = 0;

	fixture_share(context, 1);
	ck_assert_int_eq(stage_open(&stage, type, 1, 0, 0, 1), 0);
	move_whole(&stage, 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		unsigned char *packed = malloc(stage.bytes);
		size_t moved = 0;

		alarm(60);
		int failed =
			dtconv_pack(type, 1, stage.source, packed, stage.bytes, &moved);
		failed |= memcmp(packed, stage.stream, stage.bytes);
		failed |= shared_moves(context) != 2; /* those before the fork */
		dtconv_type_unref(type);
		dtconv_context_destroy(context);
		_exit(failed != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	move_whole(&stage, 0);
	ck_assert_uint_eq(shared_moves(context), 4);
	stage_close(&stage);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parallel");

	setenv("DTCONV_THREADS", "4", 1);
	TCase *bytes = fixture_case(suite, "bytes", 60);
	TCase *sharing = fixture_case(suite, "sharing", 60);
	TCase *company = fixture_case(suite, "company", 120);

	tcase_add_loop_test(bytes, every_layout_arrives, 0, layout_count);
	tcase_add_loop_test(bytes, long_streams_arrive, 0, LONG_TEXTS);
	tcase_add_test(bytes, errors_are_those_of_one_thread);
	tcase_add_test(sharing, only_large_moves_are_shared);
	tcase_add_loop_test(sharing, a_hook_may_do_as_it_likes, 0, MANNERS);
	tcase_add_loop_test(sharing, whatever_a_hook_does_each_task_runs_once, 0,
			    MANNERS);
	tcase_add_test(sharing, cuts_are_between_cache_lines);
	tcase_add_test(sharing, cuts_are_between_tiles);
	tcase_add_test(company, many_threads_share_one_context);
	tcase_add_test(company, a_forked_child_moves_alone);
	return fixture_run(suite);
}
