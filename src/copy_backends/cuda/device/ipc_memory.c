/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA IPC: the handle of an allocation of cuMemAlloc, and mapping one of another process. It decides which memory has
 * handles. What is mapped already, and for how long, is the caller's to know.
 */
#include "config.h"

#include "ipc_memory.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "contexts.h"
#include "copy_backends/memory/memory.h"
#include "memory_kinds.h"
#include "worker.h"

_Static_assert(sizeof(CUipcMemHandle) == DTC_IPC_DRIVER_BYTES, "the driver's handle");
_Static_assert(sizeof(CUuuid) == DTC_IPC_DEVICE_BYTES, "a device's UUID");

/* ---- in the device context --------------------------------------------------------------- */

/* That of a job in this memory; it is opened as for a job. */
static int choose_context(struct dtc_cuda *cuda, const struct dtc_memory *memory,
			  const char *caller, struct dtc_cuda_context **chosen)
{
	const struct dtc_job job = { .user_memory = *memory,
				     .packed_memory = *memory,
				     .context = cuda->context,
				     .caller = caller };

	return dtc_cuda_context_choose(cuda, &job, chosen);
}

static CUresult push(const struct dtc_cuda_context *context)
{
	return context->cuda->driver.CtxPushCurrent(context->handle);
}

static void pop(const struct dtc_cuda_context *context)
{
	CUcontext popped;

	context->cuda->driver.CtxPopCurrent(&popped);
}

/* ---- exporting --------------------------------------------------------------------------- */

/* Why CUDA IPC does not share such memory. 0: it may. */
static int check_kind(struct dtconv_context *context, const void *address,
		      const struct dtc_memory *memory, const char *caller)
{
	if (memory->kind != DTCONV_MEMORY_DEVICE)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: address (argument 2) %p is memory of kind %s, but CUDA IPC shares "
			"device memory of cuMemAlloc only; use a segment, or a channel",
			caller, address, dtc_memory_kind_name(memory->kind));
	if (memory->mapped)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: address (argument 2) %p is a mapping of cuMemMap, which CUDA IPC "
			"does not share; use a segment, whose memory is shared by descriptor",
			caller, address);
	if (!memory->owner)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: address (argument 2) %p is memory of a pool (cuMemAllocAsync), which "
			"CUDA IPC does not share; use cuMemAlloc, or a segment",
			caller, address);
	if (memory->base == memory->end)
		return DTC_FAIL(
			context, DTCONV_ERR_BACKEND,
			"%s: the driver does not report the allocation of address (argument "
			"2) %p",
			caller, address);
	return 0;
}

static int get_handle(struct dtc_cuda_context *context, uintptr_t base,
		      const char *caller, struct dtc_ipc_allocation *allocation)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUipcMemHandle handle;
	CUuuid device;

	CUresult result = push(context);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", caller);
	result = driver->IpcGetMemHandle(&handle, (CUdeviceptr)base);
	pop(context);
	if (result == CUDA_ERROR_INVALID_VALUE)
		return DTC_FAIL(
			context->cuda->context, DTCONV_ERR_UNSUPPORTED,
			"%s: the driver has no IPC handle for the allocation at %p: only the process "
			"that has allocated memory with cuMemAlloc can export it",
			caller, (void *)base);
	if (result)
		return dtc_cuda_fail(context, result, "cuIpcGetMemHandle", caller);
	result = driver->DeviceGetUuid(&device, context->device);
	if (result)
		return dtc_cuda_fail(context, result, "cuDeviceGetUuid", caller);
	memcpy(allocation->driver, &handle, sizeof(handle));
	memcpy(allocation->device, &device, sizeof(device));
	return 0;
}

static int export_memory(struct dtc_cuda *cuda, const void *address, const char *caller,
			 struct dtc_ipc_allocation *allocation)
{
	struct dtc_cuda_context *chosen;
	struct dtc_memory memory;

	dtc_memory_query(cuda->context, address, &memory);
	int status = check_kind(cuda->context, address, &memory, caller);
	if (!status)
		status = choose_context(cuda, &memory, caller, &chosen);
	if (!status)
		status = get_handle(chosen, memory.base, caller, allocation);
	if (status)
		return status;
	allocation->base = memory.base;
	allocation->bytes = memory.end - memory.base;
	allocation->id = dtc_cuda_memory_id(cuda, memory.base);
	if (allocation->id)
		return 0;
	return DTC_FAIL(
		cuda->context, DTCONV_ERR_BACKEND,
		"%s: the driver does not report the buffer ID of address (argument 2) %p",
		caller, address);
}

int dtc_cuda_ipc_export(struct dtconv_context *context, const void *address,
			const char *caller, struct dtc_ipc_allocation *allocation)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	int status = export_memory(cuda, address, caller, allocation);

	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}

/* ---- mapping ----------------------------------------------------------------------------- */

static bool is_visible(const struct dtc_cuda *cuda, const unsigned char *uuid)
{
	int devices = 0;
	CUuuid device;

	cuda->driver.DeviceGetCount(&devices);
	while (devices-- > 0)
		if (!cuda->driver.DeviceGetUuid(&device, devices) &&
		    !memcmp(&device, uuid, sizeof(device)))
			return true;
	return false;
}

/* As nvidia-smi and CUDA_VISIBLE_DEVICES write it. */
static void format_uuid(const unsigned char *uuid, char text[41])
{
	char *at = text + sprintf(text, "GPU-");

	for (size_t i = 0; i < DTC_IPC_DEVICE_BYTES; i++)
		at += sprintf(at,
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			      uuid[i]);
}

/* Other mappings may take addresses, or those that the driver would use. */
static bool may_help(CUresult result)
{
	return result == CUDA_ERROR_ALREADY_MAPPED || result == CUDA_ERROR_MAP_FAILED ||
	       result == CUDA_ERROR_OUT_OF_MEMORY;
}

static int fail_open(struct dtc_cuda_context *context, CUresult result,
		     const struct dtc_ipc_allocation *allocation, const char *caller)
{
	struct dtc_cuda *cuda = context->cuda;
	const char *name = dtc_cuda_result_name(&cuda->driver, result);
	char uuid[41];

	if (dtc_cuda_result_is_fatal(result) || may_help(result))
		return dtc_cuda_fail(context, result, "cuIpcOpenMemHandle", caller);
	if (is_visible(cuda, allocation->device))
		return DTC_FAIL(
			cuda->context, DTCONV_ERR_BACKEND,
			"%s: cuIpcOpenMemHandle failed on device %d: %s; the owner may have freed "
			"the memory, or exited",
			caller, context->device, name);
	format_uuid(allocation->device, uuid);
	return DTC_FAIL(
		cuda->context, DTCONV_ERR_BACKEND,
		"%s: cuIpcOpenMemHandle failed on device %d: %s; the memory is on %s, which "
		"this process does not see (CUDA_VISIBLE_DEVICES)",
		caller, context->device, name, uuid);
}

/* A handle may claim more than there is. */
static int check_bytes(struct dtc_cuda_context *context,
		       const struct dtc_ipc_allocation *allocation, const char *caller,
		       uintptr_t base)
{
	struct dtc_memory memory;

	dtc_memory_query(context->cuda->context, (const void *)base, &memory);
	const uint64_t there = memory.end - base;

	if (memory.kind == DTCONV_MEMORY_DEVICE && memory.base <= base &&
	    memory.end > base && there >= allocation->bytes)
		return 0;
	return DTC_FAIL(
		context->cuda->context, DTCONV_ERR_FORMAT,
		"%s: the handle (argument 2) says that the allocation has %llu bytes, but "
		"the driver has mapped fewer",
		caller, (unsigned long long)allocation->bytes);
}

static CUresult close_handle(const struct dtc_cuda_context *context, uintptr_t base)
{
	CUresult result = push(context);

	if (result)
		return result;
	result = context->cuda->driver.IpcCloseMemHandle((CUdeviceptr)base);
	pop(context);
	return result;
}

static int map_in(struct dtc_cuda_context *context,
		  const struct dtc_ipc_allocation *allocation, const char *caller,
		  bool is_last, struct dtc_ipc_mapping *mapping)
{
	CUipcMemHandle handle;
	CUdeviceptr base = 0;

	memcpy(&handle, allocation->driver, sizeof(handle));
	CUresult result = push(context);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", caller);
	result = context->cuda->driver.IpcOpenMemHandle(
		&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	pop(context);
	mapping->is_refused = !is_last && may_help(result);
	if (mapping->is_refused)
		return DTCONV_ERR_BACKEND;
	if (result)
		return fail_open(context, result, allocation, caller);
	int status = check_bytes(context, allocation, caller, (uintptr_t)base);
	if (status) {
		close_handle(context, (uintptr_t)base);
		return status;
	}
	mapping->base = (uintptr_t)base;
	mapping->owner = context;
	return 0;
}

int dtc_cuda_ipc_map(struct dtconv_context *context,
		     const struct dtc_ipc_allocation *allocation, const char *caller,
		     bool is_last, struct dtc_ipc_mapping *mapping)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	const struct dtc_memory there = { .kind = DTCONV_MEMORY_DEVICE,
					  .device = mapping->device };
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	struct dtc_cuda_context *chosen;
	int status;

	mapping->is_refused = false;
	if (!dtc_cuda_context_exists(cuda, mapping->device))
		status = DTC_FAIL(
			context, DTCONV_ERR_STATE,
			"%s: there is no CUDA context of device %d (argument 3): none is "
			"current, and the primary context is not active",
			caller, mapping->device);
	else
		status = choose_context(cuda, &there, caller, &chosen);
	if (!status)
		status = map_in(chosen, allocation, caller, is_last, mapping);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}

enum dtc_ipc_end dtc_cuda_ipc_unmap(const struct dtc_ipc_mapping *mapping)
{
	struct dtc_cuda_context *context = mapping->owner;
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	enum dtc_ipc_end end = DTC_IPC_LOST;

	if (dtc_cuda_context_is_alive(context))
		end = close_handle(context, mapping->base) ? DTC_IPC_REFUSED
							   : DTC_IPC_UNMAPPED;
	dtc_cuda_unrelax(driver, mode);
	return end;
}

bool dtc_cuda_ipc_is_lost(const struct dtc_ipc_mapping *mapping)
{
	return !dtc_cuda_context_is_alive(mapping->owner);
}

/* ---- for the cache ----------------------------------------------------------------------- */

uint64_t dtc_cuda_ipc_id(struct dtconv_context *context, uintptr_t address)
{
	return dtc_cuda_memory_id(dtc_cuda_of(context), address);
}

int dtc_cuda_ipc_current_device(struct dtconv_context *context)
{
	return dtc_cuda_current_device(dtc_cuda_of(context));
}

bool dtc_cuda_ipc_run_later(struct dtconv_context *context, void (*run)(void *owned),
			    void *owned)
{
	return dtc_cuda_worker_hand_over(dtc_cuda_of(context), run, owned);
}
