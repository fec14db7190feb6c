/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves between host memories, by one thread or several.
 */
#include "config.h"

#include "host_move.h"

#include "copy_backends/backend_set.h"
#include "copy_backends/plan.h"
#include "parallel.h"

int dtc_host_move_bytes(struct dtc_cursor *cursor, char *user, char *packed, size_t bytes,
			enum dtc_direction direction, size_t *moved)
{
	uint64_t before = cursor->position;
	const struct dtc_job job = { .cursor = cursor,
				     .user = user,
				     .packed = packed,
				     .bytes = DTC_MIN(bytes, cursor->size - before),
				     .row_bytes = DTC_MIN(bytes, cursor->size - before),
				     .direction = direction };

	struct dtc_event none;
	int status = dtc_host_backend.submit(&job, &none);
	*moved = (size_t)(cursor->position - before);
	return status;
}

int dtc_host_move(const struct dtc_move *move, size_t *moved)
{
	*moved = 0;
	if (DTC_UNLIKELY(
		    dtc_is_host_forbidden(move->context, move->placement.forbidden)) &&
	    move->bytes)
		return dtc_plan_refuse_host(move->context, move->placement.forbidden,
					    move->caller);
	const struct dtc_job job = { .cursor = move->cursor,
				     .user = move->user,
				     .packed = move->packed,
				     .bytes = move->bytes,
				     .row_bytes = dtc_move_row(move),
				     .direction = move->direction };
	struct dtc_event none;
	int status = 0;

	if (DTC_LIKELY(!dtc_parallel_is_worth(move->context, move->bytes)) ||
	    !dtc_parallel_move(move->context, &job))
		status = dtc_host_backend.submit(&job, &none);
	*moved = status ? 0 : move->bytes;
	dtc_count_job(move->context, DTC_HOST_INDEX, *moved);
	return status;
}
