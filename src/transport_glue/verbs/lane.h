/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane: a queue pair of a connection and the memory of the blocks with which its messages begin. Fragments are sent
 * on one lane, everything else on another. So the room for fragments is never taken by headers, and their return never
 * waits for room. A block has a number that counts the messages of both lanes, in which the receiver puts them back in
 * order.
 */
#ifndef DTC_VERBS_LANE_H
#define DTC_VERBS_LANE_H

#include "address.h"
#include "device.h"

/* A header and the message's number, 8 bytes. */
#define DTC_VERBS_BLOCK_BYTES  (DTC_WIRE_HEADER_BYTES + 8)
#define DTC_VERBS_BLOCK_STRIDE 64

/* A receive that has completed. */
struct dtc_verbs_arrival {
	uint32_t index; /* of the receive */
	uint32_t bytes; /* with the block */
};

struct dtc_verbs_lane {
	struct ibv_qp *pair; /* NULL: closed */
	enum dtc_verbs_lane_name name;
	uint32_t first_packet;
	uint32_t depth; /* of both of its queues */
	bool is_inline; /* blocks are copied when they are posted */
	/* A block for each receive, then one for each send. */
	unsigned char *blocks;
	uint32_t key;
	/* Receives that have completed and not been taken, the oldest first. */
	struct dtc_verbs_arrival *arrivals;
	uint32_t first, count;
};

/* What a work request is: lane, direction, and the number of its block. */
enum { DTC_VERBS_SEND = 1u << 30, DTC_VERBS_ON_DATA = 1u << 31 };

static inline unsigned char *dtc_verbs_receive_block(const struct dtc_verbs_lane *lane,
						     uint32_t index)
{
	return lane->blocks + (size_t)index * DTC_VERBS_BLOCK_STRIDE;
}

static inline unsigned char *dtc_verbs_send_block(const struct dtc_verbs_lane *lane,
						  uint32_t index)
{
	return dtc_verbs_receive_block(lane, lane->depth + index);
}

/* Bytes of the blocks of a lane. */
static inline size_t dtc_verbs_block_bytes(uint32_t depth)
{
	return (size_t)2 * depth * DTC_VERBS_BLOCK_STRIDE;
}

/* Create the queue pair; receives can be posted from then on. @lane has name, depth, blocks, key and arrivals. */
int dtc_verbs_open_lane(struct dtconv_verbs *verbs, struct ibv_cq *queue,
			const char *caller, struct dtc_verbs_lane *lane);

/* Connect it to the peer's; sends can be posted from then on. */
int dtc_verbs_connect_lane(struct dtconv_verbs *verbs,
			   const struct dtc_verbs_address *peer,
			   struct dtc_verbs_lane *lane);

/* Post a send of a block and @payload, if its length is not 0; or the receive of such. An errno. */
int dtc_verbs_post_send(const struct dtc_verbs_lane *lane, uint32_t index,
			struct ibv_sge payload);
int dtc_verbs_post_receive(const struct dtc_verbs_lane *lane, uint32_t index,
			   struct ibv_sge payload);

/* The adapter no longer uses memory of its requests. Completions may still come; they mean nothing. */
void dtc_verbs_close_lane(struct dtc_verbs_lane *lane);

#endif
