/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds related results of a device.
 */
#ifndef BENCH_GPU_FIND_H
#define BENCH_GPU_FIND_H

#include "bench/harness/result.h"

/* Of the same layout, size, places and clock as another result. */
const struct result *find_result(const struct results *results, const struct result *like,
				 const char *op, const char *engine);
/* Whether no earlier result has its layout, bytes, places, fragment and clock. */
bool is_first_result(const struct results *results, size_t from, size_t index);
/* GB/s of packed bytes, or 0. */
double result_speed(const struct result *result);

#endif
