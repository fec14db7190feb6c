/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libibverbs.so.1: adapters of processes of one family, which are joined by memory that they inherited. A
 * thread of each process is its adapter: it gathers when it sends, not when a request is posted, and delivers while the
 * program does something else. It knows reliable connected queue pairs that send and receive, and checks what an
 * adapter checks: keys, bounds and rights of every scatter entry, states of queue pairs, depths of queues.
 *
 * Tests steer it with what verbs_standin_control() returns. The real library has no such function.
 */
#ifndef TEST_VERBS_STANDIN_H
#define TEST_VERBS_STANDIN_H

#include <stddef.h>
#include <stdint.h>

/* The longest message. */
#define VERBS_STANDIN_MESSAGE_MAX ((size_t)1 << 20)

/* Calls that can be refused. */
enum verbs_call {
	VERBS_LIST,
	VERBS_OPEN,
	VERBS_QUERY,
	VERBS_ALLOC_PD,
	VERBS_REG_MR,
	VERBS_REG_DMABUF,
	VERBS_CREATE_CHANNEL,
	VERBS_CREATE_CQ,
	VERBS_CREATE_QP,
	VERBS_MODIFY_QP,
	VERBS_POST_SEND,
	VERBS_POST_RECV,
	VERBS_REQ_NOTIFY,
	VERBS_POLL,
	VERBS_CALLS
};

/* What the only adapter says of itself; zero: 2 active ports, Ethernet, generous limits. */
struct verbs_adapter {
	int is_infiniband;
	int is_down;
	uint32_t max_queue; /* work requests of a queue */
	uint32_t max_inline;
	int has_peer_module; /* addresses of a device's memory are registered as the process's are */
};

struct verbs_standin {
	/* All but the first @spare calls fail with that errno; 0: none does. */
	void (*refuse)(enum verbs_call call, size_t spare, int error);
	/* Of this process's sends or receives, one after @spare others completes with that ibv_wc_status. */
	void (*fail_send)(size_t spare, int status);
	void (*fail_receive)(size_t spare, int status);
	/* Complete requests of different queue pairs in an order that the seed chooses; 0: as they come. */
	void (*shuffle)(uint64_t seed);
	/* Nothing moves while the link is down. All processes. */
	void (*set_link)(int is_up);
	/* Sends of this process arrive, but do not complete. */
	void (*hold)(int is_held);
	/* Sends of this process that nobody answers fail as if all retries were used up. */
	void (*lose_patience)(void);
	void (*set_adapter)(const struct verbs_adapter *adapter);
	/* Where the process has the bytes of memory of a device; registered as a DMA-BUF. NULL: there is no device. */
	void (*set_device_memory)(void *(*find)(unsigned long long address,
						size_t bytes));
	/* Objects of this process that exist. */
	size_t (*live)(void);
	/* Messages that found no receive, keys that were wrong, requests beyond a queue's depth: in this process. */
	size_t (*faults)(void);
	size_t (*calls)(enum verbs_call call);
	/* Take back all of the above, and forget calls and faults. */
	void (*reset)(void);
	/* Wait until this process's adapter has nothing to do. */
	void (*settle)(void);
};

const struct verbs_standin *verbs_standin_control(void);

#endif
