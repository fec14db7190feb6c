/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libdtconv-verbs expects of adapters, on two queue pairs without a channel: the same on the stand-in and on real
 * ones. Where adapters differ, each of their answers is allowed.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "bed_verbs.h"
#include "exchange.h"
#include "support/fixture.h"
#include "transport_glue/verbs/lane.h"

#define DEPTH    8
#define BYTES    4096
#define PATIENCE 200000

/* One end: blocks of a lane, then payloads to receive into and to send. */
static struct end {
	struct dtconv_verbs *verbs;
	struct ibv_comp_channel *bell;
	struct ibv_cq *queue;
	struct ibv_mr *region;
	struct dtc_verbs_lane lane;
	unsigned char memory[2 * DEPTH * DTC_VERBS_BLOCK_STRIDE + 2 * DEPTH * BYTES];
} ends[2];

static unsigned char *payload_at(struct end *end, uint32_t index)
{
	return end->memory + dtc_verbs_block_bytes(DEPTH) + (size_t)index * BYTES;
}

static struct ibv_sge payload(struct end *end, uint32_t index, uint32_t bytes)
{
	return (struct ibv_sge){ .addr = (uintptr_t)payload_at(end, index),
				 .length = bytes,
				 .lkey = end->region->lkey };
}

static void open_end(struct end *end)
{
	memset(end, 0, sizeof(*end));
	end->verbs = (struct dtconv_verbs *)bed_open(fixture_context);
	end->bell = ibv_create_comp_channel(end->verbs->device);
	ck_assert_ptr_nonnull(end->bell);
	ck_assert(!fcntl(end->bell->fd, F_SETFL, O_NONBLOCK));
	end->queue = ibv_create_cq(end->verbs->device, 4 * DEPTH, NULL, end->bell, 0);
	ck_assert_ptr_nonnull(end->queue);
	end->region = ibv_reg_mr(end->verbs->domain, end->memory, sizeof(end->memory),
				 IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(end->region);
	end->lane = (struct dtc_verbs_lane){ .name = DTC_VERBS_DATA,
					     .depth = DEPTH,
					     .blocks = end->memory,
					     .key = end->region->lkey };
	fixture_ok(dtc_verbs_open_lane(end->verbs, end->queue, "test", &end->lane));
}

static void connect_to(struct end *end, const struct end *peer)
{
	struct dtc_verbs_address address = { .is_infiniband =
						     dtc_verbs_is_infiniband(peer->verbs),
					     .mtu = peer->verbs->port.active_mtu,
					     .lid = peer->verbs->port.lid };

	memcpy(address.gid, peer->verbs->gid.raw, 16);
	address.pairs[DTC_VERBS_DATA].number = peer->lane.pair->qp_num;
	address.pairs[DTC_VERBS_DATA].first_packet = peer->lane.first_packet;
	fixture_ok(dtc_verbs_connect_lane(end->verbs, &address, &end->lane));
}

static void open_both(void)
{
	if (bed_standin())
		bed_standin()->reset();
	open_end(&ends[0]);
	open_end(&ends[1]);
	connect_to(&ends[0], &ends[1]);
	connect_to(&ends[1], &ends[0]);
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++) {
		dtc_verbs_close_lane(&ends[i].lane);
		ck_assert_int_eq(ibv_destroy_cq(ends[i].queue), 0);
		ck_assert_int_eq(ibv_destroy_comp_channel(ends[i].bell), 0);
		if (ends[i].region)
			ck_assert_int_eq(ibv_dereg_mr(ends[i].region), 0);
	}
	/* These tests are about faults. */
	if (bed_standin())
		bed_standin()->reset();
	for (int i = 0; i < 2; i++)
		bed_close((struct bed *)ends[i].verbs);
}

static struct ibv_wc completion_of(struct end *end)
{
	struct ibv_wc completion;

	for (int i = 0; !ibv_poll_cq(end->queue, 1, &completion); i++) {
		ck_assert_int_lt(i, PATIENCE);
		bed_pause();
	}
	return completion;
}

static void post_receives(struct end *end, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ck_assert(!dtc_verbs_post_receive(&end->lane, i, payload(end, i, BYTES)));
}

/* The rest is flushed, in order. */
static void expect_flush(struct end *end, uint64_t kind, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct ibv_wc completion = completion_of(end);

		ck_assert_int_eq(completion.status, IBV_WC_WR_FLUSH_ERR);
		ck_assert_uint_eq(completion.wr_id, i | kind | DTC_VERBS_ON_DATA);
	}
}

/* ---- right requests ------------------------------------------------------------------------- */

START_TEST(messages_arrive_in_order_and_whole)
{
	static const uint32_t lengths[] = { 0, 1, 17, 1024, BYTES - 1, BYTES };

	open_both();
	memset(payload_at(&ends[1], 0), 0xee, (size_t)DEPTH * BYTES);
	post_receives(&ends[1], 6);
	for (uint32_t i = 0; i < 6; i++) {
		memset(payload_at(&ends[0], DEPTH + i), (int)i + 1, BYTES);
		memset(dtc_verbs_send_block(&ends[0].lane, i), (int)i + 65,
		       DTC_VERBS_BLOCK_BYTES);
		ck_assert(!dtc_verbs_post_send(&ends[0].lane, i,
					       payload(&ends[0], DEPTH + i, lengths[i])));
	}
	for (uint32_t i = 0; i < 6; i++) {
		const struct ibv_wc sent = completion_of(&ends[0]);
		const struct ibv_wc received = completion_of(&ends[1]);
		const unsigned char *bytes = payload_at(&ends[1], i);

		ck_assert_int_eq(sent.status, 0);
		ck_assert_uint_eq(sent.wr_id, i | DTC_VERBS_SEND | DTC_VERBS_ON_DATA);
		ck_assert_int_eq(received.status, 0);
		ck_assert_uint_eq(received.wr_id, i | DTC_VERBS_ON_DATA);
		ck_assert_uint_eq(received.byte_len, DTC_VERBS_BLOCK_BYTES + lengths[i]);
		ck_assert_uint_eq(*dtc_verbs_receive_block(&ends[1].lane, i), i + 65);
		for (uint32_t at = 0; at < BYTES; at++)
			ck_assert_uint_eq(bytes[at], at < lengths[i] ? i + 1 : 0xee);
	}
	close_both();
}
END_TEST

/* What came before arming rings no bell; what comes after does. */
START_TEST(a_completion_rings_once_it_is_asked_to)
{
	struct pollfd file;
	struct ibv_cq *queue;
	void *nothing;

	open_both();
	file = (struct pollfd){ .fd = ends[1].bell->fd, .events = POLLIN };
	post_receives(&ends[1], 2);
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, (struct ibv_sge){ 0 }));
	(void)completion_of(&ends[1]);
	ck_assert_int_eq(poll(&file, 1, 0), 0);
	ck_assert(!ibv_req_notify_cq(ends[1].queue, 0));
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 1, (struct ibv_sge){ 0 }));
	ck_assert_int_eq(poll(&file, 1, -1), 1);
	ck_assert_int_eq(ibv_get_cq_event(ends[1].bell, &queue, &nothing), 0);
	ck_assert_ptr_eq(queue, ends[1].queue);
	ibv_ack_cq_events(queue, 1);
	ck_assert_int_ne(ibv_get_cq_event(ends[1].bell, &queue, &nothing), 0);
	(void)completion_of(&ends[1]);
	close_both();
}
END_TEST

/* ---- wrong requests --------------------------------------------------------------------------- */

static void expect_one_of(struct end *end, enum ibv_wc_status one,
			  enum ibv_wc_status other)
{
	const enum ibv_wc_status status = completion_of(end).status;

	ck_assert_msg(status == one || status == other, "status %d, not %d or %d",
		      (int)status, (int)one, (int)other);
}

START_TEST(a_send_with_a_wrong_key_fails)
{
	struct ibv_sge wrong;

	open_both();
	post_receives(&ends[1], 3);
	wrong = payload(&ends[0], DEPTH, 100);
	if (_i == 0) {
		wrong.lkey ^= 0x5500;
	} else if (_i == 1) { /* one byte too far */
		wrong.addr = (uintptr_t)ends[0].memory + sizeof(ends[0].memory) - 99;
	} else { /* a region that is gone */
		ck_assert(!ibv_dereg_mr(ends[0].region));
		ends[0].region = NULL;
	}
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, wrong));
	expect_one_of(&ends[0], IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR);
	close_both();
}
END_TEST

/* Requests behind one that fails are flushed, at both ends. */
START_TEST(what_follows_a_failure_is_flushed)
{
	struct ibv_sge wrong;

	open_both();
	post_receives(&ends[0], 3);
	wrong = payload(&ends[0], DEPTH, 100);
	wrong.lkey ^= 0x5500;
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, wrong));
	expect_one_of(&ends[0], IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR);
	for (uint32_t i = 0; i < 3; i++)
		expect_flush(&ends[0], 0, i, i + 1);
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 1, (struct ibv_sge){ 0 }));
	expect_flush(&ends[0], DTC_VERBS_SEND, 1, 2);
	close_both();
}
END_TEST

START_TEST(a_receive_with_a_wrong_key_fails_at_both_ends)
{
	struct ibv_sge wrong;

	open_both();
	wrong = payload(&ends[1], 0, BYTES);
	wrong.lkey ^= 0x5500;
	ck_assert(!dtc_verbs_post_receive(&ends[1].lane, 0, wrong));
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, payload(&ends[0], DEPTH, 100)));
	expect_one_of(&ends[1], IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR);
	expect_one_of(&ends[0], IBV_WC_REM_OP_ERR, IBV_WC_REM_INV_REQ_ERR);
	close_both();
}
END_TEST

START_TEST(a_message_that_is_too_long_fails_at_both_ends)
{
	open_both();
	ck_assert(!dtc_verbs_post_receive(&ends[1].lane, 0, payload(&ends[1], 0, 99)));
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, payload(&ends[0], DEPTH, 100)));
	expect_one_of(&ends[1], IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR);
	expect_one_of(&ends[0], IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
	close_both();
}
END_TEST

START_TEST(a_message_without_a_receive_fails)
{
	open_both();
	ck_assert(!dtc_verbs_post_send(&ends[0].lane, 0, payload(&ends[0], DEPTH, 100)));
	ck_assert_int_eq(completion_of(&ends[0]).status, IBV_WC_RNR_RETRY_EXC_ERR);
	close_both();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs adapter");
	TCase *right = fixture_case(suite, "right", 60);
	TCase *wrong = fixture_case(suite, "wrong", 60);

	tcase_add_test(right, messages_arrive_in_order_and_whole);
	tcase_add_test(right, a_completion_rings_once_it_is_asked_to);
	tcase_add_loop_test(wrong, a_send_with_a_wrong_key_fails, 0, 3);
	tcase_add_test(wrong, what_follows_a_failure_is_flushed);
	tcase_add_test(wrong, a_receive_with_a_wrong_key_fails_at_both_ends);
	tcase_add_test(wrong, a_message_that_is_too_long_fails_at_both_ends);
	tcase_add_test(wrong, a_message_without_a_receive_fails);
	return fixture_run(suite);
}
