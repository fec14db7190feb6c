/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinned pieces of host memory that jobs go through whose host side the device does not see: while the
 * device works on one piece, the processor copies another.
 */
#ifndef DTC_CUDA_STAGES_H
#define DTC_CUDA_STAGES_H

#include "state.h"

/* A job in pieces, the first member of whatever else its functions need. */
struct dtc_cuda_pieces {
	uint64_t count;
	/* Begin a piece, whose part in the device's hands is in flight after, as @event. */
	int (*begin)(struct dtc_cuda_pieces *pieces, uint64_t piece, struct dtc_event *event);
	/* The device has done its part of the piece: do the rest. */
	int (*finish)(struct dtc_cuda_pieces *pieces, uint64_t piece);
	struct dtc_cuda_context *context; /* set before either is called */
};

/* The stage of a piece; it is free again when the piece is finished. */
char *dtc_cuda_stage_of(const struct dtc_cuda_pieces *pieces, uint64_t piece);

/* What a job is told of stages. */
struct dtc_memory dtc_cuda_stage_memory(const struct dtc_cuda_pieces *pieces);

/*
 * Move all pieces of the job, begun and finished in order, some of them under way at once. Blocks,
 * because the processor's part has nobody else to do it; after a failure nothing is in flight.
 */
int dtc_cuda_stages_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces);

#endif
