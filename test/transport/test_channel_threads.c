/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels whose engines have threads of their own, used by several threads of the application at each end: for the
 * thread sanitizer.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exchange.h"
#include "support/fixture.h"

#define THREADS  3
#define MESSAGES 60
#define INTS     700

struct end {
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;
	struct bed *bed;
};

static struct end ends[2];
static struct dtconv_type *column; /* every other int */

/* ---- waiting --------------------------------------------------------------------------------- */

/* A group of operations of one thread. */
struct group {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t done, failed;
};

static void open_group(struct group *group)
{
	*group = (struct group){ .done = 0 };
	pthread_mutex_init(&group->lock, NULL);
	pthread_cond_init(&group->changed, NULL);
}

static void close_group(struct group *group)
{
	pthread_mutex_destroy(&group->lock);
	pthread_cond_destroy(&group->changed);
}

static void count(void *arg, int status, size_t moved)
{
	struct group *group = arg;

	(void)moved;
	pthread_mutex_lock(&group->lock);
	group->done++;
	group->failed += status != 0;
	pthread_cond_signal(&group->changed);
	pthread_mutex_unlock(&group->lock);
}

static void wait_for(struct group *group, size_t operations)
{
	pthread_mutex_lock(&group->lock);
	while (group->done < operations)
		pthread_cond_wait(&group->changed, &group->lock);
	pthread_mutex_unlock(&group->lock);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void open_engine(struct end *end)
{
	const struct dtconv_engine_params params = { .struct_size = sizeof(params),
						     .flags = DTCONV_ENGINE_THREAD };

	fixture_ok(dtconv_engine_create(fixture_context, &params, &end->engine));
	end->channel = NULL;
	end->bed = bed_open(fixture_context);
}

static struct dtconv_channel_params params_of(const struct end *end)
{
	return (struct dtconv_channel_params){ .struct_size = sizeof(
						       struct dtconv_channel_params),
					       .kind = DTCONV_MEMORY_HOST,
					       .fragments = 3,
					       .fragment_bytes = 512,
					       .transport = bed_transport(end->bed) };
}

static void open_ends(void)
{
	int sockets[2];

	column = fixture_type("hvector(350, 1, 8, int)");
	party_sockets(sockets);
	for (int i = 0; i < 2; i++) {
		open_engine(&ends[i]);
		const struct dtconv_channel_params params = params_of(&ends[i]);
		fixture_ok(dtconv_channel_open(ends[i].engine, sockets[i], &params,
					       &ends[i].channel));
	}
}

static void close_end(struct end *end)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_channel_close(end->channel));
	do {
		sched_yield();
		fixture_ok(dtconv_channel_query(end->channel, &attr));
	} while (attr.operations);
	ck_assert_uint_eq(attr.free, attr.fragments);
	fixture_ok(dtconv_channel_destroy(end->channel));
	fixture_ok(dtconv_engine_destroy(end->engine));
	bed_close(end->bed);
}

static void close_ends(void)
{
	close_end(&ends[0]);
	close_end(&ends[1]);
	dtconv_type_unref(column);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	unsigned side;
	uint64_t tag;
	bool may_fail;
	int sent[MESSAGES][INTS], received[MESSAGES][INTS];
};

static struct worker workers[2 * THREADS];

static void fill(struct worker *worker)
{
	for (int m = 0; m < MESSAGES; m++)
		for (int i = 0; i < INTS; i++) {
			worker->sent[m][i] = (int)worker->tag * 100000 + m * 1000 + i;
			worker->received[m][i] = -1;
		}
}

/* What the other end's thread of this tag has sent: the same numbers, with gaps at the receiver's. */
static void check(const struct worker *worker)
{
	for (int m = 0; m < MESSAGES; m++)
		for (int i = 0; i < INTS; i++) {
			const int sent = (int)worker->tag * 100000 + m * 1000 + i / 2;

			ck_assert_int_eq(worker->received[m][i], i % 2 ? -1 : sent);
		}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct dtconv_channel *channel = ends[worker->side].channel;
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };
	struct group group;
	size_t begun = 0;

	open_group(&group);
	for (int m = 0; m < MESSAGES; m++) {
		begun += !dtconv_channel_recv(channel, worker->tag, column, 1,
					      worker->received[m], count, &group);
		begun += !dtconv_channel_send(channel, worker->tag, number, INTS / 2,
					      worker->sent[m], count, &group);
		exchange_must(!dtconv_channel_query(channel, &attr), "query");
	}
	wait_for(&group, begun);
	exchange_must(worker->may_fail || begun == 2 * MESSAGES, "all begun");
	exchange_must(worker->may_fail || !group.failed, "none failed");
	close_group(&group);
	return NULL;
}

static void start_workers(bool may_fail)
{
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		struct worker *worker = &workers[i];

		worker->side = i % 2;
		worker->tag = i / 2;
		worker->may_fail = may_fail;
		fill(worker);
	}
	for (unsigned i = 0; i < 2 * THREADS; i++)
		ck_assert(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
}

static void join_workers(void)
{
	for (unsigned i = 0; i < 2 * THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

START_TEST(threads_at_both_ends_send_and_receive)
{
	open_ends();
	start_workers(false);
	join_workers();
	for (unsigned i = 0; i < 2 * THREADS; i++)
		check(&workers[i]);
	close_ends();
}
END_TEST

/* Whatever was begun ends, once. */
START_TEST(a_channel_is_closed_in_traffic)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	open_ends();
	start_workers(true);
	do {
		sched_yield();
		fixture_ok(dtconv_channel_query(ends[0].channel, &attr));
	} while (attr.received < (uint64_t)_i * 10 && attr.state != DTCONV_CHANNEL_ENDED);
	fixture_ok(dtconv_channel_close(ends[_i % 2].channel));
	join_workers();
	close_ends();
}
END_TEST

/* The listener is polled by the engine's thread, and asked by another one. */
START_TEST(a_listener_accepts_while_its_engine_has_a_thread)
{
	struct dtconv_listener *listener;
	char address[64];
	int status;

	snprintf(address, sizeof(address), "@dtconv-threads-%d", (int)getpid());
	column = fixture_type("hvector(350, 1, 8, int)");
	open_engine(&ends[0]);
	open_engine(&ends[1]);
	const struct dtconv_channel_params first = params_of(&ends[0]),
					   second = params_of(&ends[1]);
	fixture_ok(dtconv_channel_listen(ends[0].engine, address, &first, &listener));
	fixture_ok(dtconv_channel_connect(ends[1].engine, address, &second,
					  &ends[1].channel));
	do {
		sched_yield();
		status = dtconv_channel_accept(listener, &ends[0].channel);
	} while (status == DTCONV_ERR_AGAIN);
	fixture_ok(status);
	start_workers(false);
	fixture_ok(dtconv_listener_destroy(listener));
	join_workers();
	close_ends();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel threads");
	TCase *threads = fixture_case(suite, "threads", 120);

	tcase_add_loop_test(threads, threads_at_both_ends_send_and_receive, 0, 3);
	tcase_add_loop_test(threads, a_channel_is_closed_in_traffic, 0, 6);
	tcase_add_test(threads, a_listener_accepts_while_its_engine_has_a_thread);
	return fixture_run(suite);
}
