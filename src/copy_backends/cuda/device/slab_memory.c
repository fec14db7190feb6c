/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slabs: host memory registered with cuMemHostRegister, or device memory of cuMemAlloc. They are made by threads that
 * may block, so these driver calls are made in place; the worker makes those that give them back.
 */
#include "config.h"

#include "slab_memory.h"

#include "contexts.h"
#include "copy_backends/memory/slab_memory.h"
#include "worker.h"

typedef CUresult make_fn(const struct dtc_cuda_driver *driver,
			 struct dtc_slab_memory *memory);

static CUresult register_memory(const struct dtc_cuda_driver *driver,
				struct dtc_slab_memory *memory)
{
	return driver->MemHostRegister(memory->base, memory->bytes,
				       CU_MEMHOSTREGISTER_PORTABLE |
					       CU_MEMHOSTREGISTER_DEVICEMAP);
}

static CUresult unregister_memory(const struct dtc_cuda_driver *driver,
				  struct dtc_slab_memory *memory)
{
	return driver->MemHostUnregister(memory->base);
}

static CUresult allocate_memory(const struct dtc_cuda_driver *driver,
				struct dtc_slab_memory *memory)
{
	CUdeviceptr made = 0;
	CUresult result = driver->MemAlloc(&made, memory->bytes);

	memory->base = result ? NULL : (void *)(uintptr_t)made;
	return result;
}

static CUresult free_memory(const struct dtc_cuda_driver *driver,
			    struct dtc_slab_memory *memory)
{
	return driver->MemFree((CUdeviceptr)(uintptr_t)memory->base);
}

static CUresult export_memory(const struct dtc_cuda_driver *driver,
			      struct dtc_slab_memory *memory)
{
	return driver->MemGetHandleForAddressRange(
		&memory->fd, (CUdeviceptr)(uintptr_t)memory->base, memory->bytes,
		CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

static CUresult call_in(struct dtc_cuda_context *context, make_fn *make,
			struct dtc_slab_memory *memory)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;
	CUresult result = driver->CtxPushCurrent(context->handle);

	if (result)
		return result;
	result = make(driver, memory);
	driver->CtxPopCurrent(&popped);
	return result;
}

static int make_slab(struct dtconv_context *context, make_fn *make,
		     struct dtc_slab_memory *memory)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	struct dtc_cuda_context *chosen;
	CUresult result = CUDA_SUCCESS;
	int status =
		dtc_cuda_context_of_device(cuda, memory->device, memory->caller, &chosen);

	if (!status)
		result = call_in(chosen, make, memory);
	dtc_cuda_unrelax(&cuda->driver, mode);
	if (status)
		return status;
	if (result) {
		memory->why = dtc_cuda_result_name(&cuda->driver, result);
		return result == CUDA_ERROR_OUT_OF_MEMORY ? DTCONV_ERR_NOMEM
							  : DTCONV_ERR_BACKEND;
	}
	memory->owner = chosen;
	memory->device = chosen->device;
	return 0;
}

int dtc_cuda_slab_pin(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	return make_slab(context, register_memory, memory);
}

int dtc_cuda_slab_allocate(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	return make_slab(context, allocate_memory, memory);
}

int dtc_cuda_slab_export(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	return make_slab(context, export_memory, memory);
}

bool dtc_cuda_slab_undo(struct dtc_slab_memory *memory)
{
	struct dtc_cuda_context *context = memory->owner;
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	make_fn *undo = memory->is_allocated ? free_memory : unregister_memory;
	bool undone = dtc_cuda_context_is_alive(context) &&
		      !call_in(context, undo, memory);

	dtc_cuda_unrelax(driver, mode);
	return undone;
}

bool dtc_cuda_slab_hand_over(const struct dtc_slab_memory *memory,
			     void (*run)(void *owned), void *owned)
{
	const struct dtc_cuda_context *context = memory->owner;

	return dtc_cuda_worker_hand_over(context->cuda, run, owned);
}

bool dtc_cuda_slab_is_lost(const struct dtc_slab_memory *memory)
{
	return !dtc_cuda_context_is_alive(memory->owner);
}
