/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that a channel receives: places of the peer's messages, matching by tag, and the flow's receive. Runs in the
 * thread that makes progress.
 */
#include "config.h"

#include "channel.h"

#include <inttypes.h>

#include "base/base.h"
#include "base/log.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "direct.h"

static void spare_recv(struct dtconv_channel *channel, struct dtc_message *message)
{
	if (channel->recv_count < DTC_CHANNEL_SPARES)
		channel->recvs[channel->recv_count++] = message->recv;
	else
		(void)dtconv_recv_destroy(message->recv);
	message->recv = NULL;
}

static void free_place(struct dtc_place *place)
{
	if (place->message)
		place->message->place = NULL;
	place->message = NULL;
	place->state = DTC_PLACE_FREE;
}

static uint32_t slot_of(const struct dtconv_channel *channel,
			const struct dtc_place *place)
{
	return (uint32_t)(place - channel->places);
}

static void release_held(struct dtc_place *place, int status)
{
	if (place->held)
		place->release(place->release_arg, status);
	place->held = NULL;
}

static void stop_waiting(struct dtconv_channel *channel, struct dtc_place *place)
{
	struct dtc_place **at = &channel->first;

	while (*at != place)
		at = &(*at)->next;
	*at = place->next;
	if (channel->last == &place->next)
		channel->last = at;
	atomic_fetch_sub(&channel->waiting, 1);
}

static void received(void *arg, int status, size_t moved)
{
	struct dtc_message *message = arg;
	struct dtconv_channel *channel = message->channel;
	struct dtc_place *place = message->place;

	/* It has failed, and more is to come. */
	if (place) {
		place->message = NULL;
		place->status = status;
	}
	spare_recv(channel, message);
	message->moved = moved;
	if (!status)
		atomic_fetch_add(&channel->received, 1);
	dtc_message_finish(message, status);
	(void)dtc_channel_run_finished(channel);
}

static int check_message(const struct dtconv_channel *channel,
			 const struct dtc_place *place, const struct dtc_message *message)
{
	const struct dtconv_convertor *convertor = &message->convertor;
	uint64_t hash;

	if (place->bytes > message->bytes)
		return DTC_FAIL(channel->context, DTCONV_ERR_TRUNCATE,
				"channel: a message of %" PRIu64
				" bytes with tag %" PRIu64
				" is longer than its receive, which takes %zu",
				place->bytes, place->tag, message->bytes);
	if (!dtc_signature_hash_start(convertor->type->signature, convertor->count,
				      place->bytes, &hash) ||
	    hash != place->hash)
		return DTC_FAIL(
			channel->context, DTCONV_ERR_SIGNATURE,
			"channel: the basic types of a message of %" PRIu64
			" bytes with tag %" PRIu64
			" are not those with which the type of its receive begins",
			place->bytes, place->tag);
	return 0;
}

static int start_recv(struct dtconv_channel *channel, const struct dtc_place *place,
		      struct dtc_message *message)
{
	const struct dtconv_recv_params params = { .struct_size = sizeof(params),
						   .done = received,
						   .arg = message,
						   .flags = DTCONV_RECV_BYTES,
						   .bytes = (size_t)place->bytes };

	if (channel->recv_count)
		message->recv = channel->recvs[--channel->recv_count];
	int status = dtconv_recv_start(channel->engine, &params, &message->convertor,
				       &message->recv);
	if (status && message->recv)
		spare_recv(channel, message);
	return status;
}

/* Bytes of a message that has a receive, or had one. The last ones leave the slot to the peer. */
static void deliver(struct dtc_place *place, uint64_t offset, const void *bytes,
		    size_t length, dtconv_release_fn release, void *arg)
{
	struct dtc_message *message = place->message;
	int status = message ? dtconv_recv_deliver(message->recv, offset, bytes, length,
						   release, arg)
			     : place->status;

	if (status)
		release(arg, status);
	if (status && message)
		(void)dtconv_recv_fail(message->recv, status);
	if (place->arrived == place->bytes)
		free_place(place);
}

static void refuse(struct dtconv_channel *channel, struct dtc_place *place,
		   struct dtc_message *message, int status)
{
	place->message = NULL;
	place->status = status;
	place->state = DTC_PLACE_REFUSED;
	dtc_channel_post(channel, DTC_WIRE_REFUSE, slot_of(channel, place), status);
	/* The refusal says why; the fragment's return need not. */
	release_held(place, 0);
	dtc_message_finish(message, status);
}

static void join(struct dtc_place *place, struct dtc_message *message,
		 enum dtc_place_state state)
{
	place->state = state;
	place->status = 0;
	place->message = message;
	message->place = place;
}

/* Through fragments. */
static void stage(struct dtconv_channel *channel, struct dtc_place *place,
		  struct dtc_message *message)
{
	const int status = start_recv(channel, place, message);

	message->place = NULL;
	if (status) {
		refuse(channel, place, message, status);
		return;
	}
	join(place, message, DTC_PLACE_MATCHED);
	dtc_channel_post(channel, DTC_WIRE_GO, slot_of(channel, place), 0);
	const void *held = place->held;
	place->held = NULL;
	if (held)
		deliver(place, 0, held, place->held_bytes, place->release,
			place->release_arg);
	else if (!place->bytes)
		free_place(place);
}

/* The peer has described memory that its message does not lie in: nothing of it is used. */
static void end_by_offer(struct dtconv_channel *channel, struct dtc_place *place,
			 struct dtc_message *message)
{
	free_place(place);
	dtc_channel_end(channel, DTCONV_ERR_FORMAT);
	dtc_message_finish(message, DTCONV_ERR_FORMAT);
}

/* A receive takes a message. */
static void match(struct dtconv_channel *channel, struct dtc_place *place,
		  struct dtc_message *message)
{
	const int status = check_message(channel, place, message);
	enum dtc_direct_answer answer = DTC_DIRECT_NO;

	if (status) {
		refuse(channel, place, message, status);
		return;
	}
	if (place->offer)
		answer = dtc_direct_begin(channel, place, message);
	if (answer == DTC_DIRECT_BROKEN)
		end_by_offer(channel, place, message);
	else if (answer == DTC_DIRECT_YES)
		join(place, message, DTC_PLACE_COPIED);
	else
		stage(channel, place, message);
}

/* ---- copies ---------------------------------------------------------------------------- */

void dtc_channel_stage(struct dtc_message *message)
{
	stage(message->channel, message->place, message);
}

/* The sender may free its memory as soon as it knows. */
void dtc_channel_end_copy(struct dtc_message *message, int status, size_t moved)
{
	struct dtconv_channel *channel = message->channel;
	struct dtc_place *place = message->place;

	if (place) {
		dtc_channel_post(channel, DTC_WIRE_TAKEN, slot_of(channel, place),
				 status);
		free_place(place);
	}
	message->moved = moved;
	if (!status) {
		atomic_fetch_add(&channel->received, 1);
		atomic_fetch_add(&channel->received_direct, 1);
	}
	dtc_message_finish(message, status);
	(void)dtc_channel_run_finished(channel);
}

/* ---- headers of the peer --------------------------------------------------------------- */

/* An offer lies in memory that both processes have agreed to have. */
static bool may_have_offer(const struct dtconv_channel *channel,
			   const struct dtc_wire_header *header)
{
	return !header->offer ||
	       (channel->direct &&
		channel->transport->offer_of(channel->connection, header->slot));
}

bool dtc_channel_take_message(struct dtconv_channel *channel,
			      const struct dtc_wire_header *header)
{
	struct dtc_place *place = &channel->places[header->slot];
	struct dtc_message **posted = &channel->posted.first;

	if (place->state != DTC_PLACE_FREE || !may_have_offer(channel, header))
		return false;
	*place = (struct dtc_place){ .state = DTC_PLACE_WAITING,
				     .tag = header->tag,
				     .hash = header->hash,
				     .bytes = header->length,
				     .offer = header->offer };
	while (*posted && (*posted)->tag != header->tag)
		posted = &(*posted)->next;
	if (*posted) {
		match(channel, place, dtc_messages_take_at(&channel->posted, posted));
		return true;
	}
	*channel->last = place;
	channel->last = &place->next;
	atomic_fetch_add(&channel->waiting, 1);
	return true;
}

/* Of a message that waits there is one fragment, which is all of it. None comes unasked if it was offered. */
static bool hold(struct dtc_place *place, const struct dtc_wire_header *header,
		 const void *bytes, dtconv_release_fn release, void *arg)
{
	if (header->length != place->bytes || place->offer)
		return false;
	place->held = bytes;
	place->held_bytes = (size_t)header->length;
	place->release = release;
	place->release_arg = arg;
	return true;
}

bool dtc_channel_take_data(struct dtconv_channel *channel,
			   const struct dtc_wire_header *header, const void *bytes,
			   dtconv_release_fn release, void *arg)
{
	struct dtc_place *place = &channel->places[header->slot];

	/* In order and without gaps, so that a message of which all bytes have come is complete. */
	if (place->state == DTC_PLACE_FREE || place->state == DTC_PLACE_COPIED ||
	    header->offset != place->arrived ||
	    header->length > place->bytes - place->arrived)
		return false;
	if (place->state == DTC_PLACE_WAITING &&
	    !hold(place, header, bytes, release, arg))
		return false;
	place->arrived += header->length;
	if (place->state == DTC_PLACE_REFUSED)
		release(arg, 0);
	else if (place->state == DTC_PLACE_MATCHED)
		deliver(place, header->offset, bytes, (size_t)header->length, release,
			arg);
	return true;
}

static void fail_recv(struct dtc_message *message, int status)
{
	if (message->direct)
		dtc_direct_fail(message->direct, status);
	else
		(void)dtconv_recv_fail(message->recv, status);
}

/* The sender gives up. */
bool dtc_channel_take_end(struct dtconv_channel *channel,
			  const struct dtc_wire_header *header)
{
	struct dtc_place *place = &channel->places[header->slot];
	const int status = header->status ? header->status : DTCONV_ERR_PEER;

	if (place->state != DTC_PLACE_MATCHED && place->state != DTC_PLACE_REFUSED)
		return false;
	if (place->message)
		fail_recv(place->message,
			  DTC_FAIL(channel->context, status,
				   "channel: the sender gives up a message of %" PRIu64
				   " bytes with tag %" PRIu64 " after %" PRIu64 ": %s",
				   place->bytes, place->tag, place->arrived,
				   dtconv_strerror(status)));
	free_place(place);
	return true;
}

/* Receives that are not in a place any more have all of their message, so they end by themselves. */
void dtc_channel_lose_place(struct dtconv_channel *channel, struct dtc_place *place,
			    int status)
{
	if (place->state == DTC_PLACE_WAITING) {
		stop_waiting(channel, place);
		release_held(place, status);
	}
	if (place->message)
		fail_recv(place->message, status);
	free_place(place);
}

void dtc_channel_handle_recv(struct dtc_item *item)
{
	struct dtc_message *message = (struct dtc_message *)item;
	struct dtconv_channel *channel = message->channel;
	struct dtc_place *place = channel->first;

	while (place && place->tag != message->tag)
		place = place->next;
	if (dtc_channel_is_over(channel)) {
		dtc_message_finish(message, atomic_load(&channel->status));
	} else if (place) {
		stop_waiting(channel, place);
		match(channel, place, message);
	} else {
		dtc_messages_append(&channel->posted, message);
	}
}
