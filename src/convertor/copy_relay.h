/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two layouts in two hops: packed into scratch memory of a device, and unpacked from it.
 */
#ifndef DTC_COPY_RELAY_H
#define DTC_COPY_RELAY_H

#include "copy_sides.h"

/*
 * Borrow scratch memory for a copy between memory of these kinds. False if no side is a device's, or the device has no
 * memory left.
 */
bool dtc_copy_borrow(const struct dtc_copy *copy, const struct dtc_memory *source,
		     const struct dtc_memory *target, struct dtc_scratch *scratch);

/* Copy what is left through borrowed scratch memory, wait for it, and return the memory. @copied is valid even on failure. */
int dtc_copy_relay(struct dtc_copy *copy, struct dtc_scratch *scratch, size_t *copied);

#endif
