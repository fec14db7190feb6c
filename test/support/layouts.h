/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layouts that every property of the convertor is tested on: one or two of each class, all
 * small enough to try every cut. Text forms, so that a failure can be typed into dtconv show.
 */
#ifndef TEST_SUPPORT_LAYOUTS_H
#define TEST_SUPPORT_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>

struct layout {
	const char *name; /* what is special about it */
	const char *text;
	bool overlaps; /* some byte occurs twice in the packed stream */
};

extern const struct layout layouts[];
extern const int layout_count;

/* A struct of more parts than travel with a launch. */
#define LAYOUT_MANY_PARTS                                                                    \
	"struct([1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"                  \
	"[0,600,1200,1800,2400,3000,3600,4200,4800,5400,6000,6600,7200,7800,"                \
	"8400,9000,9600,10200,10800,11400,12000,12600,13200,13800,14400,15000,15600,16200]," \
	"[vector(9, 1, 5, int),vector(10, 2, 6, int),vector(11, 3, 7, int),"                 \
	"vector(12, 1, 8, int),vector(13, 2, 5, int),vector(9, 3, 6, int),"                  \
	"vector(10, 1, 7, int),vector(11, 2, 8, int),vector(12, 3, 5, int),"                 \
	"vector(13, 1, 6, int),vector(9, 2, 7, int),vector(10, 3, 8, int),"                  \
	"vector(11, 1, 5, int),vector(12, 2, 6, int),vector(13, 3, 7, int),"                 \
	"vector(9, 1, 8, int),vector(10, 2, 5, int),vector(11, 3, 6, int),"                  \
	"vector(12, 1, 7, int),vector(13, 2, 8, int),vector(9, 3, 5, int),"                  \
	"vector(10, 1, 6, int),vector(11, 2, 7, int),vector(12, 3, 8, int),"                 \
	"vector(13, 1, 5, int),vector(9, 2, 6, int),vector(10, 3, 7, int),"                  \
	"vector(11, 1, 8, int)])"

/*
 * Write the text of unlike blocks of doubles, @least and more of them up to twice as many, with gaps between. Kernels
 * have them in tables if there are more than 128, else in periods.
 */
void layout_write_unlike(char *text, size_t capacity, size_t count, size_t least);

#endif
