/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the library, compiled for the host, if they are linked in (weak). The parameters
 * are the bytes of the kernel's one by-value struct.
 */
#ifndef TEST_SUPPORT_CUDA_STANDIN_SHIM_H
#define TEST_SUPPORT_CUDA_STANDIN_SHIM_H

#include <stddef.h>
#include <stdint.h>

__attribute__((weak)) int shim_run(const char *kernel, uint32_t grid, uint32_t block,
				   size_t shared_bytes, const void *params);
__attribute__((weak)) int shim_knows(const char *kernel, size_t *params_bytes);
__attribute__((weak)) int shim_waits(const char *kernel);

#endif
