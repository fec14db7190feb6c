/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker thread: driver calls that may block until the device is idle (frees, module loads). A job waits for
 * it at most for a limited time, and it holds no lock while it calls the driver.
 */
#include "config.h"

#include "worker.h"

#include "base/context.h"
#include "base/log.h"
#include "base/thread_pool.h"

static struct dtc_cuda_deferred_call *next_call(struct dtc_cuda_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	while (!worker->first && !worker->ending)
		pthread_cond_wait(&worker->work, &worker->lock);
	struct dtc_cuda_deferred_call *call = worker->first;
	if (call) {
		worker->first = call->next;
		if (!worker->first)
			worker->last = &worker->first;
	}
	pthread_mutex_unlock(&worker->lock);
	return call;
}

static void run_call(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *call,
		     CUdeviceptr memory)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (!dtc_cuda_context_is_alive(context))
		return;
	if (driver->CtxPushCurrent(context->handle)) {
		atomic_store(&context->dropped, true);
		return;
	}
	call(context, memory);
	driver->CtxPopCurrent(&popped);
}

static void free_call(struct dtc_cuda *cuda, struct dtc_cuda_deferred_call *call)
{
	dtc_free(cuda->context, call->owned);
	dtc_free(cuda->context, call);
}

static void *work(void *arg)
{
	struct dtc_cuda *cuda = arg;
	struct dtc_cuda_deferred_call *call;

	dtc_cuda_relax(&cuda->driver);
	while ((call = next_call(cuda->worker))) {
		if (call->run_owned)
			call->run_owned(call->owned);
		else
			run_call(call->context, call->run, call->memory);
		if (call->loads)
			atomic_fetch_sub(&call->context->loads, 1);
		free_call(cuda, call);
	}
	return NULL;
}

void dtc_cuda_worker_init(struct dtc_cuda_worker *worker)
{
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->work, NULL);
}

void dtc_cuda_worker_destroy(struct dtc_cuda_worker *worker)
{
	pthread_cond_destroy(&worker->work);
	pthread_mutex_destroy(&worker->lock);
}

void dtc_cuda_worker_forget(struct dtc_cuda *cuda)
{
	struct dtc_cuda_worker *worker = cuda->worker;

	while (worker->first) {
		struct dtc_cuda_deferred_call *call = worker->first;

		worker->first = call->next;
		free_call(cuda, call);
	}
}

int dtc_cuda_worker_start(struct dtc_cuda *cuda)
{
	struct dtc_cuda_worker *worker = cuda->worker;
	int status = 0;

	pthread_mutex_lock(&worker->lock);
	if (!worker->running) {
		worker->last = &worker->first;
		if (dtc_thread_start(&worker->thread, work, cuda))
			status = DTC_FAIL(
				cuda->context, DTCONV_ERR_AGAIN,
				"cannot start the thread for blocking driver calls");
		else
			worker->running = true;
	}
	pthread_mutex_unlock(&worker->lock);
	return status;
}

void dtc_cuda_worker_end(struct dtc_cuda *cuda)
{
	struct dtc_cuda_worker *worker = cuda->worker;

	if (!worker->running)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->ending = true;
	pthread_cond_signal(&worker->work);
	pthread_mutex_unlock(&worker->lock);
	pthread_join(worker->thread, NULL);
	worker->running = false;
}

static bool queue(struct dtc_cuda *cuda, const struct dtc_cuda_deferred_call *what)
{
	struct dtc_cuda_worker *worker = cuda->worker;
	struct dtc_cuda_deferred_call *call = dtc_alloc(cuda->context, sizeof(*call));

	if (!call)
		return false;
	*call = *what;
	pthread_mutex_lock(&worker->lock);
	*worker->last = call;
	worker->last = &call->next;
	pthread_cond_signal(&worker->work);
	pthread_mutex_unlock(&worker->lock);
	return true;
}

bool dtc_cuda_worker_defer(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			   CUdeviceptr memory)
{
	const struct dtc_cuda_deferred_call call = { .context = context,
						     .run = run,
						     .memory = memory };

	return queue(context->cuda, &call);
}

bool dtc_cuda_worker_load(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			  CUdeviceptr argument)
{
	const struct dtc_cuda_deferred_call call = {
		.context = context, .run = run, .memory = argument, .loads = true
	};

	atomic_fetch_add(&context->loads, 1);
	const bool queued = queue(context->cuda, &call);
	if (!queued)
		atomic_fetch_sub(&context->loads, 1);
	return queued;
}

bool dtc_cuda_worker_hand_over(struct dtc_cuda *cuda, void (*run)(void *owned),
			       void *owned)
{
	const struct dtc_cuda_deferred_call call = { .run_owned = run, .owned = owned };

	return queue(cuda, &call);
}

void dtc_cuda_worker_run_here(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			      CUdeviceptr memory)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);

	run_call(context, run, memory);
	dtc_cuda_unrelax(driver, mode);
}

void dtc_cuda_worker_give_back(struct dtc_cuda_context *context,
			       dtc_cuda_deferred_fn *run, CUdeviceptr memory)
{
	if (!dtc_cuda_worker_defer(context, run, memory))
		dtc_cuda_worker_run_here(context, run, memory);
}
