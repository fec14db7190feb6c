/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels that are made over TCP: two processes show each other that they have the same secret. Without it nobody gets
 * or learns anything, whoever is the liar.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hmac.h"
#include "exchange.h"
#include "process.h"
#include "socket_transport.h"
#include "support/fixture.h"
#include "transport_glue/gate.h"
#include "transport_glue/sock.h"
#include "transport_glue/wire.h"

#define ROUNDS 200000

static const char right_secret[] = "forty-two bytes that nobody else may know";

static struct party parties[2];
static struct dtconv_listener *listener;
static char address[64];

static struct dtconv_channel_params with_secret(const char *secret, size_t bytes)
{
	return (struct dtconv_channel_params){
		.struct_size = sizeof(struct dtconv_channel_params),
		.kind = DTCONV_MEMORY_HOST,
		.fragments = 3,
		.fragment_bytes = 1000,
		.transport = socket_transport(SOCKET_NO_FAULT),
		.secret = secret,
		.secret_bytes = bytes
	};
}

static struct dtconv_channel_params right(void)
{
	return with_secret(right_secret, sizeof(right_secret));
}

/* Ports from a number of the process; those in use are passed over. */
static void listen_somewhere(const char *host)
{
	const struct dtconv_channel_params params = right();
	int status = DTCONV_ERR_STATE;

	for (int i = 0; i < 2; i++) {
		parties[i].context = fixture_context;
		fixture_ok(
			dtconv_engine_create(fixture_context, NULL, &parties[i].engine));
		parties[i].channel = NULL;
	}
	for (int i = 0; i < 1000 && status == DTCONV_ERR_STATE; i++) {
		const int port = 20000 + ((int)getpid() * 7 + i) % 30000;

		snprintf(address, sizeof(address), "tcp:%s:%d", host, port);
		status = dtconv_channel_listen(parties[0].engine, address, &params,
					       &listener);
	}
	fixture_ok(status);
}

static void stop_listening(void)
{
	fixture_ok(dtconv_listener_destroy(listener));
	for (int i = 0; i < 2; i++) {
		if (parties[i].channel)
			party_close(&parties[i]);
		else
			fixture_ok(dtconv_engine_destroy(parties[i].engine));
	}
	ck_assert_uint_eq(socket_transport_live(), 0);
}

static int connect_with(struct dtconv_channel_params params)
{
	return dtconv_channel_connect(parties[1].engine, address, &params,
				      &parties[1].channel);
}

/* Progress until the listener has a channel, or the end that connects has ended. */
static void meet(void)
{
	int status = DTCONV_ERR_AGAIN;

	for (int i = 0; status == DTCONV_ERR_AGAIN; i++) {
		ck_assert_int_lt(i, ROUNDS);
		(void)party_progress(&parties[0]);
		(void)party_progress(&parties[1]);
		status = dtconv_channel_accept(listener, &parties[0].channel);
		if (party_query(&parties[1]).state == DTCONV_CHANNEL_ENDED)
			break;
	}
	ck_assert(!status == !!parties[0].channel);
}

/* ---- those who know it ------------------------------------------------------------------------- */

START_TEST(messages_go_both_ways)
{
	static const char *const hosts[] = { "127.0.0.1", "127.0.0.1", "[::1]" };
	static struct exchange ends[2];
	const size_t files = process_files();
	struct choices choices = fixture_choices((uint64_t)_i);
	const int has_v6 = access("/proc/net/if_inet6", F_OK) == 0;

	if (_i == 2 && !has_v6)
		return;
	listen_somewhere(hosts[_i]);
	fixture_ok(connect_with(right()));
	meet();
	ck_assert_int_eq(party_query(&parties[0]).peer_process, -1);
	ck_assert_int_eq(party_query(&parties[0]).peer_user, -1);
	for (unsigned side = 0; side < 2; side++)
		exchange_open(&ends[side], fixture_context, side, choices.state, 16);
	for (unsigned side = 0; side < 2; side++)
		exchange_start(&ends[side], &parties[side]);
	for (int i = 0; !exchange_is_done(&ends[0]) || !exchange_is_done(&ends[1]); i++) {
		ck_assert_int_lt(i, ROUNDS);
		(void)party_progress(&parties[i % 2]);
	}
	for (unsigned side = 0; side < 2; side++) {
		exchange_check(&ends[side], 0);
		exchange_close(&ends[side]);
	}
	stop_listening();
	ck_assert_uint_eq(process_files(), files);
}
END_TEST

/* ---- those who do not ---------------------------------------------------------------------------- */

START_TEST(another_secret_opens_nothing)
{
	static const char other[] = "forty-two bytes that somebody else may know";

	listen_somewhere("127.0.0.1");
	fixture_ok(connect_with(with_secret(other, sizeof(other))));
	meet();
	ck_assert_ptr_null(parties[0].channel);
	ck_assert_int_eq(party_query(&parties[1]).status, DTCONV_ERR_PEER);
	stop_listening();
}
END_TEST

static int call(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	int port;

	ck_assert_int_eq(sscanf(address, "tcp:127.0.0.1:%d", &port), 1);
	name.sin_port = htons((uint16_t)port);
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert(!connect(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static void send_packet(int fd, enum dtc_wire_packet_kind kind, const void *number)
{
	struct dtc_wire_packet packet = { .kind = kind, .version = DTC_WIRE_VERSION };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	memcpy(packet.address, number, 32);
	dtc_wire_write_packet(&packet, bytes);
	ck_assert(dtc_sock_send(fd, bytes, NULL));
}

static void send_hello(int fd)
{
	const struct dtc_wire_packet hello = { .kind = DTC_WIRE_HELLO,
					       .version = DTC_WIRE_VERSION,
					       .transport = DTC_WIRE_OTHER,
					       .fragments = 1,
					       .fragment_bytes = 1 };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&hello, bytes);
	ck_assert(dtc_sock_send(fd, bytes, NULL));
}

static void listen_to_strangers(void)
{
	for (int i = 0; i < 20; i++) {
		(void)party_progress(&parties[0]);
		ck_assert_int_eq(dtconv_channel_accept(listener, &parties[0].channel),
				 DTCONV_ERR_AGAIN);
	}
}

/* What a stranger gets to read: a challenge, and the end. */
static void expect_turned_away(int fd)
{
	unsigned char bytes[4 * DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet packet;
	size_t got = 0;
	ssize_t some;

	while ((some = recv(fd, bytes + got, sizeof(bytes) - got, 0)) > 0)
		got += (size_t)some;
	for (size_t at = 0; at < got; at += DTC_WIRE_PACKET_BYTES) {
		ck_assert_int_eq(dtc_wire_read_packet(bytes + at, got - at, &packet), 0);
		ck_assert(packet.kind == (at ? DTC_WIRE_BYE : DTC_WIRE_CHALLENGE));
	}
	close(fd);
}

/* No proof, a wrong one, one that the listener itself has made for another connection, and nothing at all. */
START_TEST(strangers_are_turned_away)
{
	unsigned char number[32] = { 1 }, challenge[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet packet;

	listen_somewhere("127.0.0.1");
	int fd = call();
	listen_to_strangers();
	ck_assert_int_eq(recv(fd, challenge, sizeof(challenge), MSG_PEEK),
			 sizeof(challenge));
	ck_assert_int_eq(dtc_wire_read_packet(challenge, sizeof(challenge), &packet), 0);
	switch (_i) {
	case 0:
		send_hello(fd);
		break;
	case 1:
		send_packet(fd, DTC_WIRE_CHALLENGE, number);
		send_packet(fd, DTC_WIRE_PROOF, number);
		send_hello(fd);
		break;
	case 2: /* its own number is no proof */
		send_packet(fd, DTC_WIRE_CHALLENGE, packet.address);
		send_packet(fd, DTC_WIRE_PROOF, packet.address);
		break;
	case 3: /* a proof before the number that it is of */
		send_packet(fd, DTC_WIRE_PROOF, number);
		break;
	case 4: /* an endless beginning */
		send_packet(fd, DTC_WIRE_CHALLENGE, number);
		send_packet(fd, DTC_WIRE_CHALLENGE, number);
		break;
	case 5:
		ck_assert_int_eq((int)send(fd,
					   "GET / HTTP/1.1\r\nHost: a machine that is "
					   "asked for something else\r\n\r\n",
					   73, 0),
				 73);
		break;
	case 6: /* of a packet that comes in parts, the others are waited for */
		ck_assert_int_eq((int)send(fd, challenge, 10, 0), 10);
		listen_to_strangers();
		ck_assert_int_eq((int)recv(fd, challenge, 64, MSG_WAITALL), 64);
		ck_assert_int_eq((int)recv(fd, number, 1, MSG_DONTWAIT), -1);
		close(fd);
		fd = -1;
		break;
	default: /* a part of a packet, and no more */
		ck_assert_int_eq((int)send(fd, challenge, 10, 0), 10);
		shutdown(fd, SHUT_WR);
	}
	listen_to_strangers();
	if (fd >= 0)
		expect_turned_away(fd);
	/* Who knows the secret comes in all the same. */
	fixture_ok(connect_with(right()));
	meet();
	ck_assert_ptr_nonnull(parties[0].channel);
	stop_listening();
}
END_TEST

/* A process that listens there and knows no secret learns a number and a proof that is good for nothing else. */
START_TEST(an_impostor_that_listens_learns_nothing)
{
	unsigned char number[32] = { 9 }, bytes[DTC_WIRE_PACKET_BYTES];
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t length = sizeof(name);
	struct dtc_wire_packet packet;
	unsigned char proof[32];

	listen_somewhere("127.0.0.1");
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert(!bind(door, (struct sockaddr *)&name, sizeof(name)) &&
		  !listen(door, 1));
	ck_assert(!getsockname(door, (struct sockaddr *)&name, &length));
	snprintf(address, sizeof(address), "tcp:127.0.0.1:%d", ntohs(name.sin_port));
	fixture_ok(connect_with(right()));
	int fd = accept(door, NULL, NULL);
	send_packet(fd, DTC_WIRE_CHALLENGE, number);
	for (int kind = DTC_WIRE_CHALLENGE; kind <= DTC_WIRE_PROOF; kind++) {
		while (recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT) !=
		       sizeof(bytes))
			(void)party_progress(&parties[1]);
		ck_assert_int_eq((int)recv(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		ck_assert_int_eq(dtc_wire_read_packet(bytes, sizeof(bytes), &packet), 0);
		ck_assert_int_eq(packet.kind, kind);
	}
	/* The proof that it has got does not open the door the other way. */
	memcpy(proof, packet.address, sizeof(proof));
	send_packet(fd, DTC_WIRE_PROOF, proof);
	while (party_query(&parties[1]).state != DTCONV_CHANNEL_ENDED)
		(void)party_progress(&parties[1]);
	ck_assert_int_eq(party_query(&parties[1]).status, DTCONV_ERR_PEER);
	/* Nothing else was said. */
	ck_assert_int_eq((int)recv(fd, bytes, sizeof(bytes), 0), 0);
	close(fd);
	close(door);
	stop_listening();
}
END_TEST

START_TEST(a_listener_is_at_its_address_only)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	int port;

	listen_somewhere("127.0.0.1");
	ck_assert_int_eq(sscanf(address, "tcp:127.0.0.1:%d", &port), 1);
	name.sin_port = htons((uint16_t)port);
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name, sizeof(name)), -1);
	close(fd);
	stop_listening();
}
END_TEST

START_TEST(bad_calls_are_refused)
{
	static const char *const bad[] = { "tcp:",
					   "tcp:127.0.0.1",
					   "tcp::80",
					   "tcp:localhost:80",
					   "tcp:127.0.0.1:x",
					   "tcp:127.0.0.1:65536",
					   "tcp:::1:80",
					   "tcp:[::1:80",
					   "tcp:127.0.0.1:",
					   "tcp:127.0.0.1:+80" };
	struct dtconv_channel_params params = right();
	struct dtconv_listener *other = NULL;

	listen_somewhere("127.0.0.1");
	struct dtconv_engine *engine = parties[0].engine;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(dtconv_channel_listen(engine, bad[i], &params, &other) ==
				      DTCONV_ERR_INVAL,
			      "%s", bad[i]);
	params.secret_bytes = DTCONV_CHANNEL_SECRET_MIN - 1;
	ck_assert_int_eq(dtconv_channel_listen(engine, "tcp:127.0.0.1:0", &params,
					       &other),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(connect_with(params), DTCONV_ERR_INVAL);
	params = right();
	params.secret = NULL;
	ck_assert_int_eq(connect_with(params), DTCONV_ERR_INVAL);
	/* Shared memory has descriptors to send. */
	params = right();
	params.transport = NULL;
	ck_assert_int_eq(connect_with(params), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_null(parties[1].channel);
	stop_listening();
}
END_TEST

/* RFC 4231, cases 1, 2 and 6. */
START_TEST(proofs_are_hmac_with_sha_256)
{
	static const unsigned char macs[3][4] = { { 0xb0, 0x34, 0x4c, 0x61 },
						  { 0x5b, 0xdc, 0xc1, 0x46 },
						  { 0x60, 0xe4, 0x31, 0x59 } };
	static const char *const texts[3] = {
		"Hi There", "what do ya want for nothing?",
		"Test Using Larger Than Block-Size Key - Hash Key First"
	};
	unsigned char secret[131], key[DTC_HMAC_KEY_BYTES], mac[DTC_SHA256_BYTES];
	const size_t lengths[3] = { 20, 4, 131 };

	memset(secret, _i ? 0xaa : 0x0b, sizeof(secret));
	if (_i == 1)
		memcpy(secret, "Jefe", 4);
	dtc_hmac_key(secret, lengths[_i], key);
	dtc_hmac(key, texts[_i], strlen(texts[_i]), mac);
	ck_assert_mem_eq(mac, macs[_i], 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel over TCP");
	TCase *live = fixture_case(suite, "live", 120);
	TCase *strangers = fixture_case(suite, "strangers", 60);

	tcase_add_loop_test(live, messages_go_both_ways, 0, 3);
	tcase_add_test(live, bad_calls_are_refused);
	tcase_add_loop_test(live, proofs_are_hmac_with_sha_256, 0, 3);
	tcase_add_test(strangers, another_secret_opens_nothing);
	tcase_add_loop_test(strangers, strangers_are_turned_away, 0, 8);
	tcase_add_test(strangers, an_impostor_that_listens_learns_nothing);
	tcase_add_test(strangers, a_listener_is_at_its_address_only);
	return fixture_run(suite);
}
