/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages both ways between two ends of a channel, which may be in two processes: both ends make the same list
 * from a seed. Every message goes to a type that differs from its own. Whatever is wrong aborts the process with a
 * sentence, so a child may call all of it.
 */
#ifndef TEST_TRANSPORT_EXCHANGE_H
#define TEST_TRANSPORT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

#include "bed.h"
#include "support/random_type.h"
#include "support/stage.h"

/* Abort with a sentence unless it holds. */
void exchange_must(bool holds, const char *what);

/* ---- an end of a channel ----------------------------------------------------------------- */

struct party {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;
	struct bed *bed;
};

struct party_memory {
	size_t fragments, fragment_bytes;
};

/* What channels are made over; NULL: shared memory. */
extern const struct dtconv_transport *exchange_transport;

/* Flags of channels. */
extern unsigned exchange_flags;

/* Of the types of messages. */
extern struct random_limits exchange_limits;

/* Most random messages have so many bytes at least: their types are put in a row, with gaps. 0: any length. */
extern size_t exchange_least;

/* Types in words and counts of a message's two ends. */
struct exchange_pair {
	const char *from;
	size_t count;
	const char *to;
	size_t target_count;
};

/* If there are any, messages are of these instead of random ones, in turn; ends with one without words. */
extern const struct exchange_pair *exchange_pairs;

/* An engine and a channel over a socket, with staging memory that is not a device's. */
void party_open(struct party *party, struct dtconv_context *context, int socket,
		struct party_memory memory);

/* Make progress; how much has been done. */
size_t party_progress(struct party *party);

/* Make progress, and sleep if there is nothing to do. */
void party_sleep(struct party *party);

struct dtconv_channel_attr party_query(struct party *party);

/* Close the channel; nothing may be left. */
void party_close(struct party *party);

/* Two ends of a socket that children of exec do not get. */
void party_sockets(int sockets[2]);

/* ---- messages ----------------------------------------------------------------------------- */

#define EXCHANGE_MAX  300
#define EXCHANGE_TAGS 4

struct exchange_item {
	bool is_sent; /* by this end */
	uint64_t tag;
	struct dtconv_type *type, *target_type;
	size_t count, target_count;
	struct stage source, target;
	void *from,
		*to; /* where they are: the stages' own memory, or a copy that the test has made */
	int calls, status;
	size_t moved;
};

struct exchange {
	unsigned side; /* 0 or 1 */
	uint64_t seed;
	size_t count;
	struct exchange_item items[EXCHANGE_MAX];
};

/* The list of a seed. */
void exchange_open(struct exchange *exchange, struct dtconv_context *context,
		   unsigned side, uint64_t seed, size_t count);
void exchange_close(struct exchange *exchange);

/* Begin all of it: messages with one tag in order, tags in any. If the channel has ended, the rest fails at once. */
void exchange_start(struct exchange *exchange, struct party *party);
bool exchange_is_done(const struct exchange *exchange);

/* Every message has ended once, and what has arrived is right. With a status, messages may have failed with it. */
void exchange_check(const struct exchange *exchange, int failure);

/* What was received with success is right. */
void exchange_check_right(const struct exchange *exchange);

#endif
