/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layouts of the device's rows, and the aim for each.
 */
#ifndef BENCH_GPU_LAYOUTS_H
#define BENCH_GPU_LAYOUTS_H

#include "bench/layouts/layout.h"

/* Ends with a NULL name. They have no hand loops. */
extern const struct bench_layout bench_layouts_gpu[];

/* Speeds aimed at, relative to the device's own copy of as many bytes; 0: none is stated. */
struct gpu_target {
	const char *layout;
	const char *id; /* of the list of aims in doc/performance.md */
	double pack, unpack;
};

/* NULL: nothing is aimed at, as where the device's caches hold the bytes. */
const struct gpu_target *gpu_target_of(const char *layout, size_t bytes);

#endif
