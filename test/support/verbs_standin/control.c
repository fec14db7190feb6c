/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a process, and its steering.
 */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>

struct process process = { .lock = PTHREAD_MUTEX_INITIALIZER,
			   .rested = PTHREAD_COND_INITIALIZER };

void fatal(const char *what)
{
	fprintf(stderr, "verbs stand-in: %s\n", what);
	abort();
}

int plan_due(struct plan *plan)
{
	const int what = plan->what;

	if (!what)
		return 0;
	if (plan->spare) {
		plan->spare--;
		return 0;
	}
	plan->what = 0;
	return what;
}

/* A refusal stays. */
int begin_call(enum verbs_call call)
{
	struct plan *plan = &process.refusals[call];
	int error = 0;

	pthread_mutex_lock(&process.lock);
	process.calls[call]++;
	if (plan->what && plan->spare)
		plan->spare--;
	else
		error = plan->what;
	pthread_mutex_unlock(&process.lock);
	return error;
}

size_t pick(size_t count)
{
	if (!process.order)
		return 0;
	process.order ^= process.order << 13;
	process.order ^= process.order >> 7;
	process.order ^= process.order << 17;
	return (size_t)(process.order % count);
}

/* A child has none of its parent's objects, and no thread. */
static void forget_parent(void)
{
	process = (struct process){ .lock = PTHREAD_MUTEX_INITIALIZER,
				    .rested = PTHREAD_COND_INITIALIZER,
				    .adapter = process.adapter };
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_parent);
}

/* ---- what tests call ------------------------------------------------------------------- */

static void refuse(enum verbs_call call, size_t spare, int error)
{
	pthread_mutex_lock(&process.lock);
	process.refusals[call] = (struct plan){ spare, error };
	pthread_mutex_unlock(&process.lock);
}

static void plan(struct plan *plan, size_t spare, int status)
{
	pthread_mutex_lock(&process.lock);
	*plan = (struct plan){ spare, status };
	pthread_mutex_unlock(&process.lock);
}

static void fail_send(size_t spare, int status)
{
	plan(&process.send, spare, status);
}

static void fail_receive(size_t spare, int status)
{
	plan(&process.receive, spare, status);
}

static void shuffle(uint64_t seed)
{
	pthread_mutex_lock(&process.lock);
	process.order = seed;
	pthread_mutex_unlock(&process.lock);
}

static void set_link(int is_up)
{
	fabric_set_link(is_up);
}

static void hold(int is_held)
{
	pthread_mutex_lock(&process.lock);
	process.is_held = is_held;
	pthread_mutex_unlock(&process.lock);
	fabric_ring();
}

static void lose_patience(void)
{
	pthread_mutex_lock(&process.lock);
	process.is_impatient = true;
	pthread_mutex_unlock(&process.lock);
	fabric_ring();
}

static void set_adapter(const struct verbs_adapter *adapter)
{
	pthread_mutex_lock(&process.lock);
	process.adapter = *adapter;
	pthread_mutex_unlock(&process.lock);
}

static void set_device_memory(void *(*find)(unsigned long long address, size_t bytes))
{
	pthread_mutex_lock(&process.lock);
	process.device_memory = find;
	pthread_mutex_unlock(&process.lock);
}

static size_t read_locked(const size_t *number)
{
	pthread_mutex_lock(&process.lock);
	const size_t value = *number;
	pthread_mutex_unlock(&process.lock);
	return value;
}

static size_t live(void)
{
	return read_locked(&process.live);
}

static size_t faults(void)
{
	return read_locked(&process.faults);
}

static size_t calls(enum verbs_call call)
{
	return read_locked(&process.calls[call]);
}

static void reset(void)
{
	pthread_mutex_lock(&process.lock);
	for (size_t i = 0; i < VERBS_CALLS; i++) {
		process.refusals[i] = (struct plan){ 0 };
		process.calls[i] = 0;
	}
	process.send = process.receive = (struct plan){ 0 };
	process.order = 0;
	process.is_impatient = process.is_held = false;
	process.faults = 0;
	process.adapter = (struct verbs_adapter){ 0 };
	process.device_memory = NULL;
	pthread_mutex_unlock(&process.lock);
	fabric_set_link(true);
}

/* The round that is under way may have begun before. */
static void settle(void)
{
	fabric_ring();
	pthread_mutex_lock(&process.lock);
	const size_t until = process.rests + 2;
	while (process.opened && process.rests < until) {
		fabric_ring();
		pthread_cond_wait(&process.rested, &process.lock);
	}
	pthread_mutex_unlock(&process.lock);
}

__attribute__((visibility("default"))) const struct verbs_standin *verbs_standin_control(
	void)
{
	static const struct verbs_standin control = { .refuse = refuse,
						      .fail_send = fail_send,
						      .fail_receive = fail_receive,
						      .shuffle = shuffle,
						      .set_link = set_link,
						      .hold = hold,
						      .lose_patience = lose_patience,
						      .set_adapter = set_adapter,
						      .set_device_memory =
							      set_device_memory,
						      .live = live,
						      .faults = faults,
						      .calls = calls,
						      .reset = reset,
						      .settle = settle };

	return &control;
}
