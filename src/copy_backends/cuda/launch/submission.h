/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every job on a device has in common: its context and stream, its completion, and how it
 * fails.
 */
#ifndef DTC_CUDA_SUBMISSION_H
#define DTC_CUDA_SUBMISSION_H

#include "copy_backends/cuda/device/device_context.h"

struct dtc_cuda_submission {
	const struct dtc_job *job;
	struct dtc_event *event;
	struct dtc_cuda_context *context;
	const struct dtc_cuda_driver *driver;
	CUstream stream;
	bool capturing; /* a graph: no flag, the order of the stream is all */
	CUstreamCaptureMode mode;
};

/* Find context and stream and take a flag. */
int dtc_cuda_submission_begin(struct dtc_cuda_submission *submission,
			      const struct dtc_backend_ops *backend, const struct dtc_job *job,
			      struct dtc_event *event);

/*
 * The work has been handed to the stream, or @call has failed with @result. With @flag the stream
 * is told to mark the job's end; otherwise the work itself writes its flag. After a failure nothing of the
 * job is in flight any more.
 */
int dtc_cuda_submission_end(struct dtc_cuda_submission *submission, CUresult result,
			    const char *call, bool flag);

/* The work has failed half-way, for a reason that has its sentence: the rest as in end. */
void dtc_cuda_submission_abandon(struct dtc_cuda_submission *submission);

/* Nothing has been handed to the stream: give the flag back. */
void dtc_cuda_submission_drop(struct dtc_cuda_submission *submission);

/*
 * Fail with INVAL if the device has not the access to mapped memory that the job's direction needs: only devices
 * that were given it have, and a kernel of another breaks its context.
 */
int dtc_cuda_submission_check_access(const struct dtc_cuda_submission *submission,
				     const struct dtc_memory *user,
				     const struct dtc_memory *packed);

/* Whether memory is another device's, open to this one or not. */
bool dtc_cuda_submission_is_far(const struct dtc_cuda_submission *submission,
				const struct dtc_memory *memory);

/* Fail with UNSUPPORTED if the job's stream is being captured: the work blocks. */
int dtc_cuda_submission_refuse_capture(const struct dtc_job *job);

/* ---- kernel.c -------------------------------------------------------------------------- */

/*
 * Whether memory is the device's own, so that kernels may ask it for what they store parts of. So it is mostly where
 * the caller has said that it is a device's, and nobody has been asked which one's. Not for short streams.
 */
bool dtc_cuda_is_near(const struct dtc_cuda_context *context,
		      const struct dtc_memory *memory, uint64_t bytes);

/*
 * Plan a job as a launch of its own, with the type's program on the device if it needs that; @job names it
 * then. DTCONV_ERR_LIMIT, without a sentence: it has more parts than travel with a launch;
 * DTCONV_ERR_UNSUPPORTED, the same: more tiles than a grid has.
 */
int dtc_cuda_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context, const char *caller,
		  struct dtc_gpu_launch *launch);

/* Plan a submission's job as one launch, whatever its parts. UNSUPPORTED as above. */
int dtc_cuda_submission_plan(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch);

/*
 * Whether a launch's kernel is to write the flag, else the stream does it behind the launch. A kernel's blocks
 * wait for their own stores before they are counted, and no other block has their place meanwhile: one
 * H200 packed 16 MiB at 0.80 of the driver's copy and with the stream's flag at 1.13, 256 MiB at 0.92 and 0.98.
 */
bool dtc_cuda_kernel_writes_flag(const struct dtc_gpu_launch *launch);

/* Tell a kernel of the submission's flag, if it has one. */
void dtc_cuda_set_flag(const struct dtc_cuda_submission *submission,
		       struct dtc_gpu_launch *launch);

/* Launch a kernel; with @flag it writes the submission's flag when it is done. */
CUresult dtc_cuda_launch(const struct dtc_cuda_submission *submission,
			 struct dtc_gpu_launch *launch, bool flag);

/* ---- copy.c ---------------------------------------------------------------------------- */

/* Hand copies of the job's blocks to the stream, for that reason; the cursor moves behind them. */
CUresult dtc_cuda_copy_blocks(const struct dtc_cuda_submission *submission,
			      const char *reason);

/* Copy the job's packed bytes to (packing: from) @stage, whatever the type. */
int dtc_cuda_copy_row(const struct dtc_job *job, char *stage, struct dtc_event *event);

#endif
