/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resident kernel: small jobs without a launch. A kernel of one thread block waits in the device
 * context, in a stream of its own, and a job is a command that is written to its doorbell.
 *
 * Who owns what. The bell is one job's from its ring to its end; another job that finds it taken is
 * launched. The owner writes the cells, with a number that no command had before, and reads the job's
 * flag and the word `left`. The kernel reads cells and `cancel`, waits for one number after the other,
 * and writes flags and, as its last store, `left`: the number that it would have waited for.
 *
 * Why no job is lost. A kernel decides alone whether it leaves. What it leaves behind in `left` is the
 * number of the command that it has not taken, and it takes none after. So a job whose number is there
 * has not been done and will not be, and its owner launches the kernel anew, which finds the cells
 * written. The owner looks at `left` as often as at the flag, also before it first waits. Stores need no order among
 * each other: every word of a command carries its number.
 *
 * Why nobody waits for long. A kernel leaves after IDLE_NS without a command, after LIFE_NS in any case, and
 * at once when it is told to. That is how long a call that waits for the device (cuMemFree and the like) may
 * wait for it. Jobs in the order of a stream of the caller's, captured ones among them, never go this way.
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

/* Have it done; false: it is to be launched. The event is in flight after. */
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
