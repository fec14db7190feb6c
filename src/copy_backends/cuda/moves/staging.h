/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs in pieces through the staging ring of a device context.
 */
#ifndef DTC_CUDA_STAGING_H
#define DTC_CUDA_STAGING_H

#include "staging_ring.h"

/*
 * Move all pieces of the job, several of them under way at once, and wait for them; after a failure nothing is
 * in flight.
 */
int dtc_cuda_staging_move(const struct dtc_job *job, struct dtc_cuda_pieces *pieces);

/* Make the ring and the thread of started jobs, which a first job would make. */
int dtc_cuda_staging_prepare(struct dtc_cuda_context *context, const char *caller);

/* Room for what a started job's functions need. */
#define DTC_CUDA_STAGING_ROOM 4096

/* Writes a started job's pieces, and all that they need beyond the call, to the room. */
typedef struct dtc_cuda_pieces *(*dtc_cuda_keep_fn)(void *room,
						    const struct dtc_job *job);

/*
 * The same, but what can be left to a thread is left to it: then the job is in flight as @event after, with
 * what @keep has written, and the @backend's. @pieces are for a job that cannot.
 */
int dtc_cuda_staging_start(const struct dtc_backend_ops *backend,
			   const struct dtc_job *job, struct dtc_event *event,
			   struct dtc_cuda_pieces *pieces, dtc_cuda_keep_fn keep);
int dtc_cuda_staging_test(struct dtc_event *event);

#endif
