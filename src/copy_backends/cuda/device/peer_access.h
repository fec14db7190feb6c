/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory the kernels of a device context may access, other devices' memory included.
 */
#ifndef DTC_CUDA_PEER_ACCESS_H
#define DTC_CUDA_PEER_ACCESS_H

#include "copy_backends/backend.h"
#include "device_context.h"

/*
 * Whether kernels of the context may access what the next @bytes of the cursor's stream are moved
 * between: the application has opened other devices' memory to it, or allows us to. A kernel that
 * touches what it may not breaks its context.
 */
bool dtc_cuda_can_access(struct dtc_cuda_context *context, const struct dtc_job *job,
			 const struct dtc_cursor *cursor, uint64_t bytes);

/* The same for @bytes bytes at @start. */
bool dtc_cuda_can_access_range(struct dtc_cuda_context *context,
			       const struct dtc_memory *memory, const void *start,
			       uint64_t bytes);

/* The same before there is a job: see dtc_memory_reaches. */
bool dtc_cuda_can_access_memory(struct dtconv_context *context,
				const struct dtc_memory *user,
				const struct dtc_memory *packed);

#endif
