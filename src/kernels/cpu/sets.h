/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sets of kernels that this build may have. Each is one file with flags of its own; the bodies
 * are the same static functions for all, in which words are as wide as the flags allow.
 */
#ifndef DTC_KERNELS_CPU_SETS_H
#define DTC_KERNELS_CPU_SETS_H

#include "kernels.h"

extern const struct dtc_cpu_kernels dtc_cpu_generic;
extern const struct dtc_cpu_kernels dtc_cpu_avx2;
extern const struct dtc_cpu_kernels dtc_cpu_avx512;
extern const struct dtc_cpu_kernels dtc_cpu_neon;

#endif
