/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that a test makes by hand, in the same process, so that it can lie: its socket, its ring and its slab, and the
 * honest end of the channel.
 */
#ifndef TEST_TRANSPORT_LIAR_H
#define TEST_TRANSPORT_LIAR_H

#include "exchange.h"
#include "transport_glue/shm_memory.h"
#include "transport_glue/sock.h"

#define LIAR_ENTRIES    1024
#define LIAR_FRAGMENTS  4
#define LIAR_BYTES      256
#define LIAR_SLAB_BYTES ((size_t)LIAR_FRAGMENTS * LIAR_BYTES)

/* The liar's end of the socket. */
struct liar {
	int socket, ring_file, slab_file;
	struct dtc_shm_mapping ring, slab;
	/* The honest side's memory, as every peer gets it. */
	struct dtc_wire_packet hello;
	struct dtc_sock_files files;
};

extern struct party party; /* the honest end */
extern struct liar liar;

/* Both ends; with exchange_flags the honest one takes offers, and the liar's ring has room for them. */
void liar_open(void);
void liar_close(void);

/* What an honest peer would send first, and sending it. */
struct dtc_wire_packet liar_hello(void);
void liar_greet(const struct dtc_wire_packet *hello, size_t files);

int liar_make_file(size_t bytes, unsigned seals);
struct dtc_shm_ring *liar_ring(void);

/* Of the honest end. */
void liar_progress(int times);
void liar_expect_end(int status);

/* A header into the ring; the second one makes progress, too. */
void liar_push_words(const uint64_t words[]);
void liar_push(struct dtc_wire_header header);

#endif
