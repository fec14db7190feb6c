/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream capture: which streams take part, which of them have rejoined the origin, and which
 * calls are refused meanwhile and invalidate it. The clock of a captured stream counts its
 * recorded work. Waiting for an event merges the clocks that the event stands for.
 */
#include <stdlib.h>
#include <string.h>

#include "support/cuda_standin/standin_graph.h"

#define CAPTURE_STREAMS 32

struct standin_capture {
	struct standin_capture *next;
	unsigned long long id;
	CUstreamCaptureMode mode;
	const void *thread;
	bool invalid;
	CUgraph graph;
	CUstream streams[CAPTURE_STREAMS]; /* the first is the origin */
	unsigned count;
	unsigned recorded[CAPTURE_STREAMS];
	unsigned clock[CAPTURE_STREAMS][CAPTURE_STREAMS];
};

static struct standin_capture *captures;
static unsigned long long last_id;
static _Thread_local CUstreamCaptureMode thread_mode;

/* ---- What a capture forbids ---- */

static bool forbids(const struct standin_capture *capture)
{
	if (capture->invalid || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (capture->thread == standin_thread())
		return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult standin_capture_allows(void)
{
	CUresult result = CUDA_SUCCESS;
	for (struct standin_capture *capture = captures; capture;
	     capture = capture->next) {
		if (!forbids(capture))
			continue;
		capture->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return result;
}

static bool is_in_context(const struct standin_capture *capture, CUcontext context)
{
	for (unsigned i = 0; i < capture->count; i++)
		if (capture->streams[i]->context == context)
			return true;
	return false;
}

CUresult standin_capture_span(CUcontext context)
{
	CUresult result = CUDA_SUCCESS;
	for (struct standin_capture *capture = captures; capture;
	     capture = capture->next) {
		if (capture->invalid || !is_in_context(capture, context))
			continue;
		capture->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return result;
}

CUresult standin_capture_refuse(CUstream stream)
{
	if (!stream->capture)
		return standin_capture_implicit(stream);
	stream->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult standin_capture_implicit(CUstream stream)
{
	CUresult result = CUDA_SUCCESS;
	for (CUstream other = standin_streams; stream->is_legacy && other;
	     other = other->next) {
		if (!other->capture || other->context != stream->context ||
		    other->flags & CU_STREAM_NON_BLOCKING)
			continue;
		other->capture->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return result;
}

/* ---- What is recorded ---- */

CUresult standin_capture_op(CUstream stream, struct standin_op *op)
{
	struct standin_capture *capture = stream->capture;
	if (capture->invalid) {
		standin_op_free(op);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	const unsigned slot = stream->capture_slot;
	capture->clock[slot][slot] = ++capture->recorded[slot];
	standin_graph_append(capture->graph, op);
	return CUDA_SUCCESS;
}

CUresult standin_capture_record(CUstream stream, CUevent event)
{
	const struct standin_capture *capture = stream->capture;
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	const size_t bytes = sizeof capture->clock[0];
	if (!event->capture_clock)
		event->capture_clock = malloc(bytes);
	if (!event->capture_clock)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(event->capture_clock, capture->clock[stream->capture_slot], bytes);
	event->capture_id = capture->id;
	return CUDA_SUCCESS;
}

static struct standin_capture *capture_of(CUevent event)
{
	struct standin_capture *capture = captures;
	while (capture && capture->id != event->capture_id)
		capture = capture->next;
	return capture;
}

static CUresult join(struct standin_capture *capture, CUstream stream)
{
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (capture->count == CAPTURE_STREAMS)
		standin_crash("capture", "more streams than the stand-in can join");
	stream->capture = capture;
	stream->capture_slot = capture->count;
	capture->streams[capture->count++] = stream;
	return CUDA_SUCCESS;
}

static void take_clocks(struct standin_capture *capture, unsigned slot,
			const unsigned *clock)
{
	for (unsigned i = 0; i < CAPTURE_STREAMS; i++)
		if (capture->clock[slot][i] < clock[i])
			capture->clock[slot][i] = clock[i];
}

CUresult standin_capture_wait(CUstream stream, CUevent event)
{
	struct standin_capture *capture = event->capture_id ? capture_of(event) : NULL;
	struct standin_capture *own = stream->capture;
	if (own && own->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (own && !event->capture_id) {
		if (!event->ticket)
			return CUDA_SUCCESS; /* nothing was ever recorded */
		own->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (!capture)
		return CUDA_ERROR_CAPTURED_EVENT; /* its capture has ended */
	if (own && own != capture) {
		own->invalid = true;
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	CUresult result = own ? CUDA_SUCCESS : join(capture, stream);
	if (result == CUDA_SUCCESS)
		take_clocks(capture, stream->capture_slot, event->capture_clock);
	return result;
}

/* ---- Beginning and ending ---- */

static void end_capture(struct standin_capture *capture)
{
	for (unsigned i = 0; i < capture->count; i++)
		if (capture->streams[i])
			capture->streams[i]->capture = NULL;
	struct standin_capture **link = &captures;
	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	free(capture);
}

/* A captured stream is destroyed: its capture cannot end well. */
void standin_capture_forget(CUstream stream)
{
	if (!stream->capture)
		return;
	stream->capture->invalid = true;
	stream->capture->streams[stream->capture_slot] = NULL;
	stream->capture = NULL;
}

void standin_capture_reset(void)
{
	while (captures) {
		struct standin_capture *capture = captures;
		captures = capture->next;
		free(capture);
	}
	standin_graph_reset();
}

STREAM_ENTRY(cuStreamBeginCapture_v2, _ptsz, 0,
	     (CUstream handle, CUstreamCaptureMode mode), (handle, mode))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	struct standin_capture *capture = calloc(1, sizeof *capture);
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->id = ++last_id;
	capture->mode = mode;
	capture->thread = standin_thread();
	capture->graph = standin_graph_create();
	capture->next = captures;
	captures = capture;
	return join(capture, stream);
}

static bool is_joined(const struct standin_capture *capture)
{
	for (unsigned i = 0; i < capture->count; i++)
		if (capture->clock[0][i] < capture->recorded[i])
			return false;
	return true;
}

static CUresult judge(const struct standin_capture *capture)
{
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return is_joined(capture) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

STREAM_ENTRY(cuStreamEndCapture, _ptsz, 0, (CUstream handle, CUgraph *graph),
	     (handle, graph))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result || !graph)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	struct standin_capture *capture = stream->capture;
	*graph = NULL;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->streams[0] != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
	    capture->thread != standin_thread())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	result = judge(capture);
	if (result == CUDA_SUCCESS)
		*graph = capture->graph;
	else
		standin_graph_destroy(capture->graph);
	end_capture(capture);
	return result;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
	if (!stream->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					: CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

STREAM_ENTRY(cuStreamIsCapturing, _ptsz, 0,
	     (CUstream handle, CUstreamCaptureStatus *status), (handle, status))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result || !status)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	result = standin_capture_implicit(stream);
	if (result == CUDA_SUCCESS)
		*status = status_of(stream);
	return result;
}

/* Dependencies are not told: a replay is in the order of recording. */
static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *status,
			     cuuint64_t *id, CUgraph *graph, size_t *dependency_count)
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result || !status)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	result = standin_capture_implicit(stream);
	if (result)
		return result;
	*status = status_of(stream);
	if (id)
		*id = stream->capture ? stream->capture->id : 0;
	if (graph)
		*graph = stream->capture ? stream->capture->graph : NULL;
	if (dependency_count)
		*dependency_count = 0;
	return CUDA_SUCCESS;
}

STREAM_ENTRY(cuStreamGetCaptureInfo_v2, _ptsz, 0,
	     (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	      CUgraph *graph, const CUgraphNode **dependencies, size_t *dependency_count),
	     (handle, status, id, graph, dependencies, dependency_count))
{
	if (dependencies)
		*dependencies = NULL;
	return capture_info(handle, status, id, graph, dependency_count);
}

STREAM_ENTRY(cuStreamGetCaptureInfo_v3, _ptsz, 0,
	     (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
	      CUgraph *graph, const CUgraphNode **dependencies,
	      const CUgraphEdgeData **edges, size_t *dependency_count),
	     (handle, status, id, graph, dependencies, edges, dependency_count))
{
	if (dependencies)
		*dependencies = NULL;
	if (edges)
		*edges = NULL;
	return capture_info(handle, status, id, graph, dependency_count);
}

ENTRY(cuThreadExchangeStreamCaptureMode, 0, (CUstreamCaptureMode * mode), (mode))
{
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	const CUstreamCaptureMode before = thread_mode;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
