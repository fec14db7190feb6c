/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specialised kernels: a shape that is launched often gets a kernel compiled with its numbers as constants. It is
 * compiled and loaded in the background. Until then, or if there is no compiler or no room, the prebuilt kernel of
 * the shape's class serves.
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
