/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sets of kernels that tests go over: those of the library that this CPU runs, then each once more with the paths
 * that CPUs of other makers take, and with those of AMD's other generation.
 */
#ifndef TEST_KERNELS_CPU_SETS_H
#define TEST_KERNELS_CPU_SETS_H

#include <stdbool.h>

#include "kernels/cpu/kernels.h"

/* The @i-th set, NULL behind the last one. */
const struct dtc_cpu_kernels *cpu_set(int i);

/* The number of sets. */
int cpu_set_count(void);

/* Whether a set takes the paths of CPUs that move lines in halves. */
bool splits_lines(const struct dtc_cpu_kernels *set);

/* What failure messages call a set. */
const char *cpu_set_text(const struct dtc_cpu_kernels *set);

#endif
