/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ways to copy a long block, of which a processor's maker decides: compiled as the library's kernels are.
 */
#include "config.h"

#include "long_avx512.h"

#include "kernels/cpu/block.h"

void long_by_lines(char *to, const char *from, size_t bytes)
{
	copy_lines(to, from, bytes);
}

void long_by_half_lines(char *to, const char *from, size_t bytes)
{
	copy_half_lines(to, from, bytes);
}
