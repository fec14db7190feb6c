/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: primary ones and others, each thread's stack of current ones, peer access, the
 * sticky error. What a context holds dies with it; handles that outlive it are stale.
 */
#include <stdio.h>
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

#define STACK 32

static CUcontext primaries[STANDIN_DEVICES_MAX];
static unsigned primary_flags[STANDIN_DEVICES_MAX];
static unsigned long long last_id;
static unsigned epoch; /* of the threads' stacks: reset empties them all */

static _Thread_local CUcontext stack[STACK];
static _Thread_local unsigned depth;
static _Thread_local unsigned stack_epoch;

static void refresh_stack(void)
{
	if (stack_epoch != epoch)
		depth = 0;
	stack_epoch = epoch;
}

CUcontext standin_current(void)
{
	refresh_stack();
	return depth ? stack[depth - 1] : NULL;
}

CUresult standin_usable(CUcontext context)
{
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->active)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return context->error;
}

static bool valid_device(CUdevice device)
{
	return device >= 0 && device < standin_get(STANDIN_DEVICES);
}

static bool is_context(CUcontext context)
{
	return context && context->object.kind == OBJECT_CONTEXT;
}

/* Waits that are under way see the error. */
void standin_poison(CUcontext context, CUresult error)
{
	if (!context->error)
		context->error = error;
	pthread_cond_broadcast(&standin_changed);
}

static void activate(CUcontext context)
{
	context->active = true;
	context->error = CUDA_SUCCESS;
	context->id = ++last_id;
	context->legacy = standin_stream_create(context, 0, 0, false);
	context->legacy->is_legacy = true;
	memset(context->peers, 0, sizeof context->peers);
}

static CUcontext create(int device, unsigned flags, bool primary)
{
	CUcontext context = standin_object(OBJECT_CONTEXT, sizeof *context, false);
	context->device = device;
	context->flags = flags;
	context->primary = primary;
	return context;
}

static bool belongs_to(const struct standin_object *object, CUcontext context)
{
	if (object->kind == OBJECT_EVENT)
		return ((const struct CUevent_st *)object)->context == context;
	if (object->kind == OBJECT_MODULE)
		return ((const struct CUmod_st *)object)->context == context;
	return false;
}

/* The context's work ends unfinished and all that it holds is gone. */
static void deactivate(CUcontext context)
{
	standin_wait_context(context);
	for (CUstream stream = standin_streams, next; stream; stream = next) {
		next = stream->next;
		if (stream->context == context)
			standin_stream_destroy(stream);
	}
	for (struct standin_object *object = standin_objects; object;
	     object = object->next)
		if (belongs_to(object, context))
			object->alive = false;
	standin_region_drop_all(context);
	context->active = false;
	context->references = 0;
	pthread_cond_broadcast(&standin_changed);
}

/* ---- Primary contexts ---- */

static CUcontext primary_of(CUdevice device)
{
	if (!primaries[device])
		primaries[device] = create(device, primary_flags[device], true);
	return primaries[device];
}

ENTRY(cuDevicePrimaryCtxRetain, 0, (CUcontext * context, CUdevice device),
      (context, device))
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	CUcontext primary = primary_of(device);
	if (!primary->active)
		activate(primary);
	if (primary->error)
		return primary->error;
	primary->references++;
	*context = primary;
	return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, UNSAFE_IN_CAPTURE, (CUdevice device), (device))
{
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	CUcontext primary = primary_of(device);
	if (!primary->active || !primary->references)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--primary->references)
		deactivate(primary);
	return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxReset_v2, UNSAFE_IN_CAPTURE, (CUdevice device), (device))
{
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (primary_of(device)->active)
		deactivate(primary_of(device));
	return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxGetState, 0, (CUdevice device, unsigned *flags, int *active),
      (device, flags, active))
{
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = primary_flags[device];
	*active = primaries[device] && primaries[device]->active;
	return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxSetFlags_v2, 0, (CUdevice device, unsigned flags),
      (device, flags))
{
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	primary_flags[device] = flags;
	primary_of(device)->flags = flags;
	return CUDA_SUCCESS;
}

/* ---- Other contexts ---- */

static CUresult create_current(CUcontext *context, unsigned flags, CUdevice device)
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	refresh_stack();
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUcontext created = create(device, flags, false);
	created->object.counts = true;
	activate(created);
	stack[depth++] = created;
	*context = created;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxCreate_v2, UNSAFE_IN_CAPTURE,
      (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device))
{
	return create_current(context, flags, device);
}

ENTRY(cuCtxCreate_v3, UNSAFE_IN_CAPTURE,
      (CUcontext * context, CUexecAffinityParam *params, int param_count, unsigned flags,
       CUdevice device),
      (context, params, param_count, flags, device))
{
	return params || param_count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
				     : create_current(context, flags, device);
}

ENTRY(cuCtxCreate_v4, UNSAFE_IN_CAPTURE,
      (CUcontext * context, CUctxCreateParams *params, unsigned flags, CUdevice device),
      (context, params, flags, device))
{
	return params && (params->numExecAffinityParams || params->cigParams)
		       ? CUDA_ERROR_NOT_SUPPORTED
		       : create_current(context, flags, device);
}

ENTRY(cuCtxDestroy_v2, UNSAFE_IN_CAPTURE, (CUcontext context), (context))
{
	if (!is_context(context) || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->active)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (standin_current() == context)
		depth--;
	deactivate(context);
	context->object.alive = false;
	return CUDA_SUCCESS;
}

/* ---- Current contexts ---- */

ENTRY(cuCtxPushCurrent_v2, 0, (CUcontext context), (context))
{
	if (!is_context(context))
		return CUDA_ERROR_INVALID_VALUE;
	refresh_stack();
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context; /* a destroyed one too: the driver does not look */
	return CUDA_SUCCESS;
}

ENTRY(cuCtxPopCurrent_v2, 0, (CUcontext * context), (context))
{
	CUcontext top = standin_current();
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (context)
		*context = top;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxSetCurrent, 0, (CUcontext context), (context))
{
	refresh_stack();
	if (context && !is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth)
		depth--;
	if (context)
		stack[depth++] = context;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetCurrent, 0, (CUcontext * context), (context))
{
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	*context = standin_current();
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetDevice, NEEDS_CONTEXT, (CUdevice * device), (device))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = standin_current()->device;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetDevice_v2, 0, (CUdevice * device, CUcontext context), (device, context))
{
	context = context ? context : standin_current();
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	CUresult result = standin_usable(context);
	if (result == CUDA_SUCCESS)
		*device = context->device;
	return result;
}

ENTRY(cuCtxGetId, 0, (CUcontext context, unsigned long long *id), (context, id))
{
	context = context ? context : standin_current();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->active)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*id = context->id;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetFlags, NEEDS_CONTEXT, (unsigned *flags), (flags))
{
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = standin_current()->flags;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetApiVersion, 0, (CUcontext context, unsigned *version), (context, version))
{
	context = context ? context : standin_current();
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxGetStreamPriorityRange, NEEDS_CONTEXT, (int *least, int *greatest),
      (least, greatest))
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxSynchronize, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (void), ())
{
	/* Seen on an H200: of relaxed threads, too. */
	CUresult result = standin_capture_span(standin_current());
	return result ? result : standin_wait_context(standin_current());
}

/* ---- Peers ---- */

ENTRY(cuDeviceCanAccessPeer, 0, (int *can, CUdevice device, CUdevice peer),
      (can, device, peer))
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid_device(device) || !valid_device(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer && standin_get(STANDIN_PEERS);
	return CUDA_SUCCESS;
}

static CUcontext *peer_slot(CUcontext context, CUcontext wanted)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		if (context->peers[i] == wanted)
			return &context->peers[i];
	return NULL;
}

ENTRY(cuCtxEnablePeerAccess, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUcontext peer, unsigned flags), (peer, flags))
{
	CUcontext context = standin_current();
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(peer) || !peer->active || peer == context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->device == context->device || !standin_get(STANDIN_PEERS))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (peer_slot(context, peer))
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	CUcontext *slot = peer_slot(context, NULL);
	if (!slot)
		return CUDA_ERROR_TOO_MANY_PEERS;
	*slot = peer;
	return CUDA_SUCCESS;
}

ENTRY(cuCtxDisablePeerAccess, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (CUcontext peer), (peer))
{
	CUcontext *slot = peer ? peer_slot(standin_current(), peer) : NULL;
	if (!slot)
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	*slot = NULL;
	return CUDA_SUCCESS;
}

/* ---- Reset and leaks ---- */

void standin_context_reset(void)
{
	memset(primaries, 0, sizeof primaries);
	memset(primary_flags, 0, sizeof primary_flags);
	epoch++;
}

size_t standin_context_leaks(void (*report)(const char *text, void *arg), void *arg)
{
	size_t count = 0;
	for (int i = 0; i < STANDIN_DEVICES_MAX; i++) {
		if (!primaries[i] || !primaries[i]->references || primaries[i]->error)
			continue;
		char line[80];
		snprintf(line, sizeof line,
			 "primary context of device %d, retained %u times", i,
			 primaries[i]->references);
		report(line, arg);
		count++;
	}
	return count;
}
