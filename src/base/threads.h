/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose threads share the work of one call: none, a pool of the context's own, or the runtime's
 * behind a hook. What is worth sharing, the convertor decides.
 */
#ifndef DTC_THREADS_H
#define DTC_THREADS_H

#include "thread_pool.h"
#include "thread_settings.h"

#include <dtconv/context.h>

/* Read the options and DTCONV_THREADS, and start what they ask for. */
int dtc_threads_create(struct dtconv_context *context,
		       const struct dtconv_context_params *params);

/* Apply the context's thresholds; until then no call is split. */
void dtc_threads_tune(struct dtconv_context *context);

void dtc_threads_destroy(struct dtconv_context *context);

/* What is in force, in words. */
const char *dtc_threads_origin(const struct dtc_threads *threads);

/*
 * Run task(arg, i) for each i below @tasks <= DTC_THREADS_MAX in up to @threads threads, once
 * each, and return when all have returned. False, and nothing was run, if only the caller is
 * there to do it.
 */
bool dtc_threads_run(struct dtconv_context *context, size_t threads, size_t tasks,
		     dtc_task_fn task, void *arg);

#endif
