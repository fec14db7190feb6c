/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that copy a message out of its sender's memory, from layout to layout. The copy is an operation of the
 * engine. A copy in flight is never abandoned: the operation ends when no device reads the sender's memory any more.
 */
#ifndef DTC_DIRECT_H
#define DTC_DIRECT_H

#include <stddef.h>
#include <stdint.h>

struct dtc_direct;
struct dtc_direct_state;
struct dtc_message;
struct dtc_place;
struct dtconv_channel;
struct dtconv_context;

/* What a channel needs for it. */
int dtc_direct_create(struct dtconv_context *context, const char *caller,
		      struct dtc_direct_state **state);

/* No copy is left. NULL: nothing. */
void dtc_direct_destroy(struct dtconv_context *context, struct dtc_direct_state *state);

enum dtc_direct_answer {
	DTC_DIRECT_NO,    /* it goes through fragments; the log says why */
	DTC_DIRECT_YES,   /* message->direct will copy it */
	DTC_DIRECT_BROKEN /* the offer breaks the protocol, and the sentence says how */
};

/*
 * A receive takes a message with an offer, which fits it. If it copies the message, either dtc_channel_end_copy() or
 * dtc_channel_stage() follows, from the engine, when message->direct is NULL again.
 */
enum dtc_direct_answer dtc_direct_begin(struct dtconv_channel *channel,
					const struct dtc_place *place,
					struct dtc_message *message);

/* Have it end with the status, as soon as no device copies. */
void dtc_direct_fail(struct dtc_direct *direct, int status);

#endif
