/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of kernels as the library has it, but with the paths of the other makers' CPUs. OTHER_MAKER_SET names its
 * file, and the compiler's command line gives the set another name.
 */
#define __builtin_cpu_is(maker) !__builtin_cpu_is(maker)

#include OTHER_MAKER_SET
