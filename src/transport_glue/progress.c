/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress: one thread at a time polls sources, handles posted items, and steps the operations that need it.
 */
#include "config.h"

#include <sched.h>

#include "base/base.h"
#include "convertor/convertor.h"
#include "engine.h"
#include "engine_state.h"

void dtc_engine_append_active(struct dtconv_engine *engine,
			      struct dtc_operation *operation)
{
	operation->next = NULL;
	operation->is_active = true;
	*engine->active_end = operation;
	engine->active_end = &operation->next;
}

static void handle_items(struct dtconv_engine *engine)
{
	struct dtc_item *item = dtc_item_queue_take(&engine->queue);

	while (item) {
		struct dtc_item *next = item->next;

		item->handle(item);
		item = next;
	}
}

/*
 * The end of an operation, unless something was posted in the meantime, which will step it again. Its owner may free
 * it as soon as it is no longer live, at the latest in its callback.
 */
static void retire(struct dtc_operation *operation, struct dtc_work *work)
{
	const dtconv_done_fn done = operation->done;
	void *arg = operation->arg;
	const int status = operation->status;
	const size_t moved = operation->moved;
	struct dtconv_engine *engine = operation->engine;
	uint32_t live = DTC_OPERATION_LIVE;

	dtc_engine_remove_deadline(engine, operation);
	/* First: once the operation is not live, its owner may use the convertor. */
	if (operation->holds_convertor)
		dtc_convertor_release(operation->convertor);
	operation->holds_convertor = false;
	if (!atomic_compare_exchange_strong(&operation->control, &live, 0))
		return;
	const size_t ended =
		atomic_load_explicit(&engine->ended, memory_order_relaxed) + 1;
	atomic_store_explicit(&engine->ended, ended, memory_order_release);
	work->done++;
	if (!done)
		return;
	work->budget--;
	done(arg, status, moved);
}

static void step(struct dtconv_engine *engine, struct dtc_operation *operation,
		 struct dtc_work *work)
{
	operation->is_active = false;
	dtc_operation_listen(operation);
	enum dtc_need need = operation->ops->step(operation, work);

	operation->need = need;
	if (need == DTC_NEED_RETIRE && work->budget)
		retire(operation, work);
	else if (need != DTC_NEED_NOTHING)
		dtc_engine_append_active(engine, operation);
}

/* Each of those that are active now, once. Where the budget ends, the next call goes on. */
static void step_active(struct dtconv_engine *engine, struct dtc_work *work)
{
	struct dtc_operation *operation = engine->active;
	struct dtc_operation **end = engine->active_end;

	engine->active = NULL;
	engine->active_end = &engine->active;
	while (operation && work->budget) {
		struct dtc_operation *next = operation->next;

		step(engine, operation, work);
		operation = next;
	}
	if (!operation)
		return;
	*end = engine->active;
	if (!engine->active)
		engine->active_end = end;
	engine->active = operation;
}

int dtconv_engine_progress(struct dtconv_engine *engine, size_t budget, size_t *worked)
{
	struct dtc_work work = { .budget = budget ? budget : DTCONV_ENGINE_BUDGET };

	if (!engine)
		return DTCONV_ERR_INVAL;
	if (worked)
		*worked = 0;
	if (atomic_load_explicit(&engine->busy, memory_order_relaxed) ||
	    atomic_exchange(&engine->busy, true))
		return 0;
	atomic_store_explicit(&engine->busy_thread, pthread_self(), memory_order_relaxed);
	dtc_engine_poll_sources(engine, &work);
	if (!dtc_item_queue_is_empty(&engine->queue))
		handle_items(engine);
	if (engine->earliest)
		dtc_engine_expire(engine);
	step_active(engine, &work);
	atomic_store_explicit(&engine->busy_thread, (pthread_t)0, memory_order_relaxed);
	/* Who sees this sees all that was done; that it begins is what has to be announced before. */
	atomic_store_explicit(&engine->busy, false, memory_order_release);
	if (worked)
		*worked = work.done;
	return 0;
}

bool dtc_engine_settle(struct dtconv_engine *engine)
{
	while (atomic_load(&engine->busy)) {
		if (pthread_equal(atomic_load(&engine->busy_thread), pthread_self()))
			return false;
		sched_yield();
	}
	return true;
}
