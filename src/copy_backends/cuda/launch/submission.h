/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every job on a device has in common: its context and stream, its completion, and how it
 * fails.
 */
#ifndef DTC_CUDA_SUBMISSION_H
#define DTC_CUDA_SUBMISSION_H

#include "copy_backends/backend.h"
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

#endif
