/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part table of a launch that has more parts than fit into its parameters: pinned memory to write it in, and
 * device memory that it is copied to.
 */
#ifndef DTC_CUDA_PART_TABLE_H
#define DTC_CUDA_PART_TABLE_H

#include "copy_backends/cuda/device/device_context.h"
#include "kernels/launch/launch.h"

struct dtc_cuda_part_table;

/*
 * Room for so many parts, of which @parts tells the kernels' planner; blocks nobody. @room is NULL on
 * failure.
 */
CUresult dtc_cuda_part_table_create(struct dtc_cuda_context *context, uint32_t capacity,
				    struct dtc_cuda_part_table **room);

/* What the planner is told of it. */
struct dtc_gpu_parts dtc_cuda_part_table_of(const struct dtc_cuda_part_table *room);

/* Have the first @count parts copied in the order of @stream; the room must stay as it is until then. */
CUresult dtc_cuda_part_table_copy(struct dtc_cuda_context *context,
				  const struct dtc_cuda_part_table *room, uint32_t count,
				  CUstream stream);

/* The same, now: for streams whose order is not that of time, because they are captured. */
CUresult dtc_cuda_part_table_copy_now(struct dtc_cuda_context *context,
				      const struct dtc_cuda_part_table *room,
				      uint32_t count);

/* Nothing that uses it is in flight. NULL is allowed. */
void dtc_cuda_part_table_drop(struct dtc_cuda_context *context,
			      struct dtc_cuda_part_table *room);

#endif
