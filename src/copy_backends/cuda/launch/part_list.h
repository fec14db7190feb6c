/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types with more parts than fit into the parameters of a launch: their parts stay on the device, with the type.
 */
#ifndef DTC_CUDA_PART_LIST_H
#define DTC_CUDA_PART_LIST_H

#include "copy_backends/cuda/device/upload.h"
#include "kernels/launch/launch.h"

/*
 * Plan a job that dtc_gpu_plan refused with LIMIT. The first job of its kind makes what is kept; where
 * too much is kept already, or the job is of several instances, the general kernel walks.
 */
int dtc_cuda_part_list_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
			    const struct dtc_cuda_reader *reader, const char *caller,
			    struct dtc_gpu_launch *launch);

#endif
