/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: creating, connecting, posting.
 */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/base.h"
#include "base/log.h"

/*
 * After the first attempt, 6 more 10.24 ms apart. The protocol has a receive posted for whatever may come, so only a
 * peer that breaks it lets a message wait.
 */
#define RNR_ATTEMPTS 6
#define RNR_TIMER    20
/* 7 is for ever on Soft-RoCE. */
#define ATTEMPTS     6

#define HOPS 64

static const char *name_of(const struct dtc_verbs_lane *lane)
{
	return lane->name == DTC_VERBS_DATA ? "data" : "control";
}

/* ---- creating -------------------------------------------------------------------------- */

static struct ibv_qp *create_pair(const struct dtconv_verbs *verbs, struct ibv_cq *queue,
				  uint32_t depth, uint32_t inline_bytes)
{
	struct ibv_qp_init_attr attr = { .send_cq = queue,
					 .recv_cq = queue,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = depth,
						  .max_recv_wr = depth,
						  .max_send_sge = 2,
						  .max_recv_sge = 2,
						  .max_inline_data = inline_bytes } };

	errno = 0;
	return ibv_create_qp(verbs->domain, &attr);
}

/* A peer that guesses the number of a queue pair has the first packet to guess as well. */
static bool choose_first_packet(struct dtc_verbs_lane *lane)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return false;
	lane->first_packet = random & 0xffffff;
	return true;
}

static int init(const struct dtconv_verbs *verbs, const struct dtc_verbs_lane *lane)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = (uint8_t)verbs->params.port };

	/* The peer has no right to anything but to send. */
	return ibv_modify_qp(lane->pair, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

/* Not all adapters copy small sends. */
int dtc_verbs_open_lane(struct dtconv_verbs *verbs, struct ibv_cq *queue,
			const char *caller, struct dtc_verbs_lane *lane)
{
	if (lane->name == DTC_VERBS_CONTROL)
		lane->pair =
			create_pair(verbs, queue, lane->depth, DTC_VERBS_BLOCK_BYTES);
	lane->is_inline = lane->pair;
	if (!lane->pair)
		lane->pair = create_pair(verbs, queue, lane->depth, 0);
	if (!lane->pair)
		return DTC_FAIL(verbs->context, dtc_verbs_status(errno),
				"%s: %s cannot create a queue pair of %u requests: %s",
				caller, verbs->params.device, lane->depth,
				strerror(errno));
	int error = choose_first_packet(lane) ? init(verbs, lane) : errno;
	if (error)
		return DTC_FAIL(verbs->context, dtc_verbs_status(error),
				"%s: %s cannot initialise the %s queue pair: %s", caller,
				verbs->params.device, name_of(lane), strerror(error));
	return 0;
}

/* ---- connecting ------------------------------------------------------------------------ */

static struct ibv_ah_attr route_to(const struct dtconv_verbs *verbs,
				   const struct dtc_verbs_address *peer)
{
	struct ibv_ah_attr route = { .dlid = peer->lid,
				     .sl = (uint8_t)verbs->params.service_level,
				     .port_num = (uint8_t)verbs->params.port };

	/* InfiniBand of one subnet needs no global route. */
	route.is_global = !peer->is_infiniband ||
			  verbs->port.flags & IBV_QPF_GRH_REQUIRED ||
			  memcmp(peer->gid, verbs->gid.raw, 8);
	memcpy(route.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	route.grh.sgid_index = (uint8_t)verbs->params.gid_index;
	route.grh.hop_limit = HOPS;
	route.grh.traffic_class = (uint8_t)verbs->params.traffic_class;
	return route;
}

static int make_ready_to_receive(const struct dtconv_verbs *verbs,
				 const struct dtc_verbs_address *peer,
				 const struct dtc_verbs_lane *lane)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .ah_attr = route_to(verbs, peer),
				    .path_mtu = (enum ibv_mtu)DTC_MIN(
					    peer->mtu, (unsigned)verbs->port.active_mtu),
				    .dest_qp_num = peer->pairs[lane->name].number,
				    .rq_psn = peer->pairs[lane->name].first_packet,
				    .min_rnr_timer = RNR_TIMER };

	return ibv_modify_qp(lane->pair, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int make_ready_to_send(const struct dtconv_verbs *verbs,
			      const struct dtc_verbs_lane *lane)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = lane->first_packet,
				    .timeout = (uint8_t)verbs->params.timeout,
				    .retry_cnt = ATTEMPTS,
				    .rnr_retry = RNR_ATTEMPTS };

	return ibv_modify_qp(lane->pair, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

int dtc_verbs_connect_lane(struct dtconv_verbs *verbs,
			   const struct dtc_verbs_address *peer,
			   struct dtc_verbs_lane *lane)
{
	int error = make_ready_to_receive(verbs, peer, lane);

	if (!error)
		error = make_ready_to_send(verbs, lane);
	if (!error)
		return 0;
	return DTC_FAIL(verbs->context, dtc_verbs_status(error),
			"channel: %s cannot connect the %s queue pair to the peer's: %s",
			verbs->params.device, name_of(lane), strerror(error));
}

/* ---- posting --------------------------------------------------------------------------- */

static uint64_t request_of(const struct dtc_verbs_lane *lane, uint32_t index)
{
	return index | (lane->name == DTC_VERBS_DATA ? (uint32_t)DTC_VERBS_ON_DATA : 0);
}

int dtc_verbs_post_send(const struct dtc_verbs_lane *lane, uint32_t index,
			struct ibv_sge payload)
{
	struct ibv_sge parts[2] = { { .addr = (uintptr_t)dtc_verbs_send_block(lane,
									      index),
				      .length = DTC_VERBS_BLOCK_BYTES,
				      .lkey = lane->key },
				    payload };
	struct ibv_send_wr *bad,
		request = { .wr_id = request_of(lane, index) | DTC_VERBS_SEND,
			    .sg_list = parts,
			    .num_sge = payload.length ? 2 : 1,
			    .opcode = IBV_WR_SEND,
			    .send_flags = IBV_SEND_SIGNALED };

	if (lane->is_inline)
		request.send_flags |= IBV_SEND_INLINE;
	return ibv_post_send(lane->pair, &request, &bad);
}

int dtc_verbs_post_receive(const struct dtc_verbs_lane *lane, uint32_t index,
			   struct ibv_sge payload)
{
	struct ibv_sge parts[2] = { { .addr = (uintptr_t)dtc_verbs_receive_block(lane,
										 index),
				      .length = DTC_VERBS_BLOCK_BYTES,
				      .lkey = lane->key },
				    payload };
	struct ibv_recv_wr *bad, request = { .wr_id = request_of(lane, index),
					     .sg_list = parts,
					     .num_sge = payload.length ? 2 : 1 };

	return ibv_post_recv(lane->pair, &request, &bad);
}

void dtc_verbs_close_lane(struct dtc_verbs_lane *lane)
{
	if (lane->pair)
		ibv_destroy_qp(lane->pair);
	lane->pair = NULL;
}
