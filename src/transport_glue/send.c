/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends. A fragment is filled by a flight, waits until the network takes it, is out until the network reports it
 * sent, and goes back to the pool. After the first failure nothing new starts; the send ends when all are back.
 */
#include "config.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "convertor/convertor.h"
#include "engine.h"
#include "pool.h"
#include "slab.h"
#include "window.h"

#define CUT_UNIT 128

struct dtconv_send {
	struct dtc_operation operation; /* first: it is the send */
	struct dtc_pool_waiter waiter;
	struct dtconv_pool *pool;
	dtconv_emit_fn emit;
	size_t fragment_bytes;
	size_t device_bytes; /* of a message whose copies are a device's */
	size_t cut;          /* what inner fragments are a multiple of */
	size_t launched; /* bytes of the stream that flights fill or have filled */
	unsigned depth;
	unsigned out; /* fragments that the network has */
	unsigned ready_count;
	bool is_ordered;
	bool is_refused; /* the first one that is ready */
	struct dtconv_fragment *ready, **ready_end;
	struct dtc_window window;
};

static struct dtconv_send *send_of(struct dtc_operation *operation)
{
	return (struct dtconv_send *)operation;
}

_Static_assert(offsetof(struct dtconv_send, operation) == 0, "an operation is its send");

/* ---- ready ----------------------------------------------------------------------------- */

static void append_ready(struct dtconv_send *send, struct dtconv_fragment *fragment)
{
	fragment->following = NULL;
	*send->ready_end = fragment;
	send->ready_end = &fragment->following;
	send->ready_count++;
}

static struct dtconv_fragment *take_ready(struct dtconv_send *send)
{
	struct dtconv_fragment *fragment = send->ready;

	send->ready = fragment->following;
	if (!send->ready)
		send->ready_end = &send->ready;
	send->ready_count--;
	return fragment;
}

static unsigned flags_of(const struct dtconv_send *send,
			 const struct dtconv_fragment *fragment)
{
	const bool is_last = fragment->offset + fragment->bytes == send->operation.bytes;

	return (fragment->offset ? 0 : DTCONV_EMIT_FIRST) |
	       (is_last ? DTCONV_EMIT_LAST : 0);
}

/*
 * Offer the first fragment that is ready. It counts as out during the call, because the network may report it sent
 * before the call returns. One that is reported although it was not taken counts as taken.
 */
static void offer(struct dtconv_send *send, struct dtc_work *work)
{
	struct dtc_operation *operation = &send->operation;
	struct dtconv_fragment *fragment = send->ready;

	atomic_store_explicit(&fragment->state, DTC_FRAGMENT_OUT, memory_order_release);
	work->budget--;
	int status = send->emit(operation->arg, fragment, fragment->offset,
				fragment->bytes, flags_of(send, fragment));
	if (!status ||
	    !dtc_fragment_turn(fragment, DTC_FRAGMENT_OUT, DTC_FRAGMENT_KEPT)) {
		(void)take_ready(send);
		send->out++;
		work->done++;
		status = status == DTCONV_ERR_AGAIN ? 0 : status;
	}
	send->is_refused = status == DTCONV_ERR_AGAIN;
	if (status && !send->is_refused)
		dtc_operation_fail(operation, status < 0 ? status : DTCONV_ERR_INVAL);
}

static void offer_all(struct dtconv_send *send, struct dtc_work *work)
{
	while (send->ready && work->budget && !send->operation.status &&
	       !send->is_refused)
		offer(send, work);
}

/* ---- sent ------------------------------------------------------------------------------ */

static void handle_sent(struct dtc_item *item)
{
	struct dtconv_fragment *fragment =
		(struct dtconv_fragment *)((char *)item -
					   offsetof(struct dtconv_fragment, item));
	struct dtconv_send *send = fragment->owner;
	struct dtc_operation *operation = &send->operation;
	const int status = fragment->status;

	send->out--;
	if (status)
		dtc_operation_fail(operation, status < 0 ? status : DTCONV_ERR_INVAL);
	else
		operation->moved += fragment->bytes;
	dtc_pool_return(fragment, DTC_FRAGMENT_SENT, false);
	dtc_operation_activate(operation);
}

void dtconv_fragment_sent(struct dtconv_fragment *fragment, int status)
{
	if (!fragment)
		return;
	if (!dtc_fragment_turn(fragment, DTC_FRAGMENT_OUT, DTC_FRAGMENT_SENT)) {
		DTC_LOG(fragment->slab->plan->context, DTCONV_LOG_ERROR,
			"%s: fragment %u is not with the network: it was reported before, or emit "
			"has not taken it",
			__func__, fragment->index);
		return;
	}
	struct dtconv_send *send = fragment->owner;
	fragment->status = status;
	dtc_engine_post(send->operation.engine, &fragment->item);
}

/* ---- flights --------------------------------------------------------------------------- */

/* Whether flights have ended. */
static bool land(struct dtconv_send *send, struct dtc_work *work)
{
	const size_t done = work->done;
	struct dtc_slot *slot;
	int status;

	while ((slot = dtc_window_land(&send->window, !send->is_ordered, &status))) {
		struct dtconv_fragment *fragment = slot->cargo;

		work->done++;
		if (status) {
			dtc_operation_fail(&send->operation, status);
			dtc_pool_return(fragment, DTC_FRAGMENT_KEPT, true);
			continue;
		}
		fragment->bytes = slot->flight.moved;
		append_ready(send, fragment);
	}
	return work->done != done;
}

static void prepare(struct dtconv_send *send, struct dtconv_fragment *fragment)
{
	fragment->item.handle = handle_sent;
	fragment->owner = send;
	fragment->offset = send->launched;
}

/* Copies in flight are a device's: so is the rest of the message. */
static size_t next_bytes(struct dtconv_send *send)
{
	if (send->window.in_flight)
		send->fragment_bytes = send->device_bytes;
	return DTC_MIN(send->fragment_bytes, send->operation.bytes - send->launched);
}

enum launch { LAUNCHED, NO_FRAGMENT, NO_RESOURCE };

static enum launch launch(struct dtconv_send *send)
{
	struct dtc_operation *operation = &send->operation;
	const size_t bytes = next_bytes(send);
	struct dtconv_fragment *fragment;

	if (!dtc_pool_take(send->pool, &send->waiter, &fragment))
		return NO_FRAGMENT;
	prepare(send, fragment);
	DTC_LOG(operation->context, DTCONV_LOG_TRACE,
		"dtconv_send_start: copies %zu bytes at offset %zu", bytes,
		send->launched);
	int status = dtc_window_launch(&send->window, operation->convertor,
				       send->launched, fragment->address, bytes, fragment,
				       "dtconv_send_start");
	if (!status) {
		send->launched += bytes;
		return LAUNCHED;
	}
	if (status != DTCONV_ERR_AGAIN)
		dtc_operation_fail(operation, status);
	dtc_pool_return(fragment, DTC_FRAGMENT_KEPT, status != DTCONV_ERR_AGAIN);
	return NO_RESOURCE;
}

static bool is_open(const struct dtconv_send *send)
{
	return !send->operation.status && send->launched < send->operation.bytes &&
	       send->window.in_flight + send->ready_count + send->out < send->depth;
}

/* ---- steps ----------------------------------------------------------------------------- */

static enum dtc_need drain(struct dtconv_send *send)
{
	dtc_pool_leave(send->pool, &send->waiter);
	while (send->ready)
		dtc_pool_return(take_ready(send), DTC_FRAGMENT_KEPT, false);
	if (send->window.in_flight)
		return DTC_NEED_FLIGHT;
	return send->out ? DTC_NEED_NOTHING : DTC_NEED_RETIRE;
}

static enum dtc_need need_of(const struct dtconv_send *send, enum launch last)
{
	if (is_open(send) && last == LAUNCHED)
		return DTC_NEED_MORE;
	if (last == NO_RESOURCE)
		return DTC_NEED_POLL;
	if (send->window.in_flight)
		return DTC_NEED_FLIGHT;
	if (send->ready)
		return send->is_refused ? DTC_NEED_OFFER : DTC_NEED_MORE;
	return send->out || last == NO_FRAGMENT ? DTC_NEED_NOTHING : DTC_NEED_RETIRE;
}

/*
 * A device gets all flights that the window allows. On the host a flight ends at once: then the other operations and
 * the network have their turn before the next, while the fragment is still in the cache.
 */
static enum dtc_need step(struct dtc_operation *operation, struct dtc_work *work)
{
	struct dtconv_send *send = send_of(operation);
	enum launch last = LAUNCHED;
	bool has_ended = false;

	send->is_refused = false;
	(void)land(send, work);
	offer_all(send, work);
	while (is_open(send) && work->budget && last == LAUNCHED && !has_ended) {
		last = launch(send);
		has_ended = land(send, work);
		offer_all(send, work);
	}
	if (operation->status)
		return drain(send);
	return need_of(send, last);
}

static bool has_landed(struct dtc_operation *operation)
{
	return dtc_window_has_landed(&send_of(operation)->window);
}

static bool set_alarm(const struct dtc_operation *operation,
		      const struct dtc_alarm *alarm)
{
	return dtc_window_set_alarm(&((const struct dtconv_send *)operation)->window,
				    alarm);
}

static const struct dtc_operation_ops send_ops = { .step = step,
						   .has_landed = has_landed,
						   .set_alarm = set_alarm };

/* A fragment may be free. Called under the pool's lock. */
static void wake(struct dtc_pool_waiter *waiter)
{
	struct dtconv_send *send =
		(struct dtconv_send *)((char *)waiter -
				       offsetof(struct dtconv_send, waiter));

	(void)dtc_operation_post(&send->operation);
}

/* ---- starting -------------------------------------------------------------------------- */

/* Those of a shorter structure, the others 0. */
static const struct dtconv_send_params *extend_params(
	const struct dtconv_send_params *given, struct dtconv_send_params *room)
{
	*room = (struct dtconv_send_params){ .struct_size = sizeof(*room) };
	memcpy(room, given, given->struct_size);
	return room;
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_send_params *params, const char *caller)
{
	if (!params->pool || !params->emit)
		return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: params.%s is NULL",
				caller, params->pool ? "emit" : "pool");
	if (params->flags & ~(unsigned)DTCONV_SEND_ORDERED)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->depth > DTC_WINDOW_MAX)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.depth is %u, the most is %d", caller,
				params->depth, DTC_WINDOW_MAX);
	return 0;
}

static int check_objects(struct dtconv_context *context, const struct dtconv_pool *pool,
			 const struct dtconv_convertor *convertor, const char *caller)
{
	if (dtc_pool_context(pool) != context || convertor->type->context != context)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: the engine, the pool and the convertor (argument 3) belong to "
			"different contexts",
			caller);
	if (convertor->direction != DTC_PACK)
		return DTC_FAIL(context, DTCONV_ERR_STATE,
				"%s: the convertor (argument 3) unpacks", caller);
	return dtc_convertor_check_idle(convertor, caller);
}

/* The largest integer whose square is at most @number, but at least 1. */
static size_t root_of(size_t number)
{
	size_t root = 1;

	while ((root + 1) * (root + 1) <= number)
		root++;
	return root;
}

/* A link between devices is so many times as fast as the bus. */
#define LINK_RATE 8

/*
 * The copy of a fragment takes a device microseconds besides its bytes, in which the bus moves about @fragment_bytes;
 * the copies at the two ends overlap but for one fragment. So equal fragments are best, whose length is the root of
 * the product of the message's and of what moves in that time.
 */
static size_t plan_device_bytes(const struct dtconv_send *send,
				const struct dtconv_pool *pool, size_t bytes)
{
	const size_t room = dtc_pool_fragment_bytes(pool);
	const bool by_link = dtc_pool_kind(pool) == DTCONV_MEMORY_DEVICE;
	const size_t gap = send->fragment_bytes * (by_link ? LINK_RATE : 1);
	const size_t each = (size_t)dtc_divide_up(bytes, root_of(bytes / gap));
	const size_t cut = (size_t)dtc_divide_up(each, send->cut) * send->cut;

	return DTC_MAX(DTC_MIN(cut, room - room % send->cut), send->fragment_bytes);
}

/* Otherwise the first copy in flight tells. */
static bool is_known_to_be_of_device(const struct dtconv_pool *pool,
				     const struct dtconv_convertor *convertor)
{
	return convertor->placement.user == DTCONV_MEMORY_DEVICE ||
	       dtc_pool_kind(pool) == DTCONV_MEMORY_DEVICE;
}

/*
 * Cuts between words, and between the units of a stream that is converted, where fragments are long enough. A message
 * of one fragment is not cut.
 */
static void plan_cuts(struct dtconv_send *send, const struct dtconv_send_params *params,
		      const struct dtconv_convertor *convertor)
{
	const size_t bytes = dtc_convertor_size(convertor);
	const size_t room = dtc_pool_fragment_bytes(params->pool);
	const uint64_t tuned = convertor->type->context->tuning.fragment_bytes;
	const uint64_t asked = params->fragment_bytes ? params->fragment_bytes : tuned;
	const size_t most = (size_t)DTC_MIN(asked, (uint64_t)room);

	send->cut = 1;
	send->fragment_bytes = send->device_bytes = most;
	if (bytes <= most)
		return;
	const size_t unit = dtc_flight_granularity(convertor);
	if (unit < most / CUT_UNIT)
		send->cut = unit * CUT_UNIT;
	else if (unit < most)
		send->cut = unit;
	send->fragment_bytes -= most % send->cut;
	send->device_bytes = params->fragment_bytes
				     ? send->fragment_bytes
				     : plan_device_bytes(send, params->pool, bytes);
	if (is_known_to_be_of_device(params->pool, convertor))
		send->fragment_bytes = send->device_bytes;
}

static int take_send(struct dtconv_context *context, struct dtconv_send *recycled,
		     const char *caller, struct dtconv_send **send)
{
	if (recycled && dtc_operation_is_live(&recycled->operation))
		return DTC_FAIL(context, DTCONV_ERR_STATE,
				"%s: the send (argument 4) is not done", caller);
	if (recycled && recycled->operation.context != context)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: the send (argument 4) is one of another context",
				caller);
	*send = recycled ? recycled : dtc_alloc_zeroed(context, sizeof(**send));
	if (!*send)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM, "%s: cannot allocate a send",
				caller);
	/* That of one that is done is empty. */
	if (!recycled)
		dtc_window_clear(&(*send)->window);
	return 0;
}

int dtconv_send_start(struct dtconv_engine *engine,
		      const struct dtconv_send_params *given,
		      struct dtconv_convertor *convertor, struct dtconv_send **made)
{
	struct dtconv_send_params room;
	struct dtconv_send *send;

	if (!engine || !given || !convertor || !made)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = dtc_engine_context(engine);
	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "params",
					    "dtconv_send_params");
	const struct dtconv_send_params *params =
		given->struct_size < sizeof(room) ? extend_params(given, &room) : given;
	int status = check_params(context, params, __func__);
	if (!status)
		status = check_objects(context, params->pool, convertor, __func__);
	if (!status)
		status = take_send(context, *made, __func__, &send);
	if (status)
		return status;
	struct dtc_operation *operation = &send->operation;
	operation->ops = &send_ops;
	operation->engine = engine;
	operation->context = context;
	operation->convertor = convertor;
	operation->bytes = dtc_convertor_size(convertor);
	operation->done = params->done;
	operation->arg = params->arg;
	send->waiter.wake = wake;
	send->pool = params->pool;
	send->emit = params->emit;
	plan_cuts(send, params, convertor);
	send->depth = params->depth ? params->depth
				    : (unsigned)context->tuning.fragment_depth;
	send->is_ordered = params->flags & DTCONV_SEND_ORDERED;
	send->launched = 0;
	send->out = send->ready_count = 0;
	send->ready = NULL;
	send->ready_end = &send->ready;
	*made = send;
	dtc_operation_start(operation, params->timeout_ms);
	return 0;
}

int dtconv_send_cancel(struct dtconv_send *send)
{
	if (!send)
		return DTCONV_ERR_INVAL;
	/* No error text: the caller cannot know. */
	return dtc_operation_ask(&send->operation, DTCONV_ERR_CANCELED)
		       ? 0
		       : DTCONV_ERR_STATE;
}

int dtconv_send_destroy(struct dtconv_send *send)
{
	if (!send)
		return 0;
	if (dtc_operation_is_live(&send->operation))
		return DTC_FAIL(send->operation.context, DTCONV_ERR_STATE,
				"%s: the send is not done", __func__);
	dtc_free(send->operation.context, send);
	return 0;
}
