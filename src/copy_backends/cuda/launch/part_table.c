/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part tables in host memory and in the device's arena.
 */
#include "config.h"

#include "part_table.h"

#include "base/context.h"
#include "copy_backends/cuda/device/arena.h"
#include "copy_backends/cuda/device/upload.h"

struct dtc_cuda_part_table {
	uint32_t capacity;
	CUdeviceptr device;
	struct dtc_gpu_part parts[];
};

CUresult dtc_cuda_part_table_create(struct dtc_cuda_context *context, uint32_t capacity,
				    struct dtc_cuda_part_table **room)
{
	const size_t bytes = (size_t)capacity * sizeof(struct dtc_gpu_part);
	struct dtc_cuda_part_table *made =
		dtc_alloc(context->cuda->context, sizeof(*made) + bytes);

	if (!made)
		return DTC_CUDA_NO_HOST_MEMORY;
	*made = (struct dtc_cuda_part_table){ .capacity = capacity };
	CUresult result = dtc_cuda_arena_take(context, bytes, &made->device);
	if (result)
		dtc_free(context->cuda->context, made);
	else
		*room = made;
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
				  const struct dtc_cuda_reader *reader, uint64_t *upload)
{
	const struct dtc_cuda_table table = { .source = room->parts,
					      .bytes = count * sizeof(room->parts[0]) };

	return dtc_cuda_upload(context, room->device, &table, reader, upload);
}

void dtc_cuda_part_table_drop(struct dtc_cuda_context *context,
			      struct dtc_cuda_part_table *room)
{
	if (!room)
		return;
	dtc_cuda_arena_put(context, room->device);
	dtc_free(context->cuda->context, room);
}
