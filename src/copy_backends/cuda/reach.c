/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory the kernels of a device context may touch. The application opens other devices' memory:
 * context by context, mapping by mapping, pool by pool. The driver is asked for each job, because it
 * may close what it has opened.
 */
#include "config.h"

#include "reach.h"

#include "base.h"
#include "datatype/runs.h"
#include "log.h"

/* The context's own device's, the host's, or what the caller vouches for. */
static bool is_near(const struct dtc_cuda_context *context,
		    const struct dtc_memory *memory)
{
	return memory->kind != DTCONV_MEMORY_DEVICE || memory->device < 0 ||
	       memory->device == context->device;
}

/* ---- asking the driver ------------------------------------------------------------------- */

/* Of memory of a pool the driver answers wrongly, but of the pool itself. */
static bool is_open_pool(const struct dtc_cuda_context *context, CUmemoryPool pool)
{
	CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
				 .id = context->device };
	CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;

	return !context->cuda->driver.MemPoolGetAccess(&access, pool, &device) &&
	       access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/* The context is current: the driver answers for that one. */
static bool ask(const struct dtc_cuda_context *context, uintptr_t address)
{
	CUpointer_attribute questions[] = { CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
					    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE };
	unsigned access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
	CUmemoryPool pool = NULL;
	void *places[] = { &access, &pool };

	if (context->cuda->driver.PointerGetAttributes(
		    DTC_ARRAY_LENGTH(questions), questions, places, (CUdeviceptr)address))
		return false;
	if (pool)
		return is_open_pool(context, pool);
	return access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

/* With the application's leave. Pools and mappings have no owner: they are opened one by one. */
static bool open_peer(struct dtc_cuda_context *context, const struct dtc_memory *memory)
{
	if (!context->cuda->context->devices.opens_peers || !memory->owner)
		return false;
	CUresult result = context->cuda->driver.CtxEnablePeerAccess(memory->owner, 0);
	if (result)
		return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	DTC_LOG(context->cuda->context, DTCONV_LOG_INFO,
		"device %d was given access to the memory of a context of device %d",
		context->device, memory->device);
	return true;
}

static bool is_open(struct dtc_cuda_context *context, const struct dtc_memory *memory,
		    uintptr_t address)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (is_near(context, memory))
		return true;
	if (driver->CtxPushCurrent(context->handle))
		return false;
	bool open = ask(context, address) ||
		    (open_peer(context, memory) && ask(context, address));
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
	return memory->base && memory->id;
}

bool dtc_cuda_reaches(struct dtc_cuda_context *context, const struct dtc_job *job,
		      const struct dtc_cursor *cursor, uint64_t bytes)
{
	const struct dtc_memory *user = &job->user_memory, *packed = &job->packed_memory;
	const uintptr_t first = (uintptr_t)job->packed;
	struct opened none = { 0, 0 };

	if (!is_near(context, packed) &&
	    !(is_one(packed) ? is_open(context, packed, packed->base)
			     : is_open_range(context, first,
					     first + (uintptr_t)job->bytes, &none)))
		return false;
	if (is_near(context, user))
		return true;
	return is_one(user) ? is_open(context, user, user->base)
			    : are_open_runs(context, job->user, cursor, bytes);
}
