/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinned pieces of host memory that jobs go through whose host side the device does not see: while the
 * device works on one piece, processors copy others.
 */
#ifndef DTC_CUDA_STAGING_RING_H
#define DTC_CUDA_STAGING_RING_H

#include "copy_backends/cuda/device/device_context.h"

/* A job in pieces, the first member of whatever else its functions need. */
struct dtc_cuda_pieces {
	uint64_t count;
	uint64_t bytes; /* packed, of all */
	bool device_first;
	/* Begin the device's half of a piece, in flight after as @event. One thread calls it, in order. */
	int (*device)(struct dtc_cuda_pieces *pieces, uint64_t piece, struct dtc_event *event);
	/* Do a part of the processors' half of a piece. Several threads call it at once, for different parts. */
	void (*host)(const struct dtc_cuda_pieces *pieces, uint64_t piece, uint32_t part);
	struct dtc_cuda_context *context; /* set before either is called */
};

/* The stage of a piece; it is free again when both halves of the piece are done. */
char *dtc_cuda_staging_slot(const struct dtc_cuda_pieces *pieces, uint64_t piece);

/* What a job is told of stages. */
struct dtc_memory dtc_cuda_staging_memory(const struct dtc_cuda_pieces *pieces);

/* Parts that the processors' half of a piece is cut into. */
#define DTC_CUDA_STAGING_PARTS 8

/* Where a part begins in a piece of so many bytes; the part after the last begins at its end. */
uint64_t dtc_cuda_staging_cut(uint64_t piece_bytes, uint32_t part);

/* Copy a part of a row of so many bytes, a piece, between its stage and ordinary memory. */
void dtc_cuda_staging_copy(const struct dtc_cuda_pieces *pieces, char *to,
			   const char *from, uint64_t piece_bytes, uint32_t part);

/*
 * Move all pieces of the job, several of them under way at once, and wait for them; after a failure nothing is
 * in flight.
 */
int dtc_cuda_staging_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces);

/* Room for what a started job's functions need. */
#define DTC_CUDA_STAGING_ROOM 4096

/* Writes a started job's pieces, and all that they need beyond the call, to the room. */
typedef struct dtc_cuda_pieces *(*dtc_cuda_keep_fn)(void *room, const struct dtc_job *job);

/*
 * The same, but what can be left to a thread is left to it: then the job is in flight as @event after, with
 * what @keep has written. @pieces are for a job that cannot.
 */
int dtc_cuda_staging_start(const struct dtc_job *job, struct dtc_event *event,
			   struct dtc_cuda_pieces *pieces, dtc_cuda_keep_fn keep);
int dtc_cuda_staging_test(struct dtc_event *event);

/* End the thread; no job is in flight. */
void dtc_cuda_staging_end(struct dtc_cuda_context *context);

#endif
