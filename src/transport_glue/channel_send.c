/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that a channel sends: a slot, the announcement, the answer, and the flow's send in between. Runs in the
 * thread that makes progress.
 */
#include "config.h"

#include "channel.h"

#include <inttypes.h>

#include "base/base.h"
#include "base/log.h"
#include "offer.h"

static void spare_send(struct dtconv_channel *channel, struct dtc_message *message)
{
	if (channel->send_count < DTC_CHANNEL_SPARES)
		channel->sends[channel->send_count++] = message->send;
	else
		(void)dtconv_send_destroy(message->send);
	message->send = NULL;
}

/*
 * A message that is answered and that the flow no longer sends has ended. If fragments are missing, the receiver has
 * to know that they will not come.
 */
static void settle(struct dtc_message *message)
{
	struct dtconv_channel *channel = message->channel;

	if (!message->is_answered || (message->is_started && !message->is_ended))
		return;
	if (!message->is_taken &&
	    (message->is_refused || message->posted < message->bytes))
		dtc_channel_post(channel, DTC_WIRE_END, message->slot,
				 message->status ? message->status : DTCONV_ERR_CANCELED);
	channel->sending[message->slot] = NULL;
	channel->free_slots[channel->free_count++] = (uint16_t)message->slot;
	if (!message->status)
		atomic_fetch_add(&channel->sent, 1);
	dtc_message_finish(message, 0);
	dtc_channel_announce(channel);
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct dtc_message *message = arg;
	struct dtconv_channel *channel = message->channel;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_DATA,
						.slot = message->slot,
						.offset = offset,
						.length = bytes };
	int status = channel->transport->post(channel->connection, &header, fragment);

	(void)flags;
	if (!status)
		message->posted += bytes;
	return status;
}

static void sent(void *arg, int status, size_t moved)
{
	struct dtc_message *message = arg;
	struct dtconv_channel *channel = message->channel;

	spare_send(channel, message);
	message->is_ended = true;
	message->moved = message->is_refused ? 0 : moved;
	if (!message->status)
		message->status = status;
	settle(message);
	if (status)
		dtc_channel_end_without_fragments(channel);
	(void)dtc_channel_run_finished(channel);
}

static int start_send(struct dtc_message *message)
{
	struct dtconv_channel *channel = message->channel;
	const struct dtconv_send_params params = { .struct_size = sizeof(params),
						   .pool = channel->pool,
						   .emit = emit,
						   .done = sent,
						   .arg = message,
						   .depth = channel->depth,
						   .flags = DTCONV_SEND_ORDERED };

	if (channel->send_count)
		message->send = channel->sends[--channel->send_count];
	int status = dtconv_send_start(channel->engine, &params, &message->convertor,
				       &message->send);
	if (status && message->send)
		spare_send(channel, message);
	message->is_started = !status;
	return status;
}

/* A short message goes at once, unless many such ones are not answered: then fragments would be missing for others. */
static bool may_be_eager(const struct dtconv_channel *channel,
			 const struct dtc_message *message)
{
	return message->bytes && message->bytes <= channel->eager_bytes &&
	       channel->eager < channel->eager_max;
}

/* An offer that is not taken costs a short message the time until its answer. After one, so many go at once. */
#define UNOFFERED 32

static bool skip_offer(struct dtconv_channel *channel, size_t bytes)
{
	if (!channel->unoffered || bytes > channel->eager_bytes)
		return false;
	channel->unoffered--;
	return true;
}

/* Offer a message to be copied by the receiver, and tell the length of the offer. 0: it goes through fragments. */
static uint32_t offer(struct dtconv_channel *channel, const struct dtc_message *message)
{
	char text[DTC_OFFER_TEXT];
	const char *why = "the peer does not copy messages itself";
	uint32_t length;

	if (!channel->direct || !message->bytes || skip_offer(channel, message->bytes))
		return 0;
	void *room = channel->transport->offer_room(channel->connection, message->slot);
	if (room && dtc_offer_write(&message->convertor, room, &length, text, &why))
		return length;
	DTC_LOG(channel->context, DTCONV_LOG_DEBUG,
		"channel: a message of %zu bytes with tag %" PRIu64
		" goes through staging memory: %s",
		message->bytes, message->tag, why);
	return 0;
}

/* Also one that cannot be sent: its receive is told so when it answers, and does not take the next message for it. */
static void announce(struct dtconv_channel *channel, struct dtc_message *message)
{
	message->slot = channel->free_slots[--channel->free_count];
	channel->sending[message->slot] = message;
	const uint32_t offered = offer(channel, message);
	message->is_offered = offered;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_MESSAGE,
						.slot = message->slot,
						.tag = message->tag,
						.hash = message->hash,
						.length = message->bytes,
						.offer = offered };
	(void)channel->transport->post(channel->connection, &header, NULL);
	if (offered || !may_be_eager(channel, message))
		return;
	message->status = start_send(message);
	message->is_eager = message->is_started;
	channel->eager += message->is_eager;
}

void dtc_channel_announce(struct dtconv_channel *channel)
{
	if (atomic_load(&channel->state) != DTCONV_CHANNEL_OPEN)
		return;
	while (channel->queued.first && channel->free_count)
		announce(channel, dtc_messages_take_first(&channel->queued));
}

static void refuse(struct dtc_message *message, int status)
{
	message->is_refused = true;
	if (!message->status)
		message->status = DTC_FAIL(
			message->channel->context, status,
			"channel: the receiver refuses a message of %zu bytes with tag "
			"%" PRIu64 ": %s",
			message->bytes, message->tag, dtconv_strerror(status));
	if (message->is_started && !message->is_ended)
		(void)dtconv_send_cancel(message->send);
}

bool dtc_channel_take_answer(struct dtconv_channel *channel,
			     const struct dtc_wire_header *header)
{
	struct dtc_message *message = channel->sending[header->slot];

	if (!message || message->is_answered)
		return false;
	message->is_answered = true;
	channel->eager -= message->is_eager;
	if (message->is_offered && header->kind == DTC_WIRE_GO)
		channel->unoffered = UNOFFERED;
	if (header->kind == DTC_WIRE_REFUSE)
		refuse(message, header->status);
	else if (message->bytes && !message->is_started && !message->status)
		message->status = start_send(message);
	settle(message);
	return true;
}

bool dtc_channel_take_taken(struct dtconv_channel *channel,
			    const struct dtc_wire_header *header)
{
	struct dtc_message *message = channel->sending[header->slot];

	if (!message || message->is_answered || !message->is_offered)
		return false;
	message->is_answered = true;
	message->is_taken = true;
	if (header->status) {
		message->status = DTC_FAIL(
			channel->context, header->status,
			"channel: the receiver could not copy a message of %zu bytes with "
			"tag %" PRIu64 ": %s",
			message->bytes, message->tag, dtconv_strerror(header->status));
	} else {
		message->moved = message->bytes;
		atomic_fetch_add(&channel->sent_direct, 1);
	}
	settle(message);
	return true;
}

/* All fragments of it were taken: then the flow ends with what became of them. */
void dtc_message_lose_sent(struct dtc_message *message, int status)
{
	const bool is_handed_over = message->is_answered &&
				    message->posted == message->bytes;

	if (!is_handed_over && !message->status)
		message->status = status;
	message->is_answered = true;
	if (!is_handed_over && message->is_started && !message->is_ended)
		(void)dtconv_send_cancel(message->send);
	settle(message);
}

void dtc_channel_handle_send(struct dtc_item *item)
{
	struct dtc_message *message = (struct dtc_message *)item;
	struct dtconv_channel *channel = message->channel;

	if (dtc_channel_is_over(channel)) {
		dtc_message_finish(message, atomic_load(&channel->status));
		return;
	}
	dtc_messages_append(&channel->queued, message);
	dtc_channel_announce(channel);
}
