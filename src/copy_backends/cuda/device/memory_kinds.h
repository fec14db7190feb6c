/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose memory an address is, as the driver tells.
 */
#ifndef DTC_CUDA_MEMORY_KINDS_H
#define DTC_CUDA_MEMORY_KINDS_H

#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/memory/memory.h"

/* Of the allocation, or mapping, that an address lies in; never used again. 0: the driver does not say. */
uint64_t dtc_cuda_memory_id(const struct dtc_cuda *cuda, uintptr_t address);

/* See struct dtc_vendor_ops. */
bool dtc_cuda_query_memory(struct dtconv_context *context, const void *address,
			   struct dtc_memory *memory);

#endif
