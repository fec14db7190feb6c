/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that wait for tasks. One call at a time uses them; a concurrent call fails at once.
 * They run a task by index and do not interpret it.
 */
#ifndef DTC_THREAD_POOL_H
#define DTC_THREAD_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct dtconv_context;
struct dtc_thread_pool;

/* A thread in which no handler of the application's signals runs. Returns pthread_create's error. */
int dtc_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

typedef void (*dtc_task_fn)(void *arg, size_t index);

/*
 * Start @workers > 0 threads. Fails with NOMEM, or with AGAIN if the system gives no more
 * threads.
 */
int dtc_thread_pool_create(struct dtconv_context *context, size_t workers,
			   struct dtc_thread_pool **pool);

/* The same with as many threads as the system gives, and no sentence: NULL if that is none. */
struct dtc_thread_pool *dtc_thread_pool_create_some(struct dtconv_context *context,
						    size_t workers);

/* How many threads it has. */
size_t dtc_thread_pool_workers(const struct dtc_thread_pool *pool);

/* End the threads, which must be idle. In a forked child, which has none, free the memory. */
void dtc_thread_pool_destroy(struct dtconv_context *context,
			     struct dtc_thread_pool *pool);

/*
 * Run task(arg, i) for each i below @tasks, in the calling thread and in those workers that are
 * there in time, of which @helpers are woken if they sleep; return when all have returned.
 * False, and nothing was run, if the workers are another call's or this process is a forked
 * child.
 */
bool dtc_thread_pool_run(struct dtc_thread_pool *pool, size_t helpers, size_t tasks,
			 dtc_task_fn task, void *arg);

#endif
