/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the planner's figures of a device from outside, with jobs that are forced to one
 * copy backend. Without vendor types, so that builds without CUDA have it too.
 */
#ifndef BENCH_GPU_FIGURES_H
#define BENCH_GPU_FIGURES_H

#include <stddef.h>

/* The names of the thresholds in `dtconv info`, without device_. */
struct gpu_figures {
	char name[96];     /* of the device */
	char problem[200]; /* why there are no figures; empty: there are */
	double wake_ns, launch_ns, copy_ns;
	double rate, bus_rate, pageable_rate,
		staged_rate; /* bytes a nanosecond, both ways but pageable */
};

/* Progress of the measurement of a device: 0 to 1. */
typedef void (*gpu_progress_fn)(const char *name, double part);

/*
 * Measure all devices, of several with one name only the first, in about a second each. Returns
 * the number of devices in `list`, at most `room`; -1, with an error text in `why`, if there is
 * none.
 */
int gpu_figures_measure(struct gpu_figures *list, size_t room, gpu_progress_fn show,
			char *why, size_t why_room);

#endif
