/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pinned slots of a staging ring. One job uses the ring at a time.
 */
#include "config.h"

#include "staging_ring.h"

#include "base/base.h"
#include "base/log.h"
#include "copy_backends/cuda/device/pinned.h"

/*
 * Rows of so many bytes are written past the caches, into stages and out of them: what threads have in theirs, the
 * device reads slowly, and what the caller reads next is not in its own anyway.
 */
#define STREAM_IN_BYTES  (UINT64_C(128) << 10)
#define STREAM_OUT_BYTES (UINT64_C(256) << 10)

static enum dtc_stream stream_of(const struct dtc_cuda_pieces *pieces)
{
	uint64_t least = pieces->device_first ? STREAM_OUT_BYTES : STREAM_IN_BYTES;

	return pieces->bytes < least ? DTC_STREAM_NONE : DTC_STREAM_PACKED;
}

/* ---- stages ---------------------------------------------------------------------------- */

char *dtc_cuda_staging_slot(const struct dtc_cuda_pieces *pieces, uint64_t piece)
{
	return dtc_cuda_staging_of(pieces->context)->slots +
	       piece % DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES;
}

struct dtc_memory dtc_cuda_staging_memory(const struct dtc_cuda_pieces *pieces)
{
	const struct dtc_cuda_context *context = pieces->context;
	const struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	return (struct dtc_memory){
		.kind = DTCONV_MEMORY_PINNED,
		.device = context->device,
		.owner = context->handle,
		.shift = (intptr_t)(staging->device_slots - (uintptr_t)staging->slots),
	};
}

uint64_t dtc_cuda_staging_cut(uint64_t piece_bytes, uint32_t part)
{
	uint64_t bytes = dtc_divide_up(piece_bytes, DTC_CUDA_STAGING_PARTS);

	/* A cache line belongs to one thread. */
	bytes = (bytes + DTC_CACHE_LINE - 1) / DTC_CACHE_LINE * DTC_CACHE_LINE;
	return DTC_MIN(part * bytes, piece_bytes);
}

void dtc_cuda_staging_copy(const struct dtc_cuda_pieces *pieces, char *to,
			   const char *from, uint64_t piece_bytes, uint32_t part)
{
	const struct dtconv_context *context = pieces->context->cuda->context;
	uint64_t begin = dtc_cuda_staging_cut(piece_bytes, part);
	uint64_t end = dtc_cuda_staging_cut(piece_bytes, part + 1);
	const struct dtc_grid row = { .to = to + begin,
				      .from = from + begin,
				      .outer = 1,
				      .inner = 1,
				      .block = (size_t)(end - begin),
				      .stream = stream_of(pieces) };

	if (row.block)
		context->cpu->grid(&row);
}

/* The stages are made by the first job that needs them. Their lock is held. */
static int make_stages(struct dtc_cuda_context *context, const char *caller)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);
	void *slots = staging->slots;

	if (staging->device_slots)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", caller);
	result = dtc_cuda_pinned_create(
		context, DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES, &slots,
		&staging->device_slots);
	driver->CtxPopCurrent(&popped);
	staging->slots = slots;
	return result ? dtc_cuda_fail(context, result, "cuMemHostRegister", caller) : 0;
}

/* ---- who has the stages ---------------------------------------------------------------- */

void dtc_cuda_staging_release(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	pthread_mutex_lock(&staging->lock);
	staging->taken = false;
	pthread_cond_broadcast(&staging->changed);
	pthread_mutex_unlock(&staging->lock);
}

int dtc_cuda_staging_take(struct dtc_cuda_context *context, bool no_wait,
			  const char *caller)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	pthread_mutex_lock(&staging->lock);
	while (staging->taken && !no_wait)
		pthread_cond_wait(&staging->changed, &staging->lock);
	bool refused = staging->taken;
	staging->taken = true;
	pthread_mutex_unlock(&staging->lock);
	if (refused)
		return DTC_RETRY(context->cuda->context,
				 "%s: another job uses the staging buffers of device %d; "
				 "call again when one has ended",
				 caller, context->device);
	int status = make_stages(context, caller);
	if (status)
		dtc_cuda_staging_release(context);
	return status;
}

