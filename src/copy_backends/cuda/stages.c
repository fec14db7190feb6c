/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving pieces through the pinned stages of a device context, which serve one job at a time. The job's
 * thread makes the driver's calls; it and others copy, part by part.
 */
#include "config.h"

#include "stages.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "crew.h"
#include "cuda.h"
#include "log.h"
#include "submit.h"

/* A row of so many bytes is written past the caches: threads copy it whose caches nobody reads from. */
#define STREAM_BYTES (UINT64_C(1) << 20)

/* How long the copying threads wait for the device before they go. */
#define IDLE_NS UINT64_C(50000)

/*
 * A job under way. Pieces pass from the device to the processors, or back, in order; each of the numbers
 * says how many pieces, or parts, have come so far.
 */
struct moving {
	struct dtc_cuda_pieces *pieces;
	uint64_t begun;  /* the device's half */
	uint64_t landed; /* the device's half is done */
	uint64_t copied; /* the processors' half is done */
	int status;
	uint64_t leave_ns; /* the pump leaves the rest to a thread from then on; 0: it stays */
	struct dtc_event events[DTC_CUDA_STAGES];
	pthread_t pump; /* the thread that makes the driver's calls */
	_Atomic uint64_t open;  /* parts that may be copied */
	_Atomic uint64_t taken; /* parts that somebody has copied or copies */
	_Atomic uint64_t done[DTC_CUDA_STAGES]; /* parts of each stage's piece */
	atomic_bool parted; /* the threads need not wait for more */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* ---- stages ---------------------------------------------------------------------------- */

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

uint64_t dtc_cuda_stage_cut(uint64_t piece_bytes, uint32_t part)
{
	uint64_t bytes = dtc_divide_up(piece_bytes, DTC_CUDA_STAGE_PARTS);

	/* A cache line belongs to one thread. */
	bytes = (bytes + DTC_CACHE_LINE - 1) / DTC_CACHE_LINE * DTC_CACHE_LINE;
	return DTC_MIN(part * bytes, piece_bytes);
}

void dtc_cuda_stage_copy(const struct dtc_cuda_pieces *pieces, char *to, const char *from,
			 uint64_t piece_bytes, uint32_t part)
{
	const struct dtconv_context *context = pieces->context->cuda->context;
	uint64_t begin = dtc_cuda_stage_cut(piece_bytes, part);
	uint64_t end = dtc_cuda_stage_cut(piece_bytes, part + 1);
	const struct dtc_grid row = { .to = to + begin,
				      .from = from + begin,
				      .outer = 1,
				      .inner = 1,
				      .block = (size_t)(end - begin),
				      .stream = pieces->bytes < STREAM_BYTES
							? DTC_STREAM_NONE
							: DTC_STREAM_PACKED };

	if (row.block)
		context->cpu->grid(&row);
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

/* ---- the processors' half -------------------------------------------------------------- */

static bool take_part(struct moving *moving, uint64_t *part)
{
	*part = atomic_load(&moving->taken);
	do {
		if (*part >= atomic_load(&moving->open))
			return false;
	} while (!atomic_compare_exchange_weak(&moving->taken, part, *part + 1));
	return true;
}

/* Copy the next part that is there; false if there is none. */
static bool copy_part(struct moving *moving)
{
	const struct dtc_cuda_pieces *pieces = moving->pieces;
	uint64_t part;

	if (!take_part(moving, &part))
		return false;
	uint64_t piece = part / DTC_CUDA_STAGE_PARTS;

	pieces->host(pieces, piece, (uint32_t)(part % DTC_CUDA_STAGE_PARTS));
	atomic_fetch_add(&moving->done[piece % DTC_CUDA_STAGES], 1);
	return true;
}

/* ---- the device's half ----------------------------------------------------------------- */

/* Pieces whose processors' half may be done. */
static uint64_t ready(const struct moving *moving)
{
	const struct dtc_cuda_pieces *pieces = moving->pieces;

	if (pieces->device_first)
		return moving->landed;
	return DTC_MIN(moving->landed + DTC_CUDA_STAGES, pieces->count);
}

static bool note_copied(struct moving *moving)
{
	uint64_t piece = moving->copied;

	if (piece == ready(moving) ||
	    atomic_load(&moving->done[piece % DTC_CUDA_STAGES]) < DTC_CUDA_STAGE_PARTS)
		return false;
	atomic_store(&moving->done[piece % DTC_CUDA_STAGES], 0);
	moving->copied++;
	return true;
}

static bool begin_piece(struct moving *moving)
{
	struct dtc_cuda_pieces *pieces = moving->pieces;
	uint64_t most = pieces->device_first ? moving->copied + DTC_CUDA_STAGES : moving->copied;

	if (moving->begun == DTC_MIN(most, pieces->count))
		return false;
	moving->status = pieces->device(pieces, moving->begun,
					&moving->events[moving->begun % DTC_CUDA_STAGES]);
	moving->begun++;
	return true;
}

static bool note_landed(struct moving *moving)
{
	if (moving->landed == moving->begun)
		return false;
	struct dtc_event *event = &moving->events[moving->landed % DTC_CUDA_STAGES];
	int status = event->backend ? dtc_cuda_event_test(event) : 0;

	if (status == DTCONV_INPROGRESS)
		return false;
	event->backend = NULL;
	moving->status = status;
	moving->landed++;
	return true;
}

static bool is_over(const struct moving *moving)
{
	uint64_t last = moving->pieces->device_first ? moving->copied : moving->landed;

	return moving->status || last == moving->pieces->count;
}

/* Of a stream's job, only what is done behind its calls of the driver can be left to others. */
static bool may_leave(const struct moving *moving)
{
	return moving->leave_ns && moving->begun == moving->pieces->count &&
	       now_ns() >= moving->leave_ns;
}

static bool is_enough(const struct moving *moving)
{
	return is_over(moving) || may_leave(moving);
}

/* Pass on what is done; false if nothing is. */
static bool pass_on(struct moving *moving)
{
	bool moved = note_copied(moving);

	moved |= begin_piece(moving);
	if (!moving->status)
		moved |= note_landed(moving);
	if (moved && !moving->status)
		atomic_store(&moving->open, ready(moving) * DTC_CUDA_STAGE_PARTS);
	return moved;
}

/* ---- together -------------------------------------------------------------------------- */

/* Until all is done, or the device keeps everybody waiting. */
static void pump(struct moving *moving)
{
	uint64_t idle_since = 0;

	while (!is_enough(moving)) {
		if (pass_on(moving) || copy_part(moving)) {
			idle_since = 0;
			continue;
		}
		relax();
		if (!idle_since)
			idle_since = now_ns();
		else if (now_ns() - idle_since > IDLE_NS)
			break;
	}
	atomic_store(&moving->parted, true);
}

static void work(void *arg, size_t index)
{
	struct moving *moving = arg;

	(void)index;
	if (pthread_equal(pthread_self(), moving->pump)) {
		pump(moving);
		return;
	}
	while (!atomic_load(&moving->parted))
		if (!copy_part(moving))
			relax();
}

static bool has_parts(struct moving *moving)
{
	return atomic_load(&moving->open) > atomic_load(&moving->taken);
}

/* With the others as long as there is something to copy; waiting for the device is one thread's work. */
static void move_together(struct moving *moving)
{
	struct dtc_cuda *cuda = moving->pieces->context->cuda;
	size_t helpers = dtc_cuda_crew_helpers(&cuda->crew, cuda->context,
					       moving->pieces->bytes);

	while (!is_enough(moving)) {
		bool moved = pass_on(moving);

		if (helpers && has_parts(moving)) {
			atomic_store(&moving->parted, false);
			if (!dtc_cuda_crew_run(&cuda->crew, cuda->context, helpers, work, moving))
				helpers = 0;
		} else if (!copy_part(moving) && !moved) {
			relax();
		}
	}
}

static void begin(struct moving *moving, struct dtc_cuda_pieces *pieces)
{
	*moving = (struct moving){ .pieces = pieces, .pump = pthread_self() };
	atomic_init(&moving->open, ready(moving) * DTC_CUDA_STAGE_PARTS);
}

static int finish(struct moving *moving)
{
	moving->leave_ns = 0;
	move_together(moving);
	/* Nothing of a job that has failed is in flight after it, whatever comes of it. */
	for (; moving->landed < moving->begun; moving->landed++) {
		struct dtc_event *event = &moving->events[moving->landed % DTC_CUDA_STAGES];

		if (event->backend)
			(void)dtc_cuda_event_wait(event);
	}
	return moving->status;
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
	struct moving moving;

	pieces->context = context;
	begin(&moving, pieces);
	int status = finish(&moving);
	release(context);
	return status;
}

int dtc_cuda_stages_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces)
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
	struct moving moving;
	struct dtc_event event;
	_Alignas(max_align_t) unsigned char room[DTC_CUDA_STAGES_ROOM];
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
	struct moving *moving = &context->staging.started->moving;
	CUcontext popped;
	bool pushed = dtc_cuda_context_is_alive(context) &&
		      !driver->CtxPushCurrent(context->handle);

	moving->pump = pthread_self();
	int status = finish(moving);
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

/* The application's signals are the application's threads' business. */
static bool start_thread(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = &context->staging;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&staging->thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !error;
}

/* Whether there is a thread to leave jobs to. The caller has the stages. */
static bool has_thread(struct dtc_cuda_context *context)
{
	struct dtc_cuda_staging *staging = &context->staging;

	if (!staging->started)
		staging->started = dtc_alloc(context->cuda->context, sizeof(*staging->started));
	if (staging->started && !staging->running)
		staging->running = start_thread(context);
	return staging->running;
}

void dtc_cuda_stages_end(struct dtc_cuda_context *context)
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

/*
 * Another thread's default stream would be another one. And where there is but one processor, a caller who
 * asks whether the job is done keeps the thread from it.
 */
static bool may_be_left(const struct dtc_job *job)
{
	cpu_set_t allowed;

	if (job->on_stream ? (CUstream)job->stream == CU_STREAM_PER_THREAD
			   : job->bytes < LEAVE_BYTES)
		return false;
	return !sched_getaffinity(0, sizeof(allowed), &allowed) && CPU_COUNT(&allowed) > 1;
}

static bool leave(struct dtc_cuda_context *context, const char *caller, struct dtc_event *event)
{
	struct dtc_cuda_staging *staging = &context->staging;

	if (!dtc_cuda_flag_take(context, NULL, event))
		return false;
	event->backend = &dtc_cuda_staged_backend;
	event->caller = caller;
	staging->started->event = *event;
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
	struct moving *moving = &started->moving;

	pieces->context = context;
	begin(moving, pieces);
	/* The order of a stream is that of the calls, which are made before this one returns. */
	if (job->on_stream) {
		moving->leave_ns = now_ns() + (job->bytes < LEAVE_BYTES ? IDLE_NS : 0);
		move_together(moving);
	}
	if (!is_over(moving) && leave(context, job->caller, event))
		return 0;
	int status = finish(moving);
	release(context);
	return status;
}

int dtc_cuda_stages_start(const struct dtc_job *job, struct dtc_event *event,
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

int dtc_cuda_stages_test(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;
	struct dtc_cuda_staging *staging = &context->staging;

	if (!dtc_cuda_flag_is_written(event))
		return DTCONV_INPROGRESS;
	pthread_mutex_lock(&staging->lock);
	int status = staging->outcomes[event->slot];
	if (status)
		DTC_FAIL(context->cuda->context, status, "%s", staging->sentence);
	pthread_mutex_unlock(&staging->lock);
	dtc_cuda_flag_put(event);
	return status;
}
