/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of a type: attributes, constructor arguments, elements, signature.
 */
#include "config.h"

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "signature.h"
#include "type.h"

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
		return DTC_FAIL_STRUCT_SIZE(type->context, "dtconv_type_query", "attr", "dtconv_type_attr");
	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

int dtconv_type_query_run(const struct dtconv_type *type, size_t count, int *is_run,
			  ptrdiff_t *offset, size_t *bytes)
{
	if (!type || !is_run || !offset || !bytes)
		return DTCONV_ERR_INVAL;
	const struct dtc_bounds *bounds = &type->bounds;
	const ptrdiff_t extent = dtc_bounds_extent(bounds);

	if (dtc_bounds_are_too_many(bounds, count))
		return DTC_FAIL(type->context, DTCONV_ERR_OVERFLOW,
				"%s: count x size or extent of type (argument 1) = %zu x "
				"(%zu or %td) overflows",
				__func__, count, bounds->size, extent);
	const size_t size = count * bounds->size;
	const bool steps_by_size = extent >= 0 && (size_t)extent == bounds->size;

	*is_run = !size || (bounds->single_run && (count == 1 || steps_by_size));
	*offset = size && *is_run ? bounds->true_lb : 0;
	*bytes = *is_run ? size : 0;
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

int dtconv_type_query_elements(const struct dtconv_type *type, size_t bytes,
			       size_t *elements)
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
	const struct dtconv_type *types[] = { type_a, type_b };
	const size_t counts[] = { count_a, count_b };

	for (size_t i = 0; i < 2; i++) {
		uint64_t elements = types[i]->signature->element_count;

		if (__builtin_mul_overflow(counts[i], elements, &ignored))
			return DTC_FAIL(
				type_a->context, DTCONV_ERR_OVERFLOW,
				"dtconv_type_compare_signature: count_%c x elements = "
				"%zu x %llu overflows size_t",
				"ab"[i], counts[i], (unsigned long long)elements);
	}
	*relation = dtc_signature_compare(type_a->signature, count_a, type_b->signature,
					  count_b);
	return 0;
}
