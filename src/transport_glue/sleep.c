/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that sleep do so on an epoll descriptor with an eventfd, a timer and the descriptors of the sources.
 *
 * No wake-up is lost: arm announces the sleeper and then looks for work; a thread that posts work looks for a
 * sleeper after that; both in sequentially consistent order, so one of them sees the other.
 */
#include "config.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "copy_backends/alarm.h"
#include "engine_state.h"

/* How often flights are polled while threads sleep that cannot ring an alarm, and missing resources. */
#define POLL_NS UINT64_C(200000)

/* How often flights are polled that will ring an alarm: those of a failed device never do. */
#define BACKSTOP_NS UINT64_C(10000000)

/* How often fragments are offered again that the network has refused, if it does not wake the engine. */
#define OFFER_NS UINT64_C(10000000)

void dtc_engine_ring(const struct dtconv_engine *engine)
{
	const uint64_t one = 1;

	/* Fails only if the counter is full, and then the descriptor is readable. */
	if (write(engine->event, &one, sizeof(one)) < 0)
		return;
}

void dtc_engine_wake_sleeper(struct dtconv_engine *engine)
{
	if (atomic_load(&engine->armed) && atomic_exchange(&engine->armed, false))
		dtc_engine_ring(engine);
}

void dtconv_engine_wake(struct dtconv_engine *engine)
{
	if (engine)
		dtc_engine_ring(engine);
}

int dtconv_engine_fd(const struct dtconv_engine *engine)
{
	return engine ? engine->epoll : DTCONV_ERR_INVAL;
}

int dtc_engine_watch(const struct dtconv_engine *engine, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Whether an operation can go on now. */
static bool has_work(const struct dtconv_engine *engine)
{
	for (struct dtc_operation *operation = engine->active; operation;
	     operation = operation->next)
		if (operation->need == DTC_NEED_MORE ||
		    operation->need == DTC_NEED_RETIRE ||
		    operation->ops->has_landed(operation))
			return true;
	return false;
}

/* An alarm: a flight has ended. */
static void wake(void *arg)
{
	dtc_engine_wake_sleeper(arg);
}

/* How long an operation can wait until it is polled. A flight that has ended since the last look rings at once. */
static uint64_t patience_of(struct dtconv_engine *engine,
			    const struct dtc_operation *operation)
{
	const struct dtc_alarm alarm = { .ring = wake, .arg = engine };

	if (operation->need == DTC_NEED_OFFER)
		return OFFER_NS;
	if (operation->need == DTC_NEED_FLIGHT &&
	    operation->ops->set_alarm(operation, &alarm))
		return BACKSTOP_NS;
	return POLL_NS;
}

/* When to poll again without a wake-up; UINT64_MAX: never. 0: there is something to do now. */
static uint64_t next_look(struct dtconv_engine *engine)
{
	uint64_t now = dtc_now_ns(), look = UINT64_MAX;

	if (engine->earliest)
		look = engine->earliest->deadline;
	if (look <= now || has_work(engine))
		return 0;
	for (const struct dtc_operation *operation = engine->active; operation;
	     operation = operation->next)
		look = DTC_MIN(look, now + patience_of(engine, operation));
	if (dtc_engine_has_blind_source(engine))
		look = DTC_MIN(look, now + POLL_NS);
	return look;
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
	uint64_t look = dtc_item_queue_is_empty(&engine->queue) &&
					!dtc_engine_arm_sources(engine)
				? next_look(engine)
				: 0;
	if (look) {
		set_timer(engine, look);
		return was_rung ? DTCONV_ERR_AGAIN : 0;
	}
	/* Other threads may sleep on the same descriptor: they have to wake now, because no wake-up follows. */
	atomic_store(&engine->armed, false);
	if (was_rung || others)
		dtc_engine_ring(engine);
	return DTCONV_ERR_AGAIN;
}

int dtconv_engine_arm(struct dtconv_engine *engine)
{
	if (!engine)
		return DTCONV_ERR_INVAL;
	if (atomic_exchange(&engine->busy, true))
		return DTCONV_ERR_AGAIN;
	/* Sources are called: what they call must find that it is in a callback. */
	atomic_store_explicit(&engine->busy_thread, pthread_self(), memory_order_relaxed);
	int status = arm(engine);
	atomic_store_explicit(&engine->busy_thread, (pthread_t)0, memory_order_relaxed);
	atomic_store(&engine->busy, false);
	return status;
}
