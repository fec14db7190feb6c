/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of kernels as the library has it, but with the paths of the other makers' CPUs, or of AMD's other generation.
 * OTHER_MAKER_SET names its file, and the compiler's command line gives the set another name.
 */
#ifdef OTHER_GENERATION
#define __builtin_cpu_is(maker)         1
#define __builtin_cpu_supports(feature) !__builtin_cpu_supports(feature)
#else
#define __builtin_cpu_is(maker) !__builtin_cpu_is(maker)
#endif

#include OTHER_MAKER_SET
