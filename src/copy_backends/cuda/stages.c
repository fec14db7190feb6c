/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving pieces through the pinned stages of a device context, which serve one job at a time. The job's
 * thread makes the driver's calls; it and others copy, part by part.
 */
#include "config.h"

#include "stages.h"

#include <time.h>

#include "crew.h"
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
	struct dtc_event events[DTC_CUDA_STAGES];
	pthread_t pump; /* the thread that makes the driver's calls */
	_Atomic uint64_t open;  /* parts that may be copied */
	_Atomic uint64_t taken; /* parts that somebody has copied or copies */
	_Atomic uint64_t done[DTC_CUDA_STAGES]; /* parts of each stage's piece */
	atomic_bool parted; /* the threads need not wait for more */
};

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

/* Until all is done, or the device keeps everybody waiting. */
static void pump(struct moving *moving)
{
	uint64_t idle_since = 0;

	while (!is_over(moving)) {
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

	while (!is_over(moving)) {
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

static int move_pieces(struct dtc_cuda_pieces *pieces)
{
	struct moving moving = { .pieces = pieces, .pump = pthread_self() };

	atomic_init(&moving.open, ready(&moving) * DTC_CUDA_STAGE_PARTS);
	move_together(&moving);
	/* Nothing of a job that has failed is in flight after it, whatever comes of it. */
	for (; moving.landed < moving.begun; moving.landed++) {
		struct dtc_event *event = &moving.events[moving.landed % DTC_CUDA_STAGES];

		if (event->backend)
			(void)dtc_cuda_event_wait(event);
	}
	return moving.status;
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
