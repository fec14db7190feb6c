/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning periods of bytes that go through shared memory.
 */
#ifndef DTC_KERNELS_GPU_STAGED_H
#define DTC_KERNELS_GPU_STAGED_H

#include "kernels/launch/shape.h"

/*
 * What a planner of classes.h does, for streams of any length: loops of any depth round a block or a short list of
 * runs, with gaps that are not much longer than the runs, or that can be left out.
 */
uint64_t dtc_gpu_make_staged(const struct dtc_gpu_job *job,
			     const struct dtc_gpu_shape *shape,
			     struct dtc_gpu_launch *launch);

#endif
