/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs between two devices where the submission's kernels may not access one side. The other device may access
 * both; else the job is packed into scratch memory near the user's, and the driver copies it across.
 */
#include "config.h"

#include "via_device.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/device/scratch.h"
#include "copy_backends/cuda/launch/copies.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "copy_backends/plan.h"
#include "moves.h"

/* ---- through memory of the user's device --------------------------------------------------- */

/* Pieces that are under way at once; each is two jobs of one stream. */
#define PIECES 2

struct hops {
	const struct dtc_job *job;
	struct dtc_scratch scratch;
	struct dtc_event events[2 * PIECES];
};

/* What is left to the caller of the events that a piece will use. */
static int await(struct dtc_event *event)
{
	if (!event->backend)
		return 0;
	event->backend = NULL;
	return dtc_cuda_event_wait(event);
}

/* Between the user's blocks and scratch memory. */
static int move_near(const struct hops *hops, uint64_t bytes, struct dtc_event *event)
{
	struct dtc_job hop = *hops->job;

	hop.bytes = bytes;
	hop.packed = hops->scratch.memory;
	hop.packed_memory = (struct dtc_memory){ .kind = DTCONV_MEMORY_DEVICE,
						 .device = hop.user_memory.device };
	hop.on_stream = true;
	hop.stream = hops->scratch.stream;
	return dtc_cuda_kernel_backend.submit(&hop, event);
}

/* Mappings and pools that a device may not access, copies in its contexts may not access, either. */
static bool is_apart(const struct dtc_job *job)
{
	return !job->packed_memory.owner;
}

/* Between scratch memory and packed memory. */
static int copy_far(const struct hops *hops, uint64_t offset, uint64_t bytes,
		    struct dtc_event *event)
{
	struct dtc_job hop = *hops->job;

	hop.bytes = bytes;
	hop.packed += offset;
	hop.at_packed = is_apart(hops->job);
	hop.on_stream = !hop.at_packed;
	hop.stream = hops->scratch.stream;
	return dtc_cuda_copy_row(&dtc_cuda_copy_backend, &hop, hops->scratch.memory,
				 event);
}

/* In the order of the scratch memory's stream, or one after the other: pieces use it in turns. */
static int move_piece(struct hops *hops, uint64_t offset, uint64_t bytes)
{
	bool packs = hops->job->direction == DTC_PACK, apart = is_apart(hops->job);
	struct dtc_event *events =
		&hops->events[offset / hops->scratch.bytes % PIECES * 2];
	int status = await(&events[0]);

	if (!status)
		status = await(&events[1]);
	if (!status)
		status = packs ? move_near(hops, bytes, &events[0])
			       : copy_far(hops, offset, bytes, &events[0]);
	if (!status && apart)
		status = await(&events[0]);
	if (!status)
		status = packs ? copy_far(hops, offset, bytes, &events[1])
			       : move_near(hops, bytes, &events[1]);
	if (!status && apart)
		status = await(&events[1]);
	return status;
}

static int move_pieces(struct hops *hops)
{
	const uint64_t bytes = hops->job->bytes;
	int status = 0;

	for (uint64_t offset = 0; !status && offset < bytes;
	     offset += hops->scratch.bytes)
		status = move_piece(hops, offset,
				    DTC_MIN(bytes - offset, hops->scratch.bytes));
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(hops->events); i++) {
		int ended = await(&hops->events[i]);

		status = status ? status : ended;
	}
	return status;
}

/* Without scratch memory, a copy of inaccessible memory would come back here for ever. */
static int go_without_scratch(const struct dtc_job *job, struct dtc_event *event,
			      bool closed)
{
	if (!closed)
		return dtc_cuda_copy_backend.submit(job, event);
	return DTC_FAIL(
		job->context, DTCONV_ERR_BACKEND,
		"%s: cannot allocate a staging buffer on device %d to exchange data with "
		"device %d, and the two have no peer access",
		job->caller, job->user_memory.device, job->packed_memory.device);
}

static int go_through_scratch(const struct dtc_job *job, struct dtc_event *event,
			      bool closed)
{
	struct hops hops = { .job = job };

	if (!dtc_cuda_scratch_borrow(job->context, &job->user_memory,
				     DTC_SCRATCH_VIA_DEVICE, &hops.scratch))
		return go_without_scratch(job, event, closed);
	event->backend = NULL;
	int status = move_pieces(&hops);
	hops.scratch.end(&hops.scratch);
	return status;
}

/* ---- another context ----------------------------------------------------------------------- */

/* Work by any device, when all is done that the job is ordered behind. */
static int leave_stream(struct dtc_cuda_submission *submission,
			const struct dtc_backend_ops *backend)
{
	struct dtc_event *event = submission->event;
	struct dtc_job job = *submission->job;
	int status = dtc_cuda_submission_end(submission, CUDA_SUCCESS, NULL, true);

	if (!status)
		status = await(event);
	if (status)
		return status;
	job.on_stream = false;
	job.awaited = true;
	status = backend->submit(&job, event);
	return status ? status : await(event);
}

static bool is_between(const struct dtc_job *job)
{
	return dtc_memory_is_between(&job->user_memory, &job->packed_memory);
}

/* Whether the device that was not asked reaches both sides. */
static bool does_other_reach(const struct dtc_job *turned)
{
	struct dtc_cuda_context *other;

	return !dtc_cuda_context_choose(dtc_cuda_of(turned->context), turned, &other) &&
	       dtc_cuda_can_access(other, turned, turned->cursor, turned->bytes);
}

static bool is_scratch_worth(const struct dtc_job *job)
{
	const struct dtc_question question = dtc_question_of(job);

	return dtc_cuda_via_device_ns(&question) <
	       dtc_cuda_copy_backend.estimate(&question);
}

bool dtc_cuda_is_closed(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	const struct dtc_memory *far = job->user_memory.device ==
						       submission->context->device
					       ? &job->packed_memory
					       : &job->user_memory;

	return is_between(job) && !far->owner && !submission->capturing &&
	       !dtc_cuda_can_access(submission->context, job, job->cursor, job->bytes);
}

int dtc_cuda_copy_via_device(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_event *event = submission->event;
	struct dtc_job turned = *job;

	if (dtc_job_is_ordered(job))
		return leave_stream(submission, &dtc_cuda_copy_backend);
	dtc_cuda_submission_drop(submission);
	turned.at_packed = true;
	if (!job->at_packed && (job->user_memory.owner || does_other_reach(&turned)))
		return dtc_cuda_copy_backend.submit(&turned, event);
	return go_through_scratch(job, event, true);
}

int dtc_cuda_via_device(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_event *event = submission->event;
	struct dtc_job turned = *job;

	if (submission->capturing || !is_between(job))
		return DTCONV_ERR_LIMIT;
	bool needless = !is_scratch_worth(job) && !dtc_cuda_is_closed(submission);
	if (dtc_job_is_ordered(job))
		return needless ? DTCONV_ERR_LIMIT
				: leave_stream(submission, &dtc_cuda_kernel_backend);
	turned.at_packed = !job->at_packed;
	if (does_other_reach(&turned)) {
		dtc_cuda_submission_drop(submission);
		return dtc_cuda_kernel_backend.submit(&turned, event);
	}
	if (needless)
		return DTCONV_ERR_LIMIT;
	dtc_cuda_submission_drop(submission);
	return is_scratch_worth(job) ? go_through_scratch(job, event, false)
				     : dtc_cuda_copy_backend.submit(job, event);
}
