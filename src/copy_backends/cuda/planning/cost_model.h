/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model of the planner: nanoseconds, and bytes per nanosecond. The figures of the device itself come from
 * the context's tuning. What fraction of a rate blocks of a given length reach is taken to be the same on all
 * devices (measured on an H200, doc/performance.md).
 */
#ifndef DTC_CUDA_COST_MODEL_H
#define DTC_CUDA_COST_MODEL_H

#include "base/context.h"
#include "copy_backends/backend.h"
#include "copy_backends/layout_copy.h"

/* Devices whose figures are remembered; those of more are all devices'. */
#define DTC_CUDA_DEVICES 64

/* By ordinal, what the tuning file says of the device; NULL until its name was asked for. */
struct dtc_cuda_tunings {
	const struct dtc_tuning *_Atomic devices[DTC_CUDA_DEVICES];
};

/*
 * The figures of the device that would move it. Where the tuning file has some by name, the driver is asked
 * for a device's name once.
 */
const struct dtc_tuning *dtc_cuda_tuning(const struct dtc_question *question);

/*
 * The processor's stores and loads through the BAR: guesses, as no machine that maps device memory has been
 * measured yet (test/cuda/bar_rates does it). A part of a line costs a store of its own on the bus, a
 * load a round trip; few loads are under way at once.
 */
#define DTC_CUDA_BAR_NS         500.0
#define DTC_CUDA_BAR_STORE_NS   20.0
#define DTC_CUDA_BAR_STORE_RATE 6.0
#define DTC_CUDA_BAR_LOAD_NS    800.0
#define DTC_CUDA_BAR_LOAD_RATE  0.2

/* Whether a side is not the device's own memory: bytes cross the bus. */
static inline bool dtc_cuda_crosses(const struct dtc_question *question)
{
	return question->user_kind != DTCONV_MEMORY_DEVICE ||
	       question->packed_kind != DTCONV_MEMORY_DEVICE;
}

/* Whether all bytes are one run. */
bool dtc_cuda_is_run(const struct dtc_question *question);

/* The bytes of an average run. */
double dtc_cuda_run_bytes(const struct dtc_question *question);

/* Until the host knows that a job is done which had so many calls of the driver's copy, or a launch. */
double dtc_cuda_copies_ns(const struct dtc_question *question, double calls);
double dtc_cuda_launch_ns(const struct dtc_question *question);

/* The driver's copies of one run each, and of rows of that many bytes. */
double dtc_cuda_copy_rate(const struct dtc_question *question);
double dtc_cuda_rows_rate(const struct dtc_question *question, double row_bytes);

/* The two hops through pinned pieces. */
double dtc_cuda_staged_ns(const struct dtc_question *question);

/* What a job in so many pieces costs besides the bus, one of which, of so many bytes, overlaps with nothing. */
double dtc_cuda_pipeline_ns(const struct dtc_question *question, uint64_t pieces,
			    uint64_t alone_bytes);

/* The same in a job that others like it precede and follow: what a piece costs the host. */
#define DTC_CUDA_PIPELINE_LOOSE_NS 700.0

double dtc_cuda_kernel_rate(const struct dtc_question *question);

/*
 * Whether a copy between layouts on two devices takes longer by one launch than packed across the link and unpacked: one
 * launch stores the target's blocks over the link, of which short ones take a sector each.
 */
bool dtc_cuda_is_relay_faster(const struct dtc_copy_job *copy);

/* One launch from one layout to another: no faster than it would be packed, or unpacked. */
double dtc_cuda_layout_copy_ns(const struct dtc_question *source,
			       const struct dtc_question *target);

/* Between devices of which neither has access to the other: packed by one, and copied. */
double dtc_cuda_via_device_ns(const struct dtc_question *question);

#endif
