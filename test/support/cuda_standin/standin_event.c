/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events. Each record makes a ticket. A waiter keeps the ticket of the record that it has seen,
 * so a later record does not affect it.
 */
#include <stdlib.h>

#include "support/cuda_standin/standin_internal.h"

#define EVENT_FLAGS \
	(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

static struct standin_ticket *ticket_create(void)
{
	struct standin_ticket *ticket = calloc(1, sizeof *ticket);
	if (!ticket)
		standin_crash("calloc", "the host has no memory");
	ticket->references = 1;
	return ticket;
}

void standin_ticket_put(struct standin_ticket *ticket)
{
	if (ticket && !--ticket->references)
		free(ticket);
}

static struct standin_ticket **ticket_of(struct standin_op *op)
{
	return (struct standin_ticket **)op->payload;
}

static void drop_ticket(struct standin_op *op)
{
	standin_ticket_put(*ticket_of(op));
}

static struct standin_op *ticket_op(struct standin_ticket *ticket,
				    void (*run)(struct standin_op *op))
{
	struct standin_op *op = standin_op(&ticket, sizeof ticket, run);
	op->drop = drop_ticket;
	ticket->references++;
	return op;
}

static void run_record(struct standin_op *op)
{
	(*ticket_of(op))->time_ns = standin_now_ns();
	(*ticket_of(op))->done = true;
}

static bool wait_is_over(struct standin_op *op)
{
	return (*ticket_of(op))->done;
}

static void run_wait(struct standin_op *op)
{
	(void)op;
}

/* Calls on events survive their context; they say so. */
CUresult standin_event_of(CUevent event)
{
	if (!event || event->object.kind != OBJECT_EVENT)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event->context->active || event->context_id != event->context->id)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	standin_insist(event, OBJECT_EVENT, "an event's handle");
	return event->context->error;
}

ENTRY(cuEventCreate, NEEDS_CONTEXT, (CUevent * event, unsigned flags), (event, flags))
{
	if (!event || flags & ~(unsigned)EVENT_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	CUevent created = standin_object(OBJECT_EVENT, sizeof *created, true);
	created->context = standin_current();
	created->context_id = created->context->id;
	created->flags = flags;
	*event = created;
	return CUDA_SUCCESS;
}

static void forget_capture(CUevent event)
{
	free(event->capture_clock);
	event->capture_clock = NULL;
	event->capture_id = 0;
}

ENTRY(cuEventDestroy_v2, 0, (CUevent event), (event))
{
	CUresult result = standin_event_of(event);
	if (result)
		return result;
	forget_capture(event);
	standin_ticket_put(event->ticket);
	event->ticket = NULL;
	event->object.alive = false;
	return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream handle)
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result == CUDA_SUCCESS)
		result = standin_event_of(event);
	if (result)
		return result;
	if (event->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return standin_capture_record(stream, event);
	result = standin_capture_implicit(stream);
	if (result)
		return result;
	forget_capture(event);
	standin_ticket_put(event->ticket);
	event->ticket = ticket_create();
	standin_submit_plain(stream, ticket_op(event->ticket, run_record));
	return CUDA_SUCCESS;
}

STREAM_ENTRY(cuEventRecord, _ptsz, 0, (CUevent event, CUstream handle), (event, handle))
{
	return record(event, handle);
}

STREAM_ENTRY(cuEventRecordWithFlags, _ptsz, 0,
	     (CUevent event, CUstream handle, unsigned flags), (event, handle, flags))
{
	return flags ? CUDA_ERROR_NOT_SUPPORTED : record(event, handle);
}

STREAM_ENTRY(cuStreamWaitEvent, _ptsz, 0,
	     (CUstream handle, CUevent event, unsigned flags), (handle, event, flags))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result == CUDA_SUCCESS)
		result = standin_event_of(event);
	if (result || flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (stream->capture || event->capture_id)
		return standin_capture_wait(stream, event);
	result = standin_capture_implicit(stream);
	if (result || !event->ticket)
		return result; /* nothing was recorded: nothing to wait for */
	struct standin_op *op = ticket_op(event->ticket, run_wait);
	op->ready = wait_is_over;
	standin_submit_plain(stream, op);
	return CUDA_SUCCESS;
}

ENTRY(cuEventQuery, UNSAFE_IN_CAPTURE, (CUevent event), (event))
{
	CUresult result = standin_event_of(event);
	if (result)
		return result;
	if (event->capture_id)
		return CUDA_ERROR_CAPTURED_EVENT;
	return !event->ticket || event->ticket->done ? CUDA_SUCCESS
						     : CUDA_ERROR_NOT_READY;
}

ENTRY(cuEventSynchronize, UNSAFE_IN_CAPTURE, (CUevent event), (event))
{
	CUresult result = standin_event_of(event);
	if (result || !event->ticket)
		return result;
	if (event->capture_id)
		return CUDA_ERROR_CAPTURED_EVENT;
	CUcontext context = event->context;
	struct standin_ticket *ticket = event->ticket;
	ticket->references++;
	while (!ticket->done && !context->error && context->active)
		standin_await_change();
	standin_ticket_put(ticket);
	return standin_usable(context);
}

static CUresult elapsed(float *ms, CUevent start, CUevent end)
{
	CUresult result = standin_event_of(start);
	if (result == CUDA_SUCCESS)
		result = standin_event_of(end);
	if (result || !ms)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->ticket ||
	    !end->ticket || start->context != end->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!start->ticket->done || !end->ticket->done)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(int64_t)(end->ticket->time_ns - start->ticket->time_ns) *
		      1e-6);
	return CUDA_SUCCESS;
}

ENTRY(cuEventElapsedTime, 0, (float *ms, CUevent start, CUevent end), (ms, start, end))
{
	return elapsed(ms, start, end);
}

ENTRY(cuEventElapsedTime_v2, 0, (float *ms, CUevent start, CUevent end), (ms, start, end))
{
	return elapsed(ms, start, end);
}
