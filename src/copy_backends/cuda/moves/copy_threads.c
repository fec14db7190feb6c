/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which threads help to copy, and how many. If the runtime gives a thread hook, or declares one thread to be enough,
 * none do.
 */
#include "config.h"

#include "copy_threads.h"

#include <sched.h>

#include "base/base.h"

/* A thread that is woken up for less comes when the work is done. */
#define SHARE_BYTES (UINT64_C(128) << 10)

void dtc_cuda_copy_threads_init(struct dtc_cuda_copy_threads *threads)
{
	pthread_mutex_init(&threads->lock, NULL);
}

void dtc_cuda_copy_threads_end(struct dtc_cuda_copy_threads *threads,
			       struct dtconv_context *context)
{
	dtc_thread_pool_destroy(context, threads->pool);
	pthread_mutex_destroy(&threads->lock);
}

static struct dtc_thread_pool *pool_of(const struct dtc_cuda_copy_threads *threads,
				       const struct dtconv_context *context)
{
	return context->threads.pool ? context->threads.pool : threads->pool;
}

/* More threads than processors only take turns. */
static size_t wanted(const struct dtconv_context *context)
{
	size_t most = (size_t)context->tuning.staging_threads;
	cpu_set_t allowed;

	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		most = DTC_MIN(most, (size_t)CPU_COUNT(&allowed));
	return most - 1;
}

static void start(struct dtc_cuda_copy_threads *threads, struct dtconv_context *context)
{
	pthread_mutex_lock(&threads->lock);
	if (!threads->started) {
		size_t workers = wanted(context);

		if (workers)
			threads->pool = dtc_thread_pool_create_some(context, workers);
		threads->started = true;
	}
	pthread_mutex_unlock(&threads->lock);
}

size_t dtc_cuda_copy_threads_helpers(struct dtc_cuda_copy_threads *threads,
				     struct dtconv_context *context, uint64_t bytes)
{
	const struct dtc_threads *given = &context->threads;

	if (given->refused || given->hook || bytes / 2 < SHARE_BYTES)
		return 0;
	if (!given->pool)
		start(threads, context);
	const struct dtc_thread_pool *pool = pool_of(threads, context);

	if (!pool)
		return 0;
	return (size_t)DTC_MIN(bytes / SHARE_BYTES - 1,
			       (uint64_t)dtc_thread_pool_workers(pool));
}

bool dtc_cuda_copy_threads_run(struct dtc_cuda_copy_threads *threads,
			       struct dtconv_context *context, size_t helpers,
			       dtc_task_fn task, void *arg)
{
	struct dtc_thread_pool *pool = pool_of(threads, context);

	/* A task for each of them, so that one is left for the caller, whoever comes. */
	return dtc_thread_pool_run(pool, helpers, dtc_thread_pool_workers(pool) + 1, task,
				   arg);
}
