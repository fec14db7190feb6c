/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning, class by class: each returns whether a shape is of its class, and then what to launch.
 */
#ifndef DTC_KERNELS_GPU_CLASSES_H
#define DTC_KERNELS_GPU_CLASSES_H

#include "kernels/launch/shape.h"

/*
 * Each sets all of @launch but the flag, the sum of bytes and what follows from the kernel, and
 * returns the number of tiles; 0, and the reason, if the shape is not of the class.
 */
uint64_t dtc_gpu_plan_strided(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			      struct dtc_gpu_launch *launch, const char **reason);
uint64_t dtc_gpu_plan_transposing(const struct dtc_gpu_job *job,
				  const struct dtc_gpu_shape *shape,
				  struct dtc_gpu_launch *launch, const char **reason);
uint64_t dtc_gpu_plan_periodic(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			       struct dtc_gpu_launch *launch, const char **reason);
uint64_t dtc_gpu_plan_staged(const struct dtc_gpu_job *job,
			     const struct dtc_gpu_shape *shape,
			     struct dtc_gpu_launch *launch, const char **reason);
uint64_t dtc_gpu_plan_indexed(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			      struct dtc_gpu_launch *launch, const char **reason);

/* The leaf's runs; a single table's displacement is in the shape already. False if they are too many. */
bool dtc_gpu_list_runs(struct dtc_gpu_periodic_params *params,
		       const struct dtc_program *program,
		       const struct dtc_gpu_shape *shape);

/* The kernel of a family for words of 16, 8, 4 bytes and of any; @first is the one that packs 16. */
enum dtc_gpu_kernel dtc_gpu_kernel_of_word(enum dtc_gpu_kernel first, uint32_t word,
					   enum dtc_direction direction);

#endif
