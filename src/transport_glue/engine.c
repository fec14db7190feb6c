/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: one thread at a time polls sources, handles posted items, and steps operations that need it. Threads that sleep
 * do so on an epoll descriptor with an eventfd, a timer and the descriptors of the sources.
 *
 * No wake-up is lost: arm announces the sleeper and then looks for work; a thread that posts work looks for a
 * sleeper after that; both in sequentially consistent order, so one of them sees the other.
 */
#include "config.h"

#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/thread_pool.h"

#define SPIN_US 50

/* How often copies in flight are polled while threads sleep: neither a copy nor a failed device signals the descriptor. */
#define POLL_NS UINT64_C(200000)

/* How often fragments are offered again that the network has refused, if it does not wake the engine. */
#define OFFER_NS UINT64_C(10000000)

enum source_state { SOURCE_FREE, SOURCE_CHANGING, SOURCE_LIVE };

struct source {
	_Atomic int state;
	struct dtconv_source what;
};

struct record {
	struct record *next;
};

struct dtconv_engine {
	struct dtconv_context *context;
	struct dtc_item_queue queue;
	_Atomic bool busy;         /* a thread makes progress or arms */
	_Atomic pthread_t busy_thread; /* which one makes progress; 0: none */
	_Atomic bool armed;        /* a thread sleeps, or is going to */
	_Atomic size_t operations; /* that are live */
	int epoll, event, timer;
	bool is_timer_set;
	unsigned spin_us, timeout_ms;
	struct source sources[DTCONV_ENGINE_SOURCES_MAX];
	/* Operations to step: a list with its end. */
	struct dtc_operation *active, **active_end;
	struct dtc_operation *earliest, *latest; /* deadlines */
	pthread_mutex_t record_lock;
	struct record *records;
	bool has_thread;
	_Atomic bool ending;
	pthread_t thread;
};

struct dtconv_context *dtc_engine_context(const struct dtconv_engine *engine)
{
	return engine->context;
}

/* ---- waking ---------------------------------------------------------------------------- */

static void ring(const struct dtconv_engine *engine)
{
	const uint64_t one = 1;

	/* Fails only if the counter is full, and then the descriptor is readable. */
	if (write(engine->event, &one, sizeof(one)) < 0)
		return;
}

static void wake_sleeper(struct dtconv_engine *engine)
{
	if (atomic_load(&engine->armed) && atomic_exchange(&engine->armed, false))
		ring(engine);
}

void dtc_engine_post(struct dtconv_engine *engine, struct dtc_item *item)
{
	dtc_item_queue_push(&engine->queue, item);
	wake_sleeper(engine);
}

void dtconv_engine_wake(struct dtconv_engine *engine)
{
	if (engine)
		ring(engine);
}

/* ---- operations ------------------------------------------------------------------------ */

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

static void append_active(struct dtconv_engine *engine, struct dtc_operation *operation)
{
	operation->next = NULL;
	operation->is_active = true;
	*engine->active_end = operation;
	engine->active_end = &operation->next;
}

void dtc_operation_activate(struct dtc_operation *operation)
{
	operation->need = DTC_NEED_MORE;
	if (!operation->is_active)
		append_active(operation->engine, operation);
}

static void handle_posted(struct dtc_item *item)
{
	struct dtc_operation *operation = (struct dtc_operation *)item;

	/* First of all: who posts it after this has it stepped once more. */
	atomic_fetch_and(&operation->control, ~(uint32_t)DTC_OPERATION_POSTED);
	dtc_operation_activate(operation);
}

_Static_assert(offsetof(struct dtc_operation, item) == 0, "an item is its operation");

/* ---- deadlines ------------------------------------------------------------------------- */

/* From the latest on: with one timeout for all, that is its place. */
static void insert_deadline(struct dtconv_engine *engine, struct dtc_operation *operation)
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

static void remove_deadline(struct dtconv_engine *engine, struct dtc_operation *operation)
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

static void expire(struct dtconv_engine *engine)
{
	struct dtc_operation *operation = engine->earliest;
	uint64_t now = operation ? dtc_now_ns() : 0;

	for (; operation && operation->deadline <= now; operation = engine->earliest) {
		remove_deadline(engine, operation);
		dtc_operation_fail(operation, DTCONV_ERR_TIMEOUT);
		dtc_operation_activate(operation);
	}
}

/* The first item of an operation. */
static void handle_started(struct dtc_item *item)
{
	struct dtc_operation *operation = (struct dtc_operation *)item;

	if (operation->deadline)
		insert_deadline(operation->engine, operation);
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
	atomic_store(&operation->asked, 0);
	atomic_fetch_add(&engine->operations, 1);
	atomic_store(&operation->control, DTC_OPERATION_LIVE | DTC_OPERATION_POSTED);
	dtc_engine_post(engine, &operation->item);
}

/* ---- progress -------------------------------------------------------------------------- */

static void handle_items(struct dtconv_engine *engine)
{
	struct dtc_item *item = dtc_item_queue_take(&engine->queue);

	while (item) {
		struct dtc_item *next = item->next;

		item->handle(item);
		item = next;
	}
}

static void poll_sources(struct dtconv_engine *engine, struct dtc_work *work)
{
	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX && work->budget; i++) {
		struct source *source = &engine->sources[i];

		if (atomic_load_explicit(&source->state, memory_order_acquire) !=
		    SOURCE_LIVE)
			continue;
		size_t happened = source->what.poll(source->what.arg, work->budget);
		work->budget -= DTC_MIN(happened, work->budget);
		work->done += happened;
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

	remove_deadline(engine, operation);
	if (!atomic_compare_exchange_strong(&operation->control, &live, 0))
		return;
	atomic_fetch_sub(&engine->operations, 1);
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
		append_active(engine, operation);
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
	    atomic_exchange_explicit(&engine->busy, true, memory_order_acquire))
		return 0;
	atomic_store_explicit(&engine->busy_thread, pthread_self(), memory_order_relaxed);
	poll_sources(engine, &work);
	if (!dtc_item_queue_is_empty(&engine->queue))
		handle_items(engine);
	if (engine->earliest)
		expire(engine);
	step_active(engine, &work);
	atomic_store_explicit(&engine->busy_thread, (pthread_t)0, memory_order_relaxed);
	atomic_store(&engine->busy, false);
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

/* ---- sleeping -------------------------------------------------------------------------- */

int dtconv_engine_fd(const struct dtconv_engine *engine)
{
	return engine ? engine->epoll : DTCONV_ERR_INVAL;
}

/* When to poll again without a wake-up; UINT64_MAX: never. 0: there is something to do now. */
static uint64_t next_look(struct dtconv_engine *engine)
{
	uint64_t now = dtc_now_ns(), look = UINT64_MAX;

	if (engine->earliest)
		look = engine->earliest->deadline;
	if (look <= now)
		return 0;
	for (struct dtc_operation *operation = engine->active; operation;
	     operation = operation->next) {
		if (operation->need == DTC_NEED_MORE ||
		    operation->need == DTC_NEED_RETIRE ||
		    operation->ops->has_landed(operation))
			return 0;
		look = DTC_MIN(look, now + (operation->need == DTC_NEED_OFFER ? OFFER_NS
									      : POLL_NS));
	}
	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++)
		if (atomic_load(&engine->sources[i].state) == SOURCE_LIVE &&
		    engine->sources[i].what.fd < 0)
			look = DTC_MIN(look, now + POLL_NS);
	return look;
}

static int arm_sources(struct dtconv_engine *engine)
{
	for (size_t i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++) {
		const struct source *source = &engine->sources[i];

		if (atomic_load(&source->state) == SOURCE_LIVE && source->what.arm &&
		    source->what.arm(source->what.arg))
			return DTCONV_ERR_AGAIN;
	}
	return 0;
}

/* Setting the timer also takes back that it has expired. */
static void set_timer(struct dtconv_engine *engine, uint64_t look)
{
	struct itimerspec when = { .it_value = { 0 } };

	if (look != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(look / 1000000000);
		when.it_value.tv_nsec = (long)(look % 1000000000);
	} else if (!engine->is_timer_set) {
		return;
	}
	engine->is_timer_set = look != UINT64_MAX;
	(void)timerfd_settime(engine->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int arm(struct dtconv_engine *engine)
{
	uint64_t rung;

	bool was_rung = read(engine->event, &rung, sizeof(rung)) > 0;
	bool others = atomic_exchange(&engine->armed, true);
	uint64_t look = dtc_item_queue_is_empty(&engine->queue) && !arm_sources(engine)
				? next_look(engine)
				: 0;
	if (look) {
		set_timer(engine, look);
		return was_rung ? DTCONV_ERR_AGAIN : 0;
	}
	/* Other threads may sleep on the same descriptor: they have to wake now, because no wake-up follows. */
	atomic_store(&engine->armed, false);
	if (was_rung || others)
		ring(engine);
	return DTCONV_ERR_AGAIN;
}

int dtconv_engine_arm(struct dtconv_engine *engine)
{
	if (!engine)
		return DTCONV_ERR_INVAL;
	if (atomic_exchange_explicit(&engine->busy, true, memory_order_acquire))
		return DTCONV_ERR_AGAIN;
	int status = arm(engine);
	atomic_store(&engine->busy, false);
	return status;
}

static void sleep_until_rung(struct dtconv_engine *engine)
{
	struct epoll_event event;

	while (epoll_wait(engine->epoll, &event, 1, -1) < 0 && errno == EINTR)
		;
}

/* ---- the engine's thread --------------------------------------------------------------- */

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

/* ---- sources --------------------------------------------------------------------------- */

static int watch(const struct dtconv_engine *engine, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event);
}

static struct source *take_source(struct dtconv_engine *engine, unsigned *number)
{
	for (unsigned i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++) {
		int expected = SOURCE_FREE;

		*number = i;
		if (atomic_compare_exchange_strong(&engine->sources[i].state, &expected,
						   SOURCE_CHANGING))
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
	struct source *place = take_source(engine, &taken);
	if (!place)
		return DTC_FAIL(engine->context, DTCONV_ERR_LIMIT,
				"%s: the engine has %d sources, that is the limit",
				__func__, DTCONV_ENGINE_SOURCES_MAX);
	if (source->fd >= 0 && watch(engine, source->fd)) {
		atomic_store(&place->state, SOURCE_FREE);
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: epoll refuses source.fd (argument 2) %d: %s",
				__func__, source->fd, strerror(errno));
	}
	place->what = *source;
	atomic_store_explicit(&place->state, SOURCE_LIVE, memory_order_release);
	*number = taken;
	ring(engine);
	return 0;
}

int dtconv_engine_detach(struct dtconv_engine *engine, unsigned number)
{
	int expected = SOURCE_LIVE;

	if (!engine)
		return DTCONV_ERR_INVAL;
	if (number >= DTCONV_ENGINE_SOURCES_MAX ||
	    !atomic_compare_exchange_strong(&engine->sources[number].state, &expected,
					    SOURCE_CHANGING))
		return DTC_FAIL(engine->context, DTCONV_ERR_INVAL,
				"%s: number (argument 2) is %u, no source of the engine",
				__func__, number);
	struct source *source = &engine->sources[number];
	if (source->what.fd >= 0)
		(void)epoll_ctl(engine->epoll, EPOLL_CTL_DEL, source->what.fd, NULL);
	atomic_store(&source->state, SOURCE_FREE);
	return 0;
}

/* ---- records --------------------------------------------------------------------------- */

_Static_assert(sizeof(struct record) <= DTC_RECORD_BYTES, "a free record holds a link");

void *dtc_engine_take_record(struct dtconv_engine *engine)
{
	pthread_mutex_lock(&engine->record_lock);
	struct record *record = engine->records;
	if (record)
		engine->records = record->next;
	pthread_mutex_unlock(&engine->record_lock);
	return record ? record : dtc_alloc(engine->context, DTC_RECORD_BYTES);
}

void dtc_engine_put_record(struct dtconv_engine *engine, void *memory)
{
	struct record *record = memory;

	pthread_mutex_lock(&engine->record_lock);
	record->next = engine->records;
	engine->records = record;
	pthread_mutex_unlock(&engine->record_lock);
}

/* ---- creating -------------------------------------------------------------------------- */

static int open_files(struct dtconv_engine *engine, const char *caller)
{
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	engine->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	engine->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (engine->epoll < 0 || engine->event < 0 || engine->timer < 0 ||
	    watch(engine, engine->event) || watch(engine, engine->timer))
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
	if (engine->has_thread) {
		atomic_store(&engine->ending, true);
		ring(engine);
		pthread_join(engine->thread, NULL);
	}
	while (engine->records) {
		struct record *record = engine->records;

		engine->records = record->next;
		dtc_free(engine->context, record);
	}
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

static int start_thread(struct dtconv_engine *engine, const char *caller)
{
	int error = dtc_thread_start(&engine->thread, run, engine);

	if (error)
		return DTC_FAIL(engine->context, DTCONV_ERR_AGAIN,
				"%s: cannot start the engine's thread: %s", caller,
				strerror(error));
	engine->has_thread = true;
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
		status = start_thread(made, __func__);
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
	size_t operations = atomic_load(&engine->operations);

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
