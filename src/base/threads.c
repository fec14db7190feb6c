/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs tasks in no threads, a pool, or the runtime's threads behind a hook. The hook is not
 * trusted to run each task exactly once.
 */
#include "config.h"

#include "threads.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base.h"
#include "context.h"
#include "log.h"

/* Threads do not share a cache line. */
#define CUT_BYTES 64

/* ---- options ------------------------------------------------------------------------------- */

/* Parse a decimal number up to a limit; false if it is none. */
static bool parse_threads(const char *text, size_t *threads)
{
	size_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (size_t)(*text - '0');
		if (value > DTC_THREADS_MAX)
			return false;
	}
	*threads = value;
	return true;
}

static size_t read_environment(const struct dtconv_context *context)
{
	const char *text = getenv("DTCONV_THREADS");
	size_t threads = 0;

	if (text && !parse_threads(text, &threads))
		DTC_LOG(context, DTCONV_LOG_WARN,
			"environment variable DTCONV_THREADS is '%.40s', not a number from 0 "
			"to %d; using 1",
			text, DTC_THREADS_MAX);
	return threads;
}

int dtc_threads_create(struct dtconv_context *context,
		       const struct dtconv_context_params *params)
{
	struct dtc_threads *threads = &context->threads;
	size_t most = params->threads ? params->threads : read_environment(context);
	int status = 0;

	*threads = (struct dtc_threads){ .most = DTC_MAX(most, (size_t)1),
					 .refused = most == 1,
					 .share_bytes = SIZE_MAX,
					 .cut_bytes = CUT_BYTES,
					 .hook = params->parallel,
					 .hook_arg = params->parallel_arg };
	if (most > 1 && !threads->hook)
		status = dtc_thread_pool_create(context, most - 1, &threads->pool);
	return status;
}

void dtc_threads_tune(struct dtconv_context *context)
{
	if (context->threads.most > 1)
		context->threads.share_bytes =
			(size_t)DTC_MIN(context->tuning.share_bytes, (uint64_t)SIZE_MAX);
}

void dtc_threads_destroy(struct dtconv_context *context)
{
	dtc_thread_pool_destroy(context, context->threads.pool);
}

const char *dtc_threads_origin(const struct dtc_threads *threads)
{
	if (threads->most < 2)
		return "single-threaded";
	return threads->hook ? "through params.parallel" : "the context's thread pool";
}

/* ---- the hook ------------------------------------------------------------------------------ */

/* Tasks run by the application's hook, which may omit some or run some twice. */
struct watched {
	dtc_task_fn task;
	void *arg;
	size_t tasks;
	_Atomic uint64_t begun; /* a bit each */
};

static void run_once(void *arg, size_t index)
{
	struct watched *watched = arg;

	if (index >= watched->tasks)
		return;
	uint64_t bit = UINT64_C(1) << index;
	if (!(atomic_fetch_or(&watched->begun, bit) & bit))
		watched->task(watched->arg, index);
}

static void run_hook(struct dtconv_context *context, size_t tasks, dtc_task_fn task,
		     void *arg)
{
	const struct dtc_threads *threads = &context->threads;
	struct watched watched = { .task = task, .arg = arg, .tasks = tasks };
	int answer = threads->hook(threads->hook_arg, tasks, run_once, &watched);

	if (answer)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"params.parallel returned %d; the calling thread runs the remaining tasks",
			answer);
	for (size_t i = 0; i < tasks; i++)
		run_once(&watched, i);
}

bool dtc_threads_run(struct dtconv_context *context, size_t threads, size_t tasks,
		     dtc_task_fn task, void *arg)
{
	if (!context->threads.hook)
		return dtc_thread_pool_run(context->threads.pool, threads - 1, tasks,
					   task, arg);
	run_hook(context, tasks, task, arg);
	return true;
}
