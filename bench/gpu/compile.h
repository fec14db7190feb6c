/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVRTC for the bench's own kernels, loaded at run time like the driver, independently of the
 * library.
 */
#ifndef BENCH_GPU_COMPILE_H
#define BENCH_GPU_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether NVRTC is there; a sentence in @why if not. */
bool compile_can(char *why, size_t room);

/*
 * Compile CUDA C to a cubin with @count NVRTC @options. Returns the image of @bytes, which the
 * caller frees, or NULL with an error text in @why.
 */
void *compile_kernels(const char *source, const char *const *options, int count,
		      size_t *bytes, char *why, size_t room);

#endif
