/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creation, references and queries of types. build_*.c has the constructors, lower.c makes
 * their programs.
 */
#include "config.h"

#include "type.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "layout.h"
#include "predefined.h"
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

/* ---- life ---------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
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
		return DTC_FAIL(plan->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes for the type's arguments",
				plan->caller, bytes);
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
	dtc_signature_unref(type->signature);
	dtc_free(context, type);
	atomic_fetch_sub_explicit(&context->live_types, 1, memory_order_relaxed);
	dtc_context_count(context, DTC_COUNT_TYPES_LIVE, (uint64_t)-1);
}

/* Dead types wait in a list, so that a chain of any length is released without recursion. */
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

/* ---- queries ------------------------------------------------------------------------- */

int dtconv_type_query(const struct dtconv_type *type, struct dtconv_type_attr *attr)
{
	if (!type || !attr)
		return DTCONV_ERR_INVAL;
	const struct dtc_bounds *bounds = &type->bounds;
	ptrdiff_t extent = dtc_bounds_extent(bounds);
	bool steps_by_size = extent >= 0 && (size_t)extent == bounds->size;
	struct dtconv_type_attr all = {
		.struct_size = attr->struct_size,
		.size = bounds->size,
		.lb = bounds->lb,
		.extent = extent,
		.true_lb = bounds->true_lb,
		.true_extent = bounds->true_ub - bounds->true_lb,
		.element_count = (size_t)type->signature->element_count,
		.alignment = bounds->alignment,
		.signature_hash = type->signature->hash.value,
		.combiner = type->combiner,
		.predefined = type->predefined,
		.committed = dtc_type_layout(type) != NULL,
		.contiguous = bounds->single_run && steps_by_size,
	};

	if (attr->struct_size == 0)
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"dtconv_type_query: attr.struct_size is 0, not sizeof(struct "
				"dtconv_type_attr)");
	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

static size_t leading_counts(const struct dtconv_type *type)
{
	return dtc_combiner_has_arrays(type->combiner) ? 1 : 0;
}

int dtconv_type_query_envelope(const struct dtconv_type *type,
			       struct dtconv_envelope *envelope)
{
	if (!type || !envelope)
		return DTCONV_ERR_INVAL;
	*envelope = (struct dtconv_envelope){
		.combiner = type->combiner,
		.count_count = type->counts.count + leading_counts(type),
		.displacement_count = type->displacements.count,
		.type_count = type->type_count,
	};
	return 0;
}

static int check_room(const struct dtconv_type *type, const char *array, size_t room,
		      size_t needed)
{
	if (room >= needed)
		return 0;
	return DTC_FAIL(
		type->context, DTCONV_ERR_TRUNCATE,
		"dtconv_type_query_contents: room for %zu %s, but the type has %zu", room,
		array, needed);
}

int dtconv_type_query_contents(const struct dtconv_type *type, size_t max_counts,
			       size_t counts[], size_t max_displacements,
			       ptrdiff_t displacements[], size_t max_types,
			       struct dtconv_type *types[])
{
	if (!type)
		return DTCONV_ERR_INVAL;
	size_t leading = leading_counts(type);
	int status;

	status = check_room(type, "counts", max_counts, type->counts.count + leading);
	if (!status)
		status = check_room(type, "displacements", max_displacements,
				    type->displacements.count);
	if (!status)
		status = check_room(type, "types", max_types, type->type_count);
	if (status)
		return status;
	if (leading)
		counts[0] = type->displacements.count;
	for (size_t i = 0; i < type->counts.count; i++)
		counts[leading + i] = (size_t)dtc_ints_get(&type->counts, i);
	for (size_t i = 0; i < type->displacements.count; i++)
		displacements[i] = (ptrdiff_t)dtc_ints_get(&type->displacements, i);
	for (size_t i = 0; i < type->type_count; i++)
		types[i] = type->types[i];
	return 0;
}

int dtconv_type_query_elements(const struct dtconv_type *type, size_t bytes, size_t *elements)
{
	if (!type || !elements)
		return DTCONV_ERR_INVAL;
	size_t size = type->bounds.size;
	size_t whole;
	bool cut;

	if (bytes == 0) {
		*elements = 0;
		return 0;
	}
	if (size == 0) {
		*elements = DTCONV_UNDEFINED;
		return 0;
	}
	uint64_t partial = dtc_signature_elements(type->signature, bytes % size, &cut);
	if (__builtin_mul_overflow(bytes / size, type->signature->element_count, &whole))
		cut = true;
	*elements = cut ? DTCONV_UNDEFINED : whole + (size_t)partial;
	return 0;
}

int dtconv_type_compare_signature(const struct dtconv_type *type_a, size_t count_a,
				  const struct dtconv_type *type_b, size_t count_b,
				  enum dtconv_signature_relation *relation)
{
	if (!type_a || !type_b || !relation)
		return DTCONV_ERR_INVAL;
	size_t ignored;
	const struct dtconv_type *types[] = {type_a, type_b};
	const size_t counts[] = {count_a, count_b};

	for (size_t i = 0; i < 2; i++) {
		uint64_t elements = types[i]->signature->element_count;

		if (__builtin_mul_overflow(counts[i], elements, &ignored))
			return DTC_FAIL(type_a->context, DTCONV_ERR_OVERFLOW,
					"dtconv_type_compare_signature: count_%c x elements = "
					"%zu x %llu overflows size_t",
					"ab"[i], counts[i], (unsigned long long)elements);
	}
	*relation = dtc_signature_compare(type_a->signature, count_a, type_b->signature,
					  count_b);
	return 0;
}
