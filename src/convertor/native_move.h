/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice between the host alone and the planner, inline: small moves on the host must not pay for it.
 */
#ifndef DTC_NATIVE_MOVE_H
#define DTC_NATIVE_MOVE_H

#include "convertor/device_move.h"
#include "convertor/host_move.h"

/* Bytes as they are, wherever they lie. */
static inline int dtc_native_move(const struct dtc_move *move, size_t *moved)
{
	if (DTC_LIKELY(dtc_move_is_on_host(move->context, &move->placement, move->user,
					   move->packed)))
		return dtc_host_move(move, moved);
	return dtc_device_move(move, moved);
}

/* Whether a stream of @size bytes is whole and fits. */
static inline bool dtc_has_room(enum dtc_direction direction, size_t bytes, size_t size)
{
	return direction == DTC_PACK ? bytes >= size : bytes == size;
}

#endif
