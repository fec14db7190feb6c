/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs in pieces through the staging ring: moved while the caller waits, or started and finished by the ring's
 * thread.
 */
#include "config.h"

#include "staging.h"

#include <sched.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/pinned.h"
#include "copy_backends/cuda/launch/submission.h"
#include "transfer.h"

/* The stages for a job, and its context. */
static int enter(const struct dtc_job *job, struct dtc_cuda_context **context)
{
	int status = dtc_cuda_submission_refuse_capture(job);

	if (!status)
		status = dtc_cuda_context_choose(dtc_cuda_of(job->context), job, context);
	return status ? status
		      : dtc_cuda_staging_take(*context, job->no_wait, job->caller);
}

/* The caller has the stages, and gives them back. */
static int move_now(struct dtc_cuda_context *context, struct dtc_cuda_pieces *pieces)
{
	struct dtc_cuda_transfer transfer;

	pieces->context = context;
	dtc_cuda_transfer_begin(&transfer, pieces);
	int status = dtc_cuda_transfer_finish(&transfer);
	dtc_cuda_staging_release(context);
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
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);
	const struct dtc_event event = staging->started->event;

	pthread_mutex_lock(&staging->lock);
	staging->outcomes[event.slot] = status;
	if (status)
		dtconv_context_error(context->cuda->context, staging->sentence,
				     sizeof(staging->sentence));
	staging->taken = false;
	pthread_cond_broadcast(&staging->changed);
	pthread_mutex_unlock(&staging->lock);
	atomic_store_explicit(&dtc_cuda_flags_of(context)->words[event.slot], event.value,
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
	struct dtc_cuda_transfer *transfer =
		&dtc_cuda_staging_of(context)->started->transfer;
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
	while (wait_for_job(dtc_cuda_staging_of(context)))
		go_on(context);
	return NULL;
}

/* Whether there is a thread to leave jobs to. The caller has the stages. */
static bool has_thread(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	if (!staging->started)
		staging->started =
			dtc_alloc(context->cuda->context, sizeof(*staging->started));
	if (staging->started && !staging->running)
		staging->running = !dtc_thread_start(&staging->thread, run, context);
	return staging->running;
}

/* Without a thread, started jobs end in the call. */
int dtc_cuda_staging_prepare(struct dtc_cuda_context *context, const char *caller)
{
	int status = dtc_cuda_staging_take(context, false, caller);

	if (status)
		return status;
	(void)has_thread(context);
	dtc_cuda_staging_release(context);
	return 0;
}

static void end_thread(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

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

static void init_staging(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	pthread_mutex_init(&staging->lock, NULL);
	pthread_cond_init(&staging->changed, NULL);
}

static void close_ring(struct dtc_cuda_context *context)
{
	dtc_cuda_pinned_destroy(context, dtc_cuda_staging_of(context)->slots,
				DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES);
}

static void free_staging(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	pthread_cond_destroy(&staging->changed);
	pthread_mutex_destroy(&staging->lock);
}

static void forget_job(struct dtc_cuda_context *context)
{
	dtc_free(context->cuda->context, dtc_cuda_staging_of(context)->started);
}

const struct dtc_cuda_feature dtc_cuda_staging_feature = {
	.name = "staging",
	.bytes = sizeof(struct dtc_cuda_staging),
	.init = init_staging,
	.stop = end_thread,
	.close = close_ring,
	.free = free_staging,
	.forget = forget_job,
};

/* Jobs shorter than this the caller ends itself if the device is not busy: a thread would come too late. */
#define LEAVE_BYTES (UINT64_C(256) << 10)

/* Another thread's default stream would be another one. */
static bool may_be_left(const struct dtc_job *job)
{
	return dtc_job_is_ordered(job) ? (CUstream)job->stream != CU_STREAM_PER_THREAD
				       : job->bytes >= LEAVE_BYTES;
}

static bool has_one_cpu(void)
{
	cpu_set_t allowed;

	return !sched_getaffinity(0, sizeof(allowed), &allowed) &&
	       CPU_COUNT(&allowed) == 1;
}

static bool leave(struct dtc_cuda_context *context, const struct dtc_backend_ops *backend,
		  const char *caller, struct dtc_event *event)
{
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

	if (!dtc_cuda_flag_take(context, NULL, event))
		return false;
	event->backend = backend;
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
static int start_pieces(const struct dtc_backend_ops *backend, const struct dtc_job *job,
			struct dtc_event *event, struct dtc_cuda_context *context,
			dtc_cuda_keep_fn keep)
{
	struct dtc_cuda_started *started = dtc_cuda_staging_of(context)->started;
	struct dtc_cuda_pieces *pieces = keep(started->room, job);
	struct dtc_cuda_transfer *transfer = &started->transfer;

	pieces->context = context;
	dtc_cuda_transfer_begin(transfer, pieces);
	/* The order of a stream is that of the calls, which are made before this one returns. */
	if (dtc_job_is_ordered(job)) {
		transfer->leave_ns =
			dtc_now_ns() +
			(job->bytes < LEAVE_BYTES ? DTC_CUDA_TRANSFER_IDLE_NS : 0);
		dtc_cuda_transfer_go_on(transfer);
	}
	if (!dtc_cuda_transfer_is_over(transfer) &&
	    leave(context, backend, job->caller, event))
		return 0;
	int status = dtc_cuda_transfer_finish(transfer);
	dtc_cuda_staging_release(context);
	return status;
}

int dtc_cuda_staging_start(const struct dtc_backend_ops *backend,
			   const struct dtc_job *job, struct dtc_event *event,
			   struct dtc_cuda_pieces *pieces, dtc_cuda_keep_fn keep)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(job->context)->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	struct dtc_cuda_context *context;
	int status = enter(job, &context);

	if (!status)
		status = may_be_left(job) && has_thread(context)
				 ? start_pieces(backend, job, event, context, keep)
				 : move_now(context, pieces);
	dtc_cuda_unrelax(driver, mode);
	return status;
}

int dtc_cuda_staging_test(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;
	struct dtc_cuda_staging *staging = dtc_cuda_staging_of(context);

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
