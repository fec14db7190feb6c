/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A move: bytes of a packed stream, the user's buffer, and what the caller declared about both.
 */
#ifndef DTC_MOVE_H
#define DTC_MOVE_H

#include "copy_backends/backend.h"
#include "datatype/bounds.h"

/* Memory kinds, stream and backends that the caller declared. All zero: nothing. */
struct dtc_placement {
	enum dtconv_memory_kind user;
	enum dtconv_memory_kind packed;
	bool on_stream;
	void *stream;
	uint32_t forbidden; /* a set of backends, see copy_backends/backend_set.h */
};

struct dtc_move {
	struct dtconv_context *context;
	struct dtc_cursor *cursor;
	const struct dtc_bounds *bounds; /* of one instance */
	const struct dtconv_type *type;  /* for the log, or NULL */
	char *user;
	char *packed;
	size_t bytes; /* no more than the stream has left */
	size_t row_before; /* bytes of packed memory right before this move that earlier moves filled */
	enum dtc_direction direction;
	struct dtc_placement placement;
	bool started; /* the caller does not wait for it immediately */
	bool no_wait; /* fails with AGAIN where it would wait for another job */
	const char *caller;
};

/* Consecutive packed bytes that are filled once this move has completed. */
static inline uint64_t dtc_move_row(const struct dtc_move *move)
{
	return (uint64_t)move->row_before + move->bytes;
}

/* Whether both sides are certainly ordinary host memory. */
static inline bool dtc_move_is_on_host(struct dtconv_context *context,
				       const struct dtc_placement *placement,
				       const char *user, const char *packed)
{
	if (placement->user == DTCONV_MEMORY_HOST &&
	    placement->packed == DTCONV_MEMORY_HOST)
		return true;
	return placement->user <= DTCONV_MEMORY_HOST &&
	       placement->packed <= DTCONV_MEMORY_HOST &&
	       dtc_memory_is_ordinary(context, user, packed);
}

#endif
