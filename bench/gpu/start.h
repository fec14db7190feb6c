/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and initialises the driver for commands that report devices, as an application would:
 * the library uses the driver once the process has loaded it, and never loads it itself. Builds
 * without CUDA have this too.
 */
#ifndef BENCH_GPU_START_H
#define BENCH_GPU_START_H

#include <stddef.h>

/*
 * Load and initialise the driver. Returns 0 if it has a device, or -1 with an error text in
 * `why`.
 */
int gpu_start(char *why, size_t room);

#endif
