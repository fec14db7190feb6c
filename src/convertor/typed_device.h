/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of typed streams that may involve device memory. Device kernels move whole elements; the host
 * engine moves those that a fragment cuts.
 */
#ifndef DTC_TYPED_DEVICE_H
#define DTC_TYPED_DEVICE_H

#include "convertor/typed.h"

/*
 * As dtc_device_start, but the position is that of @typed; the position of @move's cursor is unspecified.
 * Fails also with UNSUPPORTED if devices do not support the elements or the operation, and with OVERFLOW,
 * which the event may report later.
 */
int dtc_typed_device_start(struct dtc_typed *typed, const struct dtc_move *move,
			   struct dtc_event *event, size_t *moved);

/* Start a move and wait for it. */
int dtc_typed_device_move(struct dtc_typed *typed, const struct dtc_move *move,
			  size_t *moved);

#endif
