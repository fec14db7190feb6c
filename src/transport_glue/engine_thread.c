/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that makes progress for the application, if it asked for one.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "engine_state.h"

static void sleep_until_rung(struct dtconv_engine *engine)
{
	struct epoll_event event;

	while (epoll_wait(engine->epoll, &event, 1, -1) < 0 && errno == EINTR)
		;
}

static void *run(void *arg)
{
	struct dtconv_engine *engine = arg;
	uint64_t idle_since = 0;
	size_t worked;

	while (!atomic_load(&engine->ending)) {
		(void)dtconv_engine_progress(engine, 0, &worked);
		uint64_t now = dtc_now_ns();
		if (worked || !idle_since)
			idle_since = now;
		else if (now - idle_since >= engine->spin_us * UINT64_C(1000)) {
			if (!dtconv_engine_arm(engine))
				sleep_until_rung(engine);
			idle_since = 0;
		}
		dtc_pause();
	}
	return NULL;
}

int dtc_engine_start_thread(struct dtconv_engine *engine, const char *caller)
{
	int error = dtc_thread_start(&engine->thread, run, engine);

	if (error)
		return DTC_FAIL(engine->context, DTCONV_ERR_AGAIN,
				"%s: cannot start the engine's thread: %s", caller,
				strerror(error));
	engine->has_thread = true;
	return 0;
}

void dtc_engine_end_thread(struct dtconv_engine *engine)
{
	if (!engine->has_thread)
		return;
	atomic_store(&engine->ending, true);
	dtc_engine_ring(engine);
	pthread_join(engine->thread, NULL);
}
