/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How other threads reach an operation: starting it, posting it to the thread that makes progress, and asking it to
 * end.
 */
#include "config.h"

#include <stddef.h>

#include "base/clock.h"
#include "convertor/convertor.h"
#include "engine.h"
#include "engine_state.h"

void dtc_engine_post(struct dtconv_engine *engine, struct dtc_item *item)
{
	dtc_item_queue_push(&engine->queue, item);
	dtc_engine_wake_sleeper(engine);
}

bool dtc_operation_post(struct dtc_operation *operation)
{
	uint32_t control = atomic_load(&operation->control);

	do {
		if (!(control & DTC_OPERATION_LIVE))
			return false;
		if (control & DTC_OPERATION_POSTED)
			return true;
	} while (!atomic_compare_exchange_weak(&operation->control, &control,
					       control | DTC_OPERATION_POSTED));
	dtc_engine_post(operation->engine, &operation->item);
	return true;
}

bool dtc_operation_ask(struct dtc_operation *operation, int status)
{
	int none = 0;

	if (!dtc_operation_is_live(operation))
		return false;
	atomic_compare_exchange_strong(&operation->asked, &none, status);
	return dtc_operation_post(operation);
}

void dtc_operation_activate(struct dtc_operation *operation)
{
	operation->need = DTC_NEED_MORE;
	if (!operation->is_active)
		dtc_engine_append_active(operation->engine, operation);
}

static void handle_posted(struct dtc_item *item)
{
	struct dtc_operation *operation = (struct dtc_operation *)item;

	/* First of all: who posts it after this has it stepped once more. */
	atomic_fetch_and(&operation->control, ~(uint32_t)DTC_OPERATION_POSTED);
	dtc_operation_activate(operation);
}

_Static_assert(offsetof(struct dtc_operation, item) == 0, "an item is its operation");

/* The first item of an operation. */
static void handle_started(struct dtc_item *item)
{
	struct dtc_operation *operation = (struct dtc_operation *)item;

	if (operation->deadline)
		dtc_engine_insert_deadline(operation->engine, operation);
	item->handle = handle_posted;
	handle_posted(item);
}

void dtc_operation_start(struct dtc_operation *operation, unsigned timeout_ms)
{
	struct dtconv_engine *engine = operation->engine;
	uint64_t timeout = timeout_ms ? timeout_ms : engine->timeout_ms;

	operation->item.handle = handle_started;
	operation->is_active = false;
	operation->need = DTC_NEED_NOTHING;
	operation->deadline = timeout ? dtc_now_ns() + timeout * 1000000 : 0;
	operation->status = 0;
	operation->moved = 0;
	/* Nobody else knows it yet; posting it shows all of this to the thread that makes progress. */
	atomic_store_explicit(&operation->asked, 0, memory_order_relaxed);
	operation->holds_convertor = true;
	dtc_convertor_hold(operation->convertor);
	atomic_fetch_add(&engine->started, 1);
	atomic_store_explicit(&operation->control,
			      DTC_OPERATION_LIVE | DTC_OPERATION_POSTED,
			      memory_order_release);
	dtc_engine_post(engine, &operation->item);
}
