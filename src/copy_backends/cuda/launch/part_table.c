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
	size_t bytes;
	CUdeviceptr device;
	uint64_t memory[];
};

CUresult dtc_cuda_part_table_create(struct dtc_cuda_context *context, size_t bytes,
				    struct dtc_cuda_part_table **room)
{
	struct dtc_cuda_part_table *made =
		dtc_alloc(context->cuda->context, sizeof(*made) + bytes);

	if (!made)
		return DTC_CUDA_NO_HOST_MEMORY;
	*made = (struct dtc_cuda_part_table){ .bytes = bytes };
	CUresult result = dtc_cuda_arena_take(context, bytes, &made->device);
	if (result)
		dtc_free(context->cuda->context, made);
	else
		*room = made;
	return result;
}

struct dtc_gpu_parts dtc_cuda_part_table_of(struct dtc_cuda_part_table *room)
{
	struct dtc_gpu_part *parts = dtc_cuda_part_table_memory(room);

	return (struct dtc_gpu_parts){ .host = parts,
				       .capacity =
					       (uint32_t)(room->bytes / sizeof(*parts)),
				       .device = room->device };
}

void *dtc_cuda_part_table_memory(struct dtc_cuda_part_table *room)
{
	return room->memory;
}

CUdeviceptr dtc_cuda_part_table_device(const struct dtc_cuda_part_table *room)
{
	return room->device;
}

CUresult dtc_cuda_part_table_copy(struct dtc_cuda_context *context,
				  const struct dtc_cuda_part_table *room, size_t bytes,
				  const struct dtc_cuda_reader *reader, uint64_t *upload)
{
	const struct dtc_cuda_table table = { .source = room->memory, .bytes = bytes };

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
