/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a picture of a layout shows, before any drawing: the runs of one instance in
 * packed order, or how densely they lie if they are too many. All instances look alike,
 * but for where in the packed stream they stand.
 */
#ifndef DTCONV_TOOLS_PICTURE_H
#define DTCONV_TOOLS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

/*
 * Most instances that are drawn, and most runs in all of them that are drawn one by one.
 */
#define PICTURE_MAX_ROWS 16
#define PICTURE_MAX_RUNS 10000

/* Contiguous bytes, in the user's memory and in the packed stream. */
struct run {
	ptrdiff_t disp; /* from the instance's origin */
	size_t bytes;
	size_t packed; /* offset in the instance's part of the packed stream */
};

struct picture {
	struct dtconv_type *type;
	struct dtconv_type_attr attr;
	size_t count; /* instances there are */
	size_t rows;  /* instances drawn */

	/* the axis, in bytes from an instance's origin: everything drawn is within */
	ptrdiff_t left;
	size_t span; /* at least 1 */

	size_t run_count;      /* of one instance; a lower bound if there are very many */
	bool runs_are_counted; /* false: run_count is a lower bound */
	bool summarised;       /* too many to draw: ask picture_density */
	struct run *runs;      /* of one instance, unless summarised */

	struct run
		*overlaps; /* bytes that are packed more than once, unless summarised */
	size_t overlap_count;
};

/* What lies in one column of a picture. */
struct density {
	double bytes;  /* bytes of data, of all runs */
	double packed; /* sum over them of their offsets in the packed stream */
};

/*
 * Look at a committed type. Returns 0 or a negative enum dtconv_status; what is in the
 * picture is freed by picture_release either way.
 */
int picture_prepare(struct picture *picture, struct dtconv_type *type, size_t count);
void picture_release(struct picture *picture);

/* Called for each run of one instance; returns false to end the walk. */
typedef bool (*picture_visit_fn)(void *arg, const struct run *run);

/* Visit all runs of one instance, in packed order. */
int picture_visit(const struct picture *picture, picture_visit_fn visit, void *arg);

/*
 * Distribute the runs of one instance over columns of equal width, which begin at the
 * left. Very many runs are estimated from a sample. Returns 0 or a negative enum
 * dtconv_status.
 */
int picture_density(const struct picture *picture, double column_bytes, size_t columns,
		    struct density *densities);

/* Whether a row that can tell so many runs apart must show densities instead. */
bool picture_is_crowded(const struct picture *picture, size_t distinct_runs);

/* Upper bounds; extents may be negative and data may lie outside them. */
ptrdiff_t picture_ub(const struct picture *picture);
ptrdiff_t picture_true_ub(const struct picture *picture);

#endif
