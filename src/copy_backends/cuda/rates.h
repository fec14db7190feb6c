/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the planner believes of a device: measured on an H200 (PCIe 5), near enough elsewhere to
 * choose by. Nanoseconds, and bytes a nanosecond.
 */
#ifndef DTC_CUDA_RATES_H
#define DTC_CUDA_RATES_H

#include "copy_backends/backend.h"

#define DTC_CUDA_WAKE_NS 4000.0   /* until the host knows that a job is done */
#define DTC_CUDA_COPY_NS 2300.0   /* a call of the driver's copy */
#define DTC_CUDA_KERNEL_NS 2500.0 /* a launch */
#define DTC_CUDA_ROWS_RATE 800.0  /* a device's copy of rows in itself */

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

static inline bool dtc_cuda_crosses(const struct dtc_question *question)
{
	return question->user_kind != DTCONV_MEMORY_DEVICE ||
	       question->packed_kind != DTCONV_MEMORY_DEVICE;
}

static inline double dtc_cuda_copy_rate(const struct dtc_question *question)
{
	if (question->user_kind == DTCONV_MEMORY_HOST ||
	    question->packed_kind == DTCONV_MEMORY_HOST)
		return 8.0;
	return dtc_cuda_crosses(question) ? 55.0 : 2000.0;
}

static inline double dtc_cuda_kernel_rate(const struct dtc_question *question)
{
	return dtc_cuda_crosses(question) ? 50.0 : 1900.0;
}

#endif
