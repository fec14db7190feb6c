/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the questions to a device that the options select. Builds without CUDA report an error.
 */
#ifndef BENCH_GPU_SESSION_H
#define BENCH_GPU_SESSION_H

#include <stdbool.h>
#include <stdio.h>

struct end_memory;
struct results;
struct session;

/*
 * Run the selected questions. Returns 0, or an exit status after printing an error. Close it
 * after the library's context, which may still use the device's context.
 */
int gpu_session_run(struct session *session);
void gpu_session_close(struct session *session);
/*
 * Open the device for the pipeline bench and say where its memory comes from. False, with the reason in `why`, if
 * there is none. Close it as above.
 */
bool gpu_session_find_memory(struct session *session, struct end_memory *memory,
			     char *why, size_t room);
/* Print the rows. This needs a build with support for devices, but no device. */
int gpu_session_list(const struct session *session);
/* An SVG of the layouts' speeds relative to the device's copy. Returns 0, or -1 with errno. */
int gpu_plot_draw(FILE *file, const struct results *results, const char *device);

#endif
