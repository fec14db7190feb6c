/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs for GPU kernels that tests make up.
 */
#include "config.h"

#include "kernels/gpu_moves.h"

#include <stdlib.h>

#include "datatype/type.h"
#include "support/gpu_shim.h"

/* Allocations of a device are aligned so, and programs go to such addresses. */
#define DEVICE_ALIGNMENT 256

void gpu_type_open(struct gpu_type *gpu, struct dtconv_type *type)
{
	ck_assert_int_eq(dtconv_type_commit(type), 0);
	gpu->layout = dtc_type_layout(type);
	size_t bytes = dtc_gpu_image_bytes(gpu->layout->program);
	gpu->image = aligned_alloc(DEVICE_ALIGNMENT,
				   (bytes + DEVICE_ALIGNMENT) / DEVICE_ALIGNMENT *
					   DEVICE_ALIGNMENT);
	ck_assert_ptr_nonnull(gpu->image);
	dtc_gpu_image_write(gpu->layout->program, gpu->image);
}

void gpu_type_close(struct gpu_type *gpu)
{
	free(gpu->image);
}

struct dtc_gpu_job gpu_job(const struct gpu_type *gpu, size_t count, unsigned char *user,
			   unsigned char *packed, size_t begin, size_t end,
			   enum dtc_direction direction)
{
	return (struct dtc_gpu_job){ .layout = gpu->layout,
				     .count = count,
				     .user = (uintptr_t)user,
				     .packed = (uintptr_t)packed,
				     .begin = begin,
				     .end = end,
				     .direction = direction,
				     .image = (uintptr_t)gpu->image };
}

void gpu_launch(struct dtc_gpu_launch *launch)
{
	uint64_t flag = 0;
	uint32_t counter = 0;

	launch->params.done = (struct dtc_gpu_done){ (uintptr_t)&flag, 7, (uintptr_t)&counter };
	if (!launch->grid)
		return;
	ck_assert_int_eq(shim_run(dtc_gpu_kernel_name(launch->kernel), launch->grid,
				  DTC_GPU_BLOCK, launch->shared_bytes, &launch->params),
			 0);
	ck_assert_uint_eq(flag, 7);
	ck_assert_uint_eq(counter, 0);
}

enum dtc_gpu_class gpu_move(const struct dtc_gpu_job *job)
{
	enum dtc_gpu_class class;
	struct dtc_gpu_launch *launch = malloc(sizeof(*launch));
	struct dtc_gpu_parts parts = { NULL, 0, 0 };
	uint32_t needed;
	int status = dtc_gpu_plan(job, NULL, launch, &needed);

	if (status == DTCONV_ERR_LIMIT) {
		parts.host = calloc(needed, sizeof(parts.host[0]));
		parts.capacity = needed;
		parts.device = (uintptr_t)parts.host;
		status = dtc_gpu_plan(job, &parts, launch, &needed);
	}
	ck_assert_int_eq(status, 0);
	gpu_launch(launch);
	class = launch->class;
	free(parts.host);
	free(launch);
	return class;
}

void gpu_move_many(const struct dtc_gpu_job jobs[], size_t count)
{
	if (!count)
		return;
	struct dtc_gpu_launch *launch = malloc(sizeof(*launch));
	struct dtc_gpu_parts parts = { NULL, 0, 0 };
	uint32_t needed;
	int status = dtc_gpu_plan_many(jobs, count, NULL, launch, &needed);

	if (status == DTCONV_ERR_LIMIT) {
		parts.host = calloc(needed, sizeof(parts.host[0]));
		parts.capacity = needed;
		parts.device = (uintptr_t)parts.host;
		status = dtc_gpu_plan_many(jobs, count, &parts, launch, &needed);
	}
	ck_assert_int_eq(status, 0);
	gpu_launch(launch);
	free(parts.host);
	free(launch);
}
