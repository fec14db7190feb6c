/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: sleeping without a lost wake-up, sources, its own thread, many threads, and every public function called
 * from every callback. Meant to be run under ThreadSanitizer too.
 */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loopback.h"
#include "process.h"
#include "support/fixture.h"
#include "support/suite.h"
#include "transport_glue/engine.h"

static struct dtconv_engine *open_engine(unsigned flags)
{
	const struct dtconv_engine_params params = { .struct_size = sizeof(params),
						     .flags = flags };
	struct dtconv_engine *engine = NULL;

	fixture_ok(dtconv_engine_create(fixture_context, &params, &engine));
	return engine;
}

static size_t progress(struct dtconv_engine *engine)
{
	size_t worked;

	fixture_ok(dtconv_engine_progress(engine, 0, &worked));
	return worked;
}

static int is_readable(struct dtconv_engine *engine)
{
	struct pollfd file = { .fd = dtconv_engine_fd(engine), .events = POLLIN };

	return poll(&file, 1, 0);
}

/* Arms until it may sleep. */
static void arm(struct dtconv_engine *engine)
{
	for (int i = 0; dtconv_engine_arm(engine); i++) {
		ck_assert_int_lt(i, 1000);
		progress(engine);
	}
}

/* Sleeps at most some seconds. */
static void sleep_on(struct dtconv_engine *engine)
{
	struct pollfd file = { .fd = dtconv_engine_fd(engine), .events = POLLIN };

	if (!dtconv_engine_arm(engine))
		ck_assert_int_eq(poll(&file, 1, 20000), 1);
}

/* ---- sleeping -------------------------------------------------------------------------- */

START_TEST(an_idle_engine_sleeps_and_wakes)
{
	const size_t files = process_files();
	struct dtconv_engine *engine = open_engine(0);

	ck_assert_uint_eq(progress(engine), 0);
	arm(engine);
	ck_assert(!is_readable(engine));
	dtconv_engine_wake(engine);
	ck_assert(is_readable(engine));
	/* It stays readable until it is armed again. */
	progress(engine);
	ck_assert(is_readable(engine));
	ck_assert_int_eq(dtconv_engine_arm(engine), DTCONV_ERR_AGAIN);
	ck_assert_int_eq(dtconv_engine_arm(engine), 0);
	ck_assert(!is_readable(engine));
	fixture_ok(dtconv_engine_destroy(engine));
	ck_assert_uint_eq(process_files(), files);
}
END_TEST

static void count(void *arg, int status, size_t moved)
{
	(void)status;
	(void)moved;
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* A receive of nothing, which is done at the next progress. */
static struct dtconv_recv *start_empty(struct dtconv_engine *engine,
				       struct dtconv_convertor *convertor,
				       atomic_int *calls, struct dtconv_recv *recv)
{
	const struct dtconv_recv_params params = { .struct_size = sizeof(params),
						   .done = count,
						   .arg = calls };

	fixture_ok(dtconv_recv_start(engine, &params, convertor, &recv));
	return recv;
}

static struct dtconv_convertor *empty_convertor(struct dtconv_type *type)
{
	struct dtconv_convertor *convertor;

	fixture_ok(dtconv_convertor_create_unpack(type, 0, NULL, &convertor));
	return convertor;
}

START_TEST(what_is_posted_makes_the_descriptor_readable)
{
	struct dtconv_engine *engine = open_engine(0);
	struct dtconv_type *type = fixture_type("int");
	struct dtconv_convertor *convertor = empty_convertor(type);
	struct dtconv_recv *recv = NULL;
	atomic_int calls = 0;

	arm(engine);
	recv = start_empty(engine, convertor, &calls, recv);
	ck_assert(is_readable(engine));
	ck_assert_int_eq(dtconv_engine_arm(engine), DTCONV_ERR_AGAIN);
	/* Others who sleep on it must see it, too. */
	ck_assert(is_readable(engine));
	ck_assert_uint_eq(progress(engine), 1);
	ck_assert_int_eq(atomic_load(&calls), 1);
	/* Posted before it is armed: there is something to do. */
	recv = start_empty(engine, convertor, &calls, recv);
	ck_assert_int_eq(dtconv_engine_arm(engine), DTCONV_ERR_AGAIN);
	progress(engine);
	arm(engine);
	ck_assert(!is_readable(engine));
	fixture_ok(dtconv_recv_destroy(recv));
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

/* One sleeps, another arms, finds work and goes away: the first one must have been woken. */
START_TEST(a_sleeper_is_not_forgotten_for_another)
{
	struct dtconv_engine *engine = open_engine(0);
	struct dtconv_type *type = fixture_type("int");
	struct dtconv_convertor *convertor = empty_convertor(type);
	atomic_int calls = 0;
	size_t worked;

	arm(engine);
	struct dtconv_recv *recv = start_empty(engine, convertor, &calls, NULL);
	fixture_ok(dtconv_engine_progress(engine, 1, &worked));
	(void)dtconv_engine_arm(engine);
	recv = start_empty(engine, convertor, &calls, recv);
	(void)dtconv_engine_arm(engine);
	ck_assert(is_readable(engine));
	progress(engine);
	fixture_ok(dtconv_recv_destroy(recv));
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

/* ---- sources --------------------------------------------------------------------------- */

struct fake_source {
	int fd;
	int polls, arms;
	size_t happened;
	int armed;
};

static size_t poll_fake(void *arg, size_t budget)
{
	struct fake_source *fake = arg;
	uint64_t value;

	fake->polls++;
	if (fake->fd >= 0 && read(fake->fd, &value, sizeof(value)) < 0)
		return 0;
	return fake->happened < budget ? fake->happened : budget;
}

static int arm_fake(void *arg)
{
	struct fake_source *fake = arg;

	fake->arms++;
	return fake->armed;
}

START_TEST(sources_are_polled_and_wake_the_engine)
{
	struct dtconv_engine *engine = open_engine(0);
	struct fake_source fake = { .fd = eventfd(0, EFD_NONBLOCK), .happened = 3 };
	const struct dtconv_source source = { fake.fd, poll_fake, arm_fake, &fake };
	const uint64_t one = 1;
	unsigned number;

	fixture_ok(dtconv_engine_attach(engine, &source, &number));
	ck_assert_uint_eq(progress(engine), 0);
	ck_assert_int_eq(fake.polls, 1);
	arm(engine);
	ck_assert(!is_readable(engine));
	ck_assert_int_eq(write(fake.fd, &one, sizeof(one)), sizeof(one));
	ck_assert(is_readable(engine));
	ck_assert_uint_eq(progress(engine), 3);
	ck_assert(!is_readable(engine));
	fake.armed = DTCONV_ERR_AGAIN;
	ck_assert_int_eq(dtconv_engine_arm(engine), DTCONV_ERR_AGAIN);
	fake.armed = 0;
	fixture_ok(dtconv_engine_detach(engine, number));
	fixture_status(dtconv_engine_detach(engine, number), DTCONV_ERR_INVAL);
	int polls = fake.polls;
	progress(engine);
	ck_assert_int_eq(fake.polls, polls);
	ck_assert_int_eq(write(fake.fd, &one, sizeof(one)), sizeof(one));
	arm(engine);
	ck_assert(!is_readable(engine));
	close(fake.fd);
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

/* A source that replaces itself by another while it is called, in poll (0) or in arm (1). */
struct replaced {
	struct dtconv_engine *engine;
	struct dtconv_source other;
	unsigned number, other_number;
	bool in_arm;
	int replaced;
};

static void replace(struct replaced *it)
{
	if (it->replaced++)
		return;
	fixture_ok(dtconv_engine_detach(it->engine, it->number));
	fixture_status(dtconv_engine_detach(it->engine, it->number), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_engine_attach(it->engine, &it->other, &it->other_number));
}

static size_t poll_replaced(void *arg, size_t budget)
{
	struct replaced *it = arg;

	(void)budget;
	if (!it->in_arm)
		replace(it);
	return 0;
}

static int arm_replaced(void *arg)
{
	struct replaced *it = arg;

	if (it->in_arm)
		replace(it);
	return 0;
}

/* Until it returns, its place is its own: a thread may still have to read the functions there. */
START_TEST(the_place_of_a_source_that_is_called_is_not_reused)
{
	struct dtconv_engine *engine = open_engine(0);
	struct fake_source fake = { .fd = -1 };
	struct replaced it = { .engine = engine,
			       .other = { -1, poll_fake, arm_fake, &fake },
			       .in_arm = _i };
	const struct dtconv_source source = { -1, poll_replaced, arm_replaced, &it };
	unsigned third;

	fixture_ok(dtconv_engine_attach(engine, &source, &it.number));
	progress(engine);
	(void)dtconv_engine_arm(engine);
	ck_assert_int_eq(it.replaced, 1);
	ck_assert_uint_ne(it.other_number, it.number);
	/* Now it is free. */
	fixture_ok(dtconv_engine_attach(engine, &source, &third));
	ck_assert_uint_eq(third, it.number);
	progress(engine);
	ck_assert_int_gt(fake.polls, 0);
	fixture_ok(dtconv_engine_detach(engine, it.other_number));
	fixture_ok(dtconv_engine_detach(engine, third));
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

/* Sources of two kinds, each of which knows its own argument. */
struct kind {
	atomic_int polls, wrong;
	struct kind *self;
};

static struct kind kinds[2] = { { .self = &kinds[0] }, { .self = &kinds[1] } };

static size_t poll_first(void *arg, size_t budget)
{
	(void)budget;
	atomic_fetch_add(&kinds[0].polls, 1);
	atomic_fetch_add(&kinds[0].wrong, arg != kinds[0].self);
	return 0;
}

static size_t poll_second(void *arg, size_t budget)
{
	(void)budget;
	atomic_fetch_add(&kinds[1].polls, 1);
	atomic_fetch_add(&kinds[1].wrong, arg != kinds[1].self);
	return 0;
}

#define REPLACEMENTS 20000

/* One thread polls, another one attaches and detaches: no function gets the argument of another. */
START_TEST(sources_are_replaced_while_a_thread_polls)
{
	struct dtconv_engine *engine = open_engine(DTCONV_ENGINE_THREAD);

	for (int i = 0; i < REPLACEMENTS; i++) {
		const struct dtconv_source source = { -1,
						      i % 2 ? poll_second : poll_first,
						      NULL, &kinds[i % 2] };
		unsigned number;

		fixture_ok(dtconv_engine_attach(engine, &source, &number));
		if (i % 100 == 0)
			sched_yield();
		fixture_ok(dtconv_engine_detach(engine, number));
	}
	fixture_ok(dtconv_engine_destroy(engine));
	ck_assert_int_eq(atomic_load(&kinds[0].wrong), 0);
	ck_assert_int_eq(atomic_load(&kinds[1].wrong), 0);
}
END_TEST

static struct dtconv_engine *settling;
static int settled[2];

static size_t settle_in_poll(void *arg, size_t budget)
{
	(void)arg;
	(void)budget;
	settled[0] += dtc_engine_settle(settling) ? 100 : 1;
	return 0;
}

static int settle_in_arm(void *arg)
{
	(void)arg;
	settled[1] += dtc_engine_settle(settling) ? 100 : 1;
	return 0;
}

/* What channels and listeners wait for before they are destroyed would never come in a callback. */
START_TEST(a_callback_does_not_wait_for_its_own_end)
{
	const struct dtconv_source source = { -1, settle_in_poll, settle_in_arm, NULL };
	unsigned number;

	settling = open_engine(0);
	fixture_ok(dtconv_engine_attach(settling, &source, &number));
	progress(settling);
	(void)dtconv_engine_arm(settling);
	(void)dtconv_engine_arm(settling);
	ck_assert_int_eq(settled[0], 1);
	ck_assert_int_gt(settled[1], 0);
	ck_assert_int_lt(settled[1], 100);
	ck_assert(dtc_engine_settle(settling));
	fixture_ok(dtconv_engine_destroy(settling));
}
END_TEST

START_TEST(a_source_without_a_descriptor_is_polled_by_the_timer)
{
	struct dtconv_engine *engine = open_engine(DTCONV_ENGINE_THREAD);
	struct fake_source fake = { .fd = -1 };
	const struct dtconv_source source = { -1, poll_fake, NULL, &fake };
	struct dtconv_engine *mine = open_engine(0);
	unsigned number;

	fixture_ok(dtconv_engine_attach(mine, &source, &number));
	for (int i = 0; i < 5; i++) {
		progress(mine);
		arm(mine);
		sleep_on(mine);
	}
	ck_assert_int_ge(fake.polls, 5);
	fixture_ok(dtconv_engine_destroy(mine));
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	struct dtconv_engine_params params = { .struct_size = sizeof(params) };
	struct dtconv_engine *engine = open_engine(0), *none = NULL;
	struct fake_source fake = { .fd = -1 };
	struct dtconv_source source = { -1, poll_fake, NULL, &fake };
	unsigned numbers[DTCONV_ENGINE_SOURCES_MAX + 1];

	ck_assert_int_eq(dtconv_engine_create(NULL, NULL, &none), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_create(fixture_context, NULL, NULL),
			 DTCONV_ERR_INVAL);
	params.flags = 8;
	fixture_status(dtconv_engine_create(fixture_context, &params, &none),
		       DTCONV_ERR_INVAL);
	params.struct_size = 0;
	fixture_status(dtconv_engine_create(fixture_context, &params, &none),
		       DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_progress(NULL, 0, NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_arm(NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_fd(NULL), DTCONV_ERR_INVAL);
	dtconv_engine_wake(NULL);
	ck_assert_int_eq(dtconv_engine_destroy(NULL), 0);
	ck_assert_int_eq(dtconv_engine_attach(NULL, &source, numbers), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_attach(engine, NULL, numbers), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_engine_detach(NULL, 0), DTCONV_ERR_INVAL);
	fixture_status(dtconv_engine_detach(engine, 99), DTCONV_ERR_INVAL);
	source.fd = 9999;
	fixture_status(dtconv_engine_attach(engine, &source, numbers), DTCONV_ERR_INVAL);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "9999"));
	source.fd = -1;
	source.poll = NULL;
	fixture_status(dtconv_engine_attach(engine, &source, numbers), DTCONV_ERR_INVAL);
	source.poll = poll_fake;
	for (int i = 0; i < DTCONV_ENGINE_SOURCES_MAX; i++)
		fixture_ok(dtconv_engine_attach(engine, &source, &numbers[i]));
	fixture_status(dtconv_engine_attach(engine, &source, &numbers[16]),
		       DTCONV_ERR_LIMIT);
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

START_TEST(a_system_without_descriptors_is_an_error)
{
	const size_t files = process_files();
	struct rlimit limit, before;
	struct dtconv_engine *engine = NULL;

	if (!suite_has_processes())
		return;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	/* The next descriptor: those below are taken. */
	const int next = dup(0);
	close(next);
	for (int free_ones = 0; free_ones < 3; free_ones++) {
		limit.rlim_cur = (rlim_t)next + (rlim_t)free_ones;
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		fixture_status(dtconv_engine_create(fixture_context, NULL, &engine),
			       DTCONV_ERR_AGAIN);
		ck_assert_ptr_null(engine);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
		ck_assert_uint_eq(process_files(), files);
	}
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

/* ---- threads --------------------------------------------------------------------------- */

#define MESSAGES 300
#define SENDERS  3

/* A thread that starts a receive again as soon as it is done. */
struct starter {
	pthread_t thread;
	struct dtconv_engine *engine;
	struct dtconv_type *type;
	int sleeps;
};

static void *start_many(void *arg)
{
	struct starter *starter = arg;
	struct dtconv_convertor *convertor = empty_convertor(starter->type);
	struct dtconv_recv *recv = NULL;
	atomic_int calls = 0;

	for (int i = 0; i < MESSAGES; i++) {
		recv = start_empty(starter->engine, convertor, &calls, recv);
		while (atomic_load(&calls) <= i)
			sched_yield();
	}
	while (dtconv_recv_destroy(recv))
		sched_yield();
	dtconv_convertor_destroy(convertor);
	return NULL;
}

static atomic_int sleepers_end, sleepers_awake;

static void *sleep_and_progress(void *arg)
{
	struct dtconv_engine *engine = arg;

	while (!atomic_load(&sleepers_end)) {
		progress(engine);
		sleep_on(engine);
	}
	atomic_fetch_sub(&sleepers_awake, 1);
	return NULL;
}

/* One sleeper may clear what was to wake another that is not asleep yet, hence again until all have ended. */
static void end_sleepers(struct dtconv_engine *engine)
{
	atomic_store(&sleepers_end, 1);
	while (atomic_load(&sleepers_awake)) {
		dtconv_engine_wake(engine);
		sched_yield();
	}
}

/* Nobody who sleeps misses what others post: otherwise the case does not end. Sleepers: 0 is the engine's thread. */
START_TEST(no_wake_up_is_lost)
{
	struct dtconv_engine *engine = open_engine(_i ? 0 : DTCONV_ENGINE_THREAD);
	struct dtconv_type *type = fixture_type("int");
	struct starter starters[SENDERS];
	pthread_t sleepers[3];

	atomic_store(&sleepers_end, 0);
	atomic_store(&sleepers_awake, _i);
	for (int i = 0; i < _i; i++)
		pthread_create(&sleepers[i], NULL, sleep_and_progress, engine);
	for (int i = 0; i < SENDERS; i++) {
		starters[i] = (struct starter){ .engine = engine, .type = type };
		pthread_create(&starters[i].thread, NULL, start_many, &starters[i]);
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(starters[i].thread, NULL);
	end_sleepers(engine);
	for (int i = 0; i < _i; i++)
		pthread_join(sleepers[i], NULL);
	fixture_ok(dtconv_engine_destroy(engine));
	dtconv_type_unref(type);
}
END_TEST

/* Messages between two engines with threads of their own, a network in a third, cancels in a fourth. */
struct message {
	struct loopback link;
	struct stage stage;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	atomic_int sent, received;
	int send_status, recv_status;
	bool is_cancelled;
};

static void see_sent(void *arg, int status, size_t moved)
{
	struct message *message = arg;

	(void)moved;
	message->send_status = status;
	atomic_fetch_add(&message->sent, 1);
}

static void see_received(void *arg, int status, size_t moved)
{
	struct message *message = arg;

	(void)moved;
	message->recv_status = status;
	atomic_fetch_add(&message->received, 1);
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct message *message = arg;

	return loopback_emit(&message->link, fragment, offset, bytes, flags);
}

#define TOGETHER 6

static atomic_int network_end;

static void *run_network(void *arg)
{
	struct message *messages = arg;

	while (!atomic_load(&network_end)) {
		for (int i = 0; i < TOGETHER; i++)
			loopback_poll(&messages[i].link, 4);
		sched_yield();
	}
	return NULL;
}

static void *cancel_some(void *arg)
{
	struct message *messages = arg;

	for (int i = 0; i < TOGETHER; i++) {
		if (!messages[i].is_cancelled)
			continue;
		(void)dtconv_send_cancel(messages[i].send);
		(void)dtconv_recv_cancel(messages[i].recv);
		sched_yield();
	}
	return NULL;
}

static void run_messages(struct message *messages, struct dtconv_engine *const engines[2],
			 struct dtconv_pool *pool)
{
	struct dtconv_send_params send_params = { .struct_size = sizeof(send_params),
						  .pool = pool,
						  .emit = emit,
						  .done = see_sent };
	struct dtconv_recv_params recv_params = { .struct_size = sizeof(recv_params),
						  .done = see_received };
	pthread_t network, canceller;

	for (int i = 0; i < TOGETHER; i++) {
		struct message *message = &messages[i];

		atomic_store(&message->sent, 0);
		atomic_store(&message->received, 0);
		stage_blank(&message->stage);
		fixture_seek(message->packs, 0);
		recv_params.arg = send_params.arg = message;
		fixture_ok(dtconv_recv_start(engines[1], &recv_params, message->unpacks,
					     &message->recv));
		message->link.recv = message->recv;
		fixture_ok(dtconv_send_start(engines[0], &send_params, message->packs,
					     &message->send));
	}
	atomic_store(&network_end, 0);
	pthread_create(&network, NULL, run_network, messages);
	pthread_create(&canceller, NULL, cancel_some, messages);
	for (int i = 0; i < TOGETHER; i++) {
		while (!atomic_load(&messages[i].sent))
			sched_yield();
		if (messages[i].send_status)
			(void)dtconv_recv_fail(messages[i].recv, DTCONV_ERR_PEER);
		while (!atomic_load(&messages[i].received) ||
		       !loopback_is_idle(&messages[i].link))
			sched_yield();
	}
	pthread_join(canceller, NULL);
	atomic_store(&network_end, 1);
	pthread_join(network, NULL);
}

static void check_message(struct message *message)
{
	ck_assert_int_eq(atomic_load(&message->sent), 1);
	ck_assert_int_eq(atomic_load(&message->received), 1);
	ck_assert_uint_eq(message->link.wrong, 0);
	if (!message->is_cancelled) {
		ck_assert_int_eq(message->send_status, 0);
		ck_assert_int_eq(message->recv_status, 0);
	}
	if (message->recv_status)
		return;
	stage_deliver(&message->stage, 0, message->stage.bytes);
	fixture_arrived(&message->stage);
}

START_TEST(engines_networks_and_callers_are_different_threads)
{
	const struct loopback_faults faults = { .delay = 3,
						.refuse = 5,
						.duplicate = 4,
						.split = 3,
						.copies = _i,
						.early = _i };
	const struct dtconv_pool_params pool_params = { .struct_size =
								sizeof(pool_params),
							.kind = DTCONV_MEMORY_HOST,
							.fragment_bytes = 1024,
							.slab_bytes = 5 * 1024 };
	struct dtconv_engine *engines[2] = { open_engine(DTCONV_ENGINE_THREAD),
					     open_engine(DTCONV_ENGINE_THREAD) };
	static struct message messages[TOGETHER];
	struct dtconv_pool *pool;

	fixture_ok(dtconv_pool_create(fixture_context, &pool_params, &pool));
	for (int i = 0; i < TOGETHER; i++) {
		struct message *message = &messages[i];

		memset(message, 0, sizeof(*message));
		fixture_open(&message->stage, "vector(500, 3, 5, int)", 1);
		message->packs = fixture_pack(&message->stage);
		message->unpacks = fixture_unpack(&message->stage);
		loopback_open(&message->link, &faults, (uint64_t)i);
		message->link.expected = message->stage.stream;
		message->link.bytes = message->stage.bytes;
		message->is_cancelled = i % 3 == 0;
	}
	for (int round = 0; round < 20; round++) {
		run_messages(messages, engines, pool);
		for (int i = 0; i < TOGETHER; i++)
			check_message(&messages[i]);
	}
	for (int i = 0; i < TOGETHER; i++) {
		fixture_ok(dtconv_send_destroy(messages[i].send));
		fixture_ok(dtconv_recv_destroy(messages[i].recv));
		ck_assert(loopback_close(&messages[i].link));
		dtconv_convertor_destroy(messages[i].packs);
		dtconv_convertor_destroy(messages[i].unpacks);
		fixture_close(&messages[i].stage);
	}
	fixture_ok(dtconv_engine_destroy(engines[0]));
	fixture_ok(dtconv_engine_destroy(engines[1]));
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

/* ---- every function from every callback ------------------------------------------------ */

/* What functions are called with: operations that go on, and the one whose callback runs. */
struct world {
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	struct dtconv_type *type;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_convertor *other_packs, *other_unpacks;
	struct dtconv_send *send, *other_send;
	struct dtconv_recv *recv, *other_recv;
	struct dtconv_fragment *fragment;
	int data[100], target[100], packed[100];
	int function; /* to call, -1: none */
	int callback; /* from which */
	int made, sent, received, others, emitted, released;
};

static void note_other(void *arg, int status, size_t moved)
{
	struct world *world = arg;

	(void)status;
	(void)moved;
	world->others++;
}

static int emit_other(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		      size_t bytes, unsigned flags)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	(void)flags;
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

static void call_progress(struct world *world)
{
	size_t worked = 7;

	fixture_ok(dtconv_engine_progress(world->engine, 5, &worked));
	ck_assert_uint_eq(worked, 0);
}

static void call_arm(struct world *world)
{
	ck_assert_int_eq(dtconv_engine_arm(world->engine), DTCONV_ERR_AGAIN);
}

static void call_wake(struct world *world)
{
	dtconv_engine_wake(world->engine);
	ck_assert_int_ge(dtconv_engine_fd(world->engine), 0);
}

static void call_destroy_engine(struct world *world)
{
	fixture_status(dtconv_engine_destroy(world->engine), DTCONV_ERR_STATE);
}

static void call_create_engine(struct world *world)
{
	struct dtconv_engine *engine;
	size_t worked;

	(void)world;
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	fixture_ok(dtconv_engine_progress(engine, 0, &worked));
	fixture_ok(dtconv_engine_destroy(engine));
}

static size_t poll_nothing(void *arg, size_t budget)
{
	(void)arg;
	(void)budget;
	return 0;
}

static void call_attach(struct world *world)
{
	const struct dtconv_source source = { -1, poll_nothing, NULL, NULL };
	unsigned number;

	fixture_ok(dtconv_engine_attach(world->engine, &source, &number));
	fixture_ok(dtconv_engine_detach(world->engine, number));
}

static void call_send_start(struct world *world)
{
	const struct dtconv_send_params params = { .struct_size = sizeof(params),
						   .pool = world->pool,
						   .emit = emit_other,
						   .done = note_other,
						   .arg = world };

	if (world->made++)
		return;
	fixture_ok(dtconv_send_start(world->engine, &params, world->other_packs,
				     &world->other_send));
}

static void call_recv_start(struct world *world)
{
	const struct dtconv_recv_params params = { .struct_size = sizeof(params),
						   .done = note_other,
						   .arg = world };

	if (world->made++)
		return;
	fixture_ok(dtconv_recv_start(world->engine, &params, world->other_unpacks,
				     &world->other_recv));
	fixture_ok(dtconv_recv_deliver(world->other_recv, 0, world->packed,
				       sizeof(world->packed), NULL, NULL));
}

static void call_cancel(struct world *world)
{
	int status = dtconv_send_cancel(world->send);

	ck_assert(status == 0 || status == DTCONV_ERR_STATE);
	status = dtconv_recv_cancel(world->recv);
	ck_assert(status == 0 || status == DTCONV_ERR_STATE);
}

static void call_fail(struct world *world)
{
	int status = dtconv_recv_fail(world->recv, DTCONV_ERR_PEER);

	ck_assert(status == 0 || status == DTCONV_ERR_STATE);
}

static void call_deliver(struct world *world)
{
	int status =
		dtconv_recv_deliver(world->recv, 4, world->packed + 1, 40, NULL, NULL);

	ck_assert(status == 0 || status == DTCONV_ERR_STATE);
}

static void call_destroy(struct world *world)
{
	/* Those that are done may be freed. */
	if (!dtconv_send_destroy(world->send))
		world->send = NULL;
	if (!dtconv_recv_destroy(world->recv))
		world->recv = NULL;
}

static void call_pool(struct world *world)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_fragment_attr piece = { .struct_size = sizeof(piece) };
	struct dtconv_fragment *fragment;

	fixture_ok(dtconv_pool_query(world->pool, &attr));
	fixture_ok(dtconv_pool_grow(world->pool, 1));
	if (!dtconv_pool_get(world->pool, &fragment)) {
		fixture_ok(dtconv_fragment_query(fragment, &piece));
		ck_assert_ptr_eq(piece.address, dtconv_fragment_address(fragment));
		dtconv_fragment_put(fragment);
	}
	(void)dtconv_pool_shrink(world->pool, attr.slab_bytes);
	(void)dtconv_pool_prepare(world->pool, 0);
}

static void call_new_pool(struct world *world)
{
	const struct dtconv_pool_params params = { .struct_size = sizeof(params),
						   .kind = DTCONV_MEMORY_HOST,
						   .start_bytes = 4096,
						   .fragment_bytes = 4096 };
	struct dtconv_pool *pool;

	(void)world;
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_destroy(pool));
}

static void call_destroy_pool(struct world *world)
{
	struct dtconv_fragment *fragment;

	/* It would be destroyed if nothing of it were out. */
	if (dtconv_pool_get(world->pool, &fragment))
		return;
	fixture_status(dtconv_pool_destroy(world->pool), DTCONV_ERR_STATE);
	dtconv_fragment_put(fragment);
}

static void (*const functions[])(struct world *world) = {
	call_progress,      call_arm,      call_wake,         call_destroy_engine,
	call_create_engine, call_attach,   call_send_start,   call_recv_start,
	call_cancel,        call_fail,     call_deliver,      call_destroy,
	call_pool,          call_new_pool, call_destroy_pool,
};

#define FUNCTIONS ((int)(sizeof(functions) / sizeof(functions[0])))

enum callback { IN_EMIT, IN_SENT, IN_RECEIVED, IN_RELEASE, IN_POLL, IN_ARM, CALLBACKS };

static void in_callback(struct world *world, enum callback callback)
{
	if (world->callback == (int)callback)
		functions[world->function](world);
}

static int emit_world(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		      size_t bytes, unsigned flags)
{
	struct world *world = arg;

	(void)offset;
	(void)bytes;
	(void)flags;
	world->emitted++;
	in_callback(world, IN_EMIT);
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

static void done_world(void *arg, int status, size_t moved)
{
	struct world *world = arg;

	(void)status;
	(void)moved;
	world->sent++;
	in_callback(world, IN_SENT);
}

static void received_world(void *arg, int status, size_t moved)
{
	struct world *world = arg;

	(void)status;
	(void)moved;
	world->received++;
	in_callback(world, IN_RECEIVED);
}

static void release_world(void *arg, int status)
{
	struct world *world = arg;

	(void)status;
	world->released++;
	in_callback(world, IN_RELEASE);
}

static size_t poll_world(void *arg, size_t budget)
{
	(void)budget;
	if (((struct world *)arg)->recv && ((struct world *)arg)->send)
		in_callback(arg, IN_POLL);
	return 0;
}

static int arm_world(void *arg)
{
	if (((struct world *)arg)->recv && ((struct world *)arg)->send)
		in_callback(arg, IN_ARM);
	return 0;
}

static void open_world(struct world *world)
{
	const struct dtconv_pool_params pool_params = { .struct_size =
								sizeof(pool_params),
							.kind = DTCONV_MEMORY_HOST,
							.fragment_bytes = 128,
							.slab_bytes = 4096,
							.limit_bytes = 100 * 4096 };
	const struct dtconv_source source = { -1, poll_world, arm_world, world };
	unsigned number;

	memset(world, 0, sizeof(*world));
	for (int i = 0; i < 100; i++)
		world->data[i] = world->packed[i] = i;
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &world->engine));
	fixture_ok(dtconv_pool_create(fixture_context, &pool_params, &world->pool));
	fixture_ok(dtconv_engine_attach(world->engine, &source, &number));
	world->type = fixture_type("contiguous(100, int)");
	fixture_ok(
		dtconv_convertor_create_pack(world->type, 1, world->data, &world->packs));
	fixture_ok(dtconv_convertor_create_pack(world->type, 1, world->data,
						&world->other_packs));
	fixture_ok(dtconv_convertor_create_unpack(world->type, 1, world->target,
						  &world->unpacks));
	fixture_ok(dtconv_convertor_create_unpack(world->type, 1, world->target,
						  &world->other_unpacks));
}

static void start_world(struct world *world)
{
	const struct dtconv_send_params send_params = { .struct_size =
								sizeof(send_params),
							.pool = world->pool,
							.emit = emit_world,
							.done = done_world,
							.arg = world };
	const struct dtconv_recv_params recv_params = {
		.struct_size = sizeof(recv_params), .done = received_world, .arg = world
	};

	fixture_ok(dtconv_send_start(world->engine, &send_params, world->packs,
				     &world->send));
	fixture_ok(dtconv_recv_start(world->engine, &recv_params, world->unpacks,
				     &world->recv));
	for (uint64_t at = 0; at < 400; at += 100)
		fixture_ok(dtconv_recv_deliver(world->recv, at,
					       (char *)world->packed + at, 100,
					       release_world, world));
}

static void close_world(struct world *world)
{
	fixture_ok(dtconv_send_destroy(world->send));
	fixture_ok(dtconv_recv_destroy(world->recv));
	fixture_ok(dtconv_send_destroy(world->other_send));
	fixture_ok(dtconv_recv_destroy(world->other_recv));
	fixture_ok(dtconv_engine_destroy(world->engine));
	fixture_ok(dtconv_pool_destroy(world->pool));
	dtconv_convertor_destroy(world->packs);
	dtconv_convertor_destroy(world->unpacks);
	dtconv_convertor_destroy(world->other_packs);
	dtconv_convertor_destroy(world->other_unpacks);
	dtconv_type_unref(world->type);
}

START_TEST(every_function_may_be_called_from_every_callback)
{
	static struct world world;

	for (int callback = 0; callback < CALLBACKS; callback++) {
		open_world(&world);
		world.function = _i;
		world.callback = callback;
		start_world(&world);
		for (int i = 0;
		     !world.sent || !world.received || (world.made && !world.others);
		     i++) {
			ck_assert_int_lt(i, 1000);
			(void)dtconv_engine_arm(world.engine);
			progress(world.engine);
		}
		ck_assert_int_eq(world.sent, 1);
		ck_assert_int_eq(world.received, 1);
		ck_assert_int_eq(world.released, 4);
		close_world(&world);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = fixture_case(suite, "sleeping", 20);

	tcase_add_test(tcase, an_idle_engine_sleeps_and_wakes);
	tcase_add_test(tcase, what_is_posted_makes_the_descriptor_readable);
	tcase_add_test(tcase, a_sleeper_is_not_forgotten_for_another);
	tcase = fixture_case(suite, "sources", 20);
	tcase_add_test(tcase, sources_are_polled_and_wake_the_engine);
	tcase_add_loop_test(tcase, the_place_of_a_source_that_is_called_is_not_reused, 0,
			    2);
	tcase_add_test(tcase, sources_are_replaced_while_a_thread_polls);
	tcase_add_test(tcase, a_callback_does_not_wait_for_its_own_end);
	tcase_add_test(tcase, a_source_without_a_descriptor_is_polled_by_the_timer);
	tcase_add_test(tcase, bad_arguments_are_refused);
	tcase_add_test(tcase, a_system_without_descriptors_is_an_error);
	tcase = fixture_case(suite, "threads", 60);
	tcase_add_loop_test(tcase, no_wake_up_is_lost, 0, 4);
	tcase_add_loop_test(tcase, engines_networks_and_callers_are_different_threads, 0,
			    2);
	tcase = fixture_case(suite, "callbacks", 20);
	tcase_add_loop_test(tcase, every_function_may_be_called_from_every_callback, 0,
			    FUNCTIONS);
	return fixture_run(suite);
}
