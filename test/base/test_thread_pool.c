/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool by itself: each task once, whoever comes; one call at a time; life, signals, forked
 * children, and a system that gives no threads. Meant to be run under ThreadSanitizer too.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread_pool.h"
#include "support/allocators.h"
#include "support/fixture.h"

#define TASKS 64

static struct dtc_thread_pool *new_pool(size_t workers)
{
	struct dtc_thread_pool *pool = NULL;

	ck_assert_int_eq(dtc_thread_pool_create(fixture_context, workers, &pool), 0);
	return pool;
}

static void free_pool(struct dtc_thread_pool *pool)
{
	dtc_thread_pool_destroy(fixture_context, pool);
}

/* ---- calls --------------------------------------------------------------------------------- */

struct tally {
	int runs[TASKS]; /* no atomics: whoever runs a task must have it alone */
	atomic_size_t by_others;
	pthread_t caller;
};

static void count_run(void *arg, size_t index)
{
	struct tally *tally = arg;

	tally->runs[index]++;
	if (!pthread_equal(pthread_self(), tally->caller))
		atomic_fetch_add(&tally->by_others, 1);
}

static void expect_each_once(struct dtc_thread_pool *pool, size_t helpers, size_t tasks)
{
	struct tally tally = { .caller = pthread_self() };

	ck_assert(dtc_thread_pool_run(pool, helpers, tasks, count_run, &tally));
	for (size_t i = 0; i < TASKS; i++)
		ck_assert_int_eq(tally.runs[i], i < tasks);
}

START_TEST(each_task_runs_once)
{
	size_t workers = (size_t)_i;
	struct dtc_thread_pool *pool = new_pool(workers);

	for (size_t round = 0; round < 20; round++) {
		for (size_t tasks = 0; tasks <= TASKS; tasks++)
			expect_each_once(pool, 1 + tasks % workers, tasks);
		if (round % 5 == 0)
			usleep(1000); /* they fall asleep */
	}
	free_pool(pool);
}
END_TEST

static void count_slowly(void *arg, size_t index)
{
	for (volatile int i = 0; i < 100000; i++)
		;
	count_run(arg, index);
}

static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* Nobody says when the system lets a thread run, so it gets many chances. */
START_TEST(workers_help)
{
	struct dtc_thread_pool *pool = new_pool(1);
	struct tally tally = { .caller = pthread_self() };
	bool possible = processors() > 1;

	for (int i = 0; possible && !atomic_load(&tally.by_others); i++) {
		ck_assert_int_lt(i, 100000);
		ck_assert(dtc_thread_pool_run(pool, 1, 8, count_slowly, &tally));
		usleep(100);
	}
	free_pool(pool);
}
END_TEST

/* A call in the middle of another. */
struct nested {
	struct dtc_thread_pool *pool;
	atomic_int refused;
};

static void call_again(void *arg, size_t index)
{
	struct nested *nested = arg;
	struct tally tally = { .caller = pthread_self() };

	(void)index;
	if (!dtc_thread_pool_run(nested->pool, 1, 3, count_run, &tally) && !tally.runs[0])
		atomic_fetch_add(&nested->refused, 1);
}

START_TEST(a_call_that_finds_the_pool_busy_runs_nothing)
{
	struct nested nested = { .pool = new_pool(2) };

	ck_assert(dtc_thread_pool_run(nested.pool, 2, 9, call_again, &nested));
	ck_assert_int_eq(atomic_load(&nested.refused), 9);
	expect_each_once(nested.pool, 2, 9);
	free_pool(nested.pool);
}
END_TEST

struct caller {
	pthread_t thread;
	struct dtc_thread_pool *pool;
	int wrong;
};

static void *call_often(void *arg)
{
	struct caller *caller = arg;

	for (int i = 0; i < 300; i++) {
		struct tally tally = { .caller = pthread_self() };
		bool ran = dtc_thread_pool_run(caller->pool, 2, 12, count_run, &tally);

		for (size_t k = 0; k < 12; k++)
			caller->wrong += tally.runs[k] != ran;
	}
	return NULL;
}

START_TEST(many_callers_at_once)
{
	struct caller callers[8];
	struct dtc_thread_pool *pool = new_pool(3);

	for (size_t i = 0; i < 8; i++) {
		callers[i] = (struct caller){ .pool = pool };
		ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call_often,
						&callers[i]),
				 0);
	}
	for (size_t i = 0; i < 8; i++) {
		pthread_join(callers[i].thread, NULL);
		ck_assert_int_eq(callers[i].wrong, 0);
	}
	free_pool(pool);
}
END_TEST

/* ---- life ---------------------------------------------------------------------------------- */

START_TEST(a_pool_may_go_right_after_use)
{
	free_pool(NULL);
	for (size_t i = 0; i < 100; i++) {
		struct dtc_thread_pool *pool = new_pool(1 + i % 4);

		if (i % 3)
			expect_each_once(pool, 4, i % TASKS);
		free_pool(pool);
	}
}
END_TEST

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled = 1;
}

START_TEST(workers_handle_no_signals)
{
	struct sigaction action = { .sa_handler = handle }, before;
	sigset_t set, old, pending;
	struct dtc_thread_pool *pool = new_pool(3);

	sigaction(SIGUSR1, &action, &before);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	ck_assert(!sigismember(&old, SIGUSR1)); /* making the pool left our mask alone */
	kill(getpid(), SIGUSR1);
	usleep(20000);
	sigpending(&pending);
	ck_assert(sigismember(&pending, SIGUSR1));
	ck_assert(!handled);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	ck_assert(handled);
	sigaction(SIGUSR1, &before, NULL);
	free_pool(pool);
}
END_TEST

START_TEST(a_forked_child_goes_alone)
{
	struct dtc_thread_pool *pool = new_pool(3);
	int status = 0;

	expect_each_once(pool, 3, 30);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		struct tally tally = { .caller = pthread_self() };

		alarm(60);
		bool ran = dtc_thread_pool_run(pool, 3, 30, count_run, &tally);
		free_pool(pool);
		_exit(ran || tally.runs[0]);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	expect_each_once(pool, 3, 30);
	free_pool(pool);
}
END_TEST

/* ---- a system without threads -------------------------------------------------------------- */

/* The names are the linker's. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*start)(void *), void *arg);

static int threads_left = -1; /* negative: as many as are wanted */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*start)(void *), void *arg)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left -= threads_left > 0;
	return __real_pthread_create(thread, attr, start, arg);
}

static void remember(void *arg, enum dtconv_log_level level, const char *file, int line,
		     const char *text)
{
	(void)level, (void)file, (void)line;
	snprintf(arg, 200, "%s", text);
}

START_TEST(without_threads_there_is_no_context)
{
	char text[200] = "", expected[200];
	struct block_count blocks = { 0 };
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = allocator_of_blocks(&blocks),
		.log = remember,
		.log_arg = text,
		.log_level = DTCONV_LOG_ERROR,
		.threads = 5,
	};
	struct dtconv_context *context = NULL;

	threads_left = _i;
	fixture_status(dtconv_context_create(&params, &context), DTCONV_ERR_AGAIN);
	threads_left = -1;
	ck_assert_ptr_null(context);
	ck_assert_uint_eq(blocks.live, 0);
	snprintf(expected, sizeof(expected),
		 "dtconv_context_create: only %d of the 4 additional threads that "
		 "params.threads or DTCONV_THREADS asks for could be started "
		 "(pthread_create: error %d)",
		 _i, EAGAIN);
	ck_assert_str_eq(text, expected);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("thread_pool");
	TCase *calls = fixture_case(suite, "calls", 60);
	TCase *life = fixture_case(suite, "life", 60);

	tcase_add_loop_test(calls, each_task_runs_once, 1, 5);
	tcase_add_test(calls, workers_help);
	tcase_add_test(calls, a_call_that_finds_the_pool_busy_runs_nothing);
	tcase_add_test(calls, many_callers_at_once);
	tcase_add_test(life, a_pool_may_go_right_after_use);
	tcase_add_test(life, workers_handle_no_signals);
	tcase_add_test(life, a_forked_child_goes_alone);
	tcase_add_loop_test(life, without_threads_there_is_no_context, 0, 4);
	return fixture_run(suite);
}
