/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of a process, which one lock guards, and how the tests have steered it.
 */
#ifndef TEST_VERBS_OBJECTS_H
#define TEST_VERBS_OBJECTS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

#include "fabric.h"

#define SGE_MAX 4

struct domain {
	struct ibv_pd base;
	size_t users;
};

struct region {
	struct ibv_mr base;
	int access;
	struct region *next;
};

/* A completion channel: an eventfd that counts, and the queues that have rung. */
struct bell {
	struct ibv_comp_channel base;
	struct queue *first;
};

/* A completion queue. */
struct queue {
	struct ibv_cq base;
	struct ibv_wc *entries;
	size_t room, count;
	bool is_armed, has_rung;
	unsigned unacknowledged;
	size_t users;
	struct queue *next; /* of those that have rung */
};

struct request {
	uint64_t id;
	int count;
	struct ibv_sge sges[SGE_MAX];
	char *copy;       /* of an inline send */
	uint32_t message; /* FABRIC_NONE: not sent yet */
	int status;       /* that it completes with, if it was made to fail */
};

struct requests {
	struct request *ring;
	uint32_t room, first, count;
};

struct pair {
	struct ibv_qp base;
	struct ibv_qp_cap cap;
	uint32_t target;
	struct requests sends, receives;
	uint32_t sent; /* of the sends, on their way */
	struct pair *next;
};

struct plan {
	size_t spare;
	int what; /* 0: nothing */
};

struct process {
	pthread_mutex_t lock;
	struct region *regions;
	struct pair *pairs;
	size_t live, faults;
	size_t calls[VERBS_CALLS];
	struct plan refusals[VERBS_CALLS];
	struct plan send, receive;
	uint64_t order; /* state of the shuffle; 0: none */
	bool is_impatient, is_held;
	struct verbs_adapter adapter;
	void *(*device_memory)(unsigned long long address, size_t bytes);
	size_t opened; /* contexts */
	bool is_stopping;
	pthread_t thread;
	pthread_cond_t rested;
	size_t rests; /* rounds without work */
};

extern struct process process;

/* Count a call: 0, or the errno with which it is refused. Takes the lock. */
int begin_call(enum verbs_call call);
/* Whether a plan's time has come: what is planned, once. */
int plan_due(struct plan *plan);
/* One of so many, as the shuffle has it. */
size_t pick(size_t count);

/* End with a sentence: the program does what no program may. */
_Noreturn void fatal(const char *what);

/* All with the lock held. */
void complete(struct queue *queue, const struct ibv_wc *completion);
void add_pair(struct pair *pair);
/* Whether the entries are in regions of that domain, with that right. */
/* The bytes of an entry that is covered, in the process or on its device. */
void *find_bytes(const struct ibv_sge *sge);
bool are_covered(const struct ibv_pd *pd, const struct ibv_sge sges[], int count,
		 int access);

/* The adapter's thread runs while a context is open. */
void start_adapter(void);
void stop_adapter(void);

/* Members of ibv_context.ops. */
int poll_queue(struct ibv_cq *cq, int count, struct ibv_wc *completions);
int arm_queue(struct ibv_cq *cq, int solicited_only);
int post_sends(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad);
int post_receives(struct ibv_qp *qp, struct ibv_recv_wr *request,
		  struct ibv_recv_wr **bad);

#endif
