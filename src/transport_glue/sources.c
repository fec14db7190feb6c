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
 * A source that was detached is not polled after dtc_engine_settle(): this thread announced its progress before it reads
 * a state, the other one changed the state before it looks for progress, all in sequentially consistent order.
 */
void dtc_engine_poll_sources(struct dtconv_engine *engine, struct dtc_work *work)
{
	const unsigned end = atomic_load(&engine->source_end);

	for (unsigned i = 0; i < end && work->budget; i++) {
		struct dtc_source *source = &engine->sources[i];

		if (atomic_load(&source->state) != DTC_SOURCE_LIVE)
			continue;
		size_t happened = source->what.poll(source->what.arg, work->budget);
		work->budget -= DTC_MIN(happened, work->budget);
		work->done += happened;
	}
}

int dtc_engine_arm_sources(struct dtconv_engine *engine)
{
	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++) {
		const struct dtc_source *source = &engine->sources[i];

		if (atomic_load(&source->state) == DTC_SOURCE_LIVE && source->what.arm &&
		    source->what.arm(source->what.arg))
			return DTCONV_ERR_AGAIN;
	}
	return 0;
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

int dtconv_engine_detach(struct dtconv_engine *engine, unsigned number)
{
	int expected = DTC_SOURCE_LIVE;

	if (!engine)
		return DTCONV_ERR_INVAL;
	if (number >= DTCONV_ENGINE_SOURCES_MAX ||
	    !atomic_compare_exchange_strong(&engine->sources[number].state, &expected,
					    DTC_SOURCE_CHANGING))
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: number (argument 2) is %u, no source of the engine",
				__func__, number);
	struct dtc_source *source = &engine->sources[number];
	if (source->what.fd >= 0)
		(void)epoll_ctl(engine->epoll, EPOLL_CTL_DEL, source->what.fd, NULL);
	atomic_store(&source->state, DTC_SOURCE_FREE);
	return 0;
}
