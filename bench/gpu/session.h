/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the options ask of a device. Builds without CUDA answer that they cannot.
 */
#ifndef BENCH_GPU_SESSION_H
#define BENCH_GPU_SESSION_H

#include <stdio.h>

struct results;
struct session;

/*
 * What the options ask of a device. Returns 0, or an exit status after a sentence on standard
 * error. Close it after the library's context, which may still know the device's.
 */
int gpu_session_run(struct session *session);
void gpu_session_close(struct session *session);
/* Print the rows. A device is not needed for that, but a build that supports devices is. */
int gpu_session_list(const struct session *session);
/* An SVG of the layouts' speeds relative to the device's copy. Returns 0, or -1 with errno. */
int gpu_plot_draw(FILE *file, const struct results *results, const char *device);

#endif
