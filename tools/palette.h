/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The colours of packed order, and those of several layouts.
 */
#ifndef DTCONV_TOOLS_PALETTE_H
#define DTCONV_TOOLS_PALETTE_H

#include <stddef.h>

struct colour {
	unsigned char red;
	unsigned char green;
	unsigned char blue;
};

/* The colours between which the gradient is linear. */
#define PALETTE_STOPS 9

/* The colour of a stop; stop 0 is the stream's first byte. */
struct colour palette_stop(size_t stop);

/* The colour of a place in the packed stream, 0 its beginning and 1 its end. */
struct colour palette_at(double place);

/*
 * The colour of one of several layouts. Neighbours differ for every kind of colour vision;
 * after 27 they come again.
 */
struct colour palette_layout(size_t index);

/* Whether white text reads better on the colour than black. */
int palette_is_dark(struct colour colour);

#endif
