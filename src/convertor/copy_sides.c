/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left of a copy, in hops. With an operation these end between two units.
 */
#include "config.h"

#include "copy_sides.h"

#include "base/base.h"
#include "datatype/type.h"

size_t dtc_copy_next_bytes(const struct dtc_copy *copy, size_t most)
{
	struct dtc_typed *typed = copy->typed;

	if (dtc_copy_left(copy) <= most)
		return (size_t)dtc_copy_left(copy);
	if (!typed)
		return most;
	const size_t unit = dtc_typed_granularity(typed, DTC_UNPACK);
	if (unit <= most)
		return most - most % unit;
	const uint64_t begin = typed->position;
	const uint64_t end = dtc_typed_boundary_at(typed, begin + most);
	dtc_typed_seek(typed, begin);
	return (size_t)(end - begin);
}

struct dtc_move dtc_copy_move(const struct dtc_copy *copy, struct dtc_copy_end *end,
			      char *packed, enum dtconv_memory_kind kind, uint64_t bytes,
			      enum dtc_direction direction)
{
	struct dtc_placement placement = copy->placement;

	placement.packed = kind;
	return (struct dtc_move){ .context = end->type->context,
				  .cursor = &end->cursor,
				  .bounds = &end->type->bounds,
				  .type = end->type,
				  .user = end->data,
				  .packed = packed,
				  .bytes = (size_t)bytes,
				  .direction = direction,
				  .placement = placement,
				  .started = copy->started,
				  .caller = copy->caller };
}
