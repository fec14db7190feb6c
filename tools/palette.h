/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The colours of packed order.
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

/* Whether white text reads better on the colour than black. */
int palette_is_dark(struct colour colour);

#endif
