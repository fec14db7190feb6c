/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A type's memory and references. build_*.c create types, commit.c compiles them.
 */
#include "config.h"

#include "type.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "layout.h"
#include "program.h"
#include "signature.h"

struct dtconv_context *dtc_type_context(const struct dtconv_type *type)
{
	return type->context;
}

bool dtc_combiner_has_arrays(enum dtconv_combiner combiner)
{
	return combiner >= DTCONV_COMBINER_INDEXED && combiner <= DTCONV_COMBINER_STRUCT;
}

bool dtc_type_pad(const struct dtconv_context *context, enum dtconv_combiner combiner,
		  struct dtc_bounds *bounds)
{
	switch (context->padding) {
	case DTCONV_PADDING_NONE:
		return false;
	case DTCONV_PADDING_STRUCT:
		return combiner == DTCONV_COMBINER_STRUCT && dtc_bounds_pad(bounds);
	default:
		return dtc_bounds_pad(bounds);
	}
}

/* ---- lifetime ------------------------------------------------------------------------ */

static size_t round_up(size_t bytes, size_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

int dtc_type_no_memory(struct dtconv_context *context, const char *caller, size_t bytes)
{
	return DTC_FAIL(context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate %zu bytes for the type's arguments", caller,
			bytes);
}

int dtc_type_allocate(const struct dtc_type_plan *plan, struct dtconv_type **type)
{
	size_t types_at = sizeof(struct dtconv_type);
	size_t displacements_at = types_at + plan->type_count * sizeof(struct dtconv_type *);
	size_t counts_at =
		round_up(displacements_at + plan->displacement_count * plan->displacement_width,
			 sizeof(uint64_t));
	size_t bytes = counts_at + plan->count_count * plan->count_width;
	char *memory = dtc_alloc(plan->context, bytes);

	if (!memory)
		return dtc_type_no_memory(plan->context, plan->caller, bytes);
	struct dtconv_type *made = (struct dtconv_type *)memory;
	memset(made, 0, sizeof(*made));
	atomic_init(&made->references, 1);
	made->context = plan->context;
	made->combiner = plan->combiner;
	made->predefined = DTCONV_PREDEFINED_COUNT;
	made->bounds = plan->bounds;
	made->types = (struct dtconv_type **)(memory + types_at);
	made->displacements = (struct dtc_ints){.values = memory + displacements_at,
						.count = plan->displacement_count,
						.width = plan->displacement_width};
	made->counts = (struct dtc_ints){.values = memory + counts_at,
					 .count = plan->count_count,
					 .width = plan->count_width};
	atomic_fetch_add_explicit(&plan->context->live_types, 1, memory_order_relaxed);
	dtc_context_count(plan->context, DTC_COUNT_TYPES_LIVE, 1);
	*type = made;
	return 0;
}

void dtc_type_add_child(struct dtconv_type *type, struct dtconv_type *child)
{
	type->types[type->type_count++] = dtconv_type_ref(child);
}

int dtc_type_finish(struct dtconv_type *type, const char *caller, struct dtconv_type **newtype)
{
	if (!type->signature) {
		struct dtconv_context *context = type->context;

		dtconv_type_unref(type);
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the signature", caller);
	}
	dtc_context_count(type->context, DTC_COUNT_TYPES_CREATED, 1);
	*newtype = type;
	return 0;
}

struct dtconv_type *dtconv_type_ref(struct dtconv_type *type)
{
	if (type && !type->immortal)
		atomic_fetch_add_explicit(&type->references, 1, memory_order_relaxed);
	return type;
}

static bool drop_reference(struct dtconv_type *type)
{
	if (!type || type->immortal)
		return false;
	return atomic_fetch_sub_explicit(&type->references, 1, memory_order_acq_rel) == 1;
}

static void release_type(struct dtconv_type *type)
{
	struct dtconv_context *context = type->context;

	dtc_layout_destroy(dtc_type_layout(type));
	dtc_program_unref(type->program);
	dtc_signature_unref(type->signature);
	dtc_type_drop_names(type);
	dtc_free(context, type);
	atomic_fetch_sub_explicit(&context->live_types, 1, memory_order_relaxed);
	dtc_context_count(context, DTC_COUNT_TYPES_LIVE, (uint64_t)-1);
}

/* Release dead types from a list, so that a chain of any length needs no recursion. */
static struct dtconv_type *release_children(struct dtconv_type *type,
					    struct dtconv_type *dead)
{
	for (size_t i = 0; i < type->type_count; i++) {
		struct dtconv_type *child = type->types[i];

		if (drop_reference(child)) {
			child->next_dead = dead;
			dead = child;
		}
	}
	return dead;
}

void dtconv_type_unref(struct dtconv_type *type)
{
	struct dtconv_type *dead = drop_reference(type) ? type : NULL;

	while (dead) {
		struct dtconv_type *released = dead;

		dead = release_children(released, released->next_dead);
		release_type(released);
	}
}
