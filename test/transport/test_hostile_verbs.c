/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer over verbs that lies: in its first packets, in its address, and with messages of any kind, number, length and
 * lane. It must do no harm but to its own channel, and it sees nothing but packed bytes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bed_verbs.h"
#include "exchange.h"
#include "process.h"
#include "random_header.h"
#include "support/fixture.h"
#include "transport_glue/greeting.h"
#include "transport_glue/sock.h"
#include "transport_glue/verbs/lane.h"

#define FRAGMENTS 2
#define BYTES     256
#define DEPTH     256

static const struct verbs_standin *standin;
static struct party party;

static struct {
	int socket;
	struct dtconv_verbs *verbs;
	struct ibv_cq *queue;
	struct ibv_mr *region;
	struct dtc_verbs_lane lanes[DTC_VERBS_LANES];
	struct dtc_verbs_address address, peer;
	struct dtc_wire_packet hello;
	uint64_t number; /* of the next message */
	uint32_t sends[DTC_VERBS_LANES];
	size_t received, packed; /* fragments, and bytes of them */
	uint32_t departure;      /* what the honest side calls the last of them */
} liar;

/* Blocks of both lanes, then a payload for each data receive, then one to send. */
static unsigned char
	memory[2 * 2 * DEPTH * DTC_VERBS_BLOCK_STRIDE + (DEPTH + 1) * 2 * BYTES];

static struct ibv_sge payload(uint32_t index, uint32_t bytes)
{
	const unsigned char *first =
		memory + sizeof(memory) - (size_t)(DEPTH + 1) * 2 * BYTES;

	return (struct ibv_sge){ .addr = (uintptr_t)first + (size_t)index * 2 * BYTES,
				 .length = bytes,
				 .lkey = liar.region->lkey };
}

/* ---- the liar's end ----------------------------------------------------------------------- */

static void post_receive(enum dtc_verbs_lane_name name, uint32_t index)
{
	const bool is_data = name == DTC_VERBS_DATA;

	ck_assert(!dtc_verbs_post_receive(&liar.lanes[name], index,
					  payload(index, is_data ? BYTES : 0)));
}

static void open_lane(enum dtc_verbs_lane_name name)
{
	struct dtc_verbs_lane *lane = &liar.lanes[name];

	*lane = (struct dtc_verbs_lane){ .name = name,
					 .depth = DEPTH,
					 .blocks = memory +
						   name * dtc_verbs_block_bytes(DEPTH),
					 .key = liar.region->lkey };
	fixture_ok(dtc_verbs_open_lane(liar.verbs, liar.queue, "liar", lane));
	for (uint32_t i = 0; i < DEPTH; i++)
		post_receive(name, i);
	liar.address.pairs[name].number = lane->pair->qp_num;
	liar.address.pairs[name].first_packet = lane->first_packet;
}

static void take_first_packets(void)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_greeting greeting = { 0 };
	struct dtc_sock_files files;
	struct dtc_wire_packet packet;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(dtc_sock_receive(liar.socket, bytes, &files),
				 DTC_SOCK_PACKET);
		fixture_ok(dtc_wire_read_packet(bytes, sizeof(bytes), &packet));
		ck_assert_int_eq(dtc_greeting_take(&greeting, &packet),
				 i ? 0 : DTCONV_INPROGRESS);
	}
	ck_assert(dtc_verbs_read_address(greeting.address, greeting.bytes, &liar.peer));
}

static void open_liar(void)
{
	const struct party_memory staging = { FRAGMENTS, BYTES };
	int sockets[2];

	memset(&liar, 0, sizeof(liar));
	party_sockets(sockets);
	party_open(&party, fixture_context, sockets[0], staging);
	liar.socket = sockets[1];
	take_first_packets();
	fixture_ok(dtconv_verbs_open(fixture_context, NULL, &liar.verbs));
	liar.queue = ibv_create_cq(liar.verbs->device, 8 * DEPTH, NULL, NULL, 0);
	liar.region = ibv_reg_mr(liar.verbs->domain, memory, sizeof(memory),
				 IBV_ACCESS_LOCAL_WRITE);
	liar.address.mtu = liar.verbs->port.active_mtu;
	memcpy(liar.address.gid, liar.verbs->gid.raw, 16);
	liar.hello = (struct dtc_wire_packet){ .transport = DTC_WIRE_VERBS,
					       .fragments = FRAGMENTS,
					       .fragment_bytes = BYTES };
	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		open_lane((enum dtc_verbs_lane_name)i);
	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		fixture_ok(
			dtc_verbs_connect_lane(liar.verbs, &liar.peer, &liar.lanes[i]));
}

static void close_liar(void)
{
	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		dtc_verbs_close_lane(&liar.lanes[i]);
	/* That a liar finds no receive is his fault, also with what is still under way. */
	standin->settle();
	standin->reset();
	ibv_destroy_cq(liar.queue);
	ibv_dereg_mr(liar.region);
	fixture_ok(dtconv_verbs_close(liar.verbs));
	party_close(&party);
	close(liar.socket);
}

static void send_packet(enum dtc_wire_packet_kind kind, int status)
{
	const struct dtc_wire_packet packet = { .kind = kind,
						.version = DTC_WIRE_VERSION,
						.status = status };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	ck_assert(dtc_sock_send(liar.socket, bytes, NULL));
}

static void greet(void)
{
	unsigned char bytes[DTC_VERBS_ADDRESS_BYTES];

	dtc_verbs_write_address(&liar.address, bytes);
	ck_assert(dtc_greeting_send(liar.socket, &liar.hello, bytes, sizeof(bytes)));
	send_packet(DTC_WIRE_BELL, 0);
}

static void progress(int times)
{
	while (times--)
		(void)party_progress(&party);
}

static void expect_end(int status)
{
	progress(6);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_ENDED);
	ck_assert_int_eq(party_query(&party).status, status);
}

static void setup(void)
{
	standin = bed_standin();
	standin->reset();
}

/* ---- first packets ------------------------------------------------------------------------ */

START_TEST(a_wrong_first_packet_ends_the_channel)
{
	unsigned char bytes[DTC_VERBS_ADDRESS_BYTES];
	int status = DTCONV_ERR_FORMAT;

	setup();
	open_liar();
	size_t length = sizeof(bytes);
	dtc_verbs_write_address(&liar.address, bytes);
	switch (_i) {
	case 0: /* no address at all, or a short one */
		length = 0;
		break;
	case 1:
		length = 47;
		break;
	case 2:
		bytes[0]++;
		break;
	case 3:
		memset(bytes + 24, 0, 4);
		break;
	case 4: /* the same queue pair twice */
		memcpy(bytes + 24, bytes + 32, 4);
		break;
	case 5:
		liar.hello.fragments = 3;
		status = DTCONV_ERR_UNSUPPORTED;
		break;
	case 6:
		liar.hello.fragment_bytes = (uint64_t)1 << 39;
		status = DTCONV_ERR_UNSUPPORTED;
		break;
	case 7:
		liar.hello.transport = DTC_WIRE_UCX;
		status = DTCONV_ERR_UNSUPPORTED;
		break;
	default:
		bytes[1] = 1;
		status = DTCONV_ERR_UNSUPPORTED;
	}
	(void)dtc_greeting_send(liar.socket, &liar.hello, bytes, length);
	expect_end(status);
	close_liar();
	ck_assert_uint_eq(standin->live(), 0);
}
END_TEST

START_TEST(packets_in_a_wrong_order_end_the_channel)
{
	setup();
	open_liar();
	switch (_i) {
	case 0:
		greet();
		greet();
		break;
	case 1: /* the bell alone opens nothing */
		send_packet(DTC_WIRE_BELL, 0);
		progress(4);
		ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_CONNECTING);
		send_packet(DTC_WIRE_BYE, DTCONV_ERR_LIMIT);
		expect_end(DTCONV_ERR_PEER);
		close_liar();
		return;
	default: /* an address before the first packet */
		liar.hello.transport = DTC_WIRE_VERBS;
		{
			struct dtc_wire_packet piece = { .kind = DTC_WIRE_ADDRESS,
							 .version = DTC_WIRE_VERSION,
							 .address_bytes = 48 };
			unsigned char bytes[DTC_WIRE_PACKET_BYTES];

			dtc_wire_write_packet(&piece, bytes);
			ck_assert(dtc_sock_send(liar.socket, bytes, NULL));
		}
	}
	progress(200);
	expect_end(DTCONV_ERR_FORMAT);
	close_liar();
}
END_TEST

/* ---- messages ------------------------------------------------------------------------------- */

/* Post on a lane; sends that are too many are left out. */
static void post(enum dtc_verbs_lane_name name, const uint64_t words[], uint64_t number,
		 uint32_t bytes)
{
	struct dtc_verbs_lane *lane = &liar.lanes[name];
	const uint32_t index = liar.sends[name]++ % DEPTH;
	unsigned char *block = dtc_verbs_send_block(lane, index);

	memcpy(block, words, DTC_WIRE_HEADER_BYTES);
	memcpy(block + DTC_WIRE_HEADER_BYTES, &number, sizeof(number));
	(void)dtc_verbs_post_send(lane, index, payload(DEPTH, bytes));
}

/* Take what the honest side sends. */
static void take_all(void)
{
	struct ibv_wc completion;

	while (ibv_poll_cq(liar.queue, 1, &completion) == 1) {
		const bool is_data = completion.wr_id & DTC_VERBS_ON_DATA;
		const uint32_t index = (uint32_t)completion.wr_id & (DTC_VERBS_SEND - 1);

		if (completion.status || completion.wr_id & DTC_VERBS_SEND)
			continue;
		if (is_data) {
			const unsigned char *bytes =
				(void *)(uintptr_t)payload(index, 0).addr;

			struct dtc_wire_header header;

			fixture_ok(dtc_wire_read_header(
				dtc_verbs_receive_block(&liar.lanes[1], index),
				DTC_WIRE_HEADER_BYTES, &header));
			liar.departure = header.fragment;
			liar.received++;
			for (size_t i = 0;
			     i < completion.byte_len - DTC_VERBS_BLOCK_BYTES; i++) {
				ck_assert_int_eq(bytes[i], 1);
				liar.packed++;
			}
		}
		post_receive(is_data ? DTC_VERBS_DATA : DTC_VERBS_CONTROL, index);
	}
}

static void post_random(struct choices *choices)
{
	const struct dtc_wire_header header = random_header(choices, BYTES, FRAGMENTS);
	enum dtc_verbs_lane_name lane = header.kind == DTC_WIRE_DATA ? DTC_VERBS_DATA
								     : DTC_VERBS_CONTROL;
	uint64_t words[DTC_WIRE_HEADER_WORDS], number = liar.number++;
	uint32_t bytes = lane == DTC_VERBS_DATA ? (uint32_t)header.length % (2 * BYTES)
						: 0;

	dtc_wire_write_header(&header, words);
	if (chance(choices, 12))
		words[choose(choices, DTC_WIRE_HEADER_WORDS)] ^= UINT64_C(1)
								 << choose(choices, 64);
	if (chance(choices, 20))
		lane = (enum dtc_verbs_lane_name)choose(choices, DTC_VERBS_LANES);
	if (chance(choices, 20))
		bytes = (uint32_t)choose(choices, 2 * BYTES);
	if (chance(choices, 30))
		number = random_number(choices, BYTES, FRAGMENTS);
	post(lane, words, number, bytes);
}

static size_t ended, begun;

static void count_end(void *arg, int status, size_t moved)
{
	(void)arg, (void)status, (void)moved;
	ended++;
}

static void begin_random(struct choices *choices)
{
	static char buffer[2048];
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);
	const uint64_t tag = choose(choices, 3);
	const size_t count = choose(choices, chance(choices, 2) ? 64 : 2048);

	memset(buffer, 1, sizeof(buffer));
	int status = chance(choices, 2)
			     ? dtconv_channel_send(party.channel, tag, byte, count,
						   buffer, count_end, NULL)
			     : dtconv_channel_recv(party.channel, tag, byte, count,
						   buffer, count_end, NULL);
	begun += !status;
}

START_TEST(messages_of_any_kind_in_any_state_do_no_harm)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	const size_t files = process_files();
	size_t opened = 0;

	setup();
	memset(memory, 1, sizeof(memory));
	for (int round = 0; round < (fixture_everything() ? 1500 : 60); round++) {
		open_liar();
		ended = begun = 0;
		greet();
		progress(4);
		opened += party_query(&party).state == DTCONV_CHANNEL_OPEN;
		if (chance(&choices, 2))
			standin->shuffle(choices.state | 1);
		for (int i = 0; i < 40; i++) {
			if (chance(&choices, 4))
				begin_random(&choices);
			post_random(&choices);
			if (chance(&choices, 2))
				progress(1);
			take_all();
		}
		close_liar();
		ck_assert_uint_eq(ended, begun);
		ck_assert_uint_eq(standin->live(), 0);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(opened, fixture_everything() ? 1500 : 60);
}
END_TEST

/* ---- single lies ------------------------------------------------------------------------------ */

static void post_header(const struct dtc_wire_header *header,
			enum dtc_verbs_lane_name lane, uint64_t number, uint32_t bytes)
{
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	dtc_wire_write_header(header, words);
	post(lane, words, number, bytes);
}

static size_t fill_socket(void)
{
	const struct dtc_wire_packet packet = { .kind = DTC_WIRE_BELL,
						.version = DTC_WIRE_VERSION };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	size_t sent = 0;

	dtc_wire_write_packet(&packet, bytes);
	while (dtc_sock_send(liar.socket, bytes, NULL))
		sent++;
	return sent;
}

START_TEST(a_flood_of_packets_does_not_hold_a_poll)
{
	size_t again = 0;

	setup();
	open_liar();
	greet();
	progress(4);
	ck_assert_uint_gt(fill_socket(), 2 * DTC_SOCK_BATCH);
	for (int i = 0; !again; i++) {
		ck_assert_int_lt(i, 1000);
		progress(1);
		again = fill_socket();
	}
	ck_assert_uint_le(again, DTC_SOCK_BATCH);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	close_liar();
}
END_TEST

START_TEST(each_lie_ends_the_channel)
{
	const struct dtc_wire_header message = { .kind = DTC_WIRE_MESSAGE, .length = 64 };
	struct dtc_wire_header data = { .kind = DTC_WIRE_DATA, .length = 64 };
	const struct dtc_wire_header back = { .kind = DTC_WIRE_RETURN, .fragment = 1 };

	setup();
	open_liar();
	greet();
	progress(4);
	post_header(&message, DTC_VERBS_CONTROL, 0, 0);
	progress(4);
	ck_assert_uint_eq(party_query(&party).waiting, 1);
	switch (_i) {
	case 0: /* a length that is not the header's */
		post_header(&data, DTC_VERBS_DATA, 1, 63);
		break;
	case 1:
		post_header(&data, DTC_VERBS_DATA, 1, 65);
		break;
	case 2: /* longer than a receive */
		data.length = BYTES + 1;
		post_header(&data, DTC_VERBS_DATA, 1, BYTES + 1);
		break;
	case 3: /* on the wrong lane */
		post_header(&data, DTC_VERBS_CONTROL, 1, 0);
		break;
	case 4:
		post_header(&message, DTC_VERBS_DATA, 1, 0);
		break;
	case 5: /* twice the same number: both lanes wait for another */
		post_header(&data, DTC_VERBS_DATA, 0, 64);
		post_header(&back, DTC_VERBS_CONTROL, 0, 0);
		break;
	case 6: /* what is not out comes back */
		post_header(&back, DTC_VERBS_CONTROL, 1, 0);
		break;
	default: { /* a message without a header */
		struct ibv_send_wr *bad, request = { .opcode = IBV_WR_SEND,
						     .send_flags = IBV_SEND_SIGNALED,
						     .num_sge = 1 };
		struct ibv_sge part = payload(0, (uint32_t)(_i - 7) * 47);

		request.sg_list = &part;
		ck_assert(!ibv_post_send(liar.lanes[_i % 2].pair, &request, &bad));
	}
	}
	expect_end(DTCONV_ERR_FORMAT);
	close_liar();
}
END_TEST

/* A number that is missing on one lane is awaited: the other lane may be slower. */
START_TEST(a_message_waits_for_the_one_before_it)
{
	const struct dtc_wire_header message = { .kind = DTC_WIRE_MESSAGE, .length = 64 };
	const struct dtc_wire_header data = { .kind = DTC_WIRE_DATA, .length = 64 };

	setup();
	open_liar();
	greet();
	progress(4);
	post_header(&data, DTC_VERBS_DATA, 1, 64);
	progress(10);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	ck_assert_uint_eq(party_query(&party).waiting, 0);
	post_header(&message, DTC_VERBS_CONTROL, 0, 0);
	progress(10);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	ck_assert_uint_eq(party_query(&party).waiting, 1);
	close_liar();
}
END_TEST

/* ---- fragments ---------------------------------------------------------------------------------- */

static unsigned char ones[BYTES];

static void send_ones(size_t count)
{
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);

	memset(ones, 1, sizeof(ones));
	ended = 0;
	fixture_ok(dtconv_channel_send(party.channel, 1, byte, count, ones, count_end,
				       NULL));
}

static void open_and_greet(void)
{
	setup();
	open_liar();
	greet();
	progress(4);
}

/* The peer has the bytes and returns them; the adapter has not said yet that it no longer reads the fragment. */
START_TEST(a_fragment_is_free_when_the_adapter_is_done_with_it)
{
	const struct dtc_wire_header go = { .kind = DTC_WIRE_GO };
	struct dtc_wire_header back = { .kind = DTC_WIRE_RETURN };

	open_and_greet();
	standin->hold(1);
	/* A short message, which goes at once. */
	send_ones(100);
	progress(6);
	take_all();
	ck_assert_uint_eq(liar.received, 1);
	const size_t free = party_query(&party).free;
	ck_assert_uint_eq(free, FRAGMENTS - 1);
	/* One of the numbers is right. */
	post_header(&go, DTC_VERBS_CONTROL, 0, 0);
	back.fragment = liar.departure;
	post_header(&back, DTC_VERBS_CONTROL, 1, 0);
	progress(10);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	ck_assert_uint_eq(party_query(&party).free, free);
	ck_assert_uint_eq(ended, 0);
	standin->hold(0);
	progress(10);
	ck_assert_uint_eq(ended, 1);
	ck_assert_uint_eq(party_query(&party).free, FRAGMENTS);
	close_liar();
}
END_TEST

/* What was posted and not sent when a channel is closed stays here. */
START_TEST(nothing_is_sent_after_the_end)
{
	open_and_greet();
	standin->set_link(0);
	send_ones(100);
	progress(6);
	fixture_ok(dtconv_channel_close(party.channel));
	progress(6);
	ck_assert_uint_eq(ended, 1);
	standin->set_link(1);
	progress(6);
	standin->settle();
	take_all();
	ck_assert_uint_eq(liar.received, 0);
	close_liar();
}
END_TEST

/* ---- what a peer sees --------------------------------------------------------------------------- */

/* The gaps of a type and what lies around its buffer never leave, nor what was sent before. */
START_TEST(a_peer_sees_packed_bytes_only)
{
	enum { SECRET = 0xa5, ROWS = 40 };
	static unsigned char rows[ROWS][32];
	struct dtconv_type *column = fixture_type("vector(40, 8, 32, byte)");
	const struct dtc_wire_header go = { .kind = DTC_WIRE_GO };

	setup();
	memset(rows, SECRET, sizeof(rows));
	for (int i = 0; i < ROWS; i++)
		memset(rows[i], 1, 8);
	open_liar();
	greet();
	ended = 0;
	fixture_ok(
		dtconv_channel_send(party.channel, 1, column, 1, rows, count_end, NULL));
	progress(6);
	/* A long message goes when it is asked for. */
	post_header(&go, DTC_VERBS_CONTROL, 0, 0);
	progress(20);
	take_all();
	ck_assert_uint_eq(liar.received, 2);
	ck_assert_uint_eq(liar.packed, ROWS * 8);
	close_liar();
	ck_assert_uint_eq(ended, 1);
	dtconv_type_unref(column);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostile verbs");
	TCase *packets = fixture_case(suite, "packets", 60);
	TCase *messages = fixture_case(suite, "messages", 300);

	tcase_add_loop_test(packets, a_wrong_first_packet_ends_the_channel, 0, 9);
	tcase_add_loop_test(packets, packets_in_a_wrong_order_end_the_channel, 0, 3);
	tcase_add_loop_test(messages, messages_of_any_kind_in_any_state_do_no_harm, 0, 4);
	tcase_add_test(messages, a_flood_of_packets_does_not_hold_a_poll);
	tcase_add_loop_test(messages, each_lie_ends_the_channel, 0, 9);
	tcase_add_test(messages, a_message_waits_for_the_one_before_it);
	tcase_add_test(messages, a_fragment_is_free_when_the_adapter_is_done_with_it);
	tcase_add_test(messages, nothing_is_sent_after_the_end);
	tcase_add_test(messages, a_peer_sees_packed_bytes_only);
	return fixture_run(suite);
}
