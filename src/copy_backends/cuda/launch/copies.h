/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing a job to a stream as the driver's copies.
 */
#ifndef DTC_CUDA_COPIES_H
#define DTC_CUDA_COPIES_H

#include "submission.h"

/* Hand copies of the job's blocks to the stream, for that reason; the cursor moves behind them. */
CUresult dtc_cuda_copy_blocks(const struct dtc_cuda_submission *submission,
			      const char *reason);

/* Copy the job's packed bytes to (packing: from) @stage, whatever the type. */
int dtc_cuda_copy_row(const struct dtc_backend_ops *backend, const struct dtc_job *job,
		      char *stage, struct dtc_event *event);

#endif
