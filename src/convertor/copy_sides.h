/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy from one layout to another, or a range of it: its sides, its operation, and what is left of it.
 */
#ifndef DTC_COPY_SIDES_H
#define DTC_COPY_SIDES_H

#include "convertor/move.h"
#include "convertor/typed.h"
#include "datatype/cursor.h"

struct dtc_copy_end {
	const struct dtconv_type *type;
	const char *type_name; /* the caller's argument, for error texts */
	struct dtc_cursor cursor;
	char *data; /* displacement 0 */
};

struct dtc_copy {
	struct dtc_copy_end source, target;
	/* The range of the packed stream that both sides have; empty if the end is not behind the position. */
	uint64_t position, end;
	bool truncated; /* the range that was asked for ends behind the target */
	/* Combines elements with those of the target; owned by the caller. NULL: bytes are stored. */
	struct dtc_typed *typed;
	struct dtc_placement placement; /* of both sides: only its stream counts */
	bool started;                   /* the caller does not wait for it immediately */
	bool in_one_step; /* fails with LIMIT, without an error text, where it would take two, which blocks */
	const char *caller;
};

/* Bytes that the target has not received. With an operation the position of its cursor means nothing. */
static inline uint64_t dtc_copy_left(const struct dtc_copy *copy)
{
	return copy->end -
	       (copy->typed ? copy->typed->position : copy->target.cursor.position);
}

/* A hop's bytes, at most @most. With an operation it ends between two units, as it began. */
size_t dtc_copy_next_bytes(const struct dtc_copy *copy, size_t most);

/* A hop. @kind is the known kind of the packed memory; the kind of the side's own memory is not known. */
struct dtc_move dtc_copy_move(const struct dtc_copy *copy, struct dtc_copy_end *end,
			      char *packed, enum dtconv_memory_kind kind, uint64_t bytes,
			      enum dtc_direction direction);

#endif
