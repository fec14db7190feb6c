/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pinned stages of a device context, which serve one job at a time, and the thread that goes on with
 * started jobs.
 */
#include "config.h"

#include "staging_ring.h"

#include <sched.h>
#include <stddef.h>

#include "clock.h"
#include "copy_backends/cuda/cuda.h"
#include "copy_backends/cuda/launch/submission.h"
#include "log.h"
#include "transfer.h"

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
	return pieces->context->stages +
	       piece % DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES;
}

struct dtc_memory dtc_cuda_staging_memory(const struct dtc_cuda_pieces *pieces)
{
	const struct dtc_cuda_context *context = pieces->context;

	return (struct dtc_memory){
		.kind = DTCONV_MEMORY_PINNED,
		.device = context->device,
		.owner = context->handle,
		.shift = (intptr_t)(context->device_stages - (uintptr_t)context->stages),
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
	void *stages = context->stages;

	if (context->device_stages)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", caller);
	result = dtc_cuda_pinned_create(
		context, DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES, &stages,
		&context->device_stages);
	driver->CtxPopCurrent(&popped);
	context->stages = stages;
	return result ? dtc_cuda_fail(context, result, "cuMemHostRegister", caller) : 0;
}

/* ---- who has the stages ---------------------------------------------------------------- */

static void release(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = &context->staging;

	pthread_mutex_lock(&staging->lock);
	staging->taken = false;
	pthread_cond_broadcast(&staging->changed);
	pthread_mutex_unlock(&staging->lock);
}

/* Waits while another job has them. */
static int take(struct dtc_cuda_context *context, const char *caller)
{
	struct dtc_cuda_staging *staging = &context->staging;

	pthread_mutex_lock(&staging->lock);
	while (staging->taken)
		pthread_cond_wait(&staging->changed, &staging->lock);
	staging->taken = true;
	pthread_mutex_unlock(&staging->lock);
	int status = make_stages(context, caller);
	if (status)
		release(context);
	return status;
}

/* The stages for a job, and its context. */
static int enter(const struct dtc_job *job, struct dtc_cuda_context **context)
{
	int status = dtc_cuda_submission_refuse_capture(job);

	if (!status)
		status = dtc_cuda_context_choose(dtc_cuda_of(job->context), job, context);
	return status ? status : take(*context, job->caller);
}

/* The caller has the stages, and gives them back. */
static int move_now(struct dtc_cuda_context *context, struct dtc_cuda_pieces *pieces)
{
	struct dtc_cuda_transfer transfer;

	pieces->context = context;
	dtc_cuda_transfer_begin(&transfer, pieces);
	int status = dtc_cuda_transfer_finish(&transfer);
	release(context);
	return status;
}

int dtc_cuda_staging_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(job->context)->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	struct dtc_cuda_context *context;
	int status = enter(job, &context);

	if (!status)
		status = move_now(context, pieces);
	dtc_cuda_unrelax(driver, mode);
	return status;
}

/* ---- started jobs ---------------------------------------------------------------------- */

/* A job in the hands of the thread; there is one at a time. */
struct dtc_cuda_started {
	struct dtc_cuda_transfer transfer;
	struct dtc_event event;
	_Alignas(max_align_t) unsigned char room[DTC_CUDA_STAGING_ROOM];
};

/* The thread's sentence becomes that of the thread which asks. */
static void report(struct dtc_cuda_context *context, int status)
{
	struct dtc_cuda_staging *staging = &context->staging;
	const struct dtc_event event = staging->started->event;

	pthread_mutex_lock(&staging->lock);
	staging->outcomes[event.slot] = status;
	if (status)
		dtconv_context_error(context->cuda->context, staging->sentence,
				     sizeof(staging->sentence));
	staging->taken = false;
	pthread_cond_broadcast(&staging->changed);
	pthread_mutex_unlock(&staging->lock);
	atomic_store_explicit(&context->flags.words[event.slot], event.value,
			      memory_order_release);
}

static bool wait_for_job(struct dtc_cuda_staging *staging)
{
	pthread_mutex_lock(&staging->lock);
	while (!staging->handed && !staging->ending)
		pthread_cond_wait(&staging->changed, &staging->lock);
	bool handed = staging->handed;
	staging->handed = false;
	pthread_mutex_unlock(&staging->lock);
	return handed;
}

/* Jobs without a stream, and those in the default one, are found by the current context. */
static void go_on(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_transfer *transfer = &context->staging.started->transfer;
	CUcontext popped;
	bool pushed = dtc_cuda_context_is_alive(context) &&
		      !driver->CtxPushCurrent(context->handle);

	transfer->pump = pthread_self();
	transfer->left = true;
	int status = dtc_cuda_transfer_finish(transfer);
	if (pushed)
		driver->CtxPopCurrent(&popped);
	report(context, status);
}

static void *run(void *arg)
{
	struct dtc_cuda_context *context = arg;

	dtc_cuda_relax(&context->cuda->driver);
	while (wait_for_job(&context->staging))
		go_on(context);
	return NULL;
}

/* Whether there is a thread to leave jobs to. The caller has the stages. */
static bool has_thread(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = &context->staging;

	if (!staging->started)
		staging->started = dtc_alloc(context->cuda->context, sizeof(*staging->started));
	if (staging->started && !staging->running)
		staging->running = !dtc_thread_start(&staging->thread, run, context);
	return staging->running;
}

void dtc_cuda_staging_end(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = &context->staging;

	if (staging->running) {
		pthread_mutex_lock(&staging->lock);
		staging->ending = true;
		pthread_cond_broadcast(&staging->changed);
		pthread_mutex_unlock(&staging->lock);
		pthread_join(staging->thread, NULL);
		staging->running = false;
	}
	dtc_free(context->cuda->context, staging->started);
	staging->started = NULL;
}

/* Jobs shorter than this the caller ends itself if the device is not busy: a thread would come too late. */
#define LEAVE_BYTES (UINT64_C(256) << 10)

/* Another thread's default stream would be another one. */
static bool may_be_left(const struct dtc_job *job)
{
	return job->on_stream ? (CUstream)job->stream != CU_STREAM_PER_THREAD
			      : job->bytes >= LEAVE_BYTES;
}

static bool has_one_cpu(void)
{
	cpu_set_t allowed;

	return !sched_getaffinity(0, sizeof(allowed), &allowed) &&
	       CPU_COUNT(&allowed) == 1;
}

static bool leave(struct dtc_cuda_context *context, const char *caller, struct dtc_event *event)
{
	struct dtc_cuda_staging *staging = &context->staging;

	if (!dtc_cuda_flag_take(context, NULL, event))
		return false;
	event->backend = &dtc_cuda_staged_backend;
	event->caller = caller;
	staging->started->event = *event;
	atomic_store_explicit(&staging->one_cpu, has_one_cpu(), memory_order_relaxed);
	pthread_mutex_lock(&staging->lock);
	staging->handed = true;
	pthread_cond_broadcast(&staging->changed);
	pthread_mutex_unlock(&staging->lock);
	return true;
}

/* The caller has the stages, and there is a thread. */
static int start_pieces(const struct dtc_job *job, struct dtc_event *event,
			struct dtc_cuda_context *context, dtc_cuda_keep_fn keep)
{
	struct dtc_cuda_started *started = context->staging.started;
	struct dtc_cuda_pieces *pieces = keep(started->room, job);
	struct dtc_cuda_transfer *transfer = &started->transfer;

	pieces->context = context;
	dtc_cuda_transfer_begin(transfer, pieces);
	/* The order of a stream is that of the calls, which are made before this one returns. */
	if (job->on_stream) {
		transfer->leave_ns =
			dtc_now_ns() +
			(job->bytes < LEAVE_BYTES ? DTC_CUDA_TRANSFER_IDLE_NS : 0);
		dtc_cuda_transfer_go_on(transfer);
	}
	if (!dtc_cuda_transfer_is_over(transfer) && leave(context, job->caller, event))
		return 0;
	int status = dtc_cuda_transfer_finish(transfer);
	release(context);
	return status;
}

int dtc_cuda_staging_start(const struct dtc_job *job, struct dtc_event *event,
			   struct dtc_cuda_pieces *pieces, dtc_cuda_keep_fn keep)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(job->context)->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	struct dtc_cuda_context *context;
	int status = enter(job, &context);

	if (!status)
		status = may_be_left(job) && has_thread(context)
				 ? start_pieces(job, event, context, keep)
				 : move_now(context, pieces);
	dtc_cuda_unrelax(driver, mode);
	return status;
}

int dtc_cuda_staging_test(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;
	struct dtc_cuda_staging *staging = &context->staging;

	if (!dtc_cuda_flag_is_written(event)) {
		/* A caller who polls keeps the thread from the only CPU. */
		if (atomic_load_explicit(&staging->one_cpu, memory_order_relaxed))
			sched_yield();
		return DTCONV_INPROGRESS;
	}
	pthread_mutex_lock(&staging->lock);
	int status = staging->outcomes[event->slot];
	if (status)
		DTC_FAIL(context->cuda->context, status, "%s", staging->sentence);
	pthread_mutex_unlock(&staging->lock);
	dtc_cuda_flag_put(event);
	return status;
}
