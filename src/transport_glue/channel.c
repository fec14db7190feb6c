/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel between its transport and its messages: the upcalls, polling, and the end. Runs in the thread that makes
 * progress.
 */
#include "config.h"

#include "channel.h"

#include <sys/socket.h>

#include "base/base.h"
#include "base/log.h"
#include "engine.h"

_Static_assert(DTCONV_CHANNEL_MESSAGES == DTC_WIRE_SLOTS, "a message is in a slot");

void dtc_channel_init(struct dtconv_channel *channel)
{
	dtc_messages_clear(&channel->queued);
	dtc_messages_clear(&channel->posted);
	dtc_messages_clear(&channel->finished);
	channel->last = &channel->first;
	for (size_t i = DTC_WIRE_SLOTS; i--;)
		channel->free_slots[channel->free_count++] = (uint16_t)i;
}

/* ---- the transport's upcalls ----------------------------------------------------------- */

static bool arrive(void *user, const struct dtc_wire_header *header, const void *bytes,
		   dtconv_release_fn release, void *arg)
{
	struct dtconv_channel *channel = user;

	switch (header->kind) {
	case DTC_WIRE_MESSAGE:
		return dtc_channel_take_message(channel, header);
	case DTC_WIRE_DATA:
		return dtc_channel_take_data(channel, header, bytes, release, arg);
	case DTC_WIRE_END:
		return dtc_channel_take_end(channel, header);
	case DTC_WIRE_GO:
	case DTC_WIRE_REFUSE:
		return dtc_channel_take_answer(channel, header);
	case DTC_WIRE_TAKEN:
		return dtc_channel_take_taken(channel, header);
	case DTC_WIRE_RETURN:
		break;
	}
	return false;
}

static void ready(void *user)
{
	struct dtconv_channel *channel = user;

	atomic_store(&channel->state, DTCONV_CHANNEL_OPEN);
	dtc_channel_announce(channel);
}

static void lost(void *user, int status)
{
	struct dtconv_channel *channel = user;

	atomic_store(&channel->status, status);
	atomic_store(&channel->state, DTCONV_CHANNEL_ENDED);
	while (channel->queued.first)
		dtc_message_finish(dtc_messages_take_first(&channel->queued), status);
	while (channel->posted.first)
		dtc_message_finish(dtc_messages_take_first(&channel->posted), status);
	for (size_t i = 0; i < DTC_WIRE_SLOTS; i++) {
		if (channel->sending[i])
			dtc_message_lose_sent(channel->sending[i], status);
		if (channel->places[i].state != DTC_PLACE_FREE)
			dtc_channel_lose_place(channel, &channel->places[i], status);
	}
}

static void hang_up(struct dtconv_channel *channel, int status)
{
	if (channel->is_started)
		channel->transport->hang_up(channel->connection, status);
	else
		(void)shutdown(channel->socket, SHUT_RDWR);
}

void dtc_channel_end(struct dtconv_channel *channel, int status)
{
	hang_up(channel, status);
	lost(channel, status);
}

void dtc_channel_end_without_fragments(struct dtconv_channel *channel)
{
	struct dtconv_pool_attr pool = { .struct_size = sizeof(pool) };

	if (dtc_channel_is_over(channel) || dtconv_pool_query(channel->pool, &pool) ||
	    pool.abandoned < channel->fragments)
		return;
	const int status =
		DTC_FAIL(channel->context, DTCONV_ERR_BACKEND,
			 "channel: a device context was lost while it wrote to "
			 "each of the %zu staging fragments",
			 channel->fragments);
	dtc_channel_end(channel, status);
}

/* The peer has not shown yet that it knows the secret. */
static size_t poll_gate(struct dtconv_channel *channel)
{
	int status = dtc_channel_is_over(channel)
			     ? DTCONV_INPROGRESS
			     : dtc_gate_step(&channel->gate, channel->socket,
					     &channel->secret);

	if (status == DTCONV_INPROGRESS)
		return 0;
	if (status)
		status =
			DTC_FAIL(channel->context, status,
				 "channel: the process that listens is gone, or does not "
				 "know the secret");
	else
		status = dtc_channel_start(channel, "channel");
	if (status)
		dtc_channel_end(channel, status);
	return 1;
}

size_t dtc_channel_poll(void *arg, size_t budget)
{
	struct dtconv_channel *channel = arg;
	size_t happened = channel->is_started
				  ? channel->transport->poll(channel->connection, budget)
				  : poll_gate(channel);

	return happened + dtc_channel_run_finished(channel);
}

int dtc_channel_arm(void *arg)
{
	struct dtconv_channel *channel = arg;

	if (channel->finished.first)
		return DTCONV_ERR_AGAIN;
	return channel->is_started ? channel->transport->arm(channel->connection) : 0;
}

/* ---- closing --------------------------------------------------------------------------- */

void dtc_channel_drop(struct dtconv_channel *channel)
{
	if (!dtc_channel_is_over(channel))
		dtc_channel_end(channel, DTCONV_ERR_CANCELED);
}

static void handle_closing(struct dtc_item *item)
{
	struct dtconv_channel *channel =
		(struct dtconv_channel *)((char *)item -
					  offsetof(struct dtconv_channel, closing));

	dtc_channel_drop(channel);
	atomic_fetch_sub(&channel->operations, 1);
}

int dtconv_channel_close(struct dtconv_channel *channel)
{
	if (!channel)
		return DTCONV_ERR_INVAL;
	if (atomic_exchange(&channel->is_closing, true))
		return 0;
	channel->closing.handle = handle_closing;
	atomic_fetch_add(&channel->operations, 1);
	dtc_engine_post(channel->engine, &channel->closing);
	return 0;
}

const struct dtc_transport_user dtc_channel_user = { .ready = ready,
						     .arrive = arrive,
						     .lost = lost };
