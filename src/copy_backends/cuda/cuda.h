/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the registry is told of this vendor: its backends and whose memory is whose.
 */
#ifndef DTC_CUDA_H
#define DTC_CUDA_H

#include "copy_backends/backend.h"
#include "copy_backends/cuda/moves/moves.h"

/* describe.c */
int dtc_cuda_count_devices(struct dtconv_context *context, const char **why);
bool dtc_cuda_query_device(struct dtconv_context *context, int ordinal,
			   struct dtconv_device_attr *attr);
void dtc_cuda_describe(struct dtconv_context *context, struct dtc_text *text);

#endif
