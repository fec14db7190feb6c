/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv tune`: measurements, decisions, and the file that the library
 * reads.
 */
#ifndef DTCONV_TOOLS_TUNE_H
#define DTCONV_TOOLS_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/gpu/figures.h"

/* Sizes of targets: 1, 2, 4 ... MiB. */
#define TUNE_SIZES 7

/* Most and fewest times that everything is measured. */
#define TUNE_MAX_ROUNDS 64
#define TUNE_MIN_ROUNDS 5

enum tune_direction { TUNE_PACK, TUNE_UNPACK, TUNE_DIRECTIONS };

/* One size in one direction: nanoseconds a call, a round in each element. */
struct tune_samples {
	double through[TUNE_MAX_ROUNDS]; /* the caches */
	double past[TUNE_MAX_ROUNDS];    /* them */
};

struct tune_measurements {
	size_t rounds;
	size_t bytes[TUNE_SIZES];
	struct tune_samples samples[TUNE_SIZES][TUNE_DIRECTIONS];
};

/* ---- measuring ----------------------------------------------------------------------- */

/*
 * Measure for so many seconds, and TUNE_MIN_ROUNDS in any case. Returns an exit status, and
 * has printed why if it is not TOOL_OK.
 */
int tune_measure(double seconds, struct tune_measurements *measurements);

/* ---- deciding ------------------------------------------------------------------------ */

/*
 * Speed with non-temporal stores relative to that without, in the middle half of the rounds,
 * for one pack and one unpack together: there is one threshold for both.
 */
struct tune_gain {
	double median, low, high;
	enum tune_verdict { TUNE_EVEN, TUNE_FASTER, TUNE_SLOWER } verdict;
};

struct tune_gain tune_compare(const struct tune_measurements *measurements, size_t size);

/* even, faster or slower: the way with non-temporal stores. */
const char *tune_verdict_name(enum tune_verdict verdict);

/* The middle one of so many numbers. */
double tune_median(const double *numbers, size_t count);

/* What the measurements imply for the threshold. */
struct tune_decision {
	enum {
		TUNE_UNDECIDED, /* the default is as good as any */
		TUNE_FROM,      /* from so many bytes on */
		TUNE_NEVER /* non-temporal stores are slower, even for the largest targets */
	} kind;
	size_t bytes;
};

struct tune_decision tune_decide(const struct tune_measurements *measurements);

/* ---- devices ------------------------------------------------------------------------- */

/* As many names as the library takes of a file, and the text that they become, at most. */
#define TUNE_DEVICES       16
#define TUNE_DEVICES_BYTES 6000

struct tune_devices {
	size_t count;
	char why[200]; /* there is none, or empty */
	struct gpu_figures figures[TUNE_DEVICES];
};

/* Measure the devices. Without a driver, and for what cannot be measured, the defaults stay. */
void tune_measure_devices(struct tune_devices *devices);

/* Print what came out, or why there is nothing. */
void tune_print_devices(FILE *out, const struct tune_devices *devices);

/* The file's lines of all devices that could be measured. */
void tune_format_devices(const struct tune_devices *devices, char *text, size_t capacity);

/* The lines of one device; answers their length, or 0 if they do not fit. */
size_t tune_format_device(const struct gpu_figures *figures, char *text, size_t capacity);

/* ---- the flow ------------------------------------------------------------------------ */

/* Messages of 1 and 16 MiB, by each fragment size and then by each depth. */
#define TUNE_MESSAGES     2
#define TUNE_FLOW_CHOICES 7

/* Values of one threshold, and what messages took with each: nanoseconds, a round in each element. */
struct tune_contest {
	size_t count, normal; /* values; which of them is the default */
	size_t rounds;
	size_t values[TUNE_FLOW_CHOICES];
	double ns[TUNE_FLOW_CHOICES][TUNE_MESSAGES][TUNE_MAX_ROUNDS];
};

/*
 * The value to choose: the default, unless others are faster in three of four rounds, for messages of both sizes
 * together. Of those, the smallest one that is within 2 % of the fastest.
 */
size_t tune_choose(const struct tune_contest *contest);

/* How much faster a value is than the default: the median over the rounds. */
double tune_flow_gain(const struct tune_contest *contest, size_t value);

struct tune_flow {
	const char *where; /* "device" or "host" */
	char why[200];     /* why not on a device; or empty */
	struct tune_contest fragments, depths;
	size_t fragment, depth; /* chosen, as indices */
};

/* Measure for so many seconds. Returns an exit status, and has printed why if it is not TOOL_OK. */
int tune_measure_flow(double seconds, struct tune_flow *flow);

void tune_print_flow(FILE *out, const struct tune_flow *flow);

/* Two lines of the file. */
void tune_format_flow(const struct tune_flow *flow, char *text, size_t capacity);

/* ---- telling ------------------------------------------------------------------------- */

/* All that is measured, and the file that it becomes. */
struct tune_results {
	char machine[256];
	struct tune_measurements host;
	struct tune_decision decision;
	struct tune_flow flow;
	struct tune_devices devices;
	char file[640 + TUNE_DEVICES_BYTES];
};

/* Gigabytes a second that a way moves. */
double tune_rate(const double *times, const struct tune_measurements *measurements,
		 size_t size);

/* Print one JSON object; @path is the file that was written, or NULL. */
void tune_print_json(const struct tune_results *results, const char *path);

/* ---- the file ------------------------------------------------------------------------ */

#define TUNE_PATH_MAX 1024

/* Whether a file can be made there; the folders on the way are made if @make_folders. */
int tune_check_place(const char *path, bool make_folders);

/* Put text in the place of a file, all of it or nothing, readable by its owner alone. */
int tune_replace_file(const char *path, const char *text);

/* Delete a file; one that is not there is no error. */
int tune_delete_file(const char *path);

#endif
