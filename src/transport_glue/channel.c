/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a channel: slots, matching by tag, answers, and what happens to them when the connection ends. All of it
 * runs in the thread that makes progress, apart from the two calls that begin a message.
 */
#include "config.h"

#include "channel.h"

#include <inttypes.h>
#include <sys/socket.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "engine.h"

_Static_assert(offsetof(struct dtc_message, item) == 0, "an item is its message");
_Static_assert(DTCONV_CHANNEL_MESSAGES == DTC_WIRE_SLOTS, "a message is in a slot");

/* ---- lists ----------------------------------------------------------------------------- */

static void clear(struct dtc_messages *messages)
{
	messages->first = NULL;
	messages->last = &messages->first;
}

static void append(struct dtc_messages *messages, struct dtc_message *message)
{
	message->next = NULL;
	*messages->last = message;
	messages->last = &message->next;
}

static struct dtc_message *take_at(struct dtc_messages *messages,
				   struct dtc_message **place)
{
	struct dtc_message *message = *place;

	*place = message->next;
	if (messages->last == &message->next)
		messages->last = place;
	return message;
}

static struct dtc_message *take_first(struct dtc_messages *messages)
{
	return take_at(messages, &messages->first);
}

void dtc_channel_init(struct dtconv_channel *channel)
{
	clear(&channel->queued);
	clear(&channel->posted);
	clear(&channel->finished);
	channel->last = &channel->first;
	for (size_t i = DTC_WIRE_SLOTS; i--;)
		channel->free_slots[channel->free_count++] = (uint16_t)i;
}

static bool is_over(const struct dtconv_channel *channel)
{
	return atomic_load(&channel->state) == DTCONV_CHANNEL_ENDED;
}

/* ---- finishing ------------------------------------------------------------------------- */

/* Its callback is called when this thread is where callbacks may be called. */
static void finish(struct dtc_message *message, int status)
{
	if (!message->status)
		message->status = status;
	append(&message->channel->finished, message);
}

static void free_message(struct dtc_message *message)
{
	struct dtconv_context *context = message->channel->context;

	if (message->convertor.type)
		dtconv_convertor_destroy(&message->convertor);
	dtc_free(context, message);
}

static size_t run_finished(struct dtconv_channel *channel)
{
	size_t count = 0;

	for (; channel->finished.first; count++) {
		struct dtc_message *message = take_first(&channel->finished);
		const dtconv_done_fn done = message->done;
		void *arg = message->arg;
		const int status = message->status;
		const size_t moved = message->moved;

		free_message(message);
		atomic_fetch_sub(&channel->operations, 1);
		if (done)
			done(arg, status, moved);
	}
	return count;
}

static void spare_send(struct dtconv_channel *channel, struct dtc_message *message)
{
	if (channel->send_count < DTC_CHANNEL_SPARES)
		channel->sends[channel->send_count++] = message->send;
	else
		(void)dtconv_send_destroy(message->send);
	message->send = NULL;
}

static void spare_recv(struct dtconv_channel *channel, struct dtc_message *message)
{
	if (channel->recv_count < DTC_CHANNEL_SPARES)
		channel->recvs[channel->recv_count++] = message->recv;
	else
		(void)dtconv_recv_destroy(message->recv);
	message->recv = NULL;
}

/* ---- sending --------------------------------------------------------------------------- */

static void announce_queued(struct dtconv_channel *channel);
static void lost(void *user, int status);

static void post(struct dtconv_channel *channel, enum dtc_wire_kind kind, uint32_t slot,
		 int status)
{
	const struct dtc_wire_header header = { .kind = kind,
						.slot = slot,
						.status = status };

	/* Fails only if the connection has ended. */
	(void)channel->transport->post(channel->connection, &header, NULL);
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
	if (message->is_refused || message->posted < message->bytes)
		post(channel, DTC_WIRE_END, message->slot,
		     message->status ? message->status : DTCONV_ERR_CANCELED);
	channel->sending[message->slot] = NULL;
	channel->free_slots[channel->free_count++] = (uint16_t)message->slot;
	if (!message->status)
		atomic_fetch_add(&channel->sent, 1);
	finish(message, 0);
	announce_queued(channel);
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

/* A device context that was lost has taken the last fragment: nothing can be sent any more. */
static void end_without_fragments(struct dtconv_channel *channel)
{
	struct dtconv_pool_attr pool = { .struct_size = sizeof(pool) };

	if (is_over(channel) || dtconv_pool_query(channel->pool, &pool) ||
	    pool.abandoned < channel->fragments)
		return;
	const int status =
		DTC_FAIL(channel->context, DTCONV_ERR_BACKEND,
			 "channel: a device context was lost while it wrote to "
			 "each of the %zu staging fragments",
			 channel->fragments);
	channel->transport->hang_up(channel->connection, status);
	lost(channel, status);
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
		end_without_fragments(channel);
	(void)run_finished(channel);
}

static int start_send(struct dtc_message *message)
{
	struct dtconv_channel *channel = message->channel;
	const struct dtconv_send_params params = { .struct_size = sizeof(params),
						   .pool = channel->pool,
						   .emit = emit,
						   .done = sent,
						   .arg = message,
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

/* Also one that cannot be sent: its receive is told so when it answers, and does not take the next message for it. */
static void announce(struct dtconv_channel *channel, struct dtc_message *message)
{
	message->slot = channel->free_slots[--channel->free_count];
	channel->sending[message->slot] = message;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_MESSAGE,
						.slot = message->slot,
						.tag = message->tag,
						.hash = message->hash,
						.length = message->bytes };
	(void)channel->transport->post(channel->connection, &header, NULL);
	if (!may_be_eager(channel, message))
		return;
	message->status = start_send(message);
	message->is_eager = message->is_started;
	channel->eager += message->is_eager;
}

static void announce_queued(struct dtconv_channel *channel)
{
	if (atomic_load(&channel->state) != DTCONV_CHANNEL_OPEN)
		return;
	while (channel->queued.first && channel->free_count)
		announce(channel, take_first(&channel->queued));
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

static bool take_answer(struct dtconv_channel *channel,
			const struct dtc_wire_header *header)
{
	struct dtc_message *message = channel->sending[header->slot];

	if (!message || message->is_answered)
		return false;
	message->is_answered = true;
	channel->eager -= message->is_eager;
	if (header->kind == DTC_WIRE_REFUSE)
		refuse(message, header->status);
	else if (message->bytes && !message->is_started && !message->status)
		message->status = start_send(message);
	settle(message);
	return true;
}

/* ---- receiving ------------------------------------------------------------------------- */

static void free_place(struct dtc_place *place)
{
	if (place->message)
		place->message->place = NULL;
	place->message = NULL;
	place->state = DTC_PLACE_FREE;
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
	finish(message, status);
	(void)run_finished(channel);
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

static uint32_t slot_of(const struct dtconv_channel *channel,
			const struct dtc_place *place)
{
	return (uint32_t)(place - channel->places);
}

/* A receive takes a message. */
static void match(struct dtconv_channel *channel, struct dtc_place *place,
		  struct dtc_message *message)
{
	int status = check_message(channel, place, message);

	if (!status)
		status = start_recv(channel, place, message);
	place->status = status;
	if (status) {
		place->state = DTC_PLACE_REFUSED;
		post(channel, DTC_WIRE_REFUSE, slot_of(channel, place), status);
		/* The refusal says why; the fragment's return need not. */
		release_held(place, 0);
		finish(message, status);
		return;
	}
	place->state = DTC_PLACE_MATCHED;
	place->message = message;
	message->place = place;
	post(channel, DTC_WIRE_GO, slot_of(channel, place), 0);
	const void *held = place->held;
	place->held = NULL;
	if (held)
		deliver(place, 0, held, place->held_bytes, place->release,
			place->release_arg);
	else if (!place->bytes)
		free_place(place);
}

static bool take_message(struct dtconv_channel *channel,
			 const struct dtc_wire_header *header)
{
	struct dtc_place *place = &channel->places[header->slot];
	struct dtc_message **posted = &channel->posted.first;

	if (place->state != DTC_PLACE_FREE)
		return false;
	*place = (struct dtc_place){ .state = DTC_PLACE_WAITING,
				     .tag = header->tag,
				     .hash = header->hash,
				     .bytes = header->length };
	while (*posted && (*posted)->tag != header->tag)
		posted = &(*posted)->next;
	if (*posted) {
		match(channel, place, take_at(&channel->posted, posted));
		return true;
	}
	*channel->last = place;
	channel->last = &place->next;
	atomic_fetch_add(&channel->waiting, 1);
	return true;
}

/* Of a message that waits there is one fragment, which is all of it. */
static bool hold(struct dtc_place *place, const struct dtc_wire_header *header,
		 const void *bytes, dtconv_release_fn release, void *arg)
{
	if (header->length != place->bytes)
		return false;
	place->held = bytes;
	place->held_bytes = (size_t)header->length;
	place->release = release;
	place->release_arg = arg;
	return true;
}

static bool take_data(struct dtconv_channel *channel,
		      const struct dtc_wire_header *header, const void *bytes,
		      dtconv_release_fn release, void *arg)
{
	struct dtc_place *place = &channel->places[header->slot];

	/* In order and without gaps, so that a message of which all bytes have come is complete. */
	if (place->state == DTC_PLACE_FREE || header->offset != place->arrived ||
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
	(void)dtconv_recv_fail(message->recv, status);
}

/* The sender gives up. */
static bool take_end(struct dtconv_channel *channel, const struct dtc_wire_header *header)
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

/* ---- the transport's upcalls ----------------------------------------------------------- */

static bool arrive(void *user, const struct dtc_wire_header *header, const void *bytes,
		   dtconv_release_fn release, void *arg)
{
	struct dtconv_channel *channel = user;

	switch (header->kind) {
	case DTC_WIRE_MESSAGE:
		return take_message(channel, header);
	case DTC_WIRE_DATA:
		return take_data(channel, header, bytes, release, arg);
	case DTC_WIRE_END:
		return take_end(channel, header);
	case DTC_WIRE_GO:
	case DTC_WIRE_REFUSE:
		return take_answer(channel, header);
	case DTC_WIRE_RETURN:
		break;
	}
	return false;
}

static void ready(void *user)
{
	struct dtconv_channel *channel = user;

	atomic_store(&channel->state, DTCONV_CHANNEL_OPEN);
	announce_queued(channel);
}

/* All fragments of it were taken: then the flow ends with what became of them. */
static void lose_sent(struct dtc_message *message, int status)
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

/* Receives that are not in a place any more have all of their message, so they end by themselves. */
static void lose_place(struct dtconv_channel *channel, struct dtc_place *place,
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

static void lost(void *user, int status)
{
	struct dtconv_channel *channel = user;

	atomic_store(&channel->status, status);
	atomic_store(&channel->state, DTCONV_CHANNEL_ENDED);
	while (channel->queued.first)
		finish(take_first(&channel->queued), status);
	while (channel->posted.first)
		finish(take_first(&channel->posted), status);
	for (size_t i = 0; i < DTC_WIRE_SLOTS; i++) {
		if (channel->sending[i])
			lose_sent(channel->sending[i], status);
		if (channel->places[i].state != DTC_PLACE_FREE)
			lose_place(channel, &channel->places[i], status);
	}
}

static void hang_up(struct dtconv_channel *channel, int status)
{
	if (channel->is_started)
		channel->transport->hang_up(channel->connection, status);
	else
		(void)shutdown(channel->socket, SHUT_RDWR);
}

/* The peer has not shown yet that it knows the secret. */
static size_t poll_gate(struct dtconv_channel *channel)
{
	int status = is_over(channel) ? DTCONV_INPROGRESS
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
	if (status) {
		hang_up(channel, status);
		lost(channel, status);
	}
	return 1;
}

size_t dtc_channel_poll(void *arg, size_t budget)
{
	struct dtconv_channel *channel = arg;
	size_t happened = channel->is_started
				  ? channel->transport->poll(channel->connection, budget)
				  : poll_gate(channel);

	return happened + run_finished(channel);
}

int dtc_channel_arm(void *arg)
{
	struct dtconv_channel *channel = arg;

	if (channel->finished.first)
		return DTCONV_ERR_AGAIN;
	return channel->is_started ? channel->transport->arm(channel->connection) : 0;
}

/* ---- the calls ------------------------------------------------------------------------- */

static void handle_send(struct dtc_item *item)
{
	struct dtc_message *message = (struct dtc_message *)item;
	struct dtconv_channel *channel = message->channel;

	if (is_over(channel)) {
		finish(message, atomic_load(&channel->status));
		return;
	}
	append(&channel->queued, message);
	announce_queued(channel);
}

static void handle_recv(struct dtc_item *item)
{
	struct dtc_message *message = (struct dtc_message *)item;
	struct dtconv_channel *channel = message->channel;
	struct dtc_place *place = channel->first;

	while (place && place->tag != message->tag)
		place = place->next;
	if (is_over(channel)) {
		finish(message, atomic_load(&channel->status));
	} else if (place) {
		stop_waiting(channel, place);
		match(channel, place, message);
	} else {
		append(&channel->posted, message);
	}
}

struct call {
	uint64_t tag;
	struct dtconv_type *type;
	size_t count;
	char *buffer;
	enum dtc_direction direction;
	dtconv_done_fn done;
	void *arg;
	const char *name;
};

static int init_convertor(struct dtc_message *message, const struct call *call)
{
	struct dtconv_context *context = message->channel->context;
	struct dtconv_convertor *convertor = &message->convertor;

	if (call->type->context != context)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: the channel and the type (argument 3) belong to "
				"different contexts",
				call->name);
	int status = dtc_convertor_init(convertor, call->type, call->count, call->buffer,
					call->direction, call->name, "type (argument 3)");
	if (status) {
		convertor->type = NULL;
		return status;
	}
	convertor->in_place = true;
	message->bytes = dtc_convertor_size(convertor);
	if (call->direction == DTC_PACK)
		(void)dtc_signature_hash_start(call->type->signature, call->count,
					       message->bytes, &message->hash);
	return 0;
}

/* Hand a message to the thread that makes progress. */
static int begin(struct dtconv_channel *channel, const struct call *call)
{
	struct dtconv_context *context = channel->context;

	if (is_over(channel))
		return DTC_FAIL(context, atomic_load(&channel->status),
				"%s: the channel has ended: %s", call->name,
				dtconv_strerror(atomic_load(&channel->status)));
	struct dtc_message *message = dtc_alloc_zeroed(context, sizeof(*message));
	if (!message)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a message", call->name);
	message->channel = channel;
	message->tag = call->tag;
	message->done = call->done;
	message->arg = call->arg;
	message->item.handle = call->direction == DTC_PACK ? handle_send : handle_recv;
	int status = init_convertor(message, call);
	if (status) {
		free_message(message);
		return status;
	}
	atomic_fetch_add(&channel->operations, 1);
	dtc_engine_post(channel->engine, &message->item);
	return 0;
}

int dtconv_channel_send(struct dtconv_channel *channel, uint64_t tag,
			struct dtconv_type *type, size_t count, const void *buffer,
			dtconv_done_fn done, void *arg)
{
	if (!channel || !type)
		return DTCONV_ERR_INVAL;
	const struct call call = { .tag = tag,
				   .type = type,
				   .count = count,
				   .buffer = (char *)(uintptr_t)buffer,
				   .direction = DTC_PACK,
				   .done = done,
				   .arg = arg,
				   .name = __func__ };

	return begin(channel, &call);
}

int dtconv_channel_recv(struct dtconv_channel *channel, uint64_t tag,
			struct dtconv_type *type, size_t count, void *buffer,
			dtconv_done_fn done, void *arg)
{
	if (!channel || !type)
		return DTCONV_ERR_INVAL;
	const struct call call = { .tag = tag,
				   .type = type,
				   .count = count,
				   .buffer = buffer,
				   .direction = DTC_UNPACK,
				   .done = done,
				   .arg = arg,
				   .name = __func__ };

	return begin(channel, &call);
}

/* ---- closing --------------------------------------------------------------------------- */

void dtc_channel_drop(struct dtconv_channel *channel)
{
	if (is_over(channel))
		return;
	hang_up(channel, DTCONV_ERR_CANCELED);
	lost(channel, DTCONV_ERR_CANCELED);
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
