/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uploads of tables: through a ring of pinned memory, in a stream of their own, so that no upload waits for work that
 * was enqueued before and no job waits on the host for an upload. Each upload has a number, and
 * readers of the table order their stream behind it.
 */
#ifndef DTC_CUDA_UPLOAD_H
#define DTC_CUDA_UPLOAD_H

#include "device_context.h"

/* The ring, and the longest upload that is written into it as a whole. */
#define DTC_CUDA_UPLOAD_RING_BYTES  ((size_t)4 << 20)
#define DTC_CUDA_UPLOAD_WHOLE_BYTES (DTC_CUDA_UPLOAD_RING_BYTES / 4)

/* The most pieces in flight. */
#define DTC_CUDA_UPLOADS 32

struct dtc_cuda_uploads {
	pthread_mutex_t lock; /* held by the one who fills the ring */
	CUstream stream;      /* NULL, as all else, until first used */
	char *ring;           /* pinned */
	CUdeviceptr device;   /* the same, as the device addresses it */
	/* Positions in the ring, which is gone round: bytes handed out, and bytes that may be used again. */
	uint64_t filled, emptied;
	/* Pieces by their numbers, modulo their number; the first is 1. */
	CUevent ends[DTC_CUDA_UPLOADS];
	uint64_t filled_by[DTC_CUDA_UPLOADS]; /* the ring's position behind the piece */
	_Atomic uint64_t begun, ended;
};

/* Where the readers of a table are enqueued. */
struct dtc_cuda_reader {
	CUstream stream;
	bool captured; /* for a graph, which would repeat what it waits for */
};

/* Write a table of the source into memory. */
typedef void dtc_cuda_upload_write_fn(const void *source, void *to);

/*
 * Have @write put @bytes of a table, at most DTC_CUDA_UPLOAD_WHOLE_BYTES, into the ring, and copy them to the device's
 * @memory, which nothing reads yet. Waits for earlier uploads if the ring is full. @number is the upload's.
 */
CUresult dtc_cuda_upload_write(struct dtc_cuda_context *context, CUdeviceptr memory,
			       dtc_cuda_upload_write_fn *write, const void *source,
			       size_t bytes, uint64_t *number);

/* The same for any number of bytes that are there already. They may change after the call. */
CUresult dtc_cuda_upload_copy(struct dtc_cuda_context *context, CUdeviceptr memory,
			      const void *source, size_t bytes, uint64_t *number);

/*
 * Order the reader behind an upload. Without a driver call if it is known to have ended. Without a reader, and for a
 * graph, whose nodes must not wait for work outside, it waits on the host.
 */
CUresult dtc_cuda_upload_order(struct dtc_cuda_context *context, uint64_t number,
			       const struct dtc_cuda_reader *reader);

/* Wait on the host until an upload has ended. */
CUresult dtc_cuda_upload_wait(struct dtc_cuda_context *context, uint64_t number);

/* The number of the last upload; 0 if there was none. */
uint64_t dtc_cuda_upload_last(const struct dtc_cuda_context *context);

/* Whether all uploads have ended: then work in no stream's order may read tables, too. */
bool dtc_cuda_upload_is_idle(struct dtc_cuda_context *context);

#endif
