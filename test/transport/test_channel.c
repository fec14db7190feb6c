/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels whose two ends are in this process: messages, matching, refusals, ends, and listeners. What needs a second
 * process is in test_two_processes.c, and peers that lie are in test_hostile_peer.c.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "support/fixture.h"

/* More than any of these tests needs. */
#define PATIENCE 1000000

static struct party parties[2];

static void open_pair(size_t fragments, size_t fragment_bytes)
{
	const struct party_memory memory = { fragments, fragment_bytes };
	int sockets[2];

	party_sockets(sockets);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	party_open(&parties[1], fixture_context, sockets[1], memory);
}

static void close_pair(void)
{
	party_close(&parties[0]);
	party_close(&parties[1]);
}

static void progress_both(void)
{
	(void)party_progress(&parties[0]);
	(void)party_progress(&parties[1]);
}

/* ---- one message --------------------------------------------------------------------------- */

struct seen {
	int calls, status;
	size_t moved;
	char error[384];
};

static void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->status = status;
	seen->moved = moved;
	if (status)
		strncpy(seen->error, fixture_error(), sizeof(seen->error) - 1);
}

static void wait_for(const struct seen *seen)
{
	for (int i = 0; !seen->calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
}

static int ints[4096], places[4096];

static void fill(void)
{
	for (int i = 0; i < 4096; i++) {
		ints[i] = i + 1;
		places[i] = 0;
	}
}

static struct dtconv_type *int_type(void)
{
	return dtconv_type_predefined(fixture_context, DTCONV_INT);
}

static void send_ints(unsigned side, uint64_t tag, size_t from, size_t count,
		      struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	fixture_ok(dtconv_channel_send(parties[side].channel, tag, int_type(), count,
				       ints + from, see, seen));
}

static void recv_ints(unsigned side, uint64_t tag, size_t to, size_t count,
		      struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	fixture_ok(dtconv_channel_recv(parties[side].channel, tag, int_type(), count,
				       places + to, see, seen));
}

static void expect(const struct seen *seen, int status, size_t moved)
{
	ck_assert_int_eq(seen->calls, 1);
	ck_assert_int_eq(seen->status, status);
	ck_assert_uint_eq(seen->moved, moved);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Pools of one, two and many fragments, short and long ones. */
START_TEST(any_type_goes_to_any_type_both_ways)
{
	static struct exchange ends[2];
	static const size_t fragments[] = { 1, 2, 16 }, sizes[] = { 64, 1000, 65536 };
	struct choices choices = fixture_choices((uint64_t)_i);
	const uint64_t seed = choices.state;

	open_pair(fragments[_i % 3], sizes[_i / 3 % 3]);
	for (unsigned side = 0; side < 2; side++) {
		exchange_open(&ends[side], fixture_context, side, seed, 24);
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
	const struct dtconv_channel_attr a = party_query(&parties[0]),
					 b = party_query(&parties[1]);
	ck_assert_uint_eq(a.sent, b.received);
	ck_assert_uint_eq(b.sent, a.received);
	ck_assert_uint_eq(a.sent + b.sent, 24);
	close_pair();
}
END_TEST

/* Messages of many fragments, of which the pool has few, are received last first. */
START_TEST(tags_are_received_in_any_order)
{
	enum { MESSAGES = 8, COUNT = 512 };
	struct seen sent[MESSAGES], received[MESSAGES];

	fill();
	open_pair((size_t)_i + 1, 256);
	for (size_t i = 0; i < MESSAGES; i++)
		send_ints(0, i, i * COUNT, COUNT, &sent[i]);
	for (int i = 0; i < 100; i++)
		progress_both();
	ck_assert_uint_eq(party_query(&parties[1]).waiting, MESSAGES);
	for (size_t i = MESSAGES; i--;) {
		recv_ints(1, i, i * COUNT, COUNT, &received[i]);
		wait_for(&received[i]);
		expect(&received[i], 0, COUNT * sizeof(int));
	}
	for (size_t i = 0; i < MESSAGES; i++) {
		wait_for(&sent[i]);
		expect(&sent[i], 0, COUNT * sizeof(int));
	}
	ck_assert_mem_eq(places, ints, sizeof(ints));
	close_pair();
}
END_TEST

/* More than there are slots; short ones, so that some go before they are asked for. */
START_TEST(messages_that_nobody_takes_are_bounded)
{
	enum { MESSAGES = DTCONV_CHANNEL_MESSAGES + 50 };
	static struct seen sent[MESSAGES], received[MESSAGES];
	int i;

	fill();
	open_pair(4, 64);
	for (i = 0; i < MESSAGES; i++)
		send_ints(0, 5, (size_t)i, 1, &sent[i]);
	for (i = 0; i < 100; i++)
		progress_both();
	const struct dtconv_channel_attr attr = party_query(&parties[1]);
	ck_assert_uint_eq(attr.waiting, DTCONV_CHANNEL_MESSAGES);
	/* Half of the fragments wait with them. */
	ck_assert_uint_eq(party_query(&parties[0]).free, 2);
	for (i = 0; i < MESSAGES; i++)
		recv_ints(1, 5, (size_t)i, 1, &received[i]);
	for (i = 0; i < MESSAGES; i++) {
		wait_for(&sent[i]);
		wait_for(&received[i]);
		expect(&sent[i], 0, sizeof(int));
	}
	ck_assert_mem_eq(places, ints, MESSAGES * sizeof(int));
	close_pair();
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------- */

/* In the middle of other messages, whether the receive or the message comes first; lengths of one fragment and more. */
static void refuse(struct dtconv_type *type, size_t count, size_t sent_count, int status,
		   bool is_late)
{
	struct seen sent = { 0 }, received = { 0 }, next_sent, next_received;

	fill();
	if (is_late) {
		send_ints(0, 1, 0, sent_count, &sent);
		for (int i = 0; i < 20; i++)
			progress_both();
	}
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, type, count, places, see,
				       &received));
	if (!is_late)
		send_ints(0, 1, 0, sent_count, &sent);
	recv_ints(1, 1, 100, 700, &next_received);
	send_ints(0, 1, 0, 600, &next_sent);
	wait_for(&sent);
	wait_for(&received);
	wait_for(&next_received);
	wait_for(&next_sent);
	expect(&received, status, 0);
	expect(&sent, status, 0);
	ck_assert_ptr_nonnull(strstr(sent.error, "tag 1"));
	ck_assert_ptr_nonnull(strstr(received.error, "tag 1"));
	expect(&next_sent, 0, 600 * sizeof(int));
	expect(&next_received, 0, 600 * sizeof(int));
	ck_assert_mem_eq(places + 100, ints, 600 * sizeof(int));
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(places[i], 0);
}

START_TEST(a_message_that_does_not_fit_is_refused_at_both_ends)
{
	static const size_t counts[] = { 2, 3, 30, 1000 };
	struct dtconv_type *other = fixture_type("struct([2, 1], [0, 8], [int, float])");

	open_pair((size_t)_i % 2 + 1, 128);
	for (size_t i = 0; i < 4; i++) {
		/* Longer than the receive. */
		refuse(int_type(), counts[i] - 1, counts[i], DTCONV_ERR_TRUNCATE, _i / 2);
		/* Other basic types: two ints and a float. */
		if (counts[i] > 2)
			refuse(other, counts[i], counts[i], DTCONV_ERR_SIGNATURE, _i / 2);
	}
	dtconv_type_unref(other);
	close_pair();
}
END_TEST

/* A message ends in the middle of a receive's element, or between elements. */
START_TEST(a_message_may_be_a_beginning_of_its_receive)
{
	struct dtconv_type *mixed = fixture_type("struct([2, 1], [0, 8], [int, float])");
	struct seen sent, received = { 0 };

	open_pair(2, 128);
	fill();
	send_ints(0, 1, 0, 2, &sent);
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, mixed, 5, places, see,
				       &received));
	wait_for(&sent);
	wait_for(&received);
	expect(&received, 0, 8);
	ck_assert_mem_eq(places, ints, 8);
	ck_assert_int_eq(places[2], 0);
	/* Nothing is a beginning of everything. */
	send_ints(0, 1, 0, 0, &sent);
	memset(&received, 0, sizeof(received));
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, mixed, 5, places, see,
				       &received));
	wait_for(&sent);
	wait_for(&received);
	expect(&sent, 0, 0);
	expect(&received, 0, 0);
	dtconv_type_unref(mixed);
	close_pair();
}
END_TEST

/* ---- ends ------------------------------------------------------------------------------------ */

START_TEST(closing_ends_everything_once)
{
	struct seen sent[3], received[3], foreign, unmatched;

	fill();
	open_pair(2, 64);
	/* Under way, waiting here, and waiting there. */
	send_ints(0, 1, 0, 4000, &sent[0]);
	recv_ints(1, 1, 0, 4000, &received[0]);
	send_ints(0, 2, 0, 4, &sent[1]);
	send_ints(0, 3, 0, 4000, &sent[2]);
	recv_ints(0, 9, 0, 1, &received[1]);
	recv_ints(1, 9, 0, 1, &received[2]);
	send_ints(1, 4, 0, 10, &foreign);
	for (int i = 0; i < 3 + 2 * _i; i++)
		progress_both();
	ck_assert_int_eq(dtconv_channel_destroy(parties[0].channel), DTCONV_ERR_STATE);
	fixture_ok(dtconv_channel_close(parties[0].channel));
	fixture_ok(dtconv_channel_close(parties[0].channel));
	for (int i = 0; i < 3; i++) {
		wait_for(&sent[i]);
		wait_for(&received[i]);
	}
	wait_for(&foreign);
	for (int i = 1; i < 3; i++)
		expect(&sent[i], DTCONV_ERR_CANCELED, sent[i].moved);
	expect(&received[1], DTCONV_ERR_CANCELED, 0);
	expect(&received[2], DTCONV_ERR_PEER, 0);
	expect(&foreign, DTCONV_ERR_PEER, foreign.moved);
	/* Complete at one end, complete at the other. */
	if (!sent[0].status)
		ck_assert_int_eq(received[0].status, 0);
	ck_assert(!received[0].status || received[0].status == DTCONV_ERR_PEER);
	ck_assert_ptr_nonnull(strstr(received[2].error, "closed"));
	ck_assert_int_eq(dtconv_channel_send(parties[1].channel, 1, int_type(), 1, ints,
					     see, &unmatched),
			 DTCONV_ERR_PEER);
	ck_assert_int_eq(dtconv_channel_recv(parties[0].channel, 1, int_type(), 1, places,
					     see, &unmatched),
			 DTCONV_ERR_CANCELED);
	close_pair();
}
END_TEST

/* A message that is complete stays complete if the sender leaves at once. */
START_TEST(what_is_complete_survives_the_end)
{
	struct seen sent, received;

	fill();
	open_pair(2, 64);
	recv_ints(1, 1, 0, 1000, &received);
	send_ints(0, 1, 0, 1000, &sent);
	while (!sent.calls)
		progress_both();
	party_close(&parties[0]);
	wait_for(&received);
	expect(&received, 0, 4000);
	ck_assert_mem_eq(places, ints, 4000);
	party_close(&parties[1]);
}
END_TEST

static void destroy_inside(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	ck_assert_int_eq(dtconv_channel_destroy(parties[0].channel), DTCONV_ERR_STATE);
	/* Every other call is possible. */
	fixture_ok(dtconv_channel_recv(parties[0].channel, 3, int_type(), 1, places, NULL,
				       NULL));
	fixture_ok(dtconv_channel_close(parties[0].channel));
	see(seen, status, moved);
}

START_TEST(callbacks_may_call_everything_but_destroy)
{
	struct seen sent = { 0 }, received;

	fill();
	open_pair(2, 64);
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, int_type(), 3, ints,
				       destroy_inside, &sent));
	recv_ints(1, 1, 0, 3, &received);
	wait_for(&sent);
	wait_for(&received);
	expect(&sent, 0, 12);
	expect(&received, 0, 12);
	close_pair();
}
END_TEST

/* ---- bad calls -------------------------------------------------------------------------------- */

static int open_with(const struct dtconv_channel_params *params, int fd)
{
	struct dtconv_channel *channel = NULL;
	int status = dtconv_channel_open(parties[0].engine, fd, params, &channel);

	ck_assert_ptr_null(channel);
	return status;
}

START_TEST(bad_arguments_are_refused)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.kind = DTCONV_MEMORY_HOST };
	struct dtconv_channel *channel;
	struct dtconv_channel_attr attr = { .struct_size = 0 };
	struct dtconv_type *raw;
	int sockets[2], streams[2];

	open_pair(2, 64);
	channel = parties[0].channel;
	party_sockets(sockets);
	ck_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, streams));
	const size_t files = process_files();
	ck_assert_int_eq(open_with(&params, streams[0]), DTCONV_ERR_INVAL);
	ck_assert_int_eq(open_with(&params, -1), DTCONV_ERR_INVAL);
	ck_assert_int_eq(open_with(&params, dtconv_engine_fd(parties[0].engine)),
			 DTCONV_ERR_INVAL);
	params.kind = DTCONV_MEMORY_MANAGED;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_INVAL);
	/* There is none. */
	params.kind = DTCONV_MEMORY_DEVICE;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_UNSUPPORTED);
	params.kind = DTCONV_MEMORY_HOST;
	params.flags = 1u << 20;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_INVAL);
	params.flags = 0;
	params.fragments = DTCONV_CHANNEL_FRAGMENTS_MAX + 1;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_LIMIT);
	params.fragments = 1024;
	params.fragment_bytes = SIZE_MAX / 2;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_LIMIT);
	/* The system refuses the memory: of the slab, then of the ring. */
	struct rlimit limit, before;
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	params.fragments = 1;
	params.fragment_bytes = 8192;
	for (limit = before, limit.rlim_cur = 4096; limit.rlim_cur <= 16384;
	     limit.rlim_cur *= 4) {
		ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
		ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_NOMEM);
	}
	ck_assert(!setrlimit(RLIMIT_FSIZE, &before));
	params.struct_size = 0;
	ck_assert_int_eq(open_with(&params, sockets[0]), DTCONV_ERR_INVAL);
	ck_assert_uint_eq(process_files(), files);
	for (int i = 0; i < 2; i++) {
		close(sockets[i]);
		close(streams[i]);
	}

	ck_assert_int_eq(dtconv_channel_query(channel, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_query(NULL, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_open(NULL, 0, NULL, &channel), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_send(NULL, 0, int_type(), 1, ints, NULL, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_recv(channel, 0, NULL, 1, places, NULL, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_close(NULL), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_channel_destroy(NULL));
	fixture_ok(dtconv_listener_destroy(NULL));
	fixture_ok(dtconv_type_create_contiguous(2, int_type(), &raw));
	ck_assert_int_eq(dtconv_channel_send(channel, 0, raw, 1, ints, NULL, NULL),
			 DTCONV_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "argument 3"));
	ck_assert_int_eq(dtconv_channel_send(channel, 0, int_type(), SIZE_MAX, ints, NULL,
					     NULL),
			 DTCONV_ERR_OVERFLOW);
	dtconv_type_unref(raw);
	struct dtconv_context *other;
	fixture_ok(dtconv_context_create(NULL, &other));
	ck_assert_int_eq(dtconv_channel_recv(channel, 0,
					     dtconv_type_predefined(other, DTCONV_INT), 1,
					     places, NULL, NULL),
			 DTCONV_ERR_INVAL);
	dtconv_context_destroy(other);
	close_pair();
}
END_TEST

/* ---- listeners ---------------------------------------------------------------------------------- */

static void make_engines(void)
{
	for (int i = 0; i < 2; i++) {
		parties[i].context = fixture_context;
		fixture_ok(
			dtconv_engine_create(fixture_context, NULL, &parties[i].engine));
	}
}

static const struct dtconv_channel_params *small(void)
{
	static const struct dtconv_channel_params params = { .struct_size =
								     sizeof(params),
							     .kind = DTCONV_MEMORY_HOST,
							     .fragments = 2,
							     .fragment_bytes = 128 };

	return &params;
}

static int call_at(const char *address)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(name.sun_path + (*address == '@'), address + (*address == '@'),
		sizeof(name.sun_path) - 2);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					     strlen(address) + (*address != '@'))),
			 0);
	return fd;
}

/* Silent, talkative and departed strangers before and behind the one that is a channel. */
START_TEST(strangers_stall_nobody)
{
	struct dtconv_listener *listener, *second = NULL;
	char address[100];
	int strangers[40];
	struct seen sent, received;
	char byte = 1;

	snprintf(address, sizeof(address), _i ? "@dtconv-test-%ld" : "channel-%ld.socket",
		 (long)getpid());
	make_engines();
	const size_t files = process_files();
	fixture_ok(dtconv_channel_listen(parties[0].engine, address, small(), &listener));
	ck_assert_int_eq(dtconv_channel_listen(parties[1].engine, address, small(),
					       &second),
			 DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_channel_accept(listener, &parties[0].channel),
			 DTCONV_ERR_AGAIN);
	for (int i = 0; i < 30; i++) {
		strangers[i] = call_at(address);
		if (i % 3 == 1)
			ck_assert_int_eq(send(strangers[i], &byte, 1, 0), 1);
		(void)party_progress(&parties[0]);
	}
	const size_t mappings = process_mappings();
	fixture_ok(dtconv_channel_connect(parties[1].engine, address, small(),
					  &parties[1].channel));
	(void)party_progress(&parties[0]);
	for (int i = 30; i < 40; i++) {
		strangers[i] = call_at(address);
		(void)party_progress(&parties[0]);
	}
	/* Its own two, of which the connecting end has made its own. */
	ck_assert_uint_eq(process_mappings(), mappings + 2);
	fixture_ok(dtconv_channel_accept(listener, &parties[0].channel));
	ck_assert_int_eq(dtconv_channel_accept(listener, &parties[1].channel),
			 DTCONV_ERR_AGAIN);
	fill();
	send_ints(0, 1, 0, 1000, &sent);
	recv_ints(1, 1, 0, 1000, &received);
	wait_for(&sent);
	wait_for(&received);
	expect(&sent, 0, 4000);
	expect(&received, 0, 4000);
	ck_assert_int_eq(party_query(&parties[0]).peer_process, getpid());
	ck_assert_int_eq(party_query(&parties[0]).peer_user, geteuid());
	fixture_ok(dtconv_listener_destroy(listener));
	struct dtconv_channel *none = NULL;
	ck_assert_int_eq(dtconv_channel_connect(parties[1].engine, address, small(),
						&none),
			 DTCONV_ERR_PEER);
	ck_assert_ptr_null(none);
	if (!_i)
		ck_assert_int_eq(access(address, F_OK), -1);
	for (int i = 0; i < 40; i++)
		close(strangers[i]);
	party_close(&parties[1]);
	party_close(&parties[0]);
	ck_assert_uint_eq(process_files() + 6, files);
}
END_TEST

/* Only root can become somebody else. */
/* A channel that waits to be accepted is not displaced by those who are silent. */
START_TEST(strangers_displace_no_channel)
{
	struct dtconv_listener *listener;
	char address[100];
	int strangers[40];
	struct seen sent, received;

	snprintf(address, sizeof(address), "@dtconv-displace-%ld", (long)getpid());
	make_engines();
	fixture_ok(dtconv_channel_listen(parties[0].engine, address, small(), &listener));
	fixture_ok(dtconv_channel_connect(parties[1].engine, address, small(),
					  &parties[1].channel));
	/* One at a time, or all before the listener looks. */
	for (int i = 0; i < 40; i++) {
		strangers[i] = call_at(address);
		if (!_i)
			(void)party_progress(&parties[0]);
	}
	for (int i = 0; i < 40; i++)
		(void)party_progress(&parties[0]);
	fixture_ok(dtconv_channel_accept(listener, &parties[0].channel));
	fill();
	send_ints(0, 1, 0, 1000, &sent);
	recv_ints(1, 1, 0, 1000, &received);
	wait_for(&sent);
	wait_for(&received);
	expect(&sent, 0, 4000);
	expect(&received, 0, 4000);
	fixture_ok(dtconv_listener_destroy(listener));
	for (int i = 0; i < 40; i++)
		close(strangers[i]);
	party_close(&parties[1]);
	party_close(&parties[0]);
}
END_TEST

START_TEST(processes_of_other_users_are_turned_away)
{
	const uid_t other = 65534;
	const struct dtconv_channel_params anybody = {
		.struct_size = sizeof(anybody),
		.kind = DTCONV_MEMORY_HOST,
		.flags = _i ? DTCONV_CHANNEL_ANY_USER : 0
	};
	struct dtconv_listener *listener;
	struct dtconv_channel *channel = NULL;
	char address[64];

	if (geteuid())
		return;
	snprintf(address, sizeof(address), "@dtconv-user-%d", (int)getpid());
	make_engines();
	fixture_ok(
		dtconv_channel_listen(parties[0].engine, address, &anybody, &listener));
	ck_assert(!seteuid(other));
	/* The one who connects looks as well: the socket was made by root. */
	const int status = dtconv_channel_connect(parties[1].engine, address, &anybody,
						  &parties[1].channel);
	const int stranger = _i ? -1 : call_at(address);
	ck_assert(!seteuid(0));
	fixture_status(status, _i ? 0 : DTCONV_ERR_PEER);
	(void)party_progress(&parties[0]);
	ck_assert_int_eq(dtconv_channel_accept(listener, &channel),
			 _i ? 0 : DTCONV_ERR_AGAIN);
	if (_i) {
		parties[0].channel = channel;
		ck_assert_int_eq(party_query(&parties[0]).peer_user, other);
		party_close(&parties[1]);
	} else {
		char byte;

		ck_assert_int_eq(recv(stranger, &byte, 1, MSG_DONTWAIT), 0);
		close(stranger);
		fixture_ok(dtconv_engine_destroy(parties[1].engine));
	}
	fixture_ok(dtconv_listener_destroy(listener));
	if (_i)
		party_close(&parties[0]);
	else
		fixture_ok(dtconv_engine_destroy(parties[0].engine));
}
END_TEST

/* Whoever can name a file can open it, and a program that is started gets what is not closed on exec. */
START_TEST(nothing_is_inherited_or_has_a_name)
{
	struct dtconv_listener *listener;
	char address[64], link[64], target[256];
	size_t files = 0;

	snprintf(address, sizeof(address), "@dtconv-exec-%d", (int)getpid());
	make_engines();
	fixture_ok(dtconv_channel_listen(parties[0].engine, address, small(), &listener));
	fixture_ok(dtconv_channel_connect(parties[1].engine, address, small(),
					  &parties[1].channel));
	(void)party_progress(&parties[0]);
	fixture_ok(dtconv_channel_accept(listener, &parties[0].channel));
	for (int i = 0; i < 10; i++)
		progress_both();
	/* Check's own are not of these kinds. */
	for (int fd = 3; fd < 200; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		const ssize_t length = readlink(link, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		if (strncmp(target, "/memfd:", 7) && strncmp(target, "socket:", 7) &&
		    strncmp(target, "anon_inode:", 11))
			continue;
		ck_assert_msg(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%s", target);
		files++;
	}
	/* Two engines' three, two channels' three, a listener's three. */
	ck_assert_uint_ge(files, 15);
	ck_assert_uint_eq(process_mappings(), 8);
	fixture_ok(dtconv_listener_destroy(listener));
	party_close(&parties[1]);
	party_close(&parties[0]);
}
END_TEST

START_TEST(bad_addresses_are_refused)
{
	char longest[200];
	struct dtconv_listener *listener = NULL;
	struct dtconv_channel *channel = NULL;

	make_engines();
	struct dtconv_engine *engine = parties[0].engine;
	const size_t files = process_files();
	memset(longest, 'a', sizeof(longest));
	longest[108] = 0;
	ck_assert_int_eq(dtconv_channel_listen(engine, longest, NULL, &listener),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_connect(engine, longest, NULL, &channel),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_listen(engine, "@", NULL, &listener),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_listen(engine, "/nowhere/at/all", NULL,
					       &listener),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_connect(engine, "/nowhere/at/all", NULL,
						&channel),
			 DTCONV_ERR_PEER);
	ck_assert_int_eq(dtconv_channel_listen(engine, NULL, NULL, &listener),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_channel_accept(NULL, &channel), DTCONV_ERR_INVAL);
	ck_assert_uint_eq(process_files(), files);
	for (int i = 0; i < 2; i++)
		fixture_ok(dtconv_engine_destroy(parties[i].engine));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel");
	TCase *messages = fixture_case(suite, "messages", 120);
	TCase *refusals = fixture_case(suite, "refusals", 60);
	TCase *ends = fixture_case(suite, "ends", 60);
	TCase *listeners = fixture_case(suite, "listeners", 60);

	tcase_add_loop_test(messages, any_type_goes_to_any_type_both_ways, 0,
			    fixture_everything() ? 300 : 18);
	tcase_add_loop_test(messages, tags_are_received_in_any_order, 0, 3);
	tcase_add_test(messages, messages_that_nobody_takes_are_bounded);
	tcase_add_loop_test(refusals, a_message_that_does_not_fit_is_refused_at_both_ends,
			    0, 4);
	tcase_add_test(refusals, a_message_may_be_a_beginning_of_its_receive);
	tcase_add_loop_test(ends, closing_ends_everything_once, 0, 12);
	tcase_add_test(ends, what_is_complete_survives_the_end);
	tcase_add_test(ends, callbacks_may_call_everything_but_destroy);
	tcase_add_test(ends, bad_arguments_are_refused);
	tcase_add_loop_test(listeners, strangers_stall_nobody, 0, 2);
	tcase_add_loop_test(listeners, strangers_displace_no_channel, 0, 2);
	tcase_add_loop_test(listeners, processes_of_other_users_are_turned_away, 0, 2);
	tcase_add_test(listeners, nothing_is_inherited_or_has_a_name);
	tcase_add_test(listeners, bad_addresses_are_refused);
	return fixture_run(suite);
}
