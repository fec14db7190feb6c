/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two layouts in two hops: packed into scratch memory of a device, and unpacked from it.
 */
#ifndef DTC_COPY_RELAY_H
#define DTC_COPY_RELAY_H

#include "copy_sides.h"

/*
 * Copy what is left between memory of these kinds, and wait for it. False if no side is a device's, or the device has no
 * memory left: then nothing has happened. @copied is valid even on failure.
 */
bool dtc_copy_relay(struct dtc_copy *copy, const struct dtc_memory *source,
		    const struct dtc_memory *target, int *status, size_t *copied);

#endif
