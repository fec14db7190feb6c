/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion words: pinned memory that the device writes when a job is done.
 */
#ifndef DTC_CUDA_COMPLETION_H
#define DTC_CUDA_COMPLETION_H

#include "copy_backends/backend.h"
#include "device_context.h"
#include "kernels/launch/launch.h"

/*
 * The most jobs in flight in one device context; each slot costs 32 bytes of host and device memory. A job takes the
 * lowest free slot, so a large limit costs no time where few jobs are in flight.
 */
#define DTC_CUDA_FLAGS      8192
#define DTC_CUDA_FLAG_BYTES (3 * DTC_CUDA_FLAGS * sizeof(uint64_t))

/* The first word of answers. */
#define DTC_CUDA_ANSWERS (2 * DTC_CUDA_FLAGS)

/*
 * Words of pinned memory that the device writes when a job is done. As many for faults follow: the same value there
 * says that a number did not fit into a narrower type. As many for answers follow those: checksums, and entries of
 * lists of pages.
 */
struct dtc_cuda_flags {
	_Atomic uint64_t *words; /* one a slot, in host memory that the device sees */
	CUdeviceptr device;      /* the same words, as the device addresses them */
	CUdeviceptr
		counters; /* one a slot: thread blocks that have finished; then as many for checksums */
	_Atomic uint64_t taken[DTC_CUDA_FLAGS / 64];
	uint64_t generations[DTC_CUDA_FLAGS]; /* of the slot's owner */
	/* Jobs are counted as they begin; of each slot, the number of its last one. */
	_Atomic uint64_t started;
	_Atomic uint64_t numbers[DTC_CUDA_FLAGS];
	CUevent ends[DTC_CUDA_FLAGS];         /* NULL until a slot's first job has one */
};

static inline struct dtc_cuda_flags *dtc_cuda_flags_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_completion];
}

/* Take a slot for the event of a job in @stream; false if all are taken. */
bool dtc_cuda_flag_take(struct dtc_cuda_context *context, CUstream stream,
			struct dtc_event *event);
void dtc_cuda_flag_put(struct dtc_event *event);

/* How many jobs have begun in the device context so far. */
uint64_t dtc_cuda_flags_started_jobs(const struct dtc_cuda_context *context);

/*
 * The number of the oldest job in flight, UINT64_MAX if there is none: all jobs with lower numbers have ended. Jobs for
 * graphs are not counted.
 */
uint64_t dtc_cuda_flags_oldest_job(const struct dtc_cuda_context *context);

/* Whether the event's job is the only one in flight, and none has begun after it. */
bool dtc_cuda_flag_is_only(const struct dtc_event *event);

/* Have the stream write the event's flag after all that it has been given. */
CUresult dtc_cuda_flag_write(const struct dtc_event *event);

/*
 * The same by an event of the driver's instead of a word, which costs the stream nothing: on one H200 a word that is
 * written keeps the stream for 1.7 us. Who waits at once learns of a word 0.6 us sooner. @call receives the entry
 * point's name.
 */
CUresult dtc_cuda_flag_record(struct dtc_event *event, const char **call);

/* Create the events of the @count lowest free slots, at most so many, for jobs to come. */
#define DTC_CUDA_FLAGS_PREPARED 16

int dtc_cuda_flag_prepare(struct dtc_cuda_context *context, unsigned count,
			  const char *caller);

/* What a kernel is told so that it writes the event's flag itself. */
struct dtc_gpu_done dtc_cuda_flag_done(const struct dtc_event *event);

bool dtc_cuda_flag_is_written(const struct dtc_event *event);

#endif
