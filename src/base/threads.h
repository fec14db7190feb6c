/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads that share the work of one call: none, a pool owned by the context, or the
 * runtime's threads behind a hook. The convertor decides which calls are split.
 */
#ifndef DTC_THREADS_H
#define DTC_THREADS_H

#include "thread_pool.h"
#include "thread_settings.h"

#include <dtconv/context.h>

/* Read the options and DTCONV_THREADS, and start the threads. */
int dtc_threads_create(struct dtconv_context *context,
		       const struct dtconv_context_params *params);

/* Apply the context's thresholds; until then no call is split. */
void dtc_threads_tune(struct dtconv_context *context);

void dtc_threads_destroy(struct dtconv_context *context);

/* Describe the source of the threads in words. */
const char *dtc_threads_origin(const struct dtc_threads *threads);

/*
 * Run task(arg, i) once for each i below @tasks <= DTC_THREADS_MAX, in up to @threads threads,
 * and return when all have returned. Returns false, without running any, if no other thread is
 * available.
 */
bool dtc_threads_run(struct dtconv_context *context, size_t threads, size_t tasks,
		     dtc_task_fn task, void *arg);

#endif
