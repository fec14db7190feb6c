/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving pieces through the pinned stages of a device context, which serve one job at a time.
 */
#include "config.h"

#include "stages.h"

#include "log.h"
#include "submit.h"

char *dtc_cuda_stage_of(const struct dtc_cuda_pieces *pieces, uint64_t piece)
{
	return pieces->context->stages + piece % DTC_CUDA_STAGES * DTC_CUDA_STAGE_BYTES;
}

struct dtc_memory dtc_cuda_stage_memory(const struct dtc_cuda_pieces *pieces)
{
	const struct dtc_cuda_context *context = pieces->context;

	return (struct dtc_memory){
		.kind = DTCONV_MEMORY_PINNED,
		.device = context->device,
		.owner = context->handle,
		.shift = (intptr_t)(context->device_stages - (uintptr_t)context->stages),
	};
}

/* Wait for a piece's event; nothing of it is in flight after, whatever comes of it. */
static int await(struct dtc_event *event)
{
	if (!event->backend)
		return 0;
	event->backend = NULL;
	return dtc_cuda_event_wait(event);
}

static int move_pieces(struct dtc_cuda_pieces *pieces)
{
	struct dtc_event events[DTC_CUDA_STAGES] = { { .backend = NULL } };
	uint64_t begun = 0, finished = 0;
	int status = 0;

	while (!status && finished < pieces->count) {
		while (!status && begun < pieces->count && begun - finished < DTC_CUDA_STAGES) {
			status = pieces->begin(pieces, begun, &events[begun % DTC_CUDA_STAGES]);
			begun++;
		}
		if (!status)
			status = await(&events[finished % DTC_CUDA_STAGES]);
		if (!status)
			status = pieces->finish(pieces, finished++);
	}
	for (size_t i = 0; i < DTC_CUDA_STAGES; i++)
		(void)await(&events[i]);
	return status;
}

/* The stages are made by the first job that needs them. Their lock is held. */
static int make_stages(struct dtc_cuda_context *context, const char *caller)
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

int dtc_cuda_stages_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces)
{
	struct dtc_cuda *cuda = dtc_cuda_of(job->context);
	int status = dtc_cuda_submission_refuse_capture(job);

	if (!status)
		status = dtc_cuda_context_choose(cuda, job, &pieces->context);
	if (status)
		return status;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	pthread_mutex_lock(&pieces->context->staging);
	status = make_stages(pieces->context, job->caller);
	if (!status)
		status = move_pieces(pieces);
	pthread_mutex_unlock(&pieces->context->staging);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}
