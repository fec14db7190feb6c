/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uploads of tables: through a ring of pinned memory, so that no job waits on the host for an upload. They have a stream
 * of their own, so that no upload waits for work that was enqueued before; the upload for a reader whose stream is idle
 * goes there, which needs no order between streams. Each upload has a number, and readers of the table order their
 * stream behind it.
 */
#ifndef DTC_CUDA_UPLOAD_H
#define DTC_CUDA_UPLOAD_H

#include "copy_backends/backend.h"
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
	CUstream streams[DTC_CUDA_UPLOADS];
	/* The flag of its job tells that a piece has ended; without an owner its event does. */
	struct dtc_event jobs[DTC_CUDA_UPLOADS];
	_Atomic uint64_t begun, ended;
};

/* Where the readers of a table are enqueued. */
struct dtc_cuda_reader {
	CUstream stream;
	bool captured; /* for a graph, which would repeat what it waits for */
	const struct dtc_event *own; /* of a job in the context's own stream, else NULL */
	bool is_brief; /* that job is short, waited for, and stays inside the device */
};

/* Bytes to upload: @write puts at most DTC_CUDA_UPLOAD_WHOLE_BYTES into the ring; NULL: any number are at @source. */
struct dtc_cuda_table {
	void (*write)(const void *source, void *to);
	const void *source;
	size_t bytes;
};

/*
 * Put a table into the ring and copy it to the device's @memory, which nothing reads yet. The source may change after
 * the call. Waits for earlier uploads if the ring is full. @number is the upload's. The @reader is the first one, or
 * NULL; it, too, is ordered by dtc_cuda_upload_order.
 */
CUresult dtc_cuda_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			 const struct dtc_cuda_table *table,
			 const struct dtc_cuda_reader *reader, uint64_t *number);

/*
 * Order the reader behind an upload and all before it. Without a driver call if it is known to have ended or is in the
 * reader's stream. Without a reader, and for a graph, whose nodes must not wait for work outside, it waits on the host.
 */
CUresult dtc_cuda_upload_order(struct dtc_cuda_context *context, uint64_t number,
			       const struct dtc_cuda_reader *reader);

/*
 * The job of an event, which is given back, will never end. The host waits for what has been uploaded for it, if that
 * was to be told by the job's end.
 */
CUresult dtc_cuda_upload_abandon(struct dtc_cuda_context *context,
				 const struct dtc_event *job);

/* Wait on the host until an upload has ended. */
CUresult dtc_cuda_upload_wait(struct dtc_cuda_context *context, uint64_t number);

/* The number of the last upload; 0 if there was none. */
uint64_t dtc_cuda_upload_last(const struct dtc_cuda_context *context);

/* Whether all uploads have ended: then work in no stream's order may read tables, too. */
bool dtc_cuda_upload_is_idle(struct dtc_cuda_context *context);

#endif
