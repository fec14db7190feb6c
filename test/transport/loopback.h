/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network in the process, in ticks instead of time: a link carries the fragments of one send to one receive. From
 * a seed it delays, reorders, refuses, splits, duplicates, loses, lengthens and fails. One tick is one poll.
 *
 * A packet is read in place: the fragment is sent when the receive has released all of it. Or it is copied first, as
 * a network with buffers of its own does, and the fragment is sent at once.
 */
#ifndef TEST_TRANSPORT_LOOPBACK_H
#define TEST_TRANSPORT_LOOPBACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/flow.h>

#include "support/choices.h"

struct loopback_faults {
	unsigned delay; /* a packet waits up to so many ticks; also reorders */
	unsigned
		capacity; /* packets on the way; more are refused with AGAIN; 0: any number */
	/* Each happens to one packet in so many; 0: never. */
	unsigned refuse;    /* emit answers AGAIN */
	unsigned fail_emit; /* emit answers PEER */
	unsigned fail_sent; /* delivered, but reported as failed */
	unsigned duplicate; /* delivered twice */
	unsigned split;     /* delivered in several parts, some of which overlap */
	unsigned lose;      /* reported as sent, never delivered */
	unsigned lengthen;  /* delivered with bytes beyond the end of the message */
	bool copies;
	bool early; /* reported as sent inside emit; only with copies */
};

struct packet;

struct loopback {
	struct loopback_faults faults;
	struct choices choices;
	pthread_mutex_t lock;
	struct dtconv_recv
		*recv; /* may be set after the send has started; NULL: packets wait */
	const unsigned char *expected; /* the packed stream; NULL: not compared */
	size_t bytes;
	struct packet *packets;
	unsigned waiting; /* not yet delivered */
	/* Counts. */
	size_t emitted, sent, parts, released, refused, lost, failed, ticks;
	size_t emitted_bytes;
	size_t wrong;        /* bytes of fragments that are not the stream's */
	size_t out_of_order; /* fragments that do not begin where the last one ended */
	uint64_t next_offset;
};

void loopback_open(struct loopback *link, const struct loopback_faults *faults,
		   uint64_t seed);
/* Nothing may be on the way; answers false if something is. */
bool loopback_close(struct loopback *link);

/* A dtconv_emit_fn with the link as its argument. */
int loopback_emit(void *link, struct dtconv_fragment *fragment, uint64_t offset,
		  size_t bytes, unsigned flags);

/* A source's poll function. */
size_t loopback_poll(void *link, size_t budget);

/* The peer is gone: whatever is on the way is reported as failed and not delivered. */
void loopback_flush(struct loopback *link, int status);

/* Whether packets are on the way, delivered ones that are not released included. */
bool loopback_is_idle(struct loopback *link);

#endif
