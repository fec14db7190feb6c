/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs among AMD's CPUs with the same instructions: those before Zen 5 move a cache line in two halves, even if an
 * instruction moves a whole one. Zen 5 is the first that has VP2INTERSECT; a CPU that hides it counts as an older one.
 */
#ifndef DTC_KERNELS_CPU_GENERATION_H
#define DTC_KERNELS_CPU_GENERATION_H

#include <stdbool.h>

#if defined(__x86_64__) || defined(__i386__)
#ifdef DTC_KNOWS_VP2INTERSECT
#define DTC_MOVES_WHOLE_LINES __builtin_cpu_supports("avx512vp2intersect")
#else
#define DTC_MOVES_WHOLE_LINES 0
#endif

static inline bool dtc_splits_lines(void)
{
	return __builtin_cpu_is("amd") && !DTC_MOVES_WHOLE_LINES;
}

/* Zen 5 and later ones: choices that were measured there, and not on other makers' CPUs. */
static inline bool dtc_is_zen_5(void)
{
	return __builtin_cpu_is("amd") && DTC_MOVES_WHOLE_LINES;
}
#else
static inline bool dtc_splits_lines(void)
{
	return false;
}

static inline bool dtc_is_zen_5(void)
{
	return false;
}
#endif

#endif
