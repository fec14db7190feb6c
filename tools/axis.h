/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Axes in bytes: where ticks stand and how they are labelled. Steps are powers of two, as
 * sizes and alignments are.
 */
#ifndef DTCONV_TOOLS_AXIS_H
#define DTCONV_TOOLS_AXIS_H

#include <stddef.h>

/* The smallest power of two that is no less than `bytes`, at least 1. */
size_t axis_step(double bytes);

/* The first multiple of a step that is not left of a displacement. */
ptrdiff_t axis_first_tick(ptrdiff_t left, size_t step);

/* A tick's label, for example `96`, `-8` or `4 Ki`. */
struct axis_label {
	char text[32];
};
struct axis_label axis_label(ptrdiff_t tick, size_t step);

#endif
