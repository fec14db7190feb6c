/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of more than 512 bytes, by words of a line or of half a line; for processors with AVX-512.
 */
#ifndef TEST_KERNELS_LONG_AVX512_H
#define TEST_KERNELS_LONG_AVX512_H

#include <stddef.h>

void long_by_lines(char *to, const char *from, size_t bytes);
void long_by_half_lines(char *to, const char *from, size_t bytes);

#endif
