/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over a transport that is a library of its own: random messages both ways between two processes, a peer that
 * is killed, and a transport that fails at each step of opening.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "socket_transport.h"
#include "support/fixture.h"

#define MESSAGES 16

/* The child's end. */
static void run(int socket, uint64_t seed, struct party_memory memory, long death)
{
	static struct exchange exchange;
	struct party party;

	exchange_open(&exchange, fixture_context, 1, seed, MESSAGES);
	party_open(&party, fixture_context, socket, memory);
	exchange_start(&exchange, &party);
	for (long step = 0; !exchange_is_done(&exchange); step++) {
		if (step == death)
			kill(getpid(), SIGKILL);
		if (death < 0)
			party_sleep(&party);
		else
			exchange_must(!dtconv_engine_progress(party.engine, 1, NULL),
				      "progress");
	}
	if (death >= 0)
		kill(getpid(), SIGKILL);
	exchange_check(&exchange, 0);
	party_close(&party);
	exchange_close(&exchange);
	_exit(0);
}

static void exchange_with_child(uint64_t seed, struct party_memory memory, long death)
{
	static struct exchange exchange;
	const size_t files = process_files();
	struct party party;
	int sockets[2], status;

	exchange_transport = socket_transport(SOCKET_NO_FAULT);
	party_sockets(sockets);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(sockets[0]);
		run(sockets[1], seed, memory, death);
	}
	close(sockets[1]);
	exchange_open(&exchange, fixture_context, 0, seed, MESSAGES);
	party_open(&party, fixture_context, sockets[0], memory);
	exchange_start(&exchange, &party);
	while (!exchange_is_done(&exchange))
		party_sleep(&party);
	exchange_check(&exchange, death < 0 ? 0 : DTCONV_ERR_PEER);
	party_close(&party);
	exchange_close(&exchange);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(death < 0 ? status : WTERMSIG(status), death < 0 ? 0 : SIGKILL);
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(socket_transport_live(), 0);
	exchange_transport = NULL;
}

START_TEST(messages_go_both_ways)
{
	static const size_t fragments[] = { 1, 2, 16 }, sizes[] = { 64, 1000, 65536 };
	struct choices choices = fixture_choices((uint64_t)_i + 100);

	exchange_with_child(choices.state,
			    (struct party_memory){ fragments[_i % 3], sizes[_i / 3 % 3] },
			    -1);
}
END_TEST

START_TEST(a_killed_peer_ends_the_channel)
{
	struct choices choices = fixture_choices((uint64_t)_i + 1000);

	exchange_with_child(choices.state,
			    (struct party_memory){ (size_t)_i % 3 + 1, 256 }, _i * 3);
}
END_TEST

/* The socket stays the caller's, and nothing else is left. */
START_TEST(a_transport_that_fails_leaves_nothing)
{
	static const int statuses[] = {
		[SOCKET_FAULT_ABI] = DTCONV_ERR_UNSUPPORTED,
		[SOCKET_FAULT_OPEN] = DTCONV_ERR_UNSUPPORTED,
		[SOCKET_FAULT_REGISTER] = DTCONV_ERR_LIMIT,
		[SOCKET_FAULT_START] = DTCONV_ERR_AGAIN,
	};
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = DTCONV_MEMORY_HOST,
						      .fragments = 2,
						      .fragment_bytes = 4096,
						      .transport = socket_transport(
							      (enum socket_fault)_i) };
	struct dtconv_channel *channel = NULL;
	struct dtconv_engine *engine;
	int sockets[2];

	party_sockets(sockets);
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	const size_t files = process_files();
	ck_assert_int_eq(dtconv_channel_open(engine, sockets[0], &params, &channel),
			 statuses[_i]);
	ck_assert_ptr_null(channel);
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(socket_transport_live(), 0);
	ck_assert_int_eq((int)write(sockets[0], "x", 1), 1);
	fixture_ok(dtconv_engine_destroy(engine));
	close(sockets[0]);
	close(sockets[1]);
}
END_TEST

/* Its peer's memory cannot be mapped. */
START_TEST(another_transport_has_no_direct_messages)
{
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CHANNEL_DIRECT,
						      .kind = DTCONV_MEMORY_HOST,
						      .transport = socket_transport(
							      SOCKET_NO_FAULT) };
	struct dtconv_channel *channel = NULL;
	struct dtconv_engine *engine;
	int sockets[2];

	party_sockets(sockets);
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	fixture_status(dtconv_channel_open(engine, sockets[0], &params, &channel),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "DTCONV_CHANNEL_DIRECT"));
	fixture_ok(dtconv_engine_destroy(engine));
	close(sockets[0]);
	close(sockets[1]);
}
END_TEST

/* Each end says so. */
START_TEST(two_transports_do_not_talk_to_each_other)
{
	const struct party_memory memory = { 2, 4096 };
	struct party parties[2];
	int sockets[2];

	party_sockets(sockets);
	party_open(&parties[0], fixture_context, sockets[0], memory);
	exchange_transport = socket_transport(SOCKET_NO_FAULT);
	party_open(&parties[1], fixture_context, sockets[1], memory);
	exchange_transport = NULL;
	for (int i = 0; i < 100; i++)
		for (int end = 0; end < 2; end++)
			(void)party_progress(&parties[end]);
	for (int end = 0; end < 2; end++)
		ck_assert_int_eq(party_query(&parties[end]).state, DTCONV_CHANNEL_ENDED);
	ck_assert_int_eq(party_query(&parties[0]).status, DTCONV_ERR_UNSUPPORTED);
	for (int end = 0; end < 2; end++)
		party_close(&parties[end]);
	ck_assert_uint_eq(socket_transport_live(), 0);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("other transport");
	TCase *live = fixture_case(suite, "live", 120);
	TCase *dead = fixture_case(suite, "dead", 120);
	TCase *opening = fixture_case(suite, "opening", 60);

	tcase_add_loop_test(live, messages_go_both_ways, 0,
			    fixture_everything() ? 100 : 9);
	tcase_add_loop_test(dead, a_killed_peer_ends_the_channel, 0,
			    fixture_everything() ? 100 : 8);
	tcase_add_loop_test(opening, a_transport_that_fails_leaves_nothing,
			    SOCKET_FAULT_ABI, SOCKET_FAULT_START + 1);
	tcase_add_test(opening, another_transport_has_no_direct_messages);
	tcase_add_test(opening, two_transports_do_not_talk_to_each_other);
	return fixture_run(suite);
}
