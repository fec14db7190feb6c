/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for one shape in a device context: a shape that is launched again and again gets a kernel
 * of its own, compiled and loaded in the background. The kernel of its class serves until then,
 * and for ever if there is no compiler or no room.
 */
#ifndef DTC_CUDA_SPECIAL_KERNELS_H
#define DTC_CUDA_SPECIAL_KERNELS_H

#include "base/text.h"
#include "kernels/launch/launch.h"
#include "submission.h"

/* The kernel for the shape of a launch, or NULL: that of its class serves. Counts the launch. */
CUfunction dtc_cuda_special_kernel_find(const struct dtc_cuda_submission *submission,
					const struct dtc_gpu_launch *launch);

/* Say in a few words whether such launches get a kernel of their own; part of a sentence. */
void dtc_cuda_special_kernel_explain(struct dtconv_context *context,
				     const struct dtc_gpu_launch *launch,
				     struct dtc_text *text);

/* A line of what dtconv info says; @cuda is NULL where no driver is loaded. */
void dtc_cuda_special_kernel_describe(struct dtc_cuda *cuda,
				      struct dtconv_context *context,
				      struct dtc_text *text);

#endif
