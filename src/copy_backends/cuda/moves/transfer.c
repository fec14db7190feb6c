/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing pieces on, and the thread that does it while others copy.
 */
#include "config.h"

#include "transfer.h"

#include <time.h>

#include "clock.h"
#include "copy_threads.h"

/* How long our own thread looks all the time for a device that is busy with something else. */
#define LOOK_NS UINT64_C(1000000)

/* ---- the processors' half -------------------------------------------------------------- */

static bool take_part(struct dtc_cuda_moving *moving, uint64_t *part)
{
	*part = atomic_load(&moving->taken);
	do {
		if (*part >= atomic_load(&moving->open))
			return false;
	} while (!atomic_compare_exchange_weak(&moving->taken, part, *part + 1));
	return true;
}

/* Copy the next part that is there; false if there is none. */
static bool copy_part(struct dtc_cuda_moving *moving)
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
static uint64_t ready(const struct dtc_cuda_moving *moving)
{
	const struct dtc_cuda_pieces *pieces = moving->pieces;

	if (pieces->device_first)
		return moving->landed;
	return DTC_MIN(moving->landed + DTC_CUDA_STAGES, pieces->count);
}

static bool note_copied(struct dtc_cuda_moving *moving)
{
	uint64_t piece = moving->copied;

	if (piece == ready(moving) ||
	    atomic_load(&moving->done[piece % DTC_CUDA_STAGES]) < DTC_CUDA_STAGE_PARTS)
		return false;
	atomic_store(&moving->done[piece % DTC_CUDA_STAGES], 0);
	moving->copied++;
	return true;
}

static bool begin_piece(struct dtc_cuda_moving *moving)
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

static bool note_landed(struct dtc_cuda_moving *moving)
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

bool dtc_cuda_moving_is_over(const struct dtc_cuda_moving *moving)
{
	uint64_t last = moving->pieces->device_first ? moving->copied : moving->landed;

	return moving->status || last == moving->pieces->count;
}

/* Of a stream's job, only what is done behind its calls of the driver can be left to others. */
static bool may_leave(const struct dtc_cuda_moving *moving)
{
	return moving->leave_ns && moving->begun == moving->pieces->count &&
	       dtc_now_ns() >= moving->leave_ns;
}

static bool is_enough(const struct dtc_cuda_moving *moving)
{
	return dtc_cuda_moving_is_over(moving) || may_leave(moving);
}

/* Pass on what is done; false if nothing is. */
static bool pass_on(struct dtc_cuda_moving *moving)
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
static void pump(struct dtc_cuda_moving *moving)
{
	uint64_t idle_since = 0;

	while (!is_enough(moving)) {
		if (pass_on(moving) || copy_part(moving)) {
			idle_since = 0;
			continue;
		}
		dtc_pause();
		if (!idle_since)
			idle_since = dtc_now_ns();
		else if (dtc_now_ns() - idle_since > DTC_CUDA_MOVING_IDLE_NS)
			break;
	}
	atomic_store(&moving->parted, true);
}

static void work(void *arg, size_t index)
{
	struct dtc_cuda_moving *moving = arg;

	(void)index;
	if (pthread_equal(pthread_self(), moving->pump)) {
		pump(moving);
		return;
	}
	uint32_t looks = 0;

	while (!atomic_load(&moving->parted)) {
		if (copy_part(moving))
			looks = 0;
		else
			dtc_rest(&looks);
	}
}

static bool has_parts(struct dtc_cuda_moving *moving)
{
	return atomic_load(&moving->open) > atomic_load(&moving->taken);
}

/* How long a thread has found nothing to do. */
struct idle {
	uint64_t since_ns;
	uint32_t looks;
};

/* A caller who waits looks all the time, our own thread no longer than that pays. */
static void wait_a_little(const struct dtc_cuda_moving *moving, struct idle *idle)
{
	const struct timespec nap = { .tv_nsec = 20000 };
	uint64_t now = dtc_now_ns();

	if (!idle->since_ns)
		idle->since_ns = now;
	if (moving->left && now - idle->since_ns > LOOK_NS)
		nanosleep(&nap, NULL);
	else
		dtc_rest(&idle->looks);
}

/* With the others as long as there is something to copy; waiting for the device is one thread's work. */
void dtc_cuda_moving_go_on(struct dtc_cuda_moving *moving)
{
	struct dtc_cuda *cuda = moving->pieces->context->cuda;
	size_t helpers = dtc_cuda_crew_helpers(&cuda->crew, cuda->context,
					       moving->pieces->bytes);
	struct idle idle = { 0 };
	/* They come while the device does its first half. */
	bool call = helpers;

	while (!is_enough(moving)) {
		bool moved = pass_on(moving);

		if (helpers && (call || has_parts(moving))) {
			call = false;
			atomic_store(&moving->parted, false);
			if (!dtc_cuda_crew_run(&cuda->crew, cuda->context, helpers, work, moving))
				helpers = 0;
			idle = (struct idle){ 0 };
		} else if (copy_part(moving) || moved) {
			idle = (struct idle){ 0 };
		} else {
			wait_a_little(moving, &idle);
		}
	}
}

void dtc_cuda_moving_begin(struct dtc_cuda_moving *moving, struct dtc_cuda_pieces *pieces)
{
	*moving = (struct dtc_cuda_moving){ .pieces = pieces, .pump = pthread_self() };
	atomic_init(&moving->open, ready(moving) * DTC_CUDA_STAGE_PARTS);
}

int dtc_cuda_moving_finish(struct dtc_cuda_moving *moving)
{
	moving->leave_ns = 0;
	dtc_cuda_moving_go_on(moving);
	/* Nothing of a job that has failed is in flight after it, whatever comes of it. */
	for (; moving->landed < moving->begun; moving->landed++) {
		struct dtc_event *event = &moving->events[moving->landed % DTC_CUDA_STAGES];

		if (event->backend)
			(void)dtc_cuda_event_wait(event);
	}
	return moving->status;
}
