/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inline choice between the host backend and the planner, so that small host moves do not pay for it.
 */
#ifndef DTC_NATIVE_MOVE_H
#define DTC_NATIVE_MOVE_H

#include "convertor/device_move.h"
#include "convertor/host_move.h"

/* Move unchanged bytes in memory of any kind. */
static inline int dtc_native_move(const struct dtc_move *move, size_t *moved)
{
	if (DTC_LIKELY(dtc_move_is_on_host(move->context, &move->placement, move->user,
					   move->packed)))
		return dtc_host_move(move, moved);
	return dtc_device_move(move, moved);
}

/* Whether a call with @bytes bytes moves the whole stream of @size bytes. */
static inline bool dtc_has_room(enum dtc_direction direction, size_t bytes, size_t size)
{
	return direction == DTC_PACK ? bytes >= size : bytes == size;
}

#endif
