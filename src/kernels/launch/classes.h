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

/*
 * Whether the class mapped is the best for a shape that is none of the classes above but indexed, so far as is
 * known without its map; if not, the reason why it cannot be, where that is one, and how long its map would be.
 */
bool dtc_gpu_wants_map(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
		       struct dtc_gpu_launch *launch, const char **reason);

/*
 * Whether a map moves faster what a launch of so many tiles moves by arithmetic: a short stream by a long kernel
 * (NAS_MG_x on an H200, of a map's kernel: 64 KiB 0.56 to 0.68, 1 MiB 0.81 to 0.84, 16 MiB 0.95 to 0.99), or a
 * period of whole words (20 of 48 bytes: 0.81 to 0.86, 0.92 to 0.94, 0.91 to 0.96).
 */
bool dtc_gpu_prefers_map(const struct dtc_gpu_job *job,
			 const struct dtc_gpu_launch *launch, uint64_t tiles);

/* The same as above for a job whose map is known. */
uint64_t dtc_gpu_plan_mapped(const struct dtc_gpu_job *job,
			     struct dtc_gpu_launch *launch);

/* The leaf's runs; a single table's displacement is in the shape already. False if they are too many. */
bool dtc_gpu_list_runs(struct dtc_gpu_periodic_params *params,
		       const struct dtc_program *program,
		       const struct dtc_gpu_shape *shape);

/* The kernel of a family for words of 16, 8, 4 bytes and of any; @first is the one that packs 16. */
enum dtc_gpu_kernel dtc_gpu_kernel_of_word(enum dtc_gpu_kernel first, uint32_t word,
					   enum dtc_direction direction);

#endif
