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

/*
 * Write the text of unlike blocks of doubles, @least and more of them up to twice as many, with gaps between. Kernels
 * have them in tables if there are more than 128, else in periods.
 */
void layout_write_unlike(char *text, size_t capacity, size_t count, size_t least);

#endif
