/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of messages out of the sender's memory: whether one is possible, which is decided from a private copy of the
 * offer, and its way through the engine. Runs in the thread that makes progress.
 */
#include "config.h"

#include "direct.h"

#include <inttypes.h>
#include <string.h>

#include <dtconv/ipc.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "channel.h"
#include "convertor/copier.h"
#include "copy_backends/memory/classify.h"
#include "engine.h"
#include "ipc_cache.h"
#include "offer.h"

/* Copies of a channel that are in flight at a time. Each has work of the device of its own, so more gain nothing. */
#define MOST 16

/* Types of the peer's that are kept, so that a layout which comes again is neither read nor committed again. */
#define TYPES 8

struct known_type {
	struct dtconv_type *type; /* NULL: none */
	unsigned char *bytes;     /* serialised */
	size_t length;
	uint64_t used; /* a number that grows with each use */
};

struct dtc_direct_state {
	unsigned in_flight;
	uint64_t uses;
	struct known_type types[TYPES];
	unsigned char offer[DTC_WIRE_OFFER_BYTES]; /* the private copy of one */
};

struct dtc_direct {
	struct dtc_operation operation; /* first: it is the copy */
	struct dtc_message *message;
	struct dtconv_copier *copier;
	void *memory; /* the sender's, open */
	bool is_launched, is_refused, is_ended;
};

_Static_assert(offsetof(struct dtc_direct, operation) == 0, "an operation is its copy");

static struct dtc_direct_state *state_of(const struct dtc_direct *direct)
{
	return direct->message->channel->direct;
}

/* ---- what a channel keeps -------------------------------------------------------------- */

int dtc_direct_create(struct dtconv_context *context, const char *caller,
		      struct dtc_direct_state **state)
{
	*state = dtc_alloc_zeroed(context, sizeof(**state));
	return *state ? 0
		      : DTC_FAIL(context, DTCONV_ERR_NOMEM,
				 "%s: cannot allocate what direct messages need", caller);
}

static void forget(struct dtconv_context *context, struct known_type *known)
{
	dtconv_type_unref(known->type);
	dtc_free(context, known->bytes);
	*known = (struct known_type){ .type = NULL };
}

void dtc_direct_destroy(struct dtconv_context *context, struct dtc_direct_state *state)
{
	for (int i = 0; state && i < TYPES; i++)
		forget(context, &state->types[i]);
	dtc_free(context, state);
}

/* That type, or the place of the one that was used the longest time ago. */
static struct known_type *find_known(struct dtc_direct_state *state,
				     const struct dtc_offer *offer)
{
	struct known_type *oldest = &state->types[0];

	for (int i = 0; i < TYPES; i++) {
		struct known_type *known = &state->types[i];

		if (known->type && known->length == offer->type_bytes &&
		    !memcmp(known->bytes, offer->type, offer->type_bytes))
			return known;
		if (known->used < oldest->used)
			oldest = known;
	}
	if (oldest->type)
		forget(oldest->type->context, oldest);
	return oldest;
}

static int read_type(struct dtconv_context *context, const struct dtc_offer *offer,
		     struct known_type *known)
{
	int status = dtconv_type_deserialise(context, offer->type, offer->type_bytes,
					     &known->type);

	if (status)
		return status;
	known->bytes = dtc_alloc(context, offer->type_bytes);
	known->length = offer->type_bytes;
	status = known->bytes
			 ? dtconv_type_commit(known->type)
			 : DTC_FAIL(context, DTCONV_ERR_NOMEM,
				    "channel: cannot allocate the type of an offered "
				    "message");
	if (status)
		forget(context, known);
	else
		memcpy(known->bytes, offer->type, known->length);
	return status;
}

/* The type of an offer, which the state keeps. NULL: it cannot be made, and there is an error text. */
static struct dtconv_type *type_of(struct dtconv_context *context,
				   struct dtc_direct_state *state,
				   const struct dtc_offer *offer)
{
	struct known_type *known = find_known(state, offer);

	if (!known->type && read_type(context, offer, known))
		return NULL;
	known->used = ++state->uses;
	return known->type;
}

/* ---- whether to copy ------------------------------------------------------------------- */

/* A message and its receive. */
struct match {
	struct dtconv_channel *channel;
	const struct dtc_place *place;
	struct dtc_message *message;
	struct dtc_offer offer;
	struct dtconv_type *type; /* of the offer */
	int device;               /* of the receive's buffer */
	char text[DTC_OFFER_TEXT];
};

static const char *take_error(struct match *match)
{
	(void)dtconv_context_error(match->channel->context, match->text,
				   sizeof(match->text));
	return match->text;
}

/* Read and check the offer. The peer may write to it, so it is copied first. @why: it is not broken, but of no use. */
static const char *read_offer(struct match *match, const char **why)
{
	struct dtconv_channel *channel = match->channel;
	const struct dtc_place *place = match->place;
	struct dtc_direct_state *state = channel->direct;

	memcpy(state->offer,
	       channel->transport->offer_of(channel->connection,
					    (uint32_t)(place - channel->places)),
	       place->offer);
	const char *wrong = dtc_offer_read(state->offer, place->offer, &match->offer);
	if (wrong)
		return wrong;
	match->type = type_of(channel->context, state, &match->offer);
	if (match->type)
		return dtc_offer_check(&match->offer, match->type, place->bytes,
				       place->hash);
	*why = take_error(match);
	return NULL;
}

/* All bytes of the message go to memory of one device. */
static const char *find_device(struct match *match)
{
	const struct dtconv_convertor *convertor = &match->message->convertor;
	const struct dtc_user_buffer buffer = { &convertor->cursor,
						&convertor->type->bounds,
						convertor->user };
	struct dtc_memory memory;
	const uint64_t bytes = match->place->bytes;

	if (dtc_classify_stream(match->channel->context, &buffer, bytes, &memory) < bytes)
		return "the receive's buffer is memory of several kinds";
	if (memory.kind != DTCONV_MEMORY_DEVICE || memory.device < 0)
		return "the receive's buffer is not device memory";
	match->device = memory.device;
	return NULL;
}

/*
 * A handle of this process would open any memory of it that the peer can name, so there are no offers inside of a
 * process: the driver cannot protect a process from itself.
 */
static const char *check_owner(struct match *match)
{
	struct dtc_ipc_cache *cache;

	if (dtc_ipc_cache_of(match->channel->context, "channel", &cache))
		return take_error(match);
	if (dtc_process_equal(&match->offer.memory.owner, dtc_ipc_cache_process(cache)))
		return "the message is in memory of the receiver's own process";
	return NULL;
}

/*
 * A copy in two steps would block progress; fragments do the same steps in flight. Here is the reason; a launch that is
 * not possible for another one is found when it is tried.
 */
static const char *check_way(struct match *match)
{
	const struct dtconv_convertor *convertor = &match->message->convertor;
	struct dtconv_copy_explanation e = { .struct_size = sizeof(e) };

	if (dtconv_explain_copy_way(match->type, (size_t)match->offer.count,
				    DTCONV_MEMORY_DEVICE, convertor->type,
				    convertor->count, DTCONV_MEMORY_DEVICE, &e))
		return take_error(match);
	if (e.way == DTCONV_COPY_SCRATCH || e.way == DTCONV_COPY_BUFFER)
		return e.reason;
	return NULL;
}

/* Map the sender's memory and make what copies out of it. */
static const char *open_memory(struct match *match, struct dtc_direct *direct)
{
	struct dtconv_context *context = match->channel->context;
	const struct dtconv_convertor *convertor = &match->message->convertor;
	struct dtconv_ipc_handle handle;

	memcpy(handle.bytes, match->offer.handle, sizeof(handle.bytes));
	if (dtconv_ipc_open(context, &handle, match->device, &direct->memory))
		return take_error(match);
	const void *source = (const void *)((uintptr_t)direct->memory +
					    (uintptr_t)match->offer.origin);
	if (!dtconv_copier_create(match->type, (size_t)match->offer.count, source,
				  convertor->type, convertor->count, convertor->user,
				  NULL, &direct->copier)) {
		dtc_copier_set_one_step(direct->copier);
		return NULL;
	}
	const char *why = take_error(match);
	(void)dtconv_ipc_close(context, direct->memory);
	return why;
}

/* ---- the copy -------------------------------------------------------------------------- */

/* False: nothing is in flight. */
static bool launch(struct dtc_direct *direct)
{
	struct dtc_direct_state *state = state_of(direct);

	direct->is_refused = dtconv_copier_start(direct->copier, NULL, NULL) ||
			     dtc_copier_start_status(direct->copier);
	direct->is_launched = !direct->is_refused;
	state->in_flight += direct->is_launched;
	if (direct->is_refused)
		DTC_LOG(direct->operation.context, DTCONV_LOG_DEBUG,
			"channel: a message of %zu bytes with tag %" PRIu64
			" goes through staging memory: its copy was not started (%s)",
			direct->operation.bytes, direct->message->tag,
			dtconv_strerror(dtc_copier_start_status(direct->copier)));
	return direct->is_launched;
}

/* Nothing of it is in flight. The mapping goes back to the cache. */
static enum dtc_need end(struct dtc_direct *direct, struct dtc_work *work)
{
	direct->is_ended = true;
	dtconv_copier_destroy(direct->copier);
	(void)dtconv_ipc_close(direct->operation.context, direct->memory);
	work->done++;
	return DTC_NEED_RETIRE;
}

static enum dtc_need step(struct dtc_operation *operation, struct dtc_work *work)
{
	struct dtc_direct *direct = (struct dtc_direct *)operation;
	struct dtc_direct_state *state = state_of(direct);
	size_t moved;

	if (direct->is_ended)
		return DTC_NEED_RETIRE;
	if (!direct->is_launched) {
		/* One that is in flight wakes the engine. */
		if (!operation->status && state->in_flight == MOST)
			return DTC_NEED_FLIGHT;
		if (operation->status || !launch(direct))
			return end(direct, work);
	}
	const int status = dtconv_copier_test(direct->copier, &moved);
	if (status == DTCONV_INPROGRESS)
		return DTC_NEED_FLIGHT;
	state->in_flight--;
	operation->moved = moved;
	dtc_operation_fail(operation, status);
	return end(direct, work);
}

static bool has_landed(struct dtc_operation *operation)
{
	struct dtc_direct *direct = (struct dtc_direct *)operation;

	return direct->is_launched ? dtc_copier_has_landed(direct->copier)
				   : state_of(direct)->in_flight < MOST;
}

static bool set_alarm(const struct dtc_operation *operation,
		      const struct dtc_alarm *alarm)
{
	const struct dtc_direct *direct = (const struct dtc_direct *)operation;

	return !direct->is_launched || dtc_copier_set_alarm(direct->copier, alarm);
}

static const struct dtc_operation_ops direct_ops = { .step = step,
						     .has_landed = has_landed,
						     .set_alarm = set_alarm };

/* If the connection was lost meanwhile, it has no place any more. */
static void done(void *arg, int status, size_t moved)
{
	struct dtc_direct *direct = arg;
	struct dtc_message *message = direct->message;
	const bool is_refused = direct->is_refused;

	message->direct = NULL;
	dtc_free(direct->operation.context, direct);
	if (is_refused && !status && message->place)
		dtc_channel_stage(message);
	else
		dtc_channel_end_copy(message, status, moved);
}

static void start(struct match *match, struct dtc_direct *direct)
{
	struct dtc_operation *operation = &direct->operation;

	direct->message = match->message;
	match->message->direct = direct;
	operation->ops = &direct_ops;
	operation->engine = match->channel->engine;
	operation->context = match->channel->context;
	operation->convertor = &match->message->convertor;
	operation->bytes = (size_t)match->place->bytes;
	operation->done = done;
	operation->arg = direct;
	dtc_operation_start(operation, 0);
}

void dtc_direct_fail(struct dtc_direct *direct, int status)
{
	(void)dtc_operation_ask(&direct->operation, status);
}

/* ---- a receive takes a message --------------------------------------------------------- */

/* Why it cannot be copied; NULL: it will be. */
static const char *begin(struct match *match)
{
	const char *why = find_device(match);

	if (!why)
		why = check_owner(match);
	if (!why)
		why = check_way(match);
	if (why)
		return why;
	struct dtc_direct *direct =
		dtc_alloc_zeroed(match->channel->context, sizeof(*direct));
	if (!direct)
		return "there is no memory for the record of a copy";
	why = open_memory(match, direct);
	if (why)
		dtc_free(match->channel->context, direct);
	else
		start(match, direct);
	return why;
}

enum dtc_direct_answer dtc_direct_begin(struct dtconv_channel *channel,
					const struct dtc_place *place,
					struct dtc_message *message)
{
	struct match match = { .channel = channel, .place = place, .message = message };
	const char *why = NULL;
	const char *wrong = read_offer(&match, &why);

	if (wrong) {
		(void)DTC_FAIL(
			channel->context, DTCONV_ERR_FORMAT,
			"channel: the peer breaks the protocol: the offer of a message "
			"of %" PRIu64 " bytes with tag %" PRIu64 " %s",
			place->bytes, place->tag, wrong);
		return DTC_DIRECT_BROKEN;
	}
	if (!why)
		why = begin(&match);
	DTC_LOG(channel->context, DTCONV_LOG_DEBUG,
		"channel: a message of %" PRIu64 " bytes with tag %" PRIu64 " %s%s",
		place->bytes, place->tag,
		why ? "goes through staging memory: "
		    : "is copied from the sender's memory",
		why ? why : "");
	return why ? DTC_DIRECT_NO : DTC_DIRECT_YES;
}
