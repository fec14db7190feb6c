/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines: the operations that have one, in the order in which they expire.
 */
#include "config.h"

#include "base/clock.h"
#include "engine.h"
#include "engine_state.h"

/* From the latest on: with one timeout for all, that is its place. */
void dtc_engine_insert_deadline(struct dtconv_engine *engine,
				struct dtc_operation *operation)
{
	struct dtc_operation *before = engine->latest;

	while (before && before->deadline > operation->deadline)
		before = before->earlier;
	operation->earlier = before;
	operation->later = before ? before->later : engine->earliest;
	if (operation->later)
		operation->later->earlier = operation;
	else
		engine->latest = operation;
	if (before)
		before->later = operation;
	else
		engine->earliest = operation;
}

void dtc_engine_remove_deadline(struct dtconv_engine *engine,
				struct dtc_operation *operation)
{
	if (!operation->deadline)
		return;
	if (operation->earlier)
		operation->earlier->later = operation->later;
	else
		engine->earliest = operation->later;
	if (operation->later)
		operation->later->earlier = operation->earlier;
	else
		engine->latest = operation->earlier;
	operation->deadline = 0;
}

void dtc_engine_expire(struct dtconv_engine *engine)
{
	struct dtc_operation *operation = engine->earliest;
	uint64_t now = operation ? dtc_now_ns() : 0;

	for (; operation && operation->deadline <= now; operation = engine->earliest) {
		dtc_engine_remove_deadline(engine, operation);
		dtc_operation_fail(operation, DTCONV_ERR_TIMEOUT);
		dtc_operation_activate(operation);
	}
}
