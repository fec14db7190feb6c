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

#endif
