/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels on the host: the same sources; the threads of a block run one after another
 * between barriers, block after block. The alignment of every access is checked. Does not
 * depend on Check.
 */
#ifndef TEST_SUPPORT_GPU_SHIM_H
#define TEST_SUPPORT_GPU_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs a kernel. Ends the process with a sentence if the launch or an access is not what a device
 * would take. Answers 0, or -1 for a kernel that there is not.
 */
int shim_run(const char *kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
	     const void *params);

/* Answers 1 and the size of its parameters for a kernel that there is, else 0. */
int shim_knows(const char *kernel, size_t *params_bytes);

/* Whether it is one that waits for the host, and so needs a thread of its own. */
int shim_waits(const char *kernel);

#endif
