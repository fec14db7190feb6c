/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commit: creates the layout of a type, once.
 */
#include "config.h"

#include <dtconv/type.h>

#include "base/context.h"
#include "base/log.h"
#include "layout.h"
#include "lower.h"
#include "type.h"

static int no_memory(struct dtconv_type *type)
{
	return DTC_FAIL(type->context, DTCONV_ERR_NOMEM,
			"dtconv_type_commit: cannot allocate the layout program");
}

/* Do not log predefined types, because every context commits the same ones. */
static void log_commit(const struct dtconv_type *type, const struct dtc_layout *layout)
{
	if (type->combiner == DTCONV_COMBINER_NAMED)
		return;
	DTC_LOG(type->context, DTCONV_LOG_DEBUG,
		"committed a type of %zu bytes, extent %td: %s, %u operations, %zu bytes of "
		"tables",
		type->bounds.size, dtc_bounds_extent(&type->bounds),
		dtc_shape_name(dtc_layout_shape(layout, 1)), layout->program->op_count,
		layout->program->table_bytes);
}

int dtconv_type_commit(struct dtconv_type *type)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	struct dtc_layout *none = NULL;

	if (dtc_type_layout(type))
		return 0;
	struct dtc_program *program = dtc_lower(type);
	if (!program)
		return no_memory(type);
	struct dtc_layout *layout =
		dtc_layout_create(program, dtc_bounds_extent(&type->bounds));
	if (!layout)
		return no_memory(type);
	/* Two threads may commit at once; the first layout is kept. */
	if (!atomic_compare_exchange_strong_explicit(&type->layout, &none, layout,
						     memory_order_acq_rel,
						     memory_order_acquire)) {
		dtc_layout_destroy(layout);
		return 0;
	}
	dtc_context_count(type->context, DTC_COUNT_TYPES_COMMITTED, 1);
	log_commit(type, layout);
	return 0;
}
