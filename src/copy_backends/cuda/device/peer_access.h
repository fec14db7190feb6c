/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several devices: which memory the kernels of a device context may touch, and how bytes get to the
 * rest of it.
 */
#ifndef DTC_CUDA_PEER_ACCESS_H
#define DTC_CUDA_PEER_ACCESS_H

#include "copy_backends/cuda/launch/submission.h"

/*
 * Whether kernels of the context may touch what the next @bytes of the cursor's stream are moved
 * between: the application has opened other devices' memory to it, or allows us to. A kernel that
 * touches what it may not breaks its context.
 */
bool dtc_cuda_can_access(struct dtc_cuda_context *context, const struct dtc_job *job,
			 const struct dtc_cursor *cursor, uint64_t bytes);

/* The same before there is a job: see dtc_memory_reaches. */
bool dtc_cuda_can_access_memory(struct dtconv_context *context,
				const struct dtc_memory *user,
				const struct dtc_memory *packed);

/*
 * Move a job that the context of its submission does not reach: by the other device's kernels, or packed
 * near the user's memory and by one copy more. What cannot be started at once in the order of the caller's
 * stream blocks. DTCONV_ERR_LIMIT, without a sentence, if the driver's copies are the best there is; then
 * the submission goes on, else it has ended.
 */
int dtc_cuda_via_device(struct dtc_cuda_submission *submission);

/*
 * Whether the submission's context may not even copy: the other device's side is a mapping, or of a
 * pool, that is closed to it. Ordinary memory any context may copy.
 */
bool dtc_cuda_is_closed(const struct dtc_cuda_submission *submission);

/* Copy such a job by contexts that may. The submission has ended after. */
int dtc_cuda_copy_via_device(struct dtc_cuda_submission *submission);

#endif
