/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staging ring of a device context: pinned slots for jobs whose host side the device cannot access. While the
 * device works on one slot, CPU threads copy others.
 */
#ifndef DTC_CUDA_STAGING_RING_H
#define DTC_CUDA_STAGING_RING_H

#include "copy_backends/backend.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/device_context.h"

/* Slots of the ring, and bytes of each. */
#define DTC_CUDA_STAGING_SLOTS      8
#define DTC_CUDA_STAGING_SLOT_BYTES (UINT64_C(1) << 20)

/* The ring, which one job holds at a time, and the thread that finishes started jobs. */
struct dtc_cuda_staging {
	char *slots;              /* pinned; NULL until first used */
	CUdeviceptr device_slots; /* the same, as the device addresses them */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool taken;  /* by a job */
	bool handed; /* to the thread, which has not begun it */
	bool running;
	bool ending;
	atomic_bool one_cpu; /* is all that the last started job's caller may use */
	pthread_t thread;
	struct dtc_cuda_started *started;  /* NULL until the first one */
	int outcomes[DTC_CUDA_FLAGS];      /* of started jobs, by their slots */
	char sentence[DTC_ERROR_TEXT_MAX]; /* of the last one that failed */
};

static inline struct dtc_cuda_staging *dtc_cuda_staging_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_staging];
}

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

/* The slot of a piece; it is free again when both halves of the piece are done. */
char *dtc_cuda_staging_slot(const struct dtc_cuda_pieces *pieces, uint64_t piece);

/* The slots as memory of a job. */
struct dtc_memory dtc_cuda_staging_memory(const struct dtc_cuda_pieces *pieces);

/* Parts that the processors' half of a piece is cut into. */
#define DTC_CUDA_STAGING_PARTS 8

/* Where a part begins in a piece of so many bytes; the part after the last begins at its end. */
uint64_t dtc_cuda_staging_cut(uint64_t piece_bytes, uint32_t part);

/* Copy a part of a row of so many bytes, a piece, between its stage and ordinary memory. */
void dtc_cuda_staging_copy(const struct dtc_cuda_pieces *pieces, char *to,
			   const char *from, uint64_t piece_bytes, uint32_t part);

/* Take the ring for a job. While another job has it, wait, or with @no_wait fail with AGAIN. */
int dtc_cuda_staging_take(struct dtc_cuda_context *context, bool no_wait,
			  const char *caller);
void dtc_cuda_staging_release(struct dtc_cuda_context *context);

#endif
