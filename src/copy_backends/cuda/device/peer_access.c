/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory the kernels of a device context may access. The application grants peer access per context, per
 * mapping or per pool, and may revoke it, so the driver is asked for each job (100 ns).
 */
#include "config.h"

#include "peer_access.h"

#include "base/base.h"
#include "contexts.h"
#include "datatype/runs.h"

/* The context's own device's, the host's, or what the caller vouches for. */
static bool is_near(const struct dtc_cuda_context *context,
		    const struct dtc_memory *memory)
{
	return memory->kind != DTCONV_MEMORY_DEVICE || memory->device < 0 ||
	       memory->device == context->device;
}

/* ---- asking the driver ------------------------------------------------------------------- */

/*
 * The context is current. An address of the device it has only for memory that its kernels may touch:
 * enabled, mapped for the device, of a pool that lets it in, or imported here. (That it may be read and
 * written, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS answers of closed memory too: H200, driver 580.)
 */
static bool ask(const struct dtc_cuda_context *context, uintptr_t address)
{
	CUpointer_attribute question = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
	CUdeviceptr there = 0;
	void *place = &there;

	return !context->cuda->driver.PointerGetAttributes(1, &question, &place,
							   (CUdeviceptr)address) &&
	       there;
}

/* With the application's leave. Pools and mappings have no owner: they are opened one by one. */
static bool may_open(const struct dtc_cuda_context *context,
		     const struct dtc_memory *memory)
{
	return context->cuda->context->devices.opens_peers && memory->owner;
}

/* Another thread may have opened it since it was asked for, so the driver's answer to the call does not count. */
static bool open_peer(const struct dtc_cuda_context *context,
		      const struct dtc_memory *memory, uintptr_t address)
{
	context->cuda->driver.CtxEnablePeerAccess(memory->owner, 0);
	return ask(context, address);
}

static bool is_open(const struct dtc_cuda_context *context,
		    const struct dtc_memory *memory, uintptr_t address)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (is_near(context, memory))
		return true;
	if (driver->CtxPushCurrent(context->handle))
		return false;
	bool open = ask(context, address) ||
		    (may_open(context, memory) && open_peer(context, memory, address));
	driver->CtxPopCurrent(&popped);
	return open;
}

/* ---- sides of a job ------------------------------------------------------------------------ */

/* The last allocation that was found to be open. */
struct opened {
	uintptr_t base, end;
};

/* A range may lie in several allocations or mappings: each has its own answer. */
static bool is_open_range(struct dtc_cuda_context *context, uintptr_t low, uintptr_t high,
			  struct opened *last)
{
	while (low < high) {
		struct dtc_memory memory;

		if (low >= last->base && low < last->end) {
			low = last->end;
			continue;
		}
		dtc_memory_query(context->cuda->context, (const void *)low, &memory);
		if (!memory.kind || !is_open(context, &memory, low))
			return false;
		*last = (struct opened){ memory.base, memory.end };
		low = memory.end > low ? memory.end : high;
	}
	return true;
}

static bool are_open_runs(struct dtc_cuda_context *context, const char *user,
			  const struct dtc_cursor *cursor, uint64_t bytes)
{
	struct opened last = { 0, 0 };
	struct dtc_cursor ahead;
	struct dtc_runs runs;
	struct dtc_run run;
	bool open = true;

	dtc_cursor_copy(&ahead, cursor);
	dtc_runs_init(&runs, &ahead, bytes);
	while (open && dtc_runs_next(&runs, &run)) {
		uintptr_t low = (uintptr_t)user + (uintptr_t)run.disp;

		open = is_open_range(context, low, low + (uintptr_t)run.bytes, &last);
	}
	return open;
}

/* Whether one answer will do. */
static bool is_one(const struct dtc_memory *memory)
{
	return memory->base && !memory->several;
}

bool dtc_cuda_can_access_range(struct dtc_cuda_context *context,
			       const struct dtc_memory *memory, const void *start,
			       uint64_t bytes)
{
	const uintptr_t first = (uintptr_t)start;
	struct opened none = { 0, 0 };

	if (is_near(context, memory))
		return true;
	return is_one(memory)
		       ? is_open(context, memory, memory->base)
		       : is_open_range(context, first, first + (uintptr_t)bytes, &none);
}

bool dtc_cuda_can_access(struct dtc_cuda_context *context, const struct dtc_job *job,
			 const struct dtc_cursor *cursor, uint64_t bytes)
{
	const struct dtc_memory *user = &job->user_memory;

	if (!dtc_cuda_can_access_range(context, &job->packed_memory, job->packed,
				       job->bytes))
		return false;
	if (is_near(context, user))
		return true;
	return is_one(user) ? is_open(context, user, user->base)
			    : are_open_runs(context, job->user, cursor, bytes);
}

bool dtc_cuda_can_access_memory(struct dtconv_context *context,
				const struct dtc_memory *user,
				const struct dtc_memory *packed)
{
	const struct dtc_job job = { .user_memory = *user,
				     .packed_memory = *packed,
				     .context = context,
				     .caller = "dtconv_batch_start" };
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	struct dtc_cuda_context *chosen;

	if (!cuda || !is_one(user) || !is_one(packed))
		return false;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	bool reached = !dtc_cuda_context_choose(cuda, &job, &chosen) &&
		       is_open(chosen, user, user->base) &&
		       is_open(chosen, packed, packed->base);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return reached;
}
