/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library's planner needs to know about a device, measured from outside with jobs
 * forced on one copy backend. It uses no vendor types, so that builds without CUDA have it too.
 */
#ifndef BENCH_GPU_FIGURES_H
#define BENCH_GPU_FIGURES_H

#include <stddef.h>

/* The names are the thresholds' of `dtconv info`, without device_. */
struct gpu_figures {
	char name[96];     /* of the device */
	char problem[200]; /* why the rest is not there; empty: it is */
	double wake_ns, launch_ns, copy_ns;
	double rate, bus_rate, pageable_rate,
		staged_rate; /* bytes a nanosecond, both ways but pageable */
};

/* How far the measuring of a device has come: 0 to 1. */
typedef void (*gpu_progress_fn)(const char *name, double part);

/*
 * Measure the devices, of those with one name the first; about a second each. Returns how many there are in
 * `list`, at most `room`; or -1, with the sentence in `why`, where there is none.
 */
int gpu_figures_measure(struct gpu_figures *list, size_t room, gpu_progress_fn show,
			char *why, size_t why_room);

#endif
