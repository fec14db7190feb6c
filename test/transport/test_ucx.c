/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is UCX's own in channels over it: calls that fail, messages that come in any order, eager data that is kept
 * until it has been unpacked, peers that lie, and processes without memory. That channels over UCX are channels is
 * shown by the tests of channels, which are compiled for it too.
 */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <dtconv/ucx.h>

#include "exchange.h"
#include "process.h"
#include "support/fixture.h"
#include "transport_glue/greeting.h"
#include "transport_glue/sock.h"
#include "ucx_faults.h"

/* More than any of these tests needs. */
#define PATIENCE 1000000

#define INTS 3000

static struct party parties[2];

struct seen {
	int calls, status;
	size_t moved;
	size_t released; /* eager data when it was called */
};

static void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->status = status;
	seen->moved = moved;
	seen->released = ucx_faults.released;
}

static int ints[INTS], places[INTS];

static struct dtconv_type *int_type(void)
{
	return dtconv_type_predefined(fixture_context, DTCONV_INT);
}

static void progress_both(void)
{
	(void)party_progress(&parties[0]);
	(void)party_progress(&parties[1]);
}

static void open_pair(size_t fragments, size_t bytes)
{
	const struct party_memory memory = { fragments, bytes };
	int sockets[2];

	for (int i = 0; i < INTS; i++) {
		ints[i] = i + 1;
		places[i] = 0;
	}
	party_sockets(sockets);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	party_open(&parties[1], fixture_context, sockets[1], memory);
}

static void close_pair(void)
{
	const size_t before = ucx_faults.workers;

	party_close(&parties[0]);
	party_close(&parties[1]);
	ck_assert_uint_eq(before, 2);
	ck_assert_uint_eq(ucx_faults.workers, 0);
	ck_assert_uint_eq(ucx_faults.mapped, 0);
}

static void wait_for(const struct seen *seen)
{
	for (int i = 0; !seen->calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
}

/* A message each way; what its four ends say. */
static void pass_both_ways(int statuses[4])
{
	struct seen seen[4] = { 0 };

	for (int i = 0; i < 4; i++) {
		struct dtconv_channel *channel = parties[i % 2].channel;

		statuses[i] = i < 2 ? dtconv_channel_send(channel, 1, int_type(), INTS,
							  ints, see, &seen[i])
				    : dtconv_channel_recv(channel, 1, int_type(), INTS,
							  places, see, &seen[i]);
	}
	for (int i = 0; i < 4; i++) {
		if (statuses[i])
			continue;
		wait_for(&seen[i]);
		statuses[i] = seen[i].status;
	}
}

static void begin(void)
{
	ucx_faults = (struct ucx_faults){ 0 };
}

/* ---- arguments ------------------------------------------------------------------------------- */

START_TEST(wrong_arguments_are_refused)
{
	struct dtconv_ucx_params params = { 0 };
	struct dtconv_ucx *ucx = NULL;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;
	int sockets[2];

	begin();
	fixture_status(dtconv_ucx_open(NULL, NULL, &ucx), DTCONV_ERR_INVAL);
	fixture_status(dtconv_ucx_open(fixture_context, NULL, NULL), DTCONV_ERR_INVAL);
	fixture_status(dtconv_ucx_open(fixture_context, &params, &ucx), DTCONV_ERR_INVAL);
	params.struct_size = sizeof(params);
	params.transports = "no_such_transport";
	fixture_status(dtconv_ucx_open(fixture_context, &params, &ucx),
		       DTCONV_ERR_BACKEND);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "ucp_init failed"));
	ck_assert_ptr_null(ucx);
	ck_assert_ptr_null(dtconv_ucx_transport(NULL));
	fixture_ok(dtconv_ucx_close(NULL));
	params.transports = "sm,self";
	fixture_ok(dtconv_ucx_open(fixture_context, &params, &ucx));
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	const struct dtconv_channel_params with = {
		.struct_size = sizeof(with), .transport = dtconv_ucx_transport(ucx)
	};
	party_sockets(sockets);
	fixture_ok(dtconv_channel_open(engine, sockets[0], &with, &channel));
	fixture_status(dtconv_ucx_close(ucx), DTCONV_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "1 channels"));
	fixture_ok(dtconv_channel_destroy(channel));
	close(sockets[1]);
	fixture_ok(dtconv_engine_destroy(engine));
	fixture_ok(dtconv_ucx_close(ucx));
}
END_TEST

/* ---- calls of UCX that fail ------------------------------------------------------------------ */

/* Before a channel is there: nothing of it is left, and the socket is the caller's. */
START_TEST(opening_fails_with_each_call)
{
	static const int expected[] = { DTCONV_ERR_BACKEND, DTCONV_ERR_NOMEM,
					DTCONV_ERR_BACKEND, DTCONV_ERR_BACKEND,
					DTCONV_ERR_BACKEND, DTCONV_ERR_BACKEND };
	const enum ucx_call call = (enum ucx_call)_i;
	const struct dtconv_ucx_params params = { .struct_size = sizeof(params),
						  .transports = "sm,self" };
	struct dtconv_ucx *ucx = NULL;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel = NULL;
	int sockets[2];

	begin();
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	party_sockets(sockets);
	ucx_faults.fail_at[call] = 1;
	int status = dtconv_ucx_open(fixture_context, &params, &ucx);
	if (call == UCX_INIT) {
		ck_assert_int_eq(status, expected[call]);
		fixture_ok(dtconv_ucx_open(fixture_context, &params, &ucx));
	}
	const struct dtconv_channel_params with = {
		.struct_size = sizeof(with), .transport = dtconv_ucx_transport(ucx)
	};
	const size_t files = process_files();
	if (call != UCX_INIT)
		fixture_status(dtconv_channel_open(engine, sockets[0], &with, &channel),
			       expected[call]);
	ck_assert_ptr_null(channel);
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(ucx_faults.workers, 0);
	ck_assert_uint_eq(ucx_faults.mapped, 0);
	/* The same socket again. */
	fixture_ok(dtconv_channel_open(engine, sockets[0], &with, &channel));
	fixture_ok(dtconv_channel_destroy(channel));
	close(sockets[1]);
	fixture_ok(dtconv_ucx_close(ucx));
	fixture_ok(dtconv_engine_destroy(engine));
}
END_TEST

static void fail_after(enum ucx_call call, unsigned number, bool *has_failed)
{
	int statuses[4];

	begin();
	open_pair(2, 1024);
	ucx_faults.fail_at[call] = number + ucx_faults.calls[call];
	pass_both_ways(statuses);
	*has_failed = ucx_faults.calls[call] >= ucx_faults.fail_at[call];
	for (int i = 0; i < 4; i++)
		ck_assert(!statuses[i] ||
			  (*has_failed && (statuses[i] == DTCONV_ERR_PEER ||
					   statuses[i] == DTCONV_ERR_BACKEND)));
	if (*has_failed) {
		for (int i = 0; i < 100; i++)
			progress_both();
		ck_assert_int_eq(party_query(&parties[0]).state, DTCONV_CHANNEL_ENDED);
		ck_assert_int_eq(party_query(&parties[1]).state, DTCONV_CHANNEL_ENDED);
	}
	close_pair();
}

START_TEST(a_call_that_fails_ends_the_channel)
{
	static const enum ucx_call calls[] = { UCX_MAP, UCX_EP_CREATE, UCX_SEND };
	bool has_failed = true;
	unsigned number;

	for (number = 1; has_failed && number < 40; number++)
		fail_after(calls[_i], number, &has_failed);
	ck_assert_uint_gt(number, 2);
	ck_assert(!has_failed || number == 40);
}
END_TEST

/* ---- no memory ------------------------------------------------------------------------------- */

static struct {
	size_t left; /* allocations until the one that fails; 0: none does */
	size_t live;
	bool has_failed;
} ration;

static void *alloc_ration(void *arg, size_t bytes)
{
	(void)arg;
	if (ration.left && !--ration.left) {
		ration.has_failed = true;
		return NULL;
	}
	ration.live++;
	return malloc(bytes);
}

static void free_ration(void *arg, void *memory)
{
	(void)arg;
	ration.live--;
	free(memory);
}

/* One end of a pair has a context of its own, whose nth allocation fails while the channel opens. */
static void open_starved(size_t number)
{
	const struct dtconv_context_params hungry = {
		.struct_size = sizeof(hungry),
		.allocator = { alloc_ration, free_ration, NULL }
	};
	const struct dtconv_ucx_params tls = { .struct_size = sizeof(tls),
					       .transports = "sm,self" };
	const struct party_memory memory = { 2, 1024 };
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel = NULL;
	struct dtconv_ucx *ucx = NULL;
	int sockets[2];

	begin();
	party_sockets(sockets);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	fixture_ok(dtconv_context_create(&hungry, &context));
	fixture_ok(dtconv_engine_create(context, NULL, &engine));
	ration.left = number;
	ration.has_failed = false;
	int status = dtconv_ucx_open(context, &tls, &ucx);
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = DTCONV_MEMORY_HOST,
						      .fragments = 2,
						      .fragment_bytes = 1024,
						      .transport =
							      dtconv_ucx_transport(ucx) };
	if (!status)
		status = dtconv_channel_open(engine, sockets[1], &params, &channel);
	ck_assert(!status || status == DTCONV_ERR_NOMEM);
	if (status)
		close(sockets[1]);
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };
	for (int i = 0; i < 200; i++) {
		(void)party_progress(&parties[0]);
		fixture_ok(dtconv_engine_progress(engine, 0, NULL));
	}
	ration.left = 0;
	if (channel)
		fixture_ok(dtconv_channel_query(channel, &attr));
	if (ration.has_failed && channel)
		ck_assert_int_eq(attr.status, DTCONV_ERR_NOMEM);
	if (!ration.has_failed)
		ck_assert_int_eq(attr.state, DTCONV_CHANNEL_OPEN);
	fixture_ok(dtconv_channel_destroy(channel));
	fixture_ok(dtconv_ucx_close(ucx));
	fixture_ok(dtconv_engine_destroy(engine));
	dtconv_context_destroy(context);
	ck_assert_uint_eq(ration.live, 0);
	for (int i = 0; party_query(&parties[0]).state != DTCONV_CHANNEL_ENDED; i++) {
		ck_assert_int_lt(i, PATIENCE);
		(void)party_progress(&parties[0]);
	}
	ck_assert_int_eq(party_query(&parties[0]).status, DTCONV_ERR_PEER);
	party_close(&parties[0]);
	ck_assert_uint_eq(ucx_faults.workers, 0);
	ck_assert_uint_eq(ucx_faults.mapped, 0);
}

START_TEST(without_memory_a_channel_ends_and_nothing_is_lost)
{
	size_t failures = 0;

	do
		open_starved(++failures);
	while (ration.has_failed);
	ck_assert_uint_gt(failures, 12);
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

/* Sizes that go eagerly, and by rendezvous where UCX thinks so. */
START_TEST(messages_may_arrive_in_any_order)
{
	static struct exchange ends[2];
	static const size_t sizes[] = { 64, 1000, 65536 };
	struct choices choices = fixture_choices((uint64_t)_i);

	begin();
	ucx_faults.swaps = true;
	open_pair((size_t)_i % 4 + 1, sizes[_i % 3]);
	for (unsigned side = 0; side < 2; side++) {
		exchange_open(&ends[side], fixture_context, side, choices.state, 24);
		exchange_start(&ends[side], &parties[side]);
	}
	for (int i = 0; !exchange_is_done(&ends[0]) || !exchange_is_done(&ends[1]); i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
	for (unsigned side = 0; side < 2; side++) {
		exchange_check(&ends[side], 0);
		exchange_close(&ends[side]);
	}
	ck_assert_uint_gt(ucx_faults.swapped, 10);
	ucx_faults.swaps = false;
	close_pair();
}
END_TEST

/* ---- eager data ------------------------------------------------------------------------------ */

/* Kept while nobody receives it, and released before the receive is done. */
START_TEST(eager_data_is_kept_until_it_is_unpacked)
{
	struct seen sent = { 0 }, received = { 0 };

	begin();
	open_pair(4, 1024);
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), 10, ints, see,
				       &sent));
	for (int i = 0; !party_query(&parties[1]).waiting; i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
	for (int i = 0; i < 50; i++)
		progress_both();
	ck_assert_uint_eq(ucx_faults.released, 0);
	ck_assert_uint_eq(party_query(&parties[0]).free, 3);
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, int_type(), 10, places, see,
				       &received));
	wait_for(&received);
	wait_for(&sent);
	ck_assert_int_eq(received.status, 0);
	ck_assert_int_eq(sent.status, 0);
	ck_assert_uint_eq(ucx_faults.released, 1);
	ck_assert_uint_eq(received.released, 1);
	ck_assert_uint_eq(ucx_faults.calls[UCX_RECEIVE], 0);
	ck_assert_mem_eq(places, ints, 10 * sizeof(int));
	close_pair();
}
END_TEST

/* Also if the channel ends first. */
START_TEST(eager_data_that_nobody_takes_is_released)
{
	struct seen sent = { 0 };

	begin();
	open_pair(4, 1024);
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), 10, ints, see,
				       &sent));
	for (int i = 0; !party_query(&parties[1]).waiting; i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
	fixture_ok(dtconv_channel_close(parties[_i].channel));
	wait_for(&sent);
	ck_assert_int_eq(sent.status, _i ? DTCONV_ERR_PEER : DTCONV_ERR_CANCELED);
	close_pair();
	ck_assert_uint_le(ucx_faults.released, 1);
}
END_TEST

/* ---- sleeping and the end ---------------------------------------------------------------------- */

/* Until nothing is left to do, and nothing wakes it. */
static struct pollfd fall_asleep(struct party *party)
{
	struct pollfd file = { .fd = dtconv_engine_fd(party->engine), .events = POLLIN };

	for (int n = 0; party_progress(party) || dtconv_engine_arm(party->engine) ||
			poll(&file, 1, 0);
	     n++)
		ck_assert_int_lt(n, 20000);
	return file;
}

START_TEST(a_message_wakes_the_sleeper)
{
	struct seen sent, received;

	begin();
	open_pair(4, 1024);
	for (int n = 0; party_query(&parties[0]).state != DTCONV_CHANNEL_OPEN ||
			party_query(&parties[1]).state != DTCONV_CHANNEL_OPEN;
	     n++) {
		ck_assert_int_lt(n, PATIENCE);
		progress_both();
	}
	for (int i = 0; i < 20; i++) {
		memset(&sent, 0, sizeof(sent));
		memset(&received, 0, sizeof(received));
		fixture_ok(dtconv_channel_recv(parties[1].channel, 1, int_type(), 10,
					       places, see, &received));
		struct pollfd file = fall_asleep(&parties[1]);
		fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), 10,
					       ints, see, &sent));
		for (int n = 0; poll(&file, 1, 0) == 0; n++) {
			ck_assert_int_lt(n, 20000);
			(void)party_progress(&parties[0]);
		}
		wait_for(&received);
		wait_for(&sent);
		ck_assert_int_eq(received.status, 0);
	}
	close_pair();
}
END_TEST

/* The last packet comes over the socket, and may be read before what was sent earlier: more than a poll takes. */
START_TEST(what_was_sent_before_the_last_packet_arrives)
{
	enum { MESSAGES = 100 };
	static struct seen sent[MESSAGES], received[MESSAGES];

	begin();
	open_pair(2 * MESSAGES, 64);
	for (int n = 0; party_query(&parties[0]).state != DTCONV_CHANNEL_OPEN ||
			party_query(&parties[1]).state != DTCONV_CHANNEL_OPEN;
	     n++) {
		ck_assert_int_lt(n, PATIENCE);
		progress_both();
	}
	for (int i = 0; i < MESSAGES; i++) {
		sent[i] = received[i] = (struct seen){ 0 };
		fixture_ok(dtconv_channel_recv(parties[1].channel, 1, int_type(), 1,
					       places + i, see, &received[i]));
		fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), 1,
					       ints + i, see, &sent[i]));
	}
	/* Receives are there, all is sent, and the last packet. */
	for (int i = 0; i < 20; i++)
		(void)party_progress(&parties[1]);
	for (int i = 0; i < 50; i++)
		(void)party_progress(&parties[0]);
	fixture_ok(dtconv_channel_close(parties[0].channel));
	(void)party_progress(&parties[0]);
	/* So that the next poll begins with the socket. */
	(void)dtconv_engine_arm(parties[1].engine);
	for (int n = 0; party_query(&parties[1]).state != DTCONV_CHANNEL_ENDED; n++) {
		ck_assert_int_lt(n, PATIENCE);
		for (int i = 0; i < 10; i++)
			(void)party_progress(&parties[1]);
		(void)party_progress(&parties[0]);
	}
	for (int i = 0; i < MESSAGES; i++) {
		wait_for(&received[i]);
		ck_assert_int_eq(received[i].status, 0);
	}
	ck_assert_mem_eq(places, ints, MESSAGES * sizeof(int));
	close_pair();
}
END_TEST

/* UCX itself does not notice it. */
START_TEST(the_end_of_the_socket_ends_the_channel)
{
	int statuses[4], end;
	socklen_t length = sizeof(end);

	begin();
	open_pair(4, 1024);
	pass_both_ways(statuses);
	/* The last of the two sockets. */
	for (end = 1023; getsockopt(end, SOL_SOCKET, SO_TYPE, &statuses[3], &length) ||
			 statuses[3] != SOCK_SEQPACKET;
	     end--)
		ck_assert_int_gt(end, 3);
	ck_assert_int_eq(shutdown(end, SHUT_RDWR), 0);
	for (int i = 0; i < 2; i++) {
		for (int n = 0; party_query(&parties[i]).state != DTCONV_CHANNEL_ENDED;
		     n++) {
			ck_assert_int_lt(n, PATIENCE);
			(void)party_progress(&parties[i]);
		}
		ck_assert_int_eq(party_query(&parties[i]).status, DTCONV_ERR_PEER);
	}
	close_pair();
}
END_TEST

/* ---- ends beside what is under way -------------------------------------------------------------- */

static bool are_open(void)
{
	return party_query(&parties[0]).state == DTCONV_CHANNEL_OPEN &&
	       party_query(&parties[1]).state == DTCONV_CHANNEL_OPEN;
}

/* Fragments of any length go by rendezvous, in which both processes take part. */
static void open_pair_for_rendezvous(void)
{
	begin();
	ck_assert_int_eq(setenv("UCX_RNDV_THRESH", "0", 1), 0);
	open_pair(2, 4096);
	ck_assert_int_eq(unsetenv("UCX_RNDV_THRESH"), 0);
	for (int n = 0; !are_open(); n++) {
		ck_assert_int_lt(n, PATIENCE);
		progress_both();
	}
}

/* UCX reports a receive when the channel has ended already, here or because the peer has closed it. */
START_TEST(a_receive_may_end_after_its_channel)
{
	struct seen sent = { 0 }, received = { 0 };

	open_pair_for_rendezvous();
	ucx_faults.holds = true;
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, int_type(), INTS, places,
				       see, &received));
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), INTS, ints, see,
				       &sent));
	for (int n = 0; !ucx_faults.held; n++) {
		ck_assert_int_lt(n, PATIENCE);
		progress_both();
	}
	ck_assert_int_eq(received.calls, 0);
	fixture_ok(dtconv_channel_close(parties[_i].channel));
	/* An end that waits for a message whose bytes are held is told by the end of the socket only. */
	if (!_i)
		fixture_ok(dtconv_channel_close(parties[1].channel));
	wait_for(&received);
	ck_assert_int_eq(received.status, DTCONV_ERR_CANCELED);
	ck_assert_int_eq(party_query(&parties[1]).state, DTCONV_CHANNEL_ENDED);
	ucx_faults.holds = false;
	ucx_report_receives();
	ck_assert_uint_eq(ucx_faults.held, 0);
	wait_for(&sent);
	close_pair();
}
END_TEST

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* It keeps its socket and makes no progress. All fragments come back, also to a process that sleeps. */
START_TEST(a_stuck_peer_keeps_no_fragments)
{
	struct pollfd file = { .events = POLLIN };
	struct seen sent = { 0 }, received = { 0 };

	open_pair_for_rendezvous();
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, int_type(), INTS, places,
				       see, &received));
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), INTS, ints, see,
				       &sent));
	for (int n = 0; party_query(&parties[0]).free; n++) {
		ck_assert_int_lt(n, PATIENCE);
		(void)party_progress(&parties[n % 2 && party_query(&parties[0]).free]);
	}
	fixture_ok(dtconv_channel_close(parties[0].channel));
	file.fd = dtconv_engine_fd(parties[0].engine);
	const double end = seconds() + 30;
	while (!sent.calls || party_query(&parties[0]).free < 2) {
		size_t worked;

		ck_assert(seconds() < end);
		fixture_ok(dtconv_engine_progress(parties[0].engine, 0, &worked));
		if (!worked && !dtconv_engine_arm(parties[0].engine))
			ck_assert_int_eq(poll(&file, 1, 10000), 1);
	}
	ck_assert_int_eq(sent.status, DTCONV_ERR_CANCELED);
	ck_assert_int_eq(received.calls, 0);
	for (int n = 0; !received.calls; n++) {
		ck_assert_int_lt(n, PATIENCE);
		(void)party_progress(&parties[1]);
	}
	ck_assert_int_eq(received.status, DTCONV_ERR_PEER);
	close_pair();
}
END_TEST

/* ---- lies ------------------------------------------------------------------------------------ */

START_TEST(a_peer_that_breaks_the_protocol_ends_the_channel)
{
	int statuses[4];

	begin();
	ucx_faults.lie = (enum ucx_lie)_i;
	open_pair(4, 1024);
	pass_both_ways(statuses);
	ck_assert(ucx_faults.has_lied);
	for (int i = 0; i < 2; i++) {
		for (int n = 0; party_query(&parties[i]).state != DTCONV_CHANNEL_ENDED;
		     n++) {
			ck_assert_int_lt(n, PATIENCE);
			progress_both();
		}
		ck_assert_int_eq(party_query(&parties[i]).status, DTCONV_ERR_FORMAT);
	}
	close_pair();
}
END_TEST

/* ---- peers that are no library ------------------------------------------------------------------ */

static const struct dtc_wire_packet honest_hello = { .transport = DTC_WIRE_UCX,
						     .fragments = 2,
						     .fragment_bytes = 1024 };

/* One end; the other is this test's. */
static int open_one(void)
{
	const struct party_memory memory = { 2, 1024 };
	int sockets[2];

	begin();
	party_sockets(sockets);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	return sockets[1];
}

static void close_one(int socket)
{
	party_close(&parties[0]);
	close(socket);
	ck_assert_uint_eq(ucx_faults.workers, 0);
	ck_assert_uint_eq(ucx_faults.mapped, 0);
}

static void expect_end(int status)
{
	for (int n = 0; party_query(&parties[0]).state != DTCONV_CHANNEL_ENDED; n++) {
		ck_assert_int_lt(n, PATIENCE);
		(void)party_progress(&parties[0]);
	}
	ck_assert_int_eq(party_query(&parties[0]).status, status);
}

/* Memory for its fragments is allocated here. */
START_TEST(a_peer_may_not_have_memory_without_bounds)
{
	static const struct {
		uint32_t fragments;
		uint64_t bytes;
	} cases[] = { { DTC_WIRE_FRAGMENTS_MAX, DTC_WIRE_SLAB_MAX },
		      { 1, DTC_WIRE_SLAB_MAX },
		      { DTC_WIRE_FRAGMENTS_MAX, (UINT64_C(1) << 20) + 1 } };
	struct dtc_wire_packet hello = honest_hello;
	const char address[] = "nothing is done with it";
	const int socket = open_one();

	hello.fragments = cases[_i].fragments;
	hello.fragment_bytes = cases[_i].bytes;
	ck_assert(dtc_greeting_send(socket, &hello, address, sizeof(address)));
	expect_end(DTCONV_ERR_LIMIT);
	close_one(socket);
}
END_TEST

static size_t fill_socket(int socket)
{
	const struct dtc_wire_packet packet = { .kind = DTC_WIRE_BELL,
						.version = DTC_WIRE_VERSION };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	size_t sent = 0;

	dtc_wire_write_packet(&packet, bytes);
	while (dtc_sock_send(socket, bytes, NULL))
		sent++;
	return sent;
}

START_TEST(a_flood_of_packets_does_not_hold_a_poll)
{
	const int socket = open_one();

	ck_assert_uint_gt(fill_socket(socket), 2 * DTC_SOCK_BATCH);
	(void)party_progress(&parties[0]);
	ck_assert_uint_le(fill_socket(socket), DTC_SOCK_BATCH);
	expect_end(DTCONV_ERR_FORMAT);
	close_one(socket);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channels over UCX");
	TCase *open = fixture_case(suite, "open", 60);
	TCase *fail = fixture_case(suite, "fail", 120);
	TCase *data = fixture_case(suite, "data", 120);

	tcase_add_test(open, wrong_arguments_are_refused);
	tcase_add_loop_test(open, opening_fails_with_each_call, UCX_INIT,
			    UCX_ADDRESS + 1);
	tcase_add_loop_test(fail, a_call_that_fails_ends_the_channel, 0, 3);
	tcase_add_test(fail, without_memory_a_channel_ends_and_nothing_is_lost);
	tcase_add_loop_test(fail, a_peer_that_breaks_the_protocol_ends_the_channel, 1,
			    UCX_LIES);
	tcase_add_loop_test(data, messages_may_arrive_in_any_order, 0, 12);
	tcase_add_test(data, eager_data_is_kept_until_it_is_unpacked);
	tcase_add_loop_test(data, eager_data_that_nobody_takes_is_released, 0, 2);
	tcase_add_test(data, a_message_wakes_the_sleeper);
	tcase_add_test(data, what_was_sent_before_the_last_packet_arrives);
	tcase_add_test(data, the_end_of_the_socket_ends_the_channel);
	tcase_add_loop_test(fail, a_receive_may_end_after_its_channel, 0, 2);
	tcase_add_test(fail, a_stuck_peer_keeps_no_fragments);
	tcase_add_loop_test(fail, a_peer_may_not_have_memory_without_bounds, 0, 3);
	tcase_add_test(fail, a_flood_of_packets_does_not_hold_a_poll);
	return fixture_run(suite);
}
