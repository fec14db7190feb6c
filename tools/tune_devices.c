/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices' part of dtconv tune: their measurements as printed and as written to the file.
 */
#include "config.h"

#include "tools.h"
#include "tune.h"

#include <math.h>
#include <unistd.h>

#include "bench/gpu/figures.h"

static void show_progress(const char *name, double part)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[Kmeasuring %.60s: %.0f %% ", name, 100 * part);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static void print_figures(FILE *out, const struct gpu_figures *figures)
{
	if (figures->problem[0]) {
		fprintf(out, "device %s keeps the defaults: %s\n", figures->name,
			figures->problem);
		return;
	}
	fprintf(out,
		"device %s: %.1f us until completion is seen, %.1f us per launch, %.1f us per copy\n"
		"  %.0f GB/s within the device, %.1f GB/s over the bus, %.1f GB/s from pageable "
		"memory by driver copies, %.1f GB/s through staging buffers\n",
		figures->name, figures->wake_ns / 1e3, figures->launch_ns / 1e3,
		figures->copy_ns / 1e3, figures->rate, figures->bus_rate,
		figures->pageable_rate, figures->staged_rate);
}

/* Whole numbers that the library takes. */
static long long within(double value, double least, double most)
{
	return llround(fmin(fmax(value, least), most));
}

size_t tune_format_device(const struct gpu_figures *figures, char *text, size_t capacity)
{
	int length = snprintf(text, capacity,
			      "device %s\n"
			      "device_wake_ns %lld\n"
			      "device_launch_ns %lld\n"
			      "device_copy_ns %lld\n"
			      "device_rate %lld\n"
			      "device_bus_rate %lld\n"
			      "device_pageable_rate %lld\n"
			      "device_staged_rate %lld\n",
			      figures->name, within(figures->wake_ns, 0, 1e9),
			      within(figures->launch_ns, 0, 1e9),
			      within(figures->copy_ns, 0, 1e9),
			      within(figures->rate, 1, 1e6),
			      within(figures->bus_rate, 1, 1e6),
			      within(figures->pageable_rate, 1, 1e6),
			      within(figures->staged_rate, 1, 1e6));

	return length > 0 && (size_t)length < capacity ? (size_t)length : 0;
}

void tune_measure_devices(struct tune_devices *devices)
{
	devices->why[0] = '\0';
	int count = gpu_figures_measure(devices->figures, TUNE_DEVICES, show_progress,
					devices->why, sizeof(devices->why));
	clear_progress();
	devices->count = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < devices->count; i++)
		tool_cut_calls(devices->figures[i].problem);
}

void tune_print_devices(FILE *out, const struct tune_devices *devices)
{
	if (devices->why[0])
		fprintf(out, "no device was measured: %s\n", devices->why);
	for (size_t i = 0; i < devices->count; i++)
		print_figures(out, &devices->figures[i]);
}

void tune_format_devices(const struct tune_devices *devices, char *text, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < devices->count; i++)
		if (!devices->figures[i].problem[0])
			used += tune_format_device(&devices->figures[i], text + used,
						   capacity - used);
	text[used] = '\0';
}
