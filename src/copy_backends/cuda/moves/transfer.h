/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A staged job in flight: its pieces pass from the device to the CPU threads, or back, in order. One thread makes
 * the driver calls; it and others copy, part by part.
 */
#ifndef DTC_CUDA_TRANSFER_H
#define DTC_CUDA_TRANSFER_H

#include "staging_ring.h"

/* How long the copying threads wait for the device before they go. */
#define DTC_CUDA_TRANSFER_IDLE_NS UINT64_C(50000)

/* Each of the numbers says how many pieces, or parts, have come so far. */
struct dtc_cuda_transfer {
	struct dtc_cuda_pieces *pieces;
	uint64_t begun;  /* the device's half */
	uint64_t landed; /* the device's half is done */
	uint64_t copied; /* the processors' half is done */
	int status;
	uint64_t leave_ns; /* the pump leaves the rest to a thread from then on; 0: it stays */
	struct dtc_event events[DTC_CUDA_STAGING_SLOTS];
	pthread_t pump; /* the thread that makes the driver's calls */
	bool left;      /* to our own thread */
	_Atomic uint64_t open;  /* parts that may be copied */
	_Atomic uint64_t taken; /* parts that somebody has copied or copies */
	_Atomic uint64_t done[DTC_CUDA_STAGING_SLOTS]; /* parts of each stage's piece */
	atomic_bool parted; /* the threads need not wait for more */
};

/* The caller is the thread that makes the driver's calls. */
void dtc_cuda_transfer_begin(struct dtc_cuda_transfer *transfer,
			     struct dtc_cuda_pieces *pieces);

/*
 * Move on, with the copy threads as long as there is something to copy, until all is done or, if moving->leave_ns is
 * set, what is left can be left to another thread.
 */
void dtc_cuda_transfer_go_on(struct dtc_cuda_transfer *transfer);
bool dtc_cuda_transfer_is_over(const struct dtc_cuda_transfer *transfer);

/* Until all is done; after a failure nothing is in flight. Answers the job's status. */
int dtc_cuda_transfer_finish(struct dtc_cuda_transfer *transfer);

#endif
