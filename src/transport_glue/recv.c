/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives. A part that arrives is unpacked as far as it is new: each gap that it fills is a flight. It is released
 * when its flights have ended. After the first failure parts are released as they come; the receive ends when no
 * device reads any more.
 */
#include "config.h"

#include <string.h>

#include "arrived.h"
#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "convertor/convertor.h"
#include "engine.h"
#include "window.h"

/* A part that was delivered. */
struct arrival {
	struct dtc_item item;
	struct dtconv_recv *recv;
	struct arrival *next;
	const char *bytes;
	uint64_t offset, at, end; /* at: everything before has arrived or is in flight */
	unsigned flights;
	bool is_waiting; /* in the receive's list */
	dtconv_release_fn release;
	void *arg;
};

_Static_assert(sizeof(struct arrival) <= DTC_RECORD_BYTES,
	       "an arrival fits into a record");

/* Arrivals in the order in which they came, or in which they are to be released. */
struct arrivals {
	struct arrival *first, **last;
};

struct dtconv_recv {
	struct dtc_operation operation; /* first: it is the receive */
	struct arrivals waiting;        /* have bytes that may be new */
	struct arrivals finished;       /* to be released */
	struct dtc_arrived arrived;
	struct dtc_window window;
};

static struct dtconv_recv *recv_of(struct dtc_operation *operation)
{
	return (struct dtconv_recv *)operation;
}

_Static_assert(offsetof(struct dtconv_recv, operation) == 0,
	       "an operation is its receive");
_Static_assert(offsetof(struct arrival, item) == 0, "an item is its arrival");

static void clear(struct arrivals *arrivals)
{
	arrivals->first = NULL;
	arrivals->last = &arrivals->first;
}

static void append(struct arrivals *arrivals, struct arrival *arrival)
{
	arrival->next = NULL;
	*arrivals->last = arrival;
	arrivals->last = &arrival->next;
}

static struct arrival *take_first(struct arrivals *arrivals)
{
	struct arrival *arrival = arrivals->first;

	arrivals->first = arrival->next;
	if (!arrivals->first)
		arrivals->last = &arrivals->first;
	return arrival;
}

/* ---- flights --------------------------------------------------------------------------- */

static void land(struct dtconv_recv *recv, struct dtc_work *work)
{
	struct dtc_slot *slot;
	int status;

	while ((slot = dtc_window_land(&recv->window, true, &status))) {
		struct arrival *arrival = slot->cargo;

		work->done++;
		recv->operation.moved += slot->flight.moved;
		if (status)
			dtc_operation_fail(&recv->operation, status);
		if (!--arrival->flights && !arrival->is_waiting)
			append(&recv->finished, arrival);
	}
}

/* Unpack one gap that the arrival fills. False if a resource is missing. */
static bool launch(struct dtconv_recv *recv, struct arrival *arrival,
		   const struct dtc_range *gap)
{
	struct dtc_operation *operation = &recv->operation;
	char *bytes = (char *)(uintptr_t)arrival->bytes + (gap->low - arrival->offset);

	DTC_LOG(operation->context, DTCONV_LOG_TRACE,
		"dtconv_recv_deliver: copies %zu bytes at offset %zu",
		(size_t)(gap->high - gap->low), (size_t)gap->low);
	int status = dtc_window_launch(&recv->window, operation->convertor,
				       (size_t)gap->low, bytes,
				       (size_t)(gap->high - gap->low), arrival,
				       "dtconv_recv_deliver");

	if (status == DTCONV_ERR_AGAIN)
		return false;
	arrival->at = gap->high;
	arrival->flights += !status;
	if (status)
		dtc_operation_fail(operation, status);
	else if (!dtc_arrived_add(operation->context, &recv->arrived, gap))
		dtc_operation_fail(operation,
				   DTC_FAIL(operation->context, DTCONV_ERR_NOMEM,
					    "dtconv_recv_deliver: cannot allocate the "
					    "list of what has arrived"));
	return true;
}

enum unpacked { ALL_OF_IT, NO_SLOT, NO_RESOURCE };

static enum unpacked unpack(struct dtconv_recv *recv, struct arrival *arrival)
{
	struct dtc_range gap;

	if (arrival->end > recv->operation.bytes)
		dtc_operation_fail(&recv->operation, DTCONV_ERR_TRUNCATE);
	while (!recv->operation.status &&
	       dtc_arrived_find_gap(&recv->arrived, arrival->at, arrival->end, &gap)) {
		if (!recv->window.free)
			return NO_SLOT;
		if (!launch(recv, arrival, &gap))
			return NO_RESOURCE;
	}
	return ALL_OF_IT;
}

/* ---- releases -------------------------------------------------------------------------- */

/* The record is another's as soon as it is put. */
static void release(struct dtconv_recv *recv, struct arrival *arrival,
		    struct dtc_work *work)
{
	const dtconv_release_fn function = arrival->release;
	void *arg = arrival->arg;
	const int status = arrival->end > recv->operation.bytes ? DTCONV_ERR_TRUNCATE
								: recv->operation.status;

	dtc_engine_put_record(recv->operation.engine, arrival);
	work->done++;
	if (function) {
		work->budget--;
		function(arg, status);
	}
	dtc_operation_uncount_item(&recv->operation);
}

static void release_finished(struct dtconv_recv *recv, struct dtc_work *work)
{
	while (recv->finished.first && work->budget)
		release(recv, take_first(&recv->finished), work);
}

/* ---- steps ----------------------------------------------------------------------------- */

/* Take the next one that waits as far as it goes. False if it has to go on waiting. */
static bool unpack_next(struct dtconv_recv *recv, enum unpacked *last)
{
	struct arrival *arrival = recv->waiting.first;

	*last = unpack(recv, arrival);
	if (*last != ALL_OF_IT)
		return false;
	(void)take_first(&recv->waiting);
	arrival->is_waiting = false;
	if (!arrival->flights)
		append(&recv->finished, arrival);
	return true;
}

static bool is_complete(const struct dtconv_recv *recv)
{
	const struct dtc_operation *operation = &recv->operation;
	struct dtc_range gap;

	return operation->status ||
	       !dtc_arrived_find_gap(&recv->arrived, 0, operation->bytes, &gap);
}

static enum dtc_need need_of(const struct dtconv_recv *recv, enum unpacked last)
{
	if (recv->finished.first || (recv->waiting.first && last == ALL_OF_IT))
		return DTC_NEED_MORE;
	if (recv->waiting.first && last == NO_RESOURCE)
		return DTC_NEED_POLL;
	if (recv->window.in_flight)
		return DTC_NEED_FLIGHT;
	return is_complete(recv) ? DTC_NEED_RETIRE : DTC_NEED_NOTHING;
}

static enum dtc_need step(struct dtc_operation *operation, struct dtc_work *work)
{
	struct dtconv_recv *recv = recv_of(operation);
	enum unpacked last = ALL_OF_IT;

	land(recv, work);
	release_finished(recv, work);
	while (recv->waiting.first && work->budget && unpack_next(recv, &last)) {
		land(recv, work);
		release_finished(recv, work);
	}
	return need_of(recv, last);
}

static bool has_landed(struct dtc_operation *operation)
{
	return dtc_window_has_landed(&recv_of(operation)->window);
}

static bool set_alarm(const struct dtc_operation *operation,
		      const struct dtc_alarm *alarm)
{
	return dtc_window_set_alarm(&((const struct dtconv_recv *)operation)->window,
				    alarm);
}

static const struct dtc_operation_ops recv_ops = { .step = step,
						   .has_landed = has_landed,
						   .set_alarm = set_alarm };

/* ---- deliveries ------------------------------------------------------------------------ */

static void handle_arrival(struct dtc_item *item)
{
	struct arrival *arrival = (struct arrival *)item;
	struct dtconv_recv *recv = arrival->recv;

	append(&recv->waiting, arrival);
	dtc_operation_activate(&recv->operation);
}

int dtconv_recv_deliver(struct dtconv_recv *recv, uint64_t offset, const void *bytes,
			size_t length, dtconv_release_fn release_fn, void *arg)
{
	if (!recv || (length && !bytes))
		return DTCONV_ERR_INVAL;
	struct dtc_operation *operation = &recv->operation;

	/* No error text: a network cannot know whether the receive has been cancelled. */
	if (!dtc_operation_count_item(operation))
		return DTCONV_ERR_STATE;
	struct dtconv_engine *engine = operation->engine;
	struct arrival *arrival = dtc_engine_take_record(engine);
	if (!arrival) {
		int status = DTC_FAIL(operation->context, DTCONV_ERR_NOMEM,
				      "%s: cannot allocate the record of an arrival",
				      __func__);

		dtc_operation_uncount_item(operation);
		(void)dtc_operation_post(operation);
		return status;
	}
	*arrival = (struct arrival){ .item = { .handle = handle_arrival },
				     .recv = recv,
				     .bytes = bytes,
				     .offset = offset,
				     .at = offset,
				     .end = length > UINT64_MAX - offset
						    ? UINT64_MAX
						    : offset + length,
				     .is_waiting = true,
				     .release = release_fn,
				     .arg = arg };
	dtc_engine_post(engine, &arrival->item);
	return 0;
}

/* ---- starting and ending --------------------------------------------------------------- */

/* Those of a shorter structure, the others 0; also if there is none. */
static const struct dtconv_recv_params *extend_params(
	const struct dtconv_recv_params *given, struct dtconv_recv_params *room)
{
	*room = (struct dtconv_recv_params){ .struct_size = sizeof(*room) };
	if (given)
		memcpy(room, given, given->struct_size);
	return room;
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_recv_params *params, const char *caller)
{
	if (params->flags & ~(unsigned)DTCONV_RECV_BYTES)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->bytes && !params->flags)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: params.bytes is set, but params.flags lacks DTCONV_RECV_BYTES",
			caller);
	return 0;
}

static int check_convertor(struct dtconv_context *context,
			   const struct dtconv_convertor *convertor,
			   const struct dtconv_recv_params *params, const char *caller)
{
	if (convertor->type->context != context)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: the engine and the convertor (argument 3) belong to different "
			"contexts",
			caller);
	if (convertor->direction != DTC_UNPACK)
		return DTC_FAIL(context, DTCONV_ERR_STATE,
				"%s: the convertor (argument 3) packs", caller);
	if (params->bytes > dtc_convertor_size(convertor))
		return DTC_FAIL(
			context, DTCONV_ERR_TRUNCATE,
			"%s: params.bytes is %zu, but the convertor (argument 3) takes %zu",
			caller, params->bytes, dtc_convertor_size(convertor));
	return dtc_convertor_check_idle(convertor, caller);
}

static int take_recv(struct dtconv_context *context, struct dtconv_recv *recycled,
		     const char *caller, struct dtconv_recv **recv)
{
	if (recycled && dtc_operation_is_live(&recycled->operation))
		return DTC_FAIL(context, DTCONV_ERR_STATE,
				"%s: the receive (argument 4) is not done", caller);
	if (recycled && recycled->operation.context != context)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: the receive (argument 4) is one of another context",
				caller);
	*recv = recycled ? recycled : dtc_alloc_zeroed(context, sizeof(**recv));
	if (!*recv)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a receive", caller);
	/* That of one that is done is empty. */
	if (!recycled)
		dtc_window_clear(&(*recv)->window);
	return 0;
}

int dtconv_recv_start(struct dtconv_engine *engine,
		      const struct dtconv_recv_params *given,
		      struct dtconv_convertor *convertor, struct dtconv_recv **made)
{
	struct dtconv_recv_params room;
	struct dtconv_recv *recv;

	if (!engine || !convertor || !made)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = dtc_engine_context(engine);
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "params",
					    "dtconv_recv_params");
	const struct dtconv_recv_params *params =
		given && given->struct_size >= sizeof(room) ? given
							    : extend_params(given, &room);
	int status = check_params(context, params, __func__);
	if (!status)
		status = check_convertor(context, convertor, params, __func__);
	if (!status)
		status = take_recv(context, *made, __func__, &recv);
	if (status)
		return status;
	struct dtc_operation *operation = &recv->operation;
	operation->ops = &recv_ops;
	operation->engine = engine;
	operation->context = context;
	operation->convertor = convertor;
	operation->bytes = params->flags & DTCONV_RECV_BYTES
				   ? params->bytes
				   : dtc_convertor_size(convertor);
	operation->done = params->done;
	operation->arg = params->arg;
	clear(&recv->waiting);
	clear(&recv->finished);
	dtc_arrived_clear(&recv->arrived);
	*made = recv;
	dtc_operation_start(operation, params->timeout_ms);
	return 0;
}

int dtconv_recv_fail(struct dtconv_recv *recv, int status)
{
	if (!recv || status >= 0)
		return DTCONV_ERR_INVAL;
	/* No error text: the caller cannot know. */
	return dtc_operation_ask(&recv->operation, status) ? 0 : DTCONV_ERR_STATE;
}

int dtconv_recv_cancel(struct dtconv_recv *recv)
{
	return dtconv_recv_fail(recv, DTCONV_ERR_CANCELED);
}

int dtconv_recv_destroy(struct dtconv_recv *recv)
{
	if (!recv)
		return 0;
	struct dtconv_context *context = recv->operation.context;

	if (dtc_operation_is_live(&recv->operation))
		return DTC_FAIL(context, DTCONV_ERR_STATE, "%s: the receive is not done",
				__func__);
	dtc_arrived_free(context, &recv->arrived);
	dtc_free(context, recv);
	return 0;
}
