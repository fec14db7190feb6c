/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels between two processes: random messages both ways, a peer that pauses, one that is killed at every point, and
 * one that ends without a word. Both processes sleep whenever they have nothing to do.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "support/fixture.h"

#define MESSAGES 16

struct plan {
	uint64_t seed;
	struct party_memory memory;
	long death; /* the child kills itself after so many steps; negative: never */
	size_t pause; /* it stops itself when so many operations are left, until somebody wakes it; 0: never */
};

static size_t operations_left(const struct exchange *exchange)
{
	size_t left = 0;

	for (size_t i = 0; i < exchange->count; i++)
		left += !exchange->items[i].calls;
	return left;
}

/* One step at a time, so that every state is one to die in. */
static void run_child(int socket, const struct plan *plan)
{
	static struct exchange exchange;
	size_t pause = plan->pause;
	struct party party;

	bed_swap();
	exchange_open(&exchange, fixture_context, 1, plan->seed, MESSAGES);
	party_open(&party, fixture_context, socket, plan->memory);
	exchange_start(&exchange, &party);
	for (long step = 0; !exchange_is_done(&exchange); step++) {
		if (step == plan->death)
			kill(getpid(), SIGKILL);
		if (operations_left(&exchange) <= pause) {
			raise(SIGSTOP);
			pause = 0;
		}
		if (plan->death < 0 && !plan->pause)
			party_sleep(&party);
		else
			exchange_must(!dtconv_engine_progress(party.engine, 1, NULL),
				      "progress");
	}
	if (plan->death >= 0)
		kill(getpid(), SIGKILL);
	exchange_check(&exchange, 0);
	party_close(&party);
	exchange_close(&exchange);
	_exit(0);
}

static pid_t start_child(const struct plan *plan, int *socket)
{
	int sockets[2];

	party_sockets(sockets);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(sockets[0]);
		run_child(sockets[1], plan);
	}
	close(sockets[1]);
	*socket = sockets[0];
	return child;
}

static int end_of(pid_t child)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

static void wait_for(struct exchange *exchange, struct party *party)
{
	while (!exchange_is_done(exchange))
		party_sleep(party);
}

/* All messages of this end's side of a plan. */
static void exchange_all(const struct plan *plan, int socket)
{
	static struct exchange exchange;
	struct party party;

	exchange_open(&exchange, fixture_context, 0, plan->seed, MESSAGES);
	party_open(&party, fixture_context, socket, plan->memory);
	exchange_start(&exchange, &party);
	wait_for(&exchange, &party);
	exchange_check(&exchange, 0);
	party_close(&party);
	exchange_close(&exchange);
}

/* ---- both live ------------------------------------------------------------------------------- */

START_TEST(messages_go_both_ways)
{
	static const size_t fragments[] = { 1, 2, 16 }, sizes[] = { 64, 1000, 65536 };
	struct choices choices = fixture_choices((uint64_t)_i + 100);
	const struct plan plan = { .seed = choices.state,
				   .memory = { fragments[_i % 3], sizes[_i / 3 % 3] },
				   .death = -1 };
	const size_t files = process_files();
	int socket;

	pid_t child = start_child(&plan, &socket);
	exchange_all(&plan, socket);
	ck_assert_int_eq(end_of(child), 0);
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}
END_TEST

/* ---- one pauses ------------------------------------------------------------------------------ */

/* Wakes a process that has stopped itself, after others had time to do what they do without it. */
static void *wake(void *arg)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	const pid_t child = *(const pid_t *)arg;
	siginfo_t info;

	if (!waitid(P_PID, (id_t)child, &info, WSTOPPED | WEXITED | WNOWAIT) &&
	    info.si_code == CLD_STOPPED) {
		nanosleep(&nap, NULL);
		kill(child, SIGCONT);
	}
	return NULL;
}

/* The other end has all messages, closes and is gone, while the answers are under way. */
START_TEST(a_peer_that_pauses_loses_no_answer)
{
	struct choices choices = fixture_choices((uint64_t)_i + 2000);
	const struct plan plan = { .seed = choices.state,
				   .memory = { 16, 1000 },
				   .death = -1,
				   .pause = (size_t)_i + 1 };
	pthread_t waker;
	int socket;

	pid_t child = start_child(&plan, &socket);
	ck_assert_int_eq(pthread_create(&waker, NULL, wake, &child), 0);
	exchange_all(&plan, socket);
	pthread_join(waker, NULL);
	ck_assert_int_eq(end_of(child), 0);
}
END_TEST

/* ---- one dies -------------------------------------------------------------------------------- */

/* Everything ends, what has arrived is right, and a channel with another process goes on. */
START_TEST(a_killed_peer_ends_its_channel_only)
{
	static struct exchange doomed, healthy;
	struct choices choices = fixture_choices((uint64_t)_i + 1000);
	const struct party_memory memory = { (size_t)_i % 3 + 1, 256 };
	const struct plan dies = { choices.state, memory, _i * 2, 0 };
	const struct plan lives = { choices.state + 1, memory, -1, 0 };
	const size_t files = process_files();
	struct party parties[2];
	int sockets[2];

	/* The second child must not hold the first one's socket: its end would not show. */
	pid_t other = start_child(&lives, &sockets[1]);
	pid_t child = start_child(&dies, &sockets[0]);
	exchange_open(&doomed, fixture_context, 0, dies.seed, MESSAGES);
	exchange_open(&healthy, fixture_context, 0, lives.seed, MESSAGES);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	party_open(&parties[1], fixture_context, sockets[1], memory);
	exchange_start(&doomed, &parties[0]);
	exchange_start(&healthy, &parties[1]);
	wait_for(&doomed, &parties[0]);
	exchange_check(&doomed, DTCONV_ERR_PEER);
	wait_for(&healthy, &parties[1]);
	exchange_check(&healthy, 0);
	for (int i = 0; i < 2; i++)
		party_close(&parties[i]);
	exchange_close(&doomed);
	exchange_close(&healthy);
	ck_assert_int_eq(WTERMSIG(end_of(child)), SIGKILL);
	ck_assert_int_eq(end_of(other), 0);
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}
END_TEST

/* Before the first packet, and without reading it. */
START_TEST(a_peer_that_leaves_without_a_word_ends_the_channel)
{
	static struct exchange exchange;
	const struct party_memory memory = { 2, 256 };
	struct party party;
	int sockets[2];

	party_sockets(sockets);
	pid_t child = fork();
	if (!child)
		_exit(0);
	close(sockets[1]);
	if (_i)
		ck_assert_int_eq(end_of(child), 0);
	exchange_open(&exchange, fixture_context, 0, 1, MESSAGES);
	party_open(&party, fixture_context, sockets[0], memory);
	exchange_start(&exchange, &party);
	wait_for(&exchange, &party);
	exchange_check(&exchange, DTCONV_ERR_PEER);
	party_close(&party);
	exchange_close(&exchange);
	if (!_i)
		ck_assert_int_eq(end_of(child), 0);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
#ifdef BED_WITHOUT_KILLS
	const int kills = 0;
#else
	const int kills = fixture_everything() ? 200 : 24;
#endif
	Suite *suite = suite_create("two processes");
	TCase *live = fixture_case(suite, "live", 120);
	TCase *dead = fixture_case(suite, "dead", 120);

	tcase_add_loop_test(live, messages_go_both_ways, 0,
			    fixture_everything() ? 200 : 9);
	tcase_add_loop_test(live, a_peer_that_pauses_loses_no_answer, 0, 8);
	tcase_add_loop_test(dead, a_killed_peer_ends_its_channel_only, 0, kills);
	tcase_add_loop_test(dead, a_peer_that_leaves_without_a_word_ends_the_channel, 0,
			    2);
	return fixture_run(suite);
}
