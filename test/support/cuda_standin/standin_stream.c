/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams: the meaning of a handle, lifetime, and waiting. A destroyed stream finishes its
 * work, but its handle is dead.
 */
#include "support/cuda_standin/standin_internal.h"

static unsigned long long last_id;

const void *standin_thread(void)
{
	static _Thread_local char token;
	return &token;
}

CUstream standin_stream_create(CUcontext context, unsigned flags, int priority,
			       bool counts)
{
	CUstream stream = standin_object(OBJECT_STREAM, sizeof *stream, counts);
	stream->context = context;
	stream->context_id = context->id;
	stream->flags = flags;
	stream->priority = priority;
	stream->id = ++last_id;
	stream->next = standin_streams;
	standin_streams = stream;
	return stream;
}

void standin_stream_destroy(CUstream stream)
{
	standin_capture_forget(stream);
	standin_drop_work(stream);
	stream->object.alive = false;
	CUstream *link = &standin_streams;
	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link)
		*link = stream->next;
}

static CUstream thread_stream(CUcontext context)
{
	for (CUstream stream = standin_streams; stream; stream = stream->next)
		if (stream->context == context && stream->thread == standin_thread())
			return stream;
	CUstream stream = standin_stream_create(context, 0, 0, false);
	stream->thread = standin_thread();
	return stream;
}

CUresult standin_stream_of(CUstream handle, CUstream *stream)
{
	if (!handle)
		handle = standin_per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		CUcontext context = standin_current();
		CUresult result = standin_usable(context);
		if (result == CUDA_SUCCESS)
			*stream = handle == CU_STREAM_LEGACY ? context->legacy
							     : thread_stream(context);
		return result;
	}
	standin_insist(handle, OBJECT_STREAM, "a stream's handle");
	if (!handle->context->active || handle->context_id != handle->context->id)
		standin_crash("a stream's handle", "its context is destroyed");
	*stream = handle;
	return handle->context->error;
}

static CUresult create(CUstream *stream, unsigned flags, int priority)
{
	if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	*stream = standin_stream_create(standin_current(), flags, priority, true);
	return CUDA_SUCCESS;
}

ENTRY(cuStreamCreate, NEEDS_CONTEXT, (CUstream * stream, unsigned flags), (stream, flags))
{
	return create(stream, flags, 0);
}

ENTRY(cuStreamCreateWithPriority, NEEDS_CONTEXT,
      (CUstream * stream, unsigned flags, int priority), (stream, flags, priority))
{
	return create(stream, flags, priority);
}

ENTRY(cuStreamDestroy_v2, 0, (CUstream handle), (handle))
{
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (stream->first) {
		standin_capture_forget(stream);
		stream->object.alive =
			false; /* the scheduler unlinks it after its work */
	} else {
		standin_stream_destroy(stream);
	}
	return CUDA_SUCCESS;
}

STREAM_ENTRY(cuStreamQuery, _ptsz, UNSAFE_IN_CAPTURE, (CUstream handle), (handle))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result == CUDA_SUCCESS)
		result = standin_capture_refuse(stream);
	if (result)
		return result;
	return stream->first ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

STREAM_ENTRY(cuStreamSynchronize, _ptsz, UNSAFE_IN_CAPTURE, (CUstream handle), (handle))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result == CUDA_SUCCESS)
		result = standin_capture_refuse(stream);
	return result ? result : standin_wait_stream(stream);
}

/* What a stream answers of itself. */
#define STREAM_ANSWER(name, type, member)                                                \
	STREAM_ENTRY(name, _ptsz, 0, (CUstream handle, type * answer), (handle, answer)) \
	{                                                                                \
		CUstream stream;                                                         \
		CUresult result = standin_stream_of(handle, &stream);                    \
		if (!answer)                                                             \
			return CUDA_ERROR_INVALID_VALUE;                                 \
		if (result == CUDA_SUCCESS)                                              \
			*answer = stream->member;                                        \
		return result;                                                           \
	}

STREAM_ANSWER(cuStreamGetCtx, CUcontext, context)

STREAM_ENTRY(cuStreamGetCtx_v2, _ptsz, 0,
	     (CUstream handle, CUcontext *context, CUgreenCtx *green),
	     (handle, context, green))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (!context || !green)
		return CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*context = stream->context;
	*green = NULL;
	return CUDA_SUCCESS;
}

STREAM_ANSWER(cuStreamGetDevice, CUdevice, context->device)
STREAM_ANSWER(cuStreamGetId, unsigned long long, id)
STREAM_ANSWER(cuStreamGetFlags, unsigned, flags)
STREAM_ANSWER(cuStreamGetPriority, int, priority)

/* ---- Host functions ---- */

struct host_call {
	CUhostFn function;
	void *arg;
};

static void run_host_call(struct standin_op *op)
{
	struct host_call *call = (struct host_call *)op->payload;
	op->running = true;
	pthread_mutex_unlock(&standin_mutex);
	standin_in_callback = true;
	call->function(call->arg);
	standin_in_callback = false;
	pthread_mutex_lock(&standin_mutex);
	op->running = false;
}

STREAM_ENTRY(cuLaunchHostFunc, _ptsz, 0, (CUstream handle, CUhostFn function, void *arg),
	     (handle, function, arg))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result || !function)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	const struct host_call call = { function, arg };
	struct standin_op *op = standin_op(&call, sizeof call, run_host_call);
	op->is_host_call = true;
	return standin_submit(stream, op);
}
