/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of threads. One call at a time uses it; a concurrent call fails at once.
 */
#ifndef DTC_THREAD_POOL_H
#define DTC_THREAD_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct dtconv_context;
struct dtc_thread_pool;

/*
 * Start a thread that blocks all signals, so that no handler of the application runs in it.
 * Returns pthread_create's error.
 */
int dtc_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

typedef void (*dtc_task_fn)(void *arg, size_t index);

/*
 * Start @workers > 0 threads. Fails with NOMEM, or with AGAIN if the system cannot start them
 * all.
 */
int dtc_thread_pool_create(struct dtconv_context *context, size_t workers,
			   struct dtc_thread_pool **pool);

/*
 * The same, but with as many threads as the system can start, and without an error text. NULL
 * if it can start none.
 */
struct dtc_thread_pool *dtc_thread_pool_create_some(struct dtconv_context *context,
						    size_t workers);

/* The number of threads. */
size_t dtc_thread_pool_workers(const struct dtc_thread_pool *pool);

/*
 * End the threads, which have to be idle. In a forked child, where they do not exist, only free
 * the memory.
 */
void dtc_thread_pool_destroy(struct dtconv_context *context,
			     struct dtc_thread_pool *pool);

/*
 * Run task(arg, i) for each i below @tasks and return when all have returned. The calling
 * thread and the workers that are awake in time run them; up to @helpers sleeping workers are
 * woken. Returns false, without running any, if another call uses the pool or this process is a
 * forked child.
 */
bool dtc_thread_pool_run(struct dtc_thread_pool *pool, size_t helpers, size_t tasks,
			 dtc_task_fn task, void *arg);

#endif
