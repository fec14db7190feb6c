/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends of messages in memory of a device. Builds without CUDA find none.
 */
#ifndef BENCH_GPU_ENDS_H
#define BENCH_GPU_ENDS_H

#include <stddef.h>

#include "bench/pipeline/ends.h"

struct gpu;

/* Users' memory on the open device, packed memory pinned. */
struct end_memory gpu_end_memory(struct gpu *gpu);

/* Open device 0 for that. NULL, with the reason in `why`, if there is none. */
struct gpu *gpu_ends_open(struct end_memory *memory, char *why, size_t room);
/* After the context that has used it; or NULL. */
void gpu_ends_close(struct gpu *gpu);

#endif
