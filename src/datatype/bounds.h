/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds of a typemap, by the rules of MPI 4.1 section 5.1.7. Pure arithmetic on a small value.
 * Every function returns true on overflow.
 */
#ifndef DTC_BOUNDS_H
#define DTC_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

struct dtc_bounds {
	size_t size;       /* bytes of data */
	ptrdiff_t lb, ub;  /* 0 if the typemap is empty */
	ptrdiff_t true_lb; /* of the data; 0 if there is none */
	ptrdiff_t true_ub;
	size_t alignment; /* strictest of the basic types, at least 1 */
	bool empty;       /* the typemap is empty and there are no markers */
	bool marked;      /* lb and ub are markers (resized) */
	bool single_run;  /* the data is one run of bytes in typemap order */
};

extern const struct dtc_bounds dtc_bounds_empty;

static inline ptrdiff_t dtc_bounds_extent(const struct dtc_bounds *bounds)
{
	return bounds->ub - bounds->lb;
}

/* One basic type at displacement 0. */
struct dtc_bounds dtc_bounds_basic(size_t size, size_t alignment);

/* @count copies of @bounds, @stride bytes apart. */
bool dtc_bounds_repeat(const struct dtc_bounds *bounds, size_t count, ptrdiff_t stride,
		       struct dtc_bounds *repeated);

/*
 * @count copies of @bounds, the lowest at @lowest and the highest at @highest. @dense: each
 * copy begins where the previous one ends.
 */
bool dtc_bounds_spread(const struct dtc_bounds *bounds, size_t count, ptrdiff_t lowest,
		       ptrdiff_t highest, bool dense, struct dtc_bounds *spread);

/* Append @member, displaced by @disp, to @all. */
bool dtc_bounds_append(struct dtc_bounds *all, const struct dtc_bounds *member,
		       ptrdiff_t disp);

/* Set markers at @lb and @lb + @extent. */
bool dtc_bounds_resize(struct dtc_bounds *bounds, ptrdiff_t lb, ptrdiff_t extent);

/* Round the extent up to the alignment (the standard's epsilon), unless there are markers. */
bool dtc_bounds_pad(struct dtc_bounds *bounds);

/* Whether @count times the size overflows size_t, or a displacement in the last one ptrdiff_t. */
bool dtc_bounds_are_too_many(const struct dtc_bounds *bounds, size_t count);

#endif
