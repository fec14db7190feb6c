/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving between a device and host memory that the device does not see, in two hops through pinned
 * pieces: while the device works on one piece, the processor copies another. It blocks: the
 * processor's half has nobody else to do it.
 */
#include "config.h"

#include "cuda.h"

#include <string.h>

#include "context.h"
#include "log.h"
#include "rates.h"
#include "state.h"
#include "submit.h"

/* ---- planning -------------------------------------------------------------------------- */

static bool can(const struct dtc_question *question, const char **reason)
{
	bool user_host = question->user_kind == DTCONV_MEMORY_HOST;
	bool packed_host = question->packed_kind == DTCONV_MEMORY_HOST;

	if (user_host != packed_host)
		return true;
	*reason = user_host ? "no side is a device's" : "the device sees both sides";
	return false;
}

static double estimate(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	return dtc_cuda_launch_ns(question) + (double)tuning->device_wake_ns +
	       (double)question->bytes / (double)tuning->device_staged_rate;
}

/* ---- two hops -------------------------------------------------------------------------- */

struct staged {
	const struct dtc_job *job;
	struct dtc_cuda_context *context;
	bool user_on_device;
	uint64_t piece_bytes;
	uint64_t begun;    /* bytes whose first hop has been made or started */
	uint64_t finished; /* bytes that have arrived */
	struct dtc_event events[DTC_CUDA_STAGES];
};

static char *stage_of(const struct staged *staged, uint64_t offset)
{
	uint64_t piece = offset / staged->piece_bytes % DTC_CUDA_STAGES;

	return staged->context->stages + piece * DTC_CUDA_STAGE_BYTES;
}

static struct dtc_event *event_of(struct staged *staged, uint64_t offset)
{
	return &staged->events[offset / staged->piece_bytes % DTC_CUDA_STAGES];
}

static struct dtc_memory stage_memory(const struct staged *staged)
{
	const struct dtc_cuda_context *context = staged->context;

	return (struct dtc_memory){
		.kind = DTCONV_MEMORY_PINNED,
		.device = context->device,
		.owner = context->handle,
		.shift = (intptr_t)(context->device_stages - (uintptr_t)context->stages),
	};
}

/* The device's hop: between the user's blocks and a piece, or a piece and packed memory. */
static int device_hop(struct staged *staged, uint64_t offset, uint64_t bytes)
{
	struct dtc_job hop = *staged->job;
	struct dtc_event *event = event_of(staged, offset);

	hop.bytes = bytes;
	if (staged->user_on_device) {
		hop.packed = stage_of(staged, offset);
		hop.packed_memory = stage_memory(staged);
		return dtc_cuda_kernel_backend.submit(&hop, event);
	}
	hop.packed += offset;
	return dtc_cuda_copy_row(&hop, stage_of(staged, offset), event);
}

static void copy_packed(const struct staged *staged, char *stage, uint64_t offset, uint64_t bytes)
{
	char *packed = staged->job->packed + offset;

	if (staged->job->direction == DTC_PACK)
		memcpy(packed, stage, (size_t)bytes);
	else
		memcpy(stage, packed, (size_t)bytes);
}

/* The processor's hop: between a piece and packed memory, or the user's blocks and a piece. */
static int host_hop(struct staged *staged, uint64_t offset, uint64_t bytes)
{
	struct dtc_job hop = *staged->job;
	struct dtc_event none;

	if (staged->user_on_device) {
		copy_packed(staged, stage_of(staged, offset), offset, bytes);
		return 0;
	}
	hop.packed = stage_of(staged, offset);
	hop.bytes = hop.move_bytes = bytes;
	return dtc_host_backend.submit(&hop, &none);
}

static uint64_t piece_at(const struct staged *staged, uint64_t offset)
{
	return DTC_MIN(staged->job->bytes - offset, staged->piece_bytes);
}

/* Wait for a piece's device hop; no hop of it is in flight after, whatever comes of it. */
static int await_hop(struct staged *staged, uint64_t offset)
{
	struct dtc_event *event = event_of(staged, offset);

	if (!event->backend)
		return 0;
	event->backend = NULL;
	return dtc_cuda_event_wait(event);
}

static int begin_piece(struct staged *staged, bool device_first)
{
	uint64_t offset = staged->begun, bytes = piece_at(staged, offset);
	int status = 0;

	if (!device_first)
		status = host_hop(staged, offset, bytes);
	if (!status)
		status = device_hop(staged, offset, bytes);
	if (!status)
		staged->begun += bytes;
	return status;
}

static int finish_piece(struct staged *staged, bool device_first)
{
	uint64_t offset = staged->finished, bytes = piece_at(staged, offset);
	int status = await_hop(staged, offset);

	if (!status && device_first)
		status = host_hop(staged, offset, bytes);
	staged->finished += bytes;
	return status;
}

/* All pieces, some of them under way at once; after a failure those are waited for. */
static int move_pieces(struct staged *staged)
{
	bool device_first = (staged->job->direction == DTC_PACK) == staged->user_on_device;
	uint64_t ahead = DTC_CUDA_STAGES * staged->piece_bytes;
	int status = 0;

	while (!status && staged->finished < staged->job->bytes) {
		while (!status && staged->begun < staged->job->bytes &&
		       staged->begun - staged->finished < ahead)
			status = begin_piece(staged, device_first);
		if (!status)
			status = finish_piece(staged, device_first);
	}
	for (size_t i = 0; i < DTC_CUDA_STAGES; i++)
		(void)await_hop(staged, i * staged->piece_bytes);
	return status;
}

/* ---- submitting ------------------------------------------------------------------------ */

int dtc_cuda_stages_make(struct dtc_cuda_context *context, const char *caller)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;
	void *stages;

	if (context->stages)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", caller);
	result = dtc_cuda_pinned_create(context, DTC_CUDA_STAGES * DTC_CUDA_STAGE_BYTES, &stages,
					&context->device_stages);
	driver->CtxPopCurrent(&popped);
	if (result)
		return dtc_cuda_fail(context, result, "cuMemHostRegister", caller);
	context->stages = stages;
	return 0;
}

/* Small enough that a few pieces overlap, large enough that the hops' fixed costs do not show. */
static uint64_t choose_piece(uint64_t bytes)
{
	uint64_t piece = bytes / DTC_CUDA_STAGES;

	piece = piece < 65536 ? 65536 : (piece + 127) / 128 * 128;
	return DTC_MIN(piece, DTC_CUDA_STAGE_BYTES);
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	struct dtc_cuda *cuda = dtc_cuda_of(job->context);
	struct staged staged = { .job = job,
				 .user_on_device = dtc_memory_is_device_seen(&job->user_memory),
				 .piece_bytes = choose_piece(job->bytes) };

	event->backend = NULL;
	int status = dtc_cuda_submission_refuse_capture(job);
	if (!status)
		status = dtc_cuda_context_choose(cuda, job, &staged.context);
	if (status)
		return status;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	pthread_mutex_lock(&staged.context->staging);
	status = dtc_cuda_stages_make(staged.context, job->caller);
	if (!status)
		status = move_pieces(&staged);
	pthread_mutex_unlock(&staged.context->staging);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}

const struct dtc_backend_ops dtc_cuda_staged_backend = {
	.name = "cuda_staged",
	.what = "kernels and the processor, through pinned pieces",
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = dtc_cuda_event_test,
};
