/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs whose kernels may not touch one of the sides, which is another device's. The other device may
 * reach both; else the stream is packed in memory near the user's, and the driver copies it.
 */
#include "config.h"

#include "reach.h"

#include "context.h"
#include "copy_backends/plan.h"
#include "cuda.h"
#include "log.h"
#include "rates.h"

/* ---- through memory of the user's device --------------------------------------------------- */

/* Pieces that are under way at once; each is two jobs of one stream. */
#define PIECES 2

struct relay {
	const struct dtc_job *job;
	struct dtc_scratch loan;
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

/* Between the user's blocks and the loan. */
static int move_near(const struct relay *relay, uint64_t bytes, struct dtc_event *event)
{
	struct dtc_job hop = *relay->job;

	hop.bytes = bytes;
	hop.packed = relay->loan.memory;
	hop.packed_memory = (struct dtc_memory){ .kind = DTCONV_MEMORY_DEVICE,
						 .device = hop.user_memory.device };
	hop.on_stream = true;
	hop.stream = relay->loan.stream;
	return dtc_cuda_kernel_backend.submit(&hop, event);
}

/* Mappings and pools that are closed to a device are closed to its contexts' copies, too. */
static bool is_apart(const struct dtc_job *job)
{
	return !job->packed_memory.owner;
}

/* Between the loan and packed memory. */
static int copy_far(const struct relay *relay, uint64_t offset, uint64_t bytes,
		    struct dtc_event *event)
{
	struct dtc_job hop = *relay->job;

	hop.bytes = bytes;
	hop.packed += offset;
	hop.at_packed = is_apart(relay->job);
	hop.on_stream = !hop.at_packed;
	hop.stream = relay->loan.stream;
	return dtc_cuda_copy_row(&hop, relay->loan.memory, event);
}

/* In the order of the loan's stream, or one after the other: one piece has the loan after another. */
static int move_piece(struct relay *relay, uint64_t offset, uint64_t bytes)
{
	bool packs = relay->job->direction == DTC_PACK, apart = is_apart(relay->job);
	struct dtc_event *events =
		&relay->events[offset / relay->loan.bytes % PIECES * 2];
	int status = await(&events[0]);

	if (!status)
		status = await(&events[1]);
	if (!status)
		status = packs ? move_near(relay, bytes, &events[0])
			       : copy_far(relay, offset, bytes, &events[0]);
	if (!status && apart)
		status = await(&events[0]);
	if (!status)
		status = packs ? copy_far(relay, offset, bytes, &events[1])
			       : move_near(relay, bytes, &events[1]);
	if (!status && apart)
		status = await(&events[1]);
	return status;
}

static int move_pieces(struct relay *relay)
{
	const uint64_t bytes = relay->job->bytes;
	int status = 0;

	for (uint64_t offset = 0; !status && offset < bytes; offset += relay->loan.bytes)
		status = move_piece(relay, offset,
				    DTC_MIN(bytes - offset, relay->loan.bytes));
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(relay->events); i++) {
		int ended = await(&relay->events[i]);

		status = status ? status : ended;
	}
	return status;
}

/* Without memory in between, copies of what is closed would come back here. */
static int relay_without_loan(const struct dtc_job *job, struct dtc_event *event,
			      bool closed)
{
	if (!closed)
		return dtc_cuda_copy_backend.submit(job, event);
	return DTC_FAIL(
		job->context, DTCONV_ERR_BACKEND,
		"%s: device %d gave no memory to reach device %d by, and neither has access to "
		"the other's",
		job->caller, job->user_memory.device, job->packed_memory.device);
}

static int relay(const struct dtc_job *job, struct dtc_event *event, bool closed)
{
	struct relay relay = { .job = job };

	if (!dtc_cuda_lend_for(job->context, &job->user_memory, DTC_CUDA_FOR_RELAYS,
			       &relay.loan))
		return relay_without_loan(job, event, closed);
	event->backend = NULL;
	int status = move_pieces(&relay);
	relay.loan.end(&relay.loan);
	return status;
}

/* ---- another context ----------------------------------------------------------------------- */

/* Work by any device, when all is done that the caller's stream has been given. */
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
	       dtc_cuda_reaches(other, turned, turned->cursor, turned->bytes);
}

static bool is_relay_worth(const struct dtc_job *job)
{
	const struct dtc_question question = dtc_question_of(job);

	return dtc_cuda_detour_ns(&question) < dtc_cuda_copy_backend.estimate(&question);
}

bool dtc_cuda_is_closed(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	const struct dtc_memory *far = job->user_memory.device ==
						       submission->context->device
					       ? &job->packed_memory
					       : &job->user_memory;

	return is_between(job) && !far->owner && !submission->capturing &&
	       !dtc_cuda_reaches(submission->context, job, job->cursor, job->bytes);
}

int dtc_cuda_copy_detour(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_event *event = submission->event;
	struct dtc_job turned = *job;

	if (job->on_stream)
		return leave_stream(submission, &dtc_cuda_copy_backend);
	dtc_cuda_submission_drop(submission);
	turned.at_packed = true;
	if (!job->at_packed && (job->user_memory.owner || does_other_reach(&turned)))
		return dtc_cuda_copy_backend.submit(&turned, event);
	return relay(job, event, true);
}

int dtc_cuda_detour(struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	struct dtc_event *event = submission->event;
	struct dtc_job turned = *job;

	if (submission->capturing || !is_between(job))
		return DTCONV_ERR_LIMIT;
	bool needless = !is_relay_worth(job) && !dtc_cuda_is_closed(submission);
	if (job->on_stream)
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
	return is_relay_worth(job) ? relay(job, event, false)
				   : dtc_cuda_copy_backend.submit(job, event);
}
