/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this vendor keeps for a context of the library: the driver, the device contexts that have
 * been worked in, and the thread for calls that may block.
 *
 * A device context is the application's: it may be destroyed, or its device reset, at any time.
 * Its handles are believed as long as the driver answers the same id for it; after that they are
 * forgotten, never destroyed.
 */
#ifndef DTC_CUDA_STATE_H
#define DTC_CUDA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base.h"
#include "context.h"
#include "copy_backends/cuda/compiler.h"
#include "copy_backends/cuda/crew.h"
#include "copy_backends/cuda/driver.h"
#include "copy_backends/cuda/gdr.h"
#include "copy_backends/cuda/graphs.h"
#include "copy_backends/cuda/relay.h"
#include "copy_backends/cuda/resident.h"
#include "copy_backends/cuda/windows.h"
#include "copy_backends/backend.h"
#include "kernels/gpu.h"

/*
 * Jobs in flight in one device context, by which host and device memory is set aside: 32 bytes each. A job
 * takes the lowest place, so that many places cost nothing where there are few jobs.
 */
#define DTC_CUDA_FLAGS      8192
#define DTC_CUDA_FLAG_BYTES (3 * DTC_CUDA_FLAGS * sizeof(uint64_t))

/* Staging: so many pieces of so many bytes. */
#define DTC_CUDA_STAGES 8
#define DTC_CUDA_STAGE_BYTES (UINT64_C(1) << 20)

/*
 * Memory that is lent for a while: it stays in the device's cache. Who has some for a copy between layouts
 * may wait for another device's for a relay, never the other way round.
 */
#define DTC_CUDA_LOAN_BYTES ((size_t)8 << 20)

enum dtc_cuda_purpose { DTC_CUDA_FOR_COPIES, DTC_CUDA_FOR_RELAYS, DTC_CUDA_PURPOSES };

struct dtc_cuda_lent {
	pthread_mutex_t lock; /* held by who has it */
	CUdeviceptr memory;   /* 0 until first used */
};

struct dtc_cuda;

/*
 * Words of pinned memory that the device writes when a job is done. Behind them are as many for
 * faults: the same value there says that a number was too large for its narrower form; and behind those as
 * many for checksums.
 */
struct dtc_cuda_flags {
	_Atomic uint64_t *words; /* one a slot, in host memory that the device sees */
	CUdeviceptr device;      /* the same words, as the device addresses them */
	CUdeviceptr
		counters; /* one a slot: thread blocks that have finished; then as many for checksums */
	_Atomic uint64_t taken[DTC_CUDA_FLAGS / 64];
	uint64_t generations[DTC_CUDA_FLAGS]; /* of the slot's owner */
	CUevent ends[DTC_CUDA_FLAGS]; /* NULL until a slot's first job has one */
};

/* Who has the pinned pieces, and the thread that goes on with started jobs. */
struct dtc_cuda_staging {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool taken;  /* by a job */
	bool handed; /* to the thread, which has not begun it */
	bool running;
	bool ending;
	atomic_bool one_cpu; /* is all that the last started job's caller may use */
	pthread_t thread;
	struct dtc_cuda_started *started; /* NULL until the first one */
	int outcomes[DTC_CUDA_FLAGS];     /* of started jobs, by their slots */
	char sentence[DTC_ERROR_TEXT_MAX]; /* of the last one that failed */
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
	CUstream stream;   /* for jobs without a stream of the caller's */
	struct dtc_cuda_flags flags;
	_Atomic bool loaded; /* the kernels are there */
	_Atomic bool unloadable; /* they cannot be had */
	CUmodule module;
	CUfunction functions[DTC_GPU_KERNELS];
	struct dtc_cuda_graphs graphs;
	struct dtc_cuda_resident resident;
	struct dtc_cuda_staging staging;
	char *stages;            /* pinned, DTC_CUDA_STAGES pieces; NULL until first used */
	CUdeviceptr device_stages; /* the same, as the device addresses them */
	struct dtc_cuda_windows windows;
	struct dtc_cuda_lent lent[DTC_CUDA_PURPOSES];
	struct dtc_cuda_relay relay;
	struct dtc_cuda_special
		*_Atomic specials; /* see special.h; added, never taken away */
	_Atomic uint32_t special_count;
};

/* A call for the thread that may block. */
typedef void dtc_cuda_chore_fn(struct dtc_cuda_context *context, CUdeviceptr memory);

struct dtc_cuda_chore {
	struct dtc_cuda_chore *next;
	struct dtc_cuda_context *context;
	dtc_cuda_chore_fn *run;
	CUdeviceptr memory;
};

struct dtc_cuda_worker {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread;
	bool running;
	bool ending;
	struct dtc_cuda_chore *first, **last;
};

/* Devices whose figures are remembered; those of more are all devices'. */
#define DTC_CUDA_DEVICES 64

enum dtc_cuda_answer { DTC_CUDA_UNASKED, DTC_CUDA_NO, DTC_CUDA_YES };

struct dtc_cuda {
	pid_t process; /* that made it */
	struct dtconv_context *context;
	struct dtc_cuda_driver driver;
	pthread_mutex_t lock; /* of the list; never held round a driver call that may block */
	struct dtc_cuda_context *contexts;
	struct dtc_cuda_worker worker;
	struct dtc_cuda_compiler compiler;
	struct dtc_gdr gdr;
	struct dtc_cuda_crew crew;
	void *listener; /* to ranges, or NULL */
	/* Whether all devices address registered memory as the process does. */
	_Atomic enum dtc_cuda_answer shares_addresses;
	/* By ordinal, what the tuning file says of the device; NULL until its name was asked for. */
	const struct dtc_tuning *_Atomic tunings[DTC_CUDA_DEVICES];
};

static inline struct dtc_cuda *dtc_cuda_of(struct dtconv_context *context)
{
	return atomic_load_explicit(&context->devices.cuda, memory_order_acquire);
}

/* ---- cuda.c: memory ---------------------------------------------------------------------- */

/* Of the allocation, or mapping, that an address lies in; never used again. 0: the driver does not say. */
uint64_t dtc_cuda_memory_id(const struct dtc_cuda *cuda, uintptr_t address);

/* ---- contexts.c: device contexts ------------------------------------------------------- */

/* The device context that the job belongs in, opened; or a failure with its sentence. */
int dtc_cuda_context_choose(struct dtc_cuda *cuda, const struct dtc_job *job,
			    struct dtc_cuda_context **chosen);

/* Whether the handles are still good. */
bool dtc_cuda_context_is_alive(struct dtc_cuda_context *context);

/*
 * Let the device come to rest, in the worker: loading while a kernel runs waits for its end, and all launches
 * wait for the loading; if that kernel waits for a launch, for ever. But it ends captures in the context (H200,
 * driver 580), so a job that is captured itself goes without. Of captures by others nobody knows: they end, and the
 * loading goes on.
 */
CUresult dtc_cuda_context_rest(struct dtc_cuda_context *context);

/* Forget the handles: no driver call is made with them again. */
void dtc_cuda_context_lose(struct dtc_cuda_context *context);

/*
 * Fail a job for a driver call that did not succeed, and forget the context if the result says that it
 * is gone. @call is the entry point's name.
 */
int dtc_cuda_fail(struct dtc_cuda_context *context, CUresult result, const char *call,
		  const char *caller);

/* A stream for jobs, before all of the application's. The context is current. */
CUresult dtc_cuda_stream_create(struct dtc_cuda_context *context, CUstream *stream);

void dtc_cuda_contexts_close(struct dtc_cuda *cuda);

/* ---- pinned.c: host memory that the device sees ------------------------------------------ */

/*
 * Make memory of our own and register it: it stays readable when the device context is gone. The
 * context is current. Zeroed; @bytes are rounded up to pages.
 */
CUresult dtc_cuda_pinned_create(struct dtc_cuda_context *context, size_t bytes, void **memory,
				CUdeviceptr *device);

/* Give it back; waits until the device is idle. NULL is allowed. */
void dtc_cuda_pinned_destroy(struct dtc_cuda_context *context, void *memory, size_t bytes);

/* ---- loan.c: memory of the device for a while -------------------------------------------- */

void dtc_cuda_lent_init(struct dtc_cuda_context *context);

/* The context is current, and nothing is lent. */
void dtc_cuda_lent_free(struct dtc_cuda_context *context);
void dtc_cuda_lent_close(struct dtc_cuda_context *context);

/* For copies between layouts; see dtc_scratch_acquire. */
bool dtc_cuda_lend(struct dtconv_context *context, const struct dtc_memory *near,
		   struct dtc_scratch *loan);

/* The same for relays, which have their own. */
bool dtc_cuda_lend_for(struct dtconv_context *context, const struct dtc_memory *near,
		       enum dtc_cuda_purpose purpose, struct dtc_scratch *loan);

/* ---- worker.c: calls that may block ---------------------------------------------------- */

int dtc_cuda_worker_start(struct dtc_cuda *cuda);
void dtc_cuda_worker_end(struct dtc_cuda *cuda);

/* Have @run called in the worker, its context current; false if the allocator gives no memory for that. */
bool dtc_cuda_worker_do(struct dtc_cuda_context *context, dtc_cuda_chore_fn *run,
			CUdeviceptr memory);

/* Call it in the calling thread, which may wait until the device is idle. */
void dtc_cuda_worker_do_here(struct dtc_cuda_context *context, dtc_cuda_chore_fn *run,
			     CUdeviceptr memory);

/* For what must not stay: in the worker, without memory for that in the calling thread. */
void dtc_cuda_worker_give_back(struct dtc_cuda_context *context, dtc_cuda_chore_fn *run,
			       CUdeviceptr memory);

/* ---- flags.c: completion --------------------------------------------------------------- */

CUresult dtc_cuda_flags_open(struct dtc_cuda_context *context);

/* The context is current, and nothing of it is in flight. */
void dtc_cuda_flags_close(struct dtc_cuda_context *context);

/* Take a slot for the event of a job in @stream; false if all are taken. */
bool dtc_cuda_flag_take(struct dtc_cuda_context *context, CUstream stream,
			struct dtc_event *event);
void dtc_cuda_flag_put(struct dtc_event *event);

/* Have the stream write the event's flag after all that it has been given. */
CUresult dtc_cuda_flag_write(const struct dtc_event *event);

/*
 * The same by an event of the driver's instead of a word, which costs the stream nothing: on one H200 a word that is
 * written keeps the stream for 1.7 us. Who waits at once learns of a word 0.6 us sooner. @call receives the entry
 * point's name.
 */
CUresult dtc_cuda_flag_record(struct dtc_event *event, const char **call);

bool dtc_cuda_flag_is_written(const struct dtc_event *event);

int dtc_cuda_event_test(struct dtc_event *event);
int dtc_cuda_event_wait(struct dtc_event *event);

#endif
