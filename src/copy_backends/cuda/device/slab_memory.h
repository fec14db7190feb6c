/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slabs of staging memory, as copy_backends/memory/slab_memory.h wants them of a vendor.
 */
#ifndef DTC_CUDA_SLAB_MEMORY_H
#define DTC_CUDA_SLAB_MEMORY_H

#include <stdbool.h>

struct dtc_slab_memory;
struct dtconv_context;

int dtc_cuda_slab_pin(struct dtconv_context *context, struct dtc_slab_memory *memory);
int dtc_cuda_slab_allocate(struct dtconv_context *context,
			   struct dtc_slab_memory *memory);
int dtc_cuda_slab_export(struct dtconv_context *context, struct dtc_slab_memory *memory);
bool dtc_cuda_slab_undo(struct dtc_slab_memory *memory);
bool dtc_cuda_slab_hand_over(const struct dtc_slab_memory *memory,
			     void (*run)(void *owned), void *owned);
bool dtc_cuda_slab_is_lost(const struct dtc_slab_memory *memory);

#endif
