/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as the GPU kernels see it: loops around one leaf, cut to what a job moves.
 */
#ifndef DTC_KERNELS_GPU_SHAPE_H
#define DTC_KERNELS_GPU_SHAPE_H

#include "kernels/launch/launch.h"

struct dtc_gpu_loop {
	uint64_t count;
	int64_t stride;
};

enum dtc_gpu_leaf {
	DTC_GPU_LEAF_BLOCK, /* one run of @leaf_bytes */
	DTC_GPU_LEAF_TABLE, /* one table of runs, @ops */
	DTC_GPU_LEAF_OPS    /* the operations @ops, after each other */
};

struct dtc_gpu_shape {
	struct dtc_gpu_loop loops[DTC_PROGRAM_DEPTH + 2]; /* innermost first */
	uint32_t loop_count;
	enum dtc_gpu_leaf leaf;
	const struct dtc_op *ops;
	uint32_t op_count; /* the operations with their bodies */
	uint64_t leaf_bytes;
	uint64_t user;   /* device's address of displacement 0 of the leaf in the first iteration */
	uint64_t packed; /* packed address of byte 0 of the shape's stream */
	uint64_t begin;  /* of the stretch, in that stream */
	uint64_t end;
	bool expects; /* it is unpacked to memory of the launching device */
	bool one_block; /* one thread block may move all of it */
};

/* The shape of all that a job moves; @job->begin < @job->end. */
void dtc_gpu_shape_of_job(const struct dtc_gpu_job *job, struct dtc_gpu_shape *shape);

/*
 * The part of one operation that is to be moved, for a leaf of several operations without outer
 * loops. False if there is nothing to move.
 */
bool dtc_gpu_shape_of_op(const struct dtc_gpu_shape *leaf, const struct dtc_op *op,
			 struct dtc_gpu_shape *shape);

#endif
