/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pictures in SVG are made of: a page in the style of all pictures, texts, colours.
 */
#ifndef DTCONV_TOOLS_SVG_H
#define DTCONV_TOOLS_SVG_H

#include <stddef.h>
#include <stdio.h>

#include "palette.h"

/* All lengths are in pixels of a page this wide. */
#define SVG_PAGE_WIDTH 960.0

/* The beginning of a page with its styles, and the end. */
void svg_begin(FILE *out, double height);
void svg_end(FILE *out);

/* Print as much of a text as fits, escaped, with an ellipsis if it goes on. */
void svg_text(FILE *out, const char *text, size_t most);

/* Roughly how wide a small text is: digits and lower case letters. */
double svg_text_width(const char *text);

/* A text that needs no escaping; the anchor is `start`, `middle` or `end`. */
void svg_label(FILE *out, const char *class, const char *anchor, double x, double y,
	       const char *text);

void svg_colour(FILE *out, struct colour colour);

/* Define the colours inside a run that begins and ends at these places of the stream. */
void svg_gradient(FILE *out, const char *id, double begin, double end);

/* The legend of packed order: a packed stream of some bytes in its colours, 260 wide. */
void svg_stream(FILE *out, double x, double y, size_t bytes, const char *text);

/*
 * An entry of a legend: what it looks like, in a box of 22 x 12 at (x, y), and its text.
 * Returns where the next one to its right begins.
 */
double svg_entry(FILE *out, double x, double y, const char *shape, const char *text);

#endif
