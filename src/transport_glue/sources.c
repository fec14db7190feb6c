/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources: what the application has an engine poll and wait for.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/base.h"
#include "base/log.h"
#include "engine.h"
#include "engine_state.h"

/*
 * Keep a source while its functions are called: its place is not another's before that ends, also if it is detached
 * meanwhile. False if there is none. Only a thread that makes progress or arms does this, so there is one at a time.
 *
 * A source that was detached is not called after dtc_engine_settle(): this thread announced itself before it changes a
 * state, the other one changed the state before it looks for progress, all in sequentially consistent order.
 */
static bool hold(struct dtc_source *source)
{
	int state = atomic_load(&source->state);

	return state == DTC_SOURCE_LIVE &&
	       atomic_compare_exchange_strong(&source->state, &state, DTC_SOURCE_CALLED);
}

static void let_go(struct dtc_source *source)
{
	int state = DTC_SOURCE_CALLED;

	if (!atomic_compare_exchange_strong(&source->state, &state, DTC_SOURCE_LIVE))
		atomic_store(&source->state, DTC_SOURCE_FREE);
}

void dtc_engine_poll_sources(struct dtconv_engine *engine, struct dtc_work *work)
{
	const unsigned end = atomic_load(&engine->source_end);

	for (unsigned i = 0; i < end && work->budget; i++) {
		struct dtc_source *source = &engine->sources[i];

		if (!hold(source))
			continue;
		size_t happened = source->what.poll(source->what.arg, work->budget);
		let_go(source);
		work->budget -= DTC_MIN(happened, work->budget);
		work->done += happened;
	}
}

int dtc_engine_arm_sources(struct dtconv_engine *engine)
{
	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++) {
		struct dtc_source *source = &engine->sources[i];

		if (!hold(source))
			continue;
		int status = source->what.arm ? source->what.arm(source->what.arg) : 0;
		let_go(source);
		if (status)
			return DTCONV_ERR_AGAIN;
	}
	return 0;
}

bool dtc_engine_has_blind_source(struct dtconv_engine *engine)
{
	bool is_blind = false;

	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX && !is_blind; i++) {
		struct dtc_source *source = &engine->sources[i];

		if (!hold(source))
			continue;
		is_blind = source->what.fd < 0;
		let_go(source);
	}
	return is_blind;
}

static void extend_sources(struct dtconv_engine *engine, unsigned end)
{
	unsigned before = atomic_load(&engine->source_end);

	while (before < end &&
	       !atomic_compare_exchange_weak(&engine->source_end, &before, end))
		;
}

static struct dtc_source *take_source(struct dtconv_engine *engine, unsigned *number)
{
	for (unsigned i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++) {
		int expected = DTC_SOURCE_FREE;

		*number = i;
		if (atomic_compare_exchange_strong(&engine->sources[i].state, &expected,
						   DTC_SOURCE_CHANGING))
			return &engine->sources[i];
	}
	return NULL;
}

int dtconv_engine_attach(struct dtconv_engine *engine, const struct dtconv_source *source,
			 unsigned *number)
{
	unsigned taken;

	if (!engine || !source || !number)
		return DTCONV_ERR_INVAL;
	if (!source->poll)
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: source.poll (argument 2) is NULL", __func__);
	struct dtc_source *place = take_source(engine, &taken);
	if (!place)
		return DTC_FAIL(engine->context, DTCONV_ERR_LIMIT,
				"%s: the engine has %d sources, that is the limit",
				__func__, DTCONV_ENGINE_SOURCES_MAX);
	if (source->fd >= 0 && dtc_engine_watch(engine, source->fd)) {
		atomic_store(&place->state, DTC_SOURCE_FREE);
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: epoll refuses source.fd (argument 2) %d: %s",
				__func__, source->fd, strerror(errno));
	}
	place->what = *source;
	atomic_store(&place->state, DTC_SOURCE_LIVE);
	extend_sources(engine, taken + 1);
	*number = taken;
	dtc_engine_ring(engine);
	return 0;
}

static bool is_attached(int state)
{
	return state == DTC_SOURCE_LIVE || state == DTC_SOURCE_CALLED;
}

/* After this its place, and a descriptor with its number, may be another's. */
static void detach(struct dtconv_engine *engine, struct dtc_source *source)
{
	int state = atomic_load(&source->state);

	if (source->what.fd >= 0)
		(void)epoll_ctl(engine->epoll, EPOLL_CTL_DEL, source->what.fd, NULL);
	while (is_attached(state) &&
	       !atomic_compare_exchange_weak(
		       &source->state, &state,
		       state == DTC_SOURCE_LIVE ? DTC_SOURCE_FREE : DTC_SOURCE_ENDING))
		;
}

int dtconv_engine_detach(struct dtconv_engine *engine, unsigned number)
{
	if (!engine)
		return DTCONV_ERR_INVAL;
	if (number >= DTCONV_ENGINE_SOURCES_MAX ||
	    !is_attached(atomic_load(&engine->sources[number].state)))
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: number (argument 2) is %u, no source of the engine",
				__func__, number);
	detach(engine, &engine->sources[number]);
	return 0;
}
