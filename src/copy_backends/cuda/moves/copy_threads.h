/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy threads: threads that help to copy between pinned and pageable memory, because one CPU reaches only a quarter
 * of the bus's speed. They are the context's thread pool, or else a few that the first long job starts.
 */
#ifndef DTC_CUDA_COPY_THREADS_H
#define DTC_CUDA_COPY_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/context.h"
#include "base/thread_pool.h"

struct dtc_cuda_copy_threads {
	pthread_mutex_t lock;
	bool started; /* or tried to */
	struct dtc_thread_pool *pool; /* NULL: the context's, or nobody */
};

void dtc_cuda_copy_threads_init(struct dtc_cuda_copy_threads *threads);

/* Join the threads. */
void dtc_cuda_copy_threads_end(struct dtc_cuda_copy_threads *threads,
			       struct dtconv_context *context);

/* How many threads may help to copy so many bytes; starts them if need be. 0: nobody. */
size_t dtc_cuda_copy_threads_helpers(struct dtc_cuda_copy_threads *threads,
				     struct dtconv_context *context, uint64_t bytes);

/*
 * Run task(arg, i) once in the calling thread and in each helper that comes in time, of which @helpers
 * are woken; in the caller perhaps again, when its first has returned. False, and nothing was run, if they
 * are busy.
 */
bool dtc_cuda_copy_threads_run(struct dtc_cuda_copy_threads *threads,
			       struct dtconv_context *context, size_t helpers,
			       dtc_task_fn task, void *arg);

#endif
