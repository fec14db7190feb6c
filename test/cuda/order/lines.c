/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The streams of a script: opened, held up for a while, one after the other by events, and which of them a place
 * belongs to. Jobs are ended here where their stream's order is not enough.
 */
#include "config.h"

#include <pthread.h>
#include <time.h>

#include "cuda/order/script.h"

static CUfunction spin_function;

void hold_load(void)
{
	spin_function = spin_load();
}

static CUstream choose_stream(struct script *s, bool captures)
{
	CUstream stream;

	if (!captures && chance(&s->choices, 12))
		return chance(&s->choices, 2) ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
	MUST(StreamCreate(&stream, chance(&s->choices, 4) ? 0 : CU_STREAM_NON_BLOCKING));
	return stream;
}

void lines_open(struct script *s, bool captures)
{
	s->streams = 1 + (int)choose(&s->choices, STREAMS);
	for (int i = 0; i < LINES; i++) {
		MUST(EventCreate(&s->events[i], CU_EVENT_DISABLE_TIMING));
		if (i < s->streams)
			s->lines[i] = choose_stream(s, captures);
		else
			MUST(StreamCreate(&s->lines[i], CU_STREAM_NON_BLOCKING));
	}
}

static bool is_made(CUstream stream)
{
	return stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

void lines_close(struct script *s)
{
	for (int i = 0; i < LINES; i++) {
		MUST(EventDestroy(s->events[i]));
		if (is_made(s->lines[i]))
			MUST(StreamDestroy(s->lines[i]));
	}
}

int choose_line(struct script *s)
{
	if (!s->capturing)
		return (int)choose(&s->choices, (size_t)s->streams);
	return chance(&s->choices, 2) && s->branch != CONSUMER ? s->branch : s->origin;
}

void lines_synchronize(struct script *s)
{
	for (int i = 0; i < LINES; i++)
		if (i < s->streams || i == CONSUMER)
			MUST(StreamSynchronize(s->lines[i]));
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void nap_us(long microseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = microseconds * 1000 }, NULL);
}

/* A thread of its own: some calls wait until a stream goes on. */
static void *let_go(void *arg)
{
	struct script *s = arg;

	for (;;) {
		const bool over = __atomic_load_n(&s->over, __ATOMIC_ACQUIRE);
		const int spins = __atomic_load_n(&s->spins, __ATOMIC_ACQUIRE);
		const double now = seconds();

		for (int i = 0; i < spins; i++)
			if (over || s->releases[i].due <= now)
				__atomic_store_n(s->releases[i].word, 1,
						 __ATOMIC_RELEASE);
		if (over)
			return NULL;
		nap_us(200);
	}
}

void holds_start(struct script *s)
{
	ck_assert_int_eq(pthread_create(&s->releaser, NULL, let_go, s), 0);
}

void holds_stop(struct script *s)
{
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	pthread_join(s->releaser, NULL);
}

void hold_line(struct script *s, int line)
{
	const long us = (long)choose(&s->choices, 4000);
	const int number = s->spins;

	if (number == SPINS || s->capturing)
		return;
	uint64_t *word = (uint64_t *)(void *)s->words.memory + number;
	note("stream %d is held up for %ld us\n", line, us);
	s->releases[number] = (struct release){ word, seconds() + (double)us * 1e-6 };
	if (chance(&s->choices, 3))
		MUST(StreamWaitValue64(s->lines[line], (CUdeviceptr)(uintptr_t)word, 1,
				       CU_STREAM_WAIT_VALUE_EQ));
	else
		spin_launch(spin_function, word, s->lines[line]);
	__atomic_store_n(&s->spins, number + 1, __ATOMIC_RELEASE);
}

void line_follow(struct script *s, int from, int to)
{
	MUST(EventRecord(s->events[from], s->lines[from]));
	MUST(StreamWaitEvent(s->lines[to], s->events[from], 0));
}

void hand_over(struct script *s, struct place *place, int line)
{
	if (place_is_host(place))
		end_jobs_of(s, place);
	else
		end_loose_jobs_of(s, place);
	if (place->owner == line)
		return;
	note("%s goes from stream %d to %d\n", place->name, place->owner, line);
	line_follow(s, place->owner, line);
	place->owner = line;
}

void come_to_rest(struct script *s, struct place *place)
{
	if (place_is_host(place) || chance(&s->choices, 2))
		end_jobs_of(s, place);
	else
		end_loose_jobs_of(s, place);
	MUST(StreamSynchronize(s->lines[place->owner]));
}

void hand_to_driver(struct script *s, struct place *place, int line)
{
	if (place_is_host(place))
		come_to_rest(s, place);
	hand_over(s, place, line);
}

void driver_has_copied(struct script *s, const struct place *place)
{
	if (place_is_host(place))
		MUST(StreamSynchronize(s->lines[place->owner]));
}
