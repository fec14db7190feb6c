/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of a job: device context, stream, capture state and completion before its work is enqueued; marking
 * the end, or draining the stream after a failure.
 */
#include "config.h"

#include "submission.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/arena.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/upload.h"
#include "copy_backends/cuda/driver/nvtx_ranges.h"
#include "event.h"

/* Nobody captures a stream of ours. */
static int find_capture(struct dtc_cuda_submission *submission)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = submission->driver->StreamIsCapturing(submission->stream, &capture);

	if (result)
		return dtc_cuda_fail(submission->context, result, "cuStreamIsCapturing",
				     submission->job->caller);
	submission->capturing = capture != CU_STREAM_CAPTURE_STATUS_NONE;
	return 0;
}

/* The driver is asked of one mapping; several that belong together have been asked for. */
static unsigned long long access_to(const struct dtc_cuda_submission *submission,
				    const struct dtc_memory *memory)
{
	const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
				       .id = submission->context->device };
	unsigned long long access = 0;

	if (memory->read_only)
		return CU_MEM_ACCESS_FLAGS_PROT_READ;
	if (!memory->base ||
	    submission->driver->MemGetAccess(&access, &device, (CUdeviceptr)memory->base))
		return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return access;
}

static int check_access(const struct dtc_cuda_submission *submission,
			const struct dtc_memory *memory, const char *side, bool written)
{
	const struct dtc_cuda_context *context = submission->context;
	const unsigned long long needed = written ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
						  : CU_MEM_ACCESS_FLAGS_PROT_READ;

	if (!memory->mapped || memory->device != context->device)
		return 0;
	const unsigned long long access = access_to(submission, memory);
	if ((access & needed) == needed)
		return 0;
	return DTC_FAIL(submission->job->context, DTCONV_ERR_INVAL,
			access ? "%s: device %d has no write access to the %s memory"
			       : "%s: device %d has no access to the %s memory",
			submission->job->caller, context->device, side);
}

int dtc_cuda_submission_check_access(const struct dtc_cuda_submission *submission,
				     const struct dtc_memory *user,
				     const struct dtc_memory *packed)
{
	const struct dtc_job *job = submission->job;
	bool pack = job->direction == DTC_PACK;
	int status = check_access(submission, user,
				  job->between_layouts ? "source" : "user", !pack);

	return status ? status
		      : check_access(submission, packed,
				     job->between_layouts ? "target" : "packed", pack);
}

bool dtc_cuda_submission_is_far(const struct dtc_cuda_submission *submission,
				const struct dtc_memory *memory)
{
	return memory->kind == DTCONV_MEMORY_DEVICE && memory->device >= 0 &&
	       memory->device != submission->context->device;
}

/* In a graph a flag would be written with the same value at each replay. */
static int take_flag(struct dtc_cuda_submission *submission,
		     const struct dtc_backend_ops *backend)
{
	const struct dtc_job *job = submission->job;

	*submission->event = (struct dtc_event){ .backend = NULL, .caller = job->caller };
	submission->unmarked = submission->capturing || job->unattended;
	if (submission->unmarked)
		return 0;
	if (dtc_cuda_flag_take(submission->context, submission->stream, submission->event)) {
		submission->event->backend = backend;
		return 0;
	}
	return DTC_RETRY(job->context,
			 "%s: %d jobs are in flight in one device context, which is the "
			 "limit; wait for one first",
			 job->caller, DTC_CUDA_FLAGS);
}

/* What holds while the calling thread is in the driver for the job. */
static void enter(struct dtc_cuda_submission *submission)
{
	dtc_cuda_nvtx_begin(dtc_cuda_of(submission->job->context)->listener,
			    submission->job);
	submission->mode = dtc_cuda_relax(submission->driver);
}

static void leave(const struct dtc_cuda_submission *submission)
{
	dtc_cuda_unrelax(submission->driver, submission->mode);
	dtc_cuda_nvtx_end(dtc_cuda_of(submission->job->context)->listener);
}

/* A checksum is in the lane of its move, behind which it is ordered. */
static enum dtc_cuda_lane lane_of(const struct dtc_job *job)
{
	if (job->between_layouts)
		return DTC_CUDA_LANE_COPY;
	return job->direction == DTC_PACK ? DTC_CUDA_LANE_PACK : DTC_CUDA_LANE_UNPACK;
}

int dtc_cuda_submission_begin(struct dtc_cuda_submission *submission,
			      const struct dtc_backend_ops *backend, const struct dtc_job *job,
			      struct dtc_event *event)
{
	struct dtc_cuda *cuda = dtc_cuda_of(job->context);

	*submission = (struct dtc_cuda_submission){ .job = job,
						    .event = event,
						    .driver = &cuda->driver };
	enter(submission);
	int status = dtc_cuda_context_choose(cuda, job, &submission->context);
	if (!status) {
		submission->stream = job->on_stream
					     ? (CUstream)job->stream
					     : submission->context->lanes[lane_of(job)];
		if (job->on_stream)
			status = find_capture(submission);
	}
	if (!status)
		status = dtc_cuda_submission_check_access(submission, &job->user_memory,
							  &job->packed_memory);
	if (!status)
		status = take_flag(submission, backend);
	if (status)
		leave(submission);
	return status;
}

/* Tables of other threads may have to wait for a brief job: a kernel of 0.2 ms at most (H200). */
#define BRIEF_BYTES (UINT64_C(256) << 20)

/* Whether the caller waits for no more than a kernel. */
static bool is_brief(const struct dtc_job *job)
{
	return !job->on_stream && !job->started && job->bytes <= BRIEF_BYTES &&
	       job->user_memory.kind == DTCONV_MEMORY_DEVICE &&
	       job->packed_memory.kind == DTCONV_MEMORY_DEVICE;
}

struct dtc_cuda_reader dtc_cuda_submission_reader(
	const struct dtc_cuda_submission *submission)
{
	return (struct dtc_cuda_reader){ .stream = submission->stream,
					 .captured = submission->capturing,
					 .own = submission->job->on_stream
							? NULL
							: submission->event,
					 .is_brief = is_brief(submission->job) };
}

void dtc_cuda_submission_drop(struct dtc_cuda_submission *submission)
{
	if (submission->event->backend) {
		(void)dtc_cuda_upload_abandon(submission->context, submission->event);
		dtc_cuda_flag_put(submission->event);
	}
	submission->event->backend = NULL;
	leave(submission);
}

/* What has been handed to the stream before the failure must not be left to run alone. */
static void drain(struct dtc_cuda_submission *submission)
{
	struct dtc_event *event = submission->event;

	if (!event->backend)
		return;
	event->backend = NULL;
	if (dtc_cuda_context_is_alive(submission->context) &&
	    !dtc_cuda_flag_write(event)) {
		dtc_cuda_event_wait(event);
		return;
	}
	/* It may run on, and read what it reads for as long as that takes. */
	dtc_cuda_arena_retire(submission->context);
	dtc_cuda_flag_put(event);
}

void dtc_cuda_submission_abandon(struct dtc_cuda_submission *submission)
{
	drain(submission);
	leave(submission);
}

/*
 * A word that a stream writes delays the next job of the stream, and one that nobody waits for at once need not be
 * noticed at once. To ask the driver for an event costs a thread 1.3 us, more than short moves in a lane gain.
 */
#define RECORDED_BYTES (UINT64_C(512) << 10)

bool dtc_cuda_ends_by_event(bool on_stream, uint64_t bytes)
{
	return on_stream || bytes >= RECORDED_BYTES;
}

static CUresult mark_end(struct dtc_cuda_submission *submission, const char **call)
{
	const struct dtc_job *job = submission->job;

	if (job->started && dtc_cuda_ends_by_event(job->on_stream, job->bytes))
		return dtc_cuda_flag_record(submission->event, call);
	*call = "cuStreamWriteValue64";
	return dtc_cuda_flag_write(submission->event);
}

int dtc_cuda_submission_end(struct dtc_cuda_submission *submission, CUresult result,
			    const char *call, bool flag)
{
	int status = 0;

	if (!result && flag && !submission->unmarked)
		result = mark_end(submission, &call);
	if (result) {
		status = dtc_cuda_fail(submission->context, result, call,
				       submission->job->caller);
		drain(submission);
	}
	leave(submission);
	return status;
}

int dtc_cuda_submission_refuse_capture(const struct dtc_job *job)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(job->context)->driver;
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!job->on_stream || driver->StreamIsCapturing((CUstream)job->stream, &capture) ||
	    capture == CU_STREAM_CAPTURE_STATUS_NONE)
		return 0;
	return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
			"%s: the stream is being captured, but moving %s to %s memory "
			"needs CPU copies; use memory that the device can access",
			job->caller, dtc_memory_kind_name(job->user_memory.kind),
			dtc_memory_kind_name(job->packed_memory.kind));
}
