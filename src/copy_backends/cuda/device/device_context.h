/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the backend keeps for a context of the library (struct dtc_cuda), and for each CUDA context that jobs run
 * in (struct dtc_cuda_context). What a feature keeps for it hangs off `parts`; see feature.h.
 *
 * A CUDA context is the application's, which may destroy it or reset its device at any time. Its handles are valid
 * while cuCtxGetId returns the ID they were created under. When it changes, they are dropped, never destroyed.
 */
#ifndef DTC_CUDA_DEVICE_CONTEXT_H
#define DTC_CUDA_DEVICE_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/context.h"
#include "copy_backends/cuda/driver/driver.h"
#include "feature.h"

struct dtc_cuda;
struct dtc_cuda_compiler;
struct dtc_cuda_copy_threads;
struct dtc_cuda_tunings;
struct dtc_cuda_worker;
struct dtc_gdr;

/*
 * Jobs without a stream of the caller's are in streams of the library's, called lanes: those of one lane are in order,
 * others are not. Both directions of the bus are busy when one lane packs to the host and another one unpacks from it.
 * With DTCONV_CONTEXT_DEFAULT_STREAM, which is a promise of order, all lanes are one stream.
 */
enum dtc_cuda_lane {
	DTC_CUDA_LANE_PACK,
	DTC_CUDA_LANE_UNPACK,
	DTC_CUDA_LANE_COPY, /* between layouts */
	DTC_CUDA_LANES
};

struct dtc_cuda_context {
	struct dtc_cuda_context *next;
	struct dtc_cuda *cuda;
	CUcontext handle;
	unsigned long long id;
	CUdevice device;
	uint32_t arch;     /* 10 * major + minor of the compute capability */
	bool retained;     /* the device's primary context, of which we hold a reference */
	bool failed;       /* to open: no job uses it, and close gives back what it has got */
	bool closed;       /* what it had is given back */
	bool captured;     /* kernels are being loaded for a job that is captured */
	_Atomic bool lost; /* destroyed, or broken by an error that stays */
	_Atomic bool dropped; /* the driver refused the worker a deferred call */
	_Atomic uint32_t
		loads; /* asked for and not finished: each may still synchronise the context */
	CUstream lanes[DTC_CUDA_LANES]; /* for jobs without a stream of the caller's */
	void *parts[DTC_CUDA_PARTS]; /* each its feature's */
};

enum dtc_cuda_answer { DTC_CUDA_UNASKED, DTC_CUDA_NO, DTC_CUDA_YES };

struct dtc_cuda {
	pid_t process; /* that made it */
	struct dtconv_context *context;
	struct dtc_cuda_driver driver;
	const struct dtc_cuda_feature *const *features; /* ends with NULL */
	pthread_mutex_t lock; /* of the list; never held round a driver call that may block */
	struct dtc_cuda_context *contexts;
	/* What is there once for all device contexts, each with a header of its own. */
	struct dtc_cuda_worker *worker;
	struct dtc_cuda_compiler *compiler;
	struct dtc_gdr *gdr;
	struct dtc_cuda_copy_threads *copy_threads;
	struct dtc_cuda_tunings *tunings;
	void *listener; /* to NVTX ranges, or NULL */
	/* Whether all devices address registered memory as the process does. */
	_Atomic enum dtc_cuda_answer shares_addresses;
};

static inline struct dtc_cuda *dtc_cuda_of(struct dtconv_context *context)
{
	return atomic_load_explicit(&context->devices.cuda, memory_order_acquire);
}

/* Whether the handles are still valid: cuCtxGetId returns the ID they were created under. */
bool dtc_cuda_context_is_alive(struct dtc_cuda_context *context);

/* What the driver says of the context's device; 0 if it says nothing. */
int dtc_cuda_context_capability(const struct dtc_cuda_context *context,
				CUdevice_attribute attribute);

/* Whether a stream is one of the lanes. */
bool dtc_cuda_context_is_lane(const struct dtc_cuda_context *context, CUstream stream);

/* 10 * major + minor of its compute capability. */
uint32_t dtc_cuda_context_arch(const struct dtc_cuda_context *context);

/*
 * Synchronise the context before a module is loaded, in the worker. Loading blocks while a kernel runs and blocks all
 * launches meanwhile: a deadlock if that kernel waits for a launch. Synchronising invalidates captures in the context
 * (H200, driver 580), so it is skipped for a job that is captured itself. Captures of others are not known here; they
 * are invalidated, and loading goes on: dtconv_prepare() waits for it beforehand.
 */
CUresult dtc_cuda_context_synchronise(struct dtc_cuda_context *context);

/* Drop the handles: no driver call is made with them again. */
void dtc_cuda_context_lose(struct dtc_cuda_context *context);

/* Among results, none of the driver's: the library's allocator has refused memory. */
#define DTC_CUDA_NO_HOST_MEMORY ((CUresult)-1)

/* Whether nothing in the context works any more after this result. */
bool dtc_cuda_result_is_fatal(CUresult result);

/*
 * Fail a job for a driver call that did not succeed, and forget the context if the result says that it
 * is gone. @call is the entry point's name.
 */
int dtc_cuda_fail(struct dtc_cuda_context *context, CUresult result, const char *call,
		  const char *caller);

/* A stream for jobs, before all of the application's. The context is current. */
CUresult dtc_cuda_stream_create(struct dtc_cuda_context *context, CUstream *stream);

#endif
