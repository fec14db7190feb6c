/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all jobs on a device share: context and stream, completion, and the handling of failures.
 */
#ifndef DTC_CUDA_SUBMISSION_H
#define DTC_CUDA_SUBMISSION_H

#include "copy_backends/backend.h"
#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/device/upload.h"

struct dtc_cuda_submission {
	const struct dtc_job *job;
	struct dtc_event *event;
	struct dtc_cuda_context *context;
	const struct dtc_cuda_driver *driver;
	CUstream stream;
	bool capturing; /* a graph */
	bool unmarked; /* a graph or an unattended job: no flag, the order of the stream is all */
	CUstreamCaptureMode mode;
};

/* Choose the device context and the stream, and take a completion word. */
int dtc_cuda_submission_begin(struct dtc_cuda_submission *submission,
			      const struct dtc_backend_ops *backend, const struct dtc_job *job,
			      struct dtc_event *event);

/* Its work as a reader of tables. */
struct dtc_cuda_reader dtc_cuda_submission_reader(
	const struct dtc_cuda_submission *submission);

/*
 * The work has been handed to the stream, or @call has failed with @result. With @flag the stream
 * is told to mark the job's end; otherwise the work itself writes its flag. After a failure nothing of the
 * job is in flight any more.
 */
int dtc_cuda_submission_end(struct dtc_cuda_submission *submission, CUresult result,
			    const char *call, bool flag);

/* Whether the end of a started job of so many bytes is marked by an event of the driver's instead of a word. */
bool dtc_cuda_ends_by_event(bool on_stream, uint64_t bytes);

/* The work has failed half-way and the sentence is set: drain the stream as end does. */
void dtc_cuda_submission_abandon(struct dtc_cuda_submission *submission);

/* Nothing has been enqueued: give the completion word back. */
void dtc_cuda_submission_drop(struct dtc_cuda_submission *submission);

/*
 * Fail with INVAL if the device lacks the access to mapped (VMM) memory that the job's direction needs. A kernel
 * without access would break its CUDA context.
 */
int dtc_cuda_submission_check_access(const struct dtc_cuda_submission *submission,
				     const struct dtc_memory *user,
				     const struct dtc_memory *packed);

/* Whether memory is another device's, accessible from this one or not. */
bool dtc_cuda_submission_is_far(const struct dtc_cuda_submission *submission,
				const struct dtc_memory *memory);

/* Fail with UNSUPPORTED if the job's stream is being captured: the work blocks. */
int dtc_cuda_submission_refuse_capture(const struct dtc_job *job);

#endif
