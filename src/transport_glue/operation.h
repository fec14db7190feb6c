/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sends and receives have in common: how other threads reach an operation, its place in the engine, its status
 * and its end.
 *
 * Only the thread that makes progress changes an operation. Others post it, once at a time, or items that are
 * counted in its control word. An operation retires when nothing is posted and nothing is counted; from then on its
 * owner may free it.
 */
#ifndef DTC_OPERATION_STATE_H
#define DTC_OPERATION_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/flow.h>

#include "item_queue.h"

struct dtc_alarm;
struct dtc_operation;

/* Bits of the control word; above them the number of items that are about the operation. */
enum { DTC_OPERATION_LIVE = 1, DTC_OPERATION_POSTED = 2, DTC_OPERATION_ITEM = 4 };

/* What an engine may spend in one call of progress, and what it has done. */
struct dtc_work {
	size_t budget; /* callbacks that may still be called */
	size_t done;
};

/* What an operation needs next. */
enum dtc_need {
	DTC_NEED_NOTHING, /* an item will come */
	DTC_NEED_FLIGHT,  /* a copy in flight will end */
	DTC_NEED_POLL,    /* a resource was missing */
	DTC_NEED_OFFER,   /* the network has refused a fragment */
	DTC_NEED_MORE,    /* the budget was used up */
	DTC_NEED_RETIRE   /* nothing: all of it is done */
};

struct dtc_operation_ops {
	/* Do what can be done now. */
	enum dtc_need (*step)(struct dtc_operation *operation, struct dtc_work *work);
	/* Whether a copy in flight has completed. */
	bool (*has_landed)(struct dtc_operation *operation);
	/* Have the alarm rung when one completes; false if that is not possible. */
	bool (*set_alarm)(const struct dtc_operation *operation,
			  const struct dtc_alarm *alarm);
};

struct dtc_operation {
	struct dtc_item item;
	const struct dtc_operation_ops *ops;
	struct dtconv_engine *engine;
	struct dtconv_context *context;
	struct dtconv_convertor *convertor;
	_Atomic uint32_t control;
	_Atomic int asked; /* the status with which another thread wants it to end */
	struct dtc_operation *next; /* in the engine's list of active ones */
	bool is_active;
	enum dtc_need need;
	struct dtc_operation *earlier, *later; /* by deadline */
	uint64_t deadline;                     /* 0: none */
	int status;   /* the first that was not 0; from then on it drains */
	size_t bytes; /* of the whole message */
	size_t moved;
	dtconv_done_fn done;
	void *arg;
};

/* Whether it is neither new nor done. */
static inline bool dtc_operation_is_live(const struct dtc_operation *operation)
{
	return atomic_load(&operation->control) & DTC_OPERATION_LIVE;
}

/* The first status counts. */
static inline void dtc_operation_fail(struct dtc_operation *operation, int status)
{
	if (!operation->status)
		operation->status = status;
}

/* Take in what other threads have asked for. */
static inline void dtc_operation_listen(struct dtc_operation *operation)
{
	int asked = atomic_load_explicit(&operation->asked, memory_order_relaxed);

	if (asked)
		dtc_operation_fail(operation, asked);
}

/* Count an item, unless the operation is done. */
static inline bool dtc_operation_count_item(struct dtc_operation *operation)
{
	uint32_t control = atomic_load(&operation->control);

	do
		if (!(control & DTC_OPERATION_LIVE))
			return false;
	while (!atomic_compare_exchange_weak(&operation->control, &control,
					     control + DTC_OPERATION_ITEM));
	return true;
}

static inline void dtc_operation_uncount_item(struct dtc_operation *operation)
{
	atomic_fetch_sub(&operation->control, (uint32_t)DTC_OPERATION_ITEM);
}

#endif
