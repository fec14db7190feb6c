/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resident kernel: small jobs without a launch. A kernel of one thread block polls a doorbell in pinned memory,
 * in a stream of its own; a job is a command written to that doorbell.
 *
 * Ownership. One job owns the doorbell from its command to its end; a job that finds it taken is launched instead.
 * The owner writes the cells, with a number that no earlier command had, and reads the job's completion word and the
 * word `left`. The kernel reads the cells and `cancel`, takes one number after the other, and writes completion words
 * and, as its last store, `left`: the number of the first command that it did not take.
 *
 * The exit race. The kernel alone decides to exit, and takes no command after it has written `left`. A job whose
 * number is in `left` has not run and will not; its owner relaunches the kernel, which finds the command in the
 * cells. The owner reads `left` as often as the completion word, also before its first wait. The stores of a command
 * need no order, because every word of it carries its number.
 *
 * Bounded stay. The kernel exits after IDLE_NS without a command, after LIFE_NS in any case, and at once on `cancel`.
 * This bounds how long it delays calls that wait for the device, such as cuMemFree. Jobs in a stream of the caller's,
 * captured ones included, never use it.
 */
#ifndef DTC_CUDA_RESIDENT_H
#define DTC_CUDA_RESIDENT_H

#include "copy_backends/backend.h"
#include "copy_backends/cuda/device/device_context.h"
#include "kernels/gpu/resident.h"
#include "kernels/launch/launch.h"

struct dtc_cuda_resident {
	_Atomic bool ready;        /* all of it is there */
	_Atomic bool taken;        /* by a job; what follows is its own */
	uint32_t number;           /* of the last command */
	struct dtc_gpu_bell *bell; /* pinned */
	CUdeviceptr device;        /* the same, as the device addresses it */
	CUstream stream;
	CUmodule module;
	CUfunction function;
};

static inline struct dtc_cuda_resident *dtc_cuda_resident_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_resident];
}

/* Whether jobs like that are for it, if it is free. */
bool dtc_cuda_resident_may(const struct dtc_question *question);

/* Whether it does what that launch would do. */
bool dtc_cuda_resident_does(const struct dtc_gpu_launch *launch);

/* What such a job costs. */
double dtc_cuda_resident_ns(const struct dtc_question *question);

/* Have it done; false: it is to be launched, because it is not for it or tables are on their way. The event is in flight after. */
bool dtc_cuda_resident_ring(struct dtc_cuda_context *context, const struct dtc_job *job,
			    struct dtc_gpu_launch *launch, struct dtc_event *event);

/* Whether the event is of a job that was rung for. */
bool dtc_cuda_resident_has(const struct dtc_event *event);

/* Whether the kernel has gone without the event's job. */
bool dtc_cuda_resident_has_left(const struct dtc_event *event);

/* Call it back, for the same job. */
CUresult dtc_cuda_resident_call_back(const struct dtc_event *event);

/* The event has ended. */
void dtc_cuda_resident_put(const struct dtc_event *event);

#endif
