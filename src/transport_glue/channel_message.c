/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a channel: the two calls that begin one, and how it is finished.
 */
#include "config.h"

#include "channel.h"

#include "base/base.h"
#include "base/log.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "engine.h"

_Static_assert(offsetof(struct dtc_message, item) == 0, "an item is its message");

/* ---- finishing ------------------------------------------------------------------------- */

bool dtc_channel_is_over(const struct dtconv_channel *channel)
{
	return atomic_load(&channel->state) == DTCONV_CHANNEL_ENDED;
}

void dtc_message_finish(struct dtc_message *message, int status)
{
	if (!message->status)
		message->status = status;
	dtc_messages_append(&message->channel->finished, message);
}

void dtc_message_free(struct dtc_message *message)
{
	struct dtconv_context *context = message->channel->context;

	if (message->convertor.type)
		dtconv_convertor_destroy(&message->convertor);
	dtc_free(context, message);
}

size_t dtc_channel_run_finished(struct dtconv_channel *channel)
{
	size_t count = 0;

	for (; channel->finished.first; count++) {
		struct dtc_message *message = dtc_messages_take_first(&channel->finished);
		const dtconv_done_fn done = message->done;
		void *arg = message->arg;
		const int status = message->status;
		const size_t moved = message->moved;

		dtc_message_free(message);
		atomic_fetch_sub(&channel->operations, 1);
		if (done)
			done(arg, status, moved);
	}
	return count;
}

void dtc_channel_post(struct dtconv_channel *channel, enum dtc_wire_kind kind,
		      uint32_t slot, int status)
{
	const struct dtc_wire_header header = { .kind = kind,
						.slot = slot,
						.status = status };

	/* Fails only if the connection has ended. */
	(void)channel->transport->post(channel->connection, &header, NULL);
}

/* ---- the calls ------------------------------------------------------------------------- */

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

	if (dtc_channel_is_over(channel))
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
	message->item.handle = call->direction == DTC_PACK ? dtc_channel_handle_send
							   : dtc_channel_handle_recv;
	int status = init_convertor(message, call);
	if (status) {
		dtc_message_free(message);
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
