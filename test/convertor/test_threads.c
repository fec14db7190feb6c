/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One type, many threads: each with convertors of its own, all at once, from before the type
 * is committed. Meant to be run under ThreadSanitizer too.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/script.h"

#define THREADS    8
#define SCRIPTS    12
#define OPERATIONS 60

/* What one thread is given, and what it found. */
struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	struct dtconv_type *type;
	uint64_t seed;
	char failure[SCRIPT_FAILURE];
	int failed;
};

static void *play_scripts(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(worker->start);
	for (size_t i = 0; i < SCRIPTS && !worker->failed; i++) {
		struct choices choices;
		struct stage stage;

		choices_from_seed(&choices, worker->seed + i);
		/* Commits the type, all threads at the same moment. */
		worker->failed =
			stage_open(&stage, worker->type, 1 + i % 3, i % 16, 0, i);
		if (worker->failed)
			return NULL;
		worker->failed =
			script_play(&stage, &choices, OPERATIONS, worker->failure);
		stage_close(&stage);
	}
	return NULL;
}

/* Lets every thread run the function on the same type. */
static void run_workers(struct dtconv_type *type, void *(*function)(void *))
{
	struct worker workers[THREADS] = { { .failed = 0 } };
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i].start = &start;
		workers[i].type = type;
		workers[i].seed = 1000 * i;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, function,
						&workers[i]),
				 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_msg(!workers[i].failed, "thread %zu: %s", i,
			      workers[i].failure);
	pthread_barrier_destroy(&start);
}

START_TEST(one_type_serves_all_threads)
{
	struct dtconv_type *type = NULL;

	fixture_ok(dtconv_type_parse(fixture_context, layouts[_i].text,
				     strlen(layouts[_i].text), &type));
	run_workers(type, play_scripts);
	dtconv_type_unref(type);
}
END_TEST

/* Each thread takes and drops references, and makes types and convertors of the same one. */
static void *take_and_drop(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(worker->start);
	for (int i = 0; i < 200 && !worker->failed; i++) {
		struct dtconv_convertor *convertor = NULL;
		struct dtconv_type *type = NULL;

		dtconv_type_ref(worker->type);
		worker->failed =
			dtconv_type_create_vector(3, 2, 5, worker->type, &type) ||
			dtconv_type_commit(type) ||
			dtconv_convertor_create_pack(type, 0, NULL, &convertor);
		dtconv_type_unref(type);
		dtconv_convertor_destroy(convertor);
		dtconv_type_unref(worker->type);
	}
	return NULL;
}

START_TEST(references_are_counted_by_all_threads)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)");

	run_workers(type, take_and_drop);
	dtconv_type_unref(type);
}
END_TEST

/* Each thread provokes its own error again and again and must read no other's. */
static void *provoke_errors(void *arg)
{
	struct worker *worker = arg;
	struct dtconv_convertor *convertor = NULL;
	size_t position = 1000000 + (size_t)worker->seed;
	char number[32], text[512];

	snprintf(number, sizeof(number), "%zu", position);
	worker->failed = dtconv_convertor_create_pack(worker->type, 0, NULL, &convertor);
	pthread_barrier_wait(worker->start);
	for (int i = 0; i < 500 && !worker->failed; i++) {
		worker->failed =
			dtconv_convertor_seek(convertor, position) != DTCONV_ERR_INVAL ||
			!dtconv_context_error(fixture_context, text, sizeof(text)) ||
			!strstr(text, number);
	}
	dtconv_convertor_destroy(convertor);
	return NULL;
}

START_TEST(each_thread_reads_its_own_error)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, int)");

	run_workers(type, provoke_errors);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *shared = fixture_case(suite, "shared", 120);

	tcase_add_loop_test(shared, one_type_serves_all_threads, 0, layout_count);
	tcase_add_test(shared, references_are_counted_by_all_threads);
	tcase_add_test(shared, each_thread_reads_its_own_error);
	return fixture_run(suite);
}
