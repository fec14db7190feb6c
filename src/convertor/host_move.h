/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves between host memories, and the counters of pack and unpack calls.
 */
#ifndef DTC_HOST_MOVE_H
#define DTC_HOST_MOVE_H

#include "base/base.h"
#include "base/context.h"
#include "convertor/move.h"
#include "copy_backends/counters.h"

/* Count a call that moved @bytes. */
static inline void dtc_count_call(struct dtconv_context *context,
				  enum dtc_direction direction, size_t bytes)
{
	bool pack = direction == DTC_PACK;

	dtc_context_count(context, pack ? DTC_COUNT_PACK_CALLS : DTC_COUNT_UNPACK_CALLS,
			  1);
	dtc_context_count(context, pack ? DTC_COUNT_PACK_BYTES : DTC_COUNT_UNPACK_BYTES,
			  bytes);
}

/* Count a call that the host served without the planner. */
static inline void dtc_count_host_call(struct dtconv_context *context,
				       enum dtc_direction direction, size_t bytes)
{
	if (DTC_LIKELY(!context->counting))
		return;
	dtc_count_call(context, direction, bytes);
	dtc_count_job(context, DTC_HOST_INDEX, bytes);
}

/* Move at most @bytes from the cursor's position on. @moved is valid even if the call fails. */
int dtc_host_move_bytes(struct dtc_cursor *cursor, char *user, char *packed, size_t bytes,
			enum dtc_direction direction, size_t *moved);

/*
 * Move unchanged bytes from host memory to host memory, with several threads if that is faster. Fails
 * with UNSUPPORTED if the host backend is not allowed.
 */
int dtc_host_move(const struct dtc_move *move, size_t *moved);

#endif
