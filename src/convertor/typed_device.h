/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of typed streams that may involve a device's memory: whole elements go to the device's
 * kernels, what is cut by a fragment's ends goes through the host's engine.
 */
#ifndef DTC_TYPED_DEVICE_H
#define DTC_TYPED_DEVICE_H

#include "convertor/typed.h"

/*
 * As dtc_device_start; @move's cursor is left anywhere, the place is the typed state's. Fails also
 * with UNSUPPORTED for what no device computes, and with OVERFLOW, perhaps later by the event.
 */
int dtc_typed_device_start(struct dtc_typed *typed, const struct dtc_move *move,
			   struct dtc_event *event, size_t *moved);

/* Start a move and wait for it. */
int dtc_typed_device_move(struct dtc_typed *typed, const struct dtc_move *move,
			  size_t *moved);

#endif
