/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread for driver calls that may block until the device is idle.
 */
#ifndef DTC_CUDA_WORKER_H
#define DTC_CUDA_WORKER_H

#include "device_context.h"

/* A driver call that may block, deferred to the worker. */
typedef void dtc_cuda_deferred_fn(struct dtc_cuda_context *context, CUdeviceptr memory);

struct dtc_cuda_deferred_call {
	struct dtc_cuda_deferred_call *next;
	struct dtc_cuda_context *context;
	dtc_cuda_deferred_fn *run;
	CUdeviceptr memory;
	bool loads;                     /* it is counted in the context's loads */
	void (*run_owned)(void *owned); /* instead, if not NULL */
	void *owned;
};

struct dtc_cuda_worker {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread;
	bool running;
	bool ending;
	struct dtc_cuda_deferred_call *first, **last;
};

void dtc_cuda_worker_init(struct dtc_cuda_worker *worker);

/* After its end, or in a forked child, which has no thread: what was never run is dropped. */
void dtc_cuda_worker_destroy(struct dtc_cuda_worker *worker);
void dtc_cuda_worker_forget(struct dtc_cuda *cuda);

int dtc_cuda_worker_start(struct dtc_cuda *cuda);
void dtc_cuda_worker_end(struct dtc_cuda *cuda);

/* Have @run called in the worker, its context current; false if the allocator gives no memory for that. */
bool dtc_cuda_worker_defer(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			   CUdeviceptr memory);

/* The same for calls that synchronise the context. It is one of the context's loads until it has returned. */
bool dtc_cuda_worker_load(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			  CUdeviceptr argument);

/*
 * Have @run called in the worker, whatever has become of the device contexts; @owned is freed after it, and without it in
 * a forked child. False if the allocator gives no memory for that.
 */
bool dtc_cuda_worker_hand_over(struct dtc_cuda *cuda, void (*run)(void *owned),
			       void *owned);

/* Call it in the calling thread; may block until the device is idle. */
void dtc_cuda_worker_run_here(struct dtc_cuda_context *context, dtc_cuda_deferred_fn *run,
			      CUdeviceptr memory);

/* For memory that must be given back: in the worker, or here if the allocator refuses the deferred call. */
void dtc_cuda_worker_give_back(struct dtc_cuda_context *context,
			       dtc_cuda_deferred_fn *run, CUdeviceptr memory);

#endif
