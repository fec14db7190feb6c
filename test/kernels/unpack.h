/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the driver finds in an image of the build: the compiled kernels themselves.
 */
#ifndef TEST_KERNELS_UNPACK_H
#define TEST_KERNELS_UNPACK_H

#include "kernels/images/images.h"

struct unpacked {
	char *bytes; /* a zero follows */
	size_t count;
};

/* Which library unpacks this image and is not here; NULL: it can be unpacked. */
const char *unpack_lacks(const struct dtc_gpu_image *image);

/* Fails the running case unless the image has one entry, for its own architecture, and unpacks. */
struct unpacked unpack(const struct dtc_gpu_image *image);
void unpack_end(struct unpacked *unpacked);

#endif
