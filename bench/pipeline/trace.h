/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to each fragment of a message, and when, as events that chrome://tracing and Perfetto show.
 */
#ifndef BENCH_PIPELINE_TRACE_H
#define BENCH_PIPELINE_TRACE_H

#include <stdbool.h>
#include <stdio.h>

#include <dtconv/dtconv.h>

/* In the order in which they happen to a fragment. */
enum trace_event {
	TRACE_COPY,     /* the copy into the fragment starts */
	TRACE_COPIED,   /* it has ended: the network is offered the fragment */
	TRACE_SENT,     /* the network has taken it */
	TRACE_ARRIVED,  /* it is delivered to the receive */
	TRACE_UNPACK,   /* the copy out of it starts */
	TRACE_RELEASED, /* it has ended: the network gives the fragment back */
	TRACE_EVENTS
};

struct trace_packet {
	struct trace *trace;
	struct dtconv_fragment *fragment;
	size_t offset, bytes;
	unsigned slot; /* fragments of the pool, numbered as they are first used */
	double ns[TRACE_EVENTS]; /* 0: has not happened */
};

#define TRACE_SLOTS 64

/* Of one message. */
struct trace {
	size_t bytes, fragment; /* of the message; of an inner fragment, at least */
	struct trace_packet *packets;
	size_t packet_count; /* the most there can be */
	const struct dtconv_fragment *slots[TRACE_SLOTS];
	unsigned slot_count;
};

/* Returns 0, or -1 without memory. */
int trace_open(struct trace *trace, size_t bytes, size_t fragment);
void trace_close(struct trace *trace);
/* Forget what has happened. */
void trace_clear(struct trace *trace);

struct trace_packet *trace_packet(struct trace *trace, size_t offset);
void trace_note(struct trace *trace, enum trace_event event, size_t offset);
/* Say which fragment holds the bytes from @offset on. */
void trace_note_fragment(struct trace *trace, struct dtconv_fragment *fragment,
			 size_t offset);

/*
 * A log callback, for a context with level trace and the trace as its argument: the library logs the start of each
 * copy.
 */
void trace_log(void *trace, enum dtconv_log_level level, const char *file, int line,
	       const char *text);

/* Whether every fragment has had every event, in order. */
bool trace_is_whole(const struct trace *trace);

/*
 * Write the events as elements of a JSON array, of process @number with a name. Times count from @start_ns. @is_first:
 * nothing has been written to the array.
 */
void trace_write(const struct trace *trace, FILE *file, unsigned number, const char *name,
		 double start_ns, bool is_first);

#endif
