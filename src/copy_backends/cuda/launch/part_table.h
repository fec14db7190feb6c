/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part table of a launch that has more parts than fit into its parameters: host memory to write it in, and
 * device memory that it is uploaded to.
 */
#ifndef DTC_CUDA_PART_TABLE_H
#define DTC_CUDA_PART_TABLE_H

#include "copy_backends/cuda/device/upload.h"
#include "kernels/launch/launch.h"

struct dtc_cuda_part_table;

/* Room for parts of @bytes bytes in all. @room is left alone on failure. */
CUresult dtc_cuda_part_table_create(struct dtc_cuda_context *context, size_t bytes,
				    struct dtc_cuda_part_table **room);

/* For the planner of packs and unpacks, which writes the parts. */
struct dtc_gpu_parts dtc_cuda_part_table_of(struct dtc_cuda_part_table *room);

/* Host memory for the parts, and where they are on the device once they are copied. */
void *dtc_cuda_part_table_memory(struct dtc_cuda_part_table *room);
CUdeviceptr dtc_cuda_part_table_device(const struct dtc_cuda_part_table *room);

/* Begin the upload of the first @bytes; no job in flight reads the table. See upload.h for @reader and @upload. */
CUresult dtc_cuda_part_table_copy(struct dtc_cuda_context *context,
				  const struct dtc_cuda_part_table *room, size_t bytes,
				  const struct dtc_cuda_reader *reader, uint64_t *upload);

/* NULL is allowed. */
void dtc_cuda_part_table_drop(struct dtc_cuda_context *context,
			      struct dtc_cuda_part_table *room);

#endif
