/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a copy from one layout to another as one launch of a submission.
 */
#ifndef DTC_CUDA_COPY_PLAN_H
#define DTC_CUDA_COPY_PLAN_H

#include "copy_backends/layout_copy.h"
#include "kernels/launch/launch.h"
#include "submission.h"

/* Whether the submission's device may access all bytes of both sides. */
bool dtc_cuda_copy_can_access(const struct dtc_cuda_submission *submission,
			      const struct dtc_copy_job *copy);

/*
 * Plan a copy, with the layouts' maps and programs on the device if it needs them. Fails with LIMIT, and the reason
 * but no error text, if one launch cannot copy it.
 */
int dtc_cuda_copy_plan(const struct dtc_cuda_submission *submission,
		       const struct dtc_copy_job *copy, struct dtc_gpu_launch *launch,
		       const char **reason);

#endif
