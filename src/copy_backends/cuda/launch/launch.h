/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a job as a kernel launch, and launching it.
 */
#ifndef DTC_CUDA_LAUNCH_H
#define DTC_CUDA_LAUNCH_H

#include "kernels/launch/launch.h"
#include "submission.h"

/*
 * Whether memory is local to the device, so that kernels may read the sectors that they store parts of. Memory that
 * the caller has declared as device memory, without saying whose, is taken for local.
 */
bool dtc_cuda_is_local(const struct dtc_cuda_context *context,
		       const struct dtc_memory *memory);

/* The same, but false for short streams. */
bool dtc_cuda_is_near(const struct dtc_cuda_context *context,
		      const struct dtc_memory *memory, uint64_t bytes);

/*
 * Plan a job as a launch of its own, with the type's map or program on the device if it needs that; @job names
 * it then. A map is looked for if it is open in @job. The reader's work comes behind the uploads; without a reader the
 * call waits for them. DTCONV_ERR_LIMIT, without a sentence: it has more parts than travel with a launch;
 * DTCONV_ERR_UNSUPPORTED, the same: more tiles than a grid has.
 */
int dtc_cuda_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
		  const struct dtc_cuda_reader *reader, const char *caller,
		  struct dtc_gpu_launch *launch);

/* Plan a submission's job as one launch, whatever its parts. UNSUPPORTED as above. */
int dtc_cuda_submission_plan(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch);

/*
 * Whether the kernel writes the completion word itself; else the stream writes it after the launch. The thread blocks
 * of a kernel that does wait for their own stores before they are counted, which keeps their places on the device
 * occupied (16 MiB on an H200: 0.80 of the driver's copy, against 1.13 with the stream's write; 256 MiB: 0.92, 0.98).
 */
bool dtc_cuda_kernel_writes_flag(const struct dtc_gpu_launch *launch);

/* Launch a kernel; with @flag it writes the submission's flag when it is done. */
CUresult dtc_cuda_launch(const struct dtc_cuda_submission *submission,
			 struct dtc_gpu_launch *launch, bool flag);

#endif
