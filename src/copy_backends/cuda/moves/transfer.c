/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing pieces on, by one thread, while others copy.
 */
#include "config.h"

#include "transfer.h"

#include <time.h>

#include "base/clock.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_threads.h"

/* How long our own thread looks all the time for a device that is busy with something else. */
#define LOOK_NS UINT64_C(1000000)

/* ---- the processors' half -------------------------------------------------------------- */

static bool take_part(struct dtc_cuda_transfer *transfer, uint64_t *part)
{
	*part = atomic_load(&transfer->taken);
	do {
		if (*part >= atomic_load(&transfer->open))
			return false;
	} while (!atomic_compare_exchange_weak(&transfer->taken, part, *part + 1));
	return true;
}

/* Copy the next part that is there; false if there is none. */
static bool copy_part(struct dtc_cuda_transfer *transfer)
{
	const struct dtc_cuda_pieces *pieces = transfer->pieces;
	uint64_t part;

	if (!take_part(transfer, &part))
		return false;
	uint64_t piece = part / DTC_CUDA_STAGING_PARTS;

	pieces->host(pieces, piece, (uint32_t)(part % DTC_CUDA_STAGING_PARTS));
	atomic_fetch_add(&transfer->done[piece % DTC_CUDA_STAGING_SLOTS], 1);
	return true;
}

/* ---- the device's half ----------------------------------------------------------------- */

/* Pieces whose processors' half may be done. */
static uint64_t ready(const struct dtc_cuda_transfer *transfer)
{
	const struct dtc_cuda_pieces *pieces = transfer->pieces;

	if (pieces->device_first)
		return transfer->landed;
	return DTC_MIN(transfer->landed + DTC_CUDA_STAGING_SLOTS, pieces->count);
}

static bool note_copied(struct dtc_cuda_transfer *transfer)
{
	uint64_t piece = transfer->copied;

	if (piece == ready(transfer) ||
	    atomic_load(&transfer->done[piece % DTC_CUDA_STAGING_SLOTS]) <
		    DTC_CUDA_STAGING_PARTS)
		return false;
	atomic_store(&transfer->done[piece % DTC_CUDA_STAGING_SLOTS], 0);
	transfer->copied++;
	return true;
}

static bool begin_piece(struct dtc_cuda_transfer *transfer)
{
	struct dtc_cuda_pieces *pieces = transfer->pieces;
	uint64_t most = pieces->device_first ? transfer->copied + DTC_CUDA_STAGING_SLOTS
					     : transfer->copied;

	if (transfer->begun == DTC_MIN(most, pieces->count))
		return false;
	transfer->status = pieces->device(
		pieces, transfer->begun,
		&transfer->events[transfer->begun % DTC_CUDA_STAGING_SLOTS]);
	transfer->begun++;
	return true;
}

static bool note_landed(struct dtc_cuda_transfer *transfer)
{
	if (transfer->landed == transfer->begun)
		return false;
	struct dtc_event *event =
		&transfer->events[transfer->landed % DTC_CUDA_STAGING_SLOTS];
	int status = event->backend ? dtc_cuda_event_test(event) : 0;

	if (status == DTCONV_INPROGRESS)
		return false;
	event->backend = NULL;
	transfer->status = status;
	transfer->landed++;
	return true;
}

bool dtc_cuda_transfer_is_over(const struct dtc_cuda_transfer *transfer)
{
	uint64_t last = transfer->pieces->device_first ? transfer->copied
						       : transfer->landed;

	return transfer->status || last == transfer->pieces->count;
}

/* Of a stream's job, only what is done behind its calls of the driver can be left to others. */
static bool may_leave(const struct dtc_cuda_transfer *transfer)
{
	return transfer->leave_ns && transfer->begun == transfer->pieces->count &&
	       dtc_now_ns() >= transfer->leave_ns;
}

static bool is_enough(const struct dtc_cuda_transfer *transfer)
{
	return dtc_cuda_transfer_is_over(transfer) || may_leave(transfer);
}

/* Pass on what is done; false if nothing is. */
static bool pass_on(struct dtc_cuda_transfer *transfer)
{
	bool moved = note_copied(transfer);

	moved |= begin_piece(transfer);
	if (!transfer->status)
		moved |= note_landed(transfer);
	if (moved && !transfer->status)
		atomic_store(&transfer->open, ready(transfer) * DTC_CUDA_STAGING_PARTS);
	return moved;
}

/* ---- together -------------------------------------------------------------------------- */

/* Until all is done, or the device keeps everybody waiting. */
static void pump(struct dtc_cuda_transfer *transfer)
{
	uint64_t idle_since = 0;

	while (!is_enough(transfer)) {
		if (pass_on(transfer) || copy_part(transfer)) {
			idle_since = 0;
			continue;
		}
		dtc_pause();
		if (!idle_since)
			idle_since = dtc_now_ns();
		else if (dtc_now_ns() - idle_since > DTC_CUDA_TRANSFER_IDLE_NS)
			break;
	}
	atomic_store(&transfer->parted, true);
}

static void work(void *arg, size_t index)
{
	struct dtc_cuda_transfer *transfer = arg;

	(void)index;
	if (pthread_equal(pthread_self(), transfer->pump)) {
		pump(transfer);
		return;
	}
	uint32_t looks = 0;

	while (!atomic_load(&transfer->parted)) {
		if (copy_part(transfer))
			looks = 0;
		else
			dtc_rest(&looks);
	}
}

static bool has_parts(struct dtc_cuda_transfer *transfer)
{
	return atomic_load(&transfer->open) > atomic_load(&transfer->taken);
}

/* How long a thread has found nothing to do. */
struct idle {
	uint64_t since_ns;
	uint32_t looks;
};

/* A caller who waits looks all the time, our own thread no longer than that pays. */
static void wait_a_little(const struct dtc_cuda_transfer *transfer, struct idle *idle)
{
	const struct timespec nap = { .tv_nsec = 20000 };
	uint64_t now = dtc_now_ns();

	if (!idle->since_ns)
		idle->since_ns = now;
	if (transfer->left && now - idle->since_ns > LOOK_NS)
		nanosleep(&nap, NULL);
	else
		dtc_rest(&idle->looks);
}

/* With the others as long as there is something to copy; waiting for the device is one thread's work. */
void dtc_cuda_transfer_go_on(struct dtc_cuda_transfer *transfer)
{
	struct dtc_cuda *cuda = transfer->pieces->context->cuda;
	size_t helpers = dtc_cuda_copy_threads_helpers(cuda->copy_threads, cuda->context,
						       transfer->pieces->bytes);
	struct idle idle = { 0 };
	/* They come while the device does its first half. */
	bool call = helpers;

	while (!is_enough(transfer)) {
		bool moved = pass_on(transfer);

		if (helpers && (call || has_parts(transfer))) {
			call = false;
			atomic_store(&transfer->parted, false);
			if (!dtc_cuda_copy_threads_run(cuda->copy_threads, cuda->context,
						       helpers, work, transfer))
				helpers = 0;
			idle = (struct idle){ 0 };
		} else if (copy_part(transfer) || moved) {
			idle = (struct idle){ 0 };
		} else {
			wait_a_little(transfer, &idle);
		}
	}
}

void dtc_cuda_transfer_begin(struct dtc_cuda_transfer *transfer,
			     struct dtc_cuda_pieces *pieces)
{
	*transfer =
		(struct dtc_cuda_transfer){ .pieces = pieces, .pump = pthread_self() };
	atomic_init(&transfer->open, ready(transfer) * DTC_CUDA_STAGING_PARTS);
}

int dtc_cuda_transfer_finish(struct dtc_cuda_transfer *transfer)
{
	transfer->leave_ns = 0;
	dtc_cuda_transfer_go_on(transfer);
	/* Nothing of a job that has failed is in flight after it, whatever comes of it. */
	for (; transfer->landed < transfer->begun; transfer->landed++) {
		struct dtc_event *event =
			&transfer->events[transfer->landed % DTC_CUDA_STAGING_SLOTS];

		if (event->backend)
			(void)dtc_cuda_event_wait(event);
	}
	return transfer->status;
}
