/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two devices where the kernels of one may not access the other's memory.
 */
#ifndef DTC_CUDA_VIA_DEVICE_H
#define DTC_CUDA_VIA_DEVICE_H

#include "copy_backends/cuda/launch/submission.h"

/*
 * Move a job whose memory the submission's kernels may not access: by kernels of the other device, or packed near
 * the user's memory and then copied. What cannot be enqueued in the caller's stream blocks. DTCONV_ERR_LIMIT, without
 * a sentence, if the driver's copies are the best way; then the submission goes on, else it has ended.
 */
int dtc_cuda_via_device(struct dtc_cuda_submission *submission);

/*
 * Whether the submission's context may not even copy: the other device's side is a mapping, or from a pool, that it
 * may not access. Memory of cuMemAlloc any context may copy.
 */
bool dtc_cuda_is_closed(const struct dtc_cuda_submission *submission);

/* Copy such a job by contexts that may. The submission has ended after. */
int dtc_cuda_copy_via_device(struct dtc_cuda_submission *submission);

#endif
