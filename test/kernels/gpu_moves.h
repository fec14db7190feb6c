/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs for GPU kernels that tests make up: planned, and run by the shim.
 */
#ifndef TEST_KERNELS_GPU_MOVES_H
#define TEST_KERNELS_GPU_MOVES_H

#include "kernels/launch/launch.h"
#include "support/fixture.h"

/* A type with its image, as a device would have it. */
struct gpu_type {
	const struct dtc_layout *layout;
	void *image;
};

void gpu_type_open(struct gpu_type *gpu, struct dtconv_type *type);
void gpu_type_close(struct gpu_type *gpu);

/* Bytes [begin, end) of the stream of @count instances, to or from @packed. */
struct dtc_gpu_job gpu_job(const struct gpu_type *gpu, size_t count, unsigned char *user,
			   unsigned char *packed, size_t begin, size_t end,
			   enum dtc_direction direction);

/*
 * Whether the jobs of gpu_job have maps, and how these are used: in packed order by one word a thread, by many,
 * in the order of addresses by one, by many.
 */
enum gpu_maps {
	GPU_MAPS_OFF,
	GPU_MAPS_ONE,
	GPU_MAPS_MANY,
	GPU_MAPS_SORTED,
	GPU_MAPS_SORTED_MANY,
	GPU_MAPS
};
extern enum gpu_maps gpu_maps;

/* Plan a job; the parts, if it needs memory for them, are to be freed. */
void gpu_plan(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch,
	      struct dtc_gpu_part **parts);

/* What plans a job by a kernel of the test's choice and returns true, or leaves it to gpu_plan. */
extern bool (*gpu_plan_first)(const struct dtc_gpu_job *job,
			      struct dtc_gpu_launch *launch);

/* One of these: by a map wherever there can be one, used as gpu_maps says, whatever the planner prefers. */
bool gpu_plan_by_map(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch);

/* Plan and run. */
void gpu_move(const struct dtc_gpu_job *job);

/* The same for many jobs as one launch. */
void gpu_move_many(const struct dtc_gpu_job jobs[], size_t count);

/* Run what was planned, with a flag that must arrive. */
void gpu_launch(struct dtc_gpu_launch *launch);

/* What runs a launch, 0 if it did: the kernel of its class, unless a test has others. */
extern int (*gpu_run)(const struct dtc_gpu_launch *launch);

/*
 * Bytes [begin, end) of a stage's stream, each way, to packed memory so many bytes past a 64-byte
 * boundary. What is packed is compared, what is unpacked is for fixture_arrived to judge.
 */
void gpu_move_stretch(struct stage *stage, const struct gpu_type *gpu, size_t begin, size_t end,
		      size_t shift);

/* The whole stream, and the whole stream in fragments that are cut anywhere; judged. */
void gpu_move_whole(struct stage *stage, const struct gpu_type *gpu, size_t shift);
void gpu_move_cut(struct stage *stage, const struct gpu_type *gpu, struct choices *choices);

#endif
