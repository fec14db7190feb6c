/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages by the flow over a network in this process that takes no time: what a send emits is delivered to the
 * receive at once, and the fragment counts as sent when the receive releases it.
 */
#ifndef BENCH_PIPELINE_EXCHANGE_H
#define BENCH_PIPELINE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

struct trace;

struct exchange {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	struct dtconv_convertor *packs,
		*unpacks; /* borrowed; NULL: that half is not used */
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	size_t bytes;
	unsigned
		depth; /* most fragments of a send in use; 0: as the context's threshold says */
	size_t fragment; /* most bytes of one; 0: as the context's threshold says */
	/* NULL: the receive gets what is sent. Else sent fragments are dropped, and it gets these bytes. */
	unsigned char *arrived;
	const unsigned char
		*expected;   /* compared with emitted bytes; NULL: not compared */
	struct trace *trace; /* NULL: none is made */
	bool notes_first;    /* the next one is set, which takes a reading of the clock */
	double first_ns;     /* of bench_clock(), when the first fragment was emitted */
	size_t wrong;        /* fragments that were not as expected */
	size_t open;         /* operations that are not done */
	int status;          /* of the first failure */
};

struct exchange_params {
	struct dtconv_context *context;
	struct dtconv_convertor *packs, *unpacks;
	size_t bytes, fragment;
	unsigned depth;
	enum dtconv_memory_kind pool_kind;
	unsigned char *arrived;
};

/* Create engine and pool. Returns 0 or a status; to be closed in either event. */
int exchange_open(struct exchange *exchange, const struct exchange_params *params);
/* Returns 0, or the status of what is still in use. */
int exchange_close(struct exchange *exchange);

/* Start either half. A failure is told by exchange_finish(). */
void exchange_start_send(struct exchange *exchange);
void exchange_start_recv(struct exchange *exchange);
/* Make progress until all that was started is done. Returns the first failure, or 0. */
int exchange_finish(struct exchange *exchange);

/* Start what there is, and finish it. */
int exchange_run(struct exchange *exchange);

/* The bytes of a fragment that the flow plans for unconverted bytes, by the context's thresholds and @fragment. */
size_t exchange_planned(struct dtconv_context *context, size_t fragment);

/* The same for a message of @bytes from a device, where threshold fragment_bytes is @fragment and the pool has room. */
size_t exchange_planned_for_device(size_t fragment, size_t bytes);

#endif
