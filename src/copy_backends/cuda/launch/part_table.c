/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part tables in pinned and device memory.
 */
#include "config.h"

#include "part_table.h"

#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/pinned.h"
#include "copy_backends/cuda/device/worker.h"

/* Stands at the beginning of its own pinned memory, so that one address is all that the worker is told. */
struct dtc_cuda_part_table {
	size_t bytes; /* of the pinned memory */
	uint32_t capacity;
	CUdeviceptr device;
	struct dtc_gpu_part parts[];
};

/* The context is current. What there is after a failure is in @room. */
static CUresult create(struct dtc_cuda_context *context, uint32_t capacity,
		       struct dtc_cuda_part_table **room)
{
	size_t parts_bytes = (size_t)capacity * sizeof(struct dtc_gpu_part);
	size_t bytes = sizeof(struct dtc_cuda_part_table) + parts_bytes;
	CUdeviceptr unused;
	void *memory = NULL;

	CUresult result = dtc_cuda_pinned_create(context, bytes, &memory, &unused);
	*room = memory;
	if (memory)
		**room = (struct dtc_cuda_part_table){ .bytes = bytes,
						       .capacity = capacity };
	return result ? result
		      : context->cuda->driver.MemAlloc(&(*room)->device, parts_bytes);
}

CUresult dtc_cuda_part_table_create(struct dtc_cuda_context *context, uint32_t capacity,
				    struct dtc_cuda_part_table **room)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	*room = NULL;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = create(context, capacity, room);
	driver->CtxPopCurrent(&popped);
	if (result) {
		dtc_cuda_part_table_drop(context, *room);
		*room = NULL;
	}
	return result;
}

struct dtc_gpu_parts dtc_cuda_part_table_of(const struct dtc_cuda_part_table *room)
{
	/* The planner writes there. */
	return (struct dtc_gpu_parts){
		.host = (struct dtc_gpu_part *)(uintptr_t)room->parts,
		.capacity = room->capacity,
		.device = room->device
	};
}

CUresult dtc_cuda_part_table_copy(struct dtc_cuda_context *context,
				  const struct dtc_cuda_part_table *room, uint32_t count,
				  CUstream stream)
{
	return context->cuda->driver.MemcpyAsync(room->device,
						 (CUdeviceptr)(uintptr_t)room->parts,
						 count * sizeof(room->parts[0]), stream);
}

CUresult dtc_cuda_part_table_copy_now(struct dtc_cuda_context *context,
				      const struct dtc_cuda_part_table *room,
				      uint32_t count)
{
	return dtc_cuda_image_upload(context, room->device, room->parts,
				     count * sizeof(room->parts[0]));
}

/* Runs in the worker: both calls wait until the device is idle. */
static void destroy(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	struct dtc_cuda_part_table *room =
		(struct dtc_cuda_part_table *)(uintptr_t)memory;

	if (room->device)
		context->cuda->driver.MemFree(room->device);
	dtc_cuda_pinned_destroy(context, room, room->bytes);
}

void dtc_cuda_part_table_drop(struct dtc_cuda_context *context,
			      struct dtc_cuda_part_table *room)
{
	if (room)
		dtc_cuda_worker_give_back(context, destroy, (CUdeviceptr)(uintptr_t)room);
}
