/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sets of kernels that this build may have. Each is one file with its own compiler flags.
 * All are compiled from the same static functions, whose words are as wide as the flags allow.
 */
#ifndef DTC_KERNELS_CPU_SETS_H
#define DTC_KERNELS_CPU_SETS_H

#include "kernels.h"

extern const struct dtc_cpu_kernels dtc_cpu_generic;
extern const struct dtc_cpu_kernels dtc_cpu_avx2;
extern const struct dtc_cpu_kernels dtc_cpu_avx512;
extern const struct dtc_cpu_kernels dtc_cpu_neon;

#endif
