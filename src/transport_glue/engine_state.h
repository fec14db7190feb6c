/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of an engine, and what its files call of each other.
 */
#ifndef DTC_ENGINE_STATE_H
#define DTC_ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/flow.h>

#include "item_queue.h"
#include "operation.h"

enum dtc_source_state {
	DTC_SOURCE_FREE,
	DTC_SOURCE_CHANGING, /* being attached */
	DTC_SOURCE_LIVE,
	DTC_SOURCE_CALLED, /* the thread that makes progress or arms calls its functions */
	DTC_SOURCE_ENDING /* the same, and it was detached: that thread frees its place */
};

struct dtc_record;

struct dtc_source {
	_Atomic int state;
	struct dtconv_source what;
};

struct dtconv_engine {
	struct dtconv_context *context;
	struct dtc_item_queue queue;
	_Atomic bool busy;         /* a thread makes progress or arms */
	_Atomic pthread_t busy_thread; /* which one; 0: none */
	_Atomic bool armed;        /* a thread sleeps, or is going to */
	_Atomic size_t started,
		ended; /* operations; only the thread that makes progress ends them */
	int epoll, event, timer;
	bool is_timer_set;
	unsigned spin_us, timeout_ms;
	struct dtc_source sources[DTCONV_ENGINE_SOURCES_MAX];
	_Atomic unsigned source_end; /* no place from here on has ever been taken */
	/* Operations to step: a list with its end. */
	struct dtc_operation *active, **active_end;
	struct dtc_operation *earliest, *latest; /* deadlines */
	pthread_mutex_t record_lock;
	struct dtc_record *records;
	struct dtc_record *_Atomic spare_record; /* one more, or NULL */
	bool has_thread;
	_Atomic bool ending;
	pthread_t thread;
};

/* ---- progress -------------------------------------------------------------------------- */

/* Have the operation stepped once more. */
void dtc_engine_append_active(struct dtconv_engine *engine,
			      struct dtc_operation *operation);

/* ---- deadlines ------------------------------------------------------------------------- */

void dtc_engine_insert_deadline(struct dtconv_engine *engine,
				struct dtc_operation *operation);

/* Does nothing if it has none. */
void dtc_engine_remove_deadline(struct dtconv_engine *engine,
				struct dtc_operation *operation);

/* Fail the operations whose time is over. */
void dtc_engine_expire(struct dtconv_engine *engine);

/* ---- sleeping -------------------------------------------------------------------------- */

/* Make the descriptor readable. Any thread. */
void dtc_engine_ring(const struct dtconv_engine *engine);

/* The same if a thread sleeps, or is going to: for threads that have posted work. */
void dtc_engine_wake_sleeper(struct dtconv_engine *engine);

/* Wake sleepers when @fd is readable; as epoll_ctl(). */
int dtc_engine_watch(const struct dtconv_engine *engine, int fd);

/* ---- sources --------------------------------------------------------------------------- */

void dtc_engine_poll_sources(struct dtconv_engine *engine, struct dtc_work *work);

/* DTCONV_ERR_AGAIN if one of them has work. */
int dtc_engine_arm_sources(struct dtconv_engine *engine);

/* Whether one of them has no descriptor. Of a thread that arms. */
bool dtc_engine_has_blind_source(struct dtconv_engine *engine);

/* ---- the engine's thread, and its records ---------------------------------------------- */

int dtc_engine_start_thread(struct dtconv_engine *engine, const char *caller);

/* Wait for its end, if there is one. */
void dtc_engine_end_thread(struct dtconv_engine *engine);

void dtc_engine_free_records(struct dtconv_engine *engine);

#endif
