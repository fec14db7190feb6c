/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What operations need of an engine: starting, posting, and memory for arrivals.
 */
#ifndef DTC_ENGINE_H
#define DTC_ENGINE_H

#include "base/base.h"
#include "operation.h"

/* Post an item, and wake the engine if it sleeps. Any thread. */
void dtc_engine_post(struct dtconv_engine *engine, struct dtc_item *item);

/*
 * Make an operation live, with a timeout in milliseconds (0: the engine's), and post it. All else of it has been set
 * up.
 */
void dtc_operation_start(struct dtc_operation *operation, unsigned timeout_ms);

/* Have it stepped by the thread that makes progress. Any thread; false if it is done. */
bool dtc_operation_post(struct dtc_operation *operation);

/* Ask it to end with that status. Any thread; false if it is done. */
bool dtc_operation_ask(struct dtc_operation *operation, int status);

/* The same in the thread that makes progress, from the function of an item. */
void dtc_operation_activate(struct dtc_operation *operation);

/*
 * Wait until no thread makes progress, so that a source that was detached is not being polled. False if the calling
 * thread makes progress itself, as in every callback.
 */
DTC_PRIVATE_API bool dtc_engine_settle(struct dtconv_engine *engine);

DTC_PRIVATE_API struct dtconv_context *dtc_engine_context(
	const struct dtconv_engine *engine);

/* Records for arrivals, which the engine keeps for later ones. NULL if the allocator has no memory. */
#define DTC_RECORD_BYTES 128

void *dtc_engine_take_record(struct dtconv_engine *engine);
void dtc_engine_put_record(struct dtconv_engine *engine, void *record);

#endif
