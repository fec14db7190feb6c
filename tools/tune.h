/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of `dtconv tune` hand each other: measurements, what follows from them, and
 * the file that the library reads.
 */
#ifndef DTCONV_TOOLS_TUNE_H
#define DTCONV_TOOLS_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
 * Measure for so many seconds, and TUNE_MIN_ROUNDS in any case. Answers an exit status, and
 * has printed why if it is not TOOL_OK.
 */
int tune_measure(double seconds, struct tune_measurements *measurements);

/* ---- deciding ------------------------------------------------------------------------ */

/*
 * How many times as fast the way past the caches is, in the middle half of the rounds, for a pack
 * and an unpack together: there is one threshold, and what is packed is unpacked somewhere.
 */
struct tune_gain {
	double median, low, high;
	enum tune_verdict { TUNE_EVEN, TUNE_FASTER, TUNE_SLOWER } verdict;
};

struct tune_gain tune_compare(const struct tune_measurements *measurements, size_t size);

/* The middle one of so many numbers. */
double tune_median(const double *numbers, size_t count);

/* What the measurements say about the threshold. */
struct tune_decision {
	enum {
		TUNE_UNDECIDED, /* the default is as good as any */
		TUNE_FROM,      /* from so many bytes on */
		TUNE_NEVER /* past the caches is slower, even for the largest targets */
	} kind;
	size_t bytes;
};

struct tune_decision tune_decide(const struct tune_measurements *measurements);

/* ---- devices ------------------------------------------------------------------------- */

/* As many names as the library takes of a file, and the text that they become, at most. */
#define TUNE_DEVICES       16
#define TUNE_DEVICES_BYTES 6000

struct gpu_figures;

/*
 * Measure the devices, and print what came out, or why there is nothing; the file's lines go to `text`. Without
 * a driver, and for what cannot be measured, the defaults stay.
 */
void tune_devices(FILE *report, char *text, size_t capacity);

/* The lines of one device; answers their length, or 0 if they do not fit. */
size_t tune_format_device(const struct gpu_figures *figures, char *text, size_t capacity);

/* ---- the file ------------------------------------------------------------------------ */

#define TUNE_PATH_MAX 1024

/* What `dtconv info` says of one thing: the rest of the line, cut to the room given. */
bool tune_find_info(const char *info, const char *key, char *value, size_t capacity);

/* Whether a file can be made there; the folders on the way are made if @make_folders. */
int tune_check_place(const char *path, bool make_folders);

/* Put text in the place of a file, all of it or nothing, readable by its owner alone. */
int tune_replace_file(const char *path, const char *text);

/* Delete a file; one that is not there is no error. */
int tune_delete_file(const char *path);

#endif
