/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating and destroying engines: their parameters and file descriptors.
 */
#include "config.h"

#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/alarm.h"
#include "engine_state.h"

#define SPIN_US 50

struct dtconv_context *dtc_engine_context(const struct dtconv_engine *engine)
{
	return engine->context;
}

static int open_files(struct dtconv_engine *engine, const char *caller)
{
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	engine->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	engine->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (engine->epoll < 0 || engine->event < 0 || engine->timer < 0 ||
	    dtc_engine_watch(engine, engine->event) ||
	    dtc_engine_watch(engine, engine->timer))
		return DTC_FAIL(engine->context, DTCONV_ERR_AGAIN,
				"%s: cannot create the engine's file descriptors: %s",
				caller, strerror(errno));
	return 0;
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void destroy(struct dtconv_engine *engine)
{
	dtc_engine_end_thread(engine);
	dtc_alarms_cancel(engine->context, engine);
	dtc_engine_free_records(engine);
	close_file(engine->timer);
	close_file(engine->event);
	close_file(engine->epoll);
	pthread_mutex_destroy(&engine->record_lock);
	dtc_free(engine->context, engine);
}

static int read_params(struct dtconv_context *context,
		       const struct dtconv_engine_params *given, const char *caller,
		       struct dtconv_engine_params *params)
{
	*params = (struct dtconv_engine_params){ .struct_size = sizeof(*params) };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params", "dtconv_engine_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~(unsigned)DTCONV_ENGINE_THREAD)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	return 0;
}

int dtconv_engine_create(struct dtconv_context *context,
			 const struct dtconv_engine_params *given,
			 struct dtconv_engine **engine)
{
	struct dtconv_engine_params params;

	if (!context || !engine)
		return DTCONV_ERR_INVAL;
	int status = read_params(context, given, __func__, &params);
	if (status)
		return status;
	struct dtconv_engine *made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate an engine", __func__);
	made->context = context;
	made->active_end = &made->active;
	made->spin_us = params.spin_us ? params.spin_us : SPIN_US;
	made->timeout_ms = params.timeout_ms;
	pthread_mutex_init(&made->record_lock, NULL);
	status = open_files(made, __func__);
	if (!status && params.flags & DTCONV_ENGINE_THREAD)
		status = dtc_engine_start_thread(made, __func__);
	if (status) {
		destroy(made);
		return status;
	}
	*engine = made;
	return 0;
}

int dtconv_engine_destroy(struct dtconv_engine *engine)
{
	if (!engine)
		return 0;
	const size_t operations =
		atomic_load(&engine->started) - atomic_load(&engine->ended);

	if (operations)
		return DTC_FAIL(engine->context, DTCONV_ERR_STATE,
				"%s: %zu operations are not done", __func__, operations);
	/* The engine's own thread is ended; others, and callbacks, keep the engine. */
	if (engine->has_thread ? pthread_equal(pthread_self(), engine->thread)
			       : atomic_load(&engine->busy))
		return DTC_FAIL(engine->context, DTCONV_ERR_STATE,
				"%s: progress is being made", __func__);
	destroy(engine);
	return 0;
}
