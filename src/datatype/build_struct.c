/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The struct constructor: blocks of different types.
 */
#include "config.h"

#include "build.h"

#include "base/base.h"
#include "base/checked.h"
#include "signature.h"

struct members {
	struct dtconv_context *context;
	size_t count;
	const size_t *lengths;
	const ptrdiff_t *displacements;
	struct dtconv_type *const *types;
};

static const char caller[] = "dtconv_type_create_struct";

static int check_members(const struct members *members)
{
	if (members->count && !members->lengths)
		return dtc_build_null(members->context, caller, "blocklengths", 3);
	if (members->count && !members->displacements)
		return dtc_build_null(members->context, caller, "displacements", 4);
	if (members->count && !members->types)
		return dtc_build_null(members->context, caller, "oldtypes", 5);
	for (size_t i = 0; i < members->count; i++) {
		if (!members->types[i])
			return DTC_FAIL(members->context, DTCONV_ERR_INVAL,
					"%s: oldtypes[%zu] (argument 5) is NULL", caller, i);
		if (members->types[i]->context != members->context)
			return DTC_FAIL(members->context, DTCONV_ERR_INVAL,
					"%s: oldtypes[%zu] (argument 5) was made in another "
					"context",
					caller, i);
	}
	return 0;
}

static int measure(const struct members *members, struct dtc_bounds *bounds)
{
	*bounds = dtc_bounds_empty;
	for (size_t i = 0; i < members->count; i++) {
		const struct dtc_bounds *old = &members->types[i]->bounds;
		struct dtc_bounds block;

		if (dtc_bounds_repeat(old, members->lengths[i], dtc_bounds_extent(old),
				      &block) ||
		    dtc_bounds_append(bounds, &block, members->displacements[i]))
			return DTC_FAIL(members->context, DTCONV_ERR_OVERFLOW,
					"%s: member %zu of length %zu x %zu bytes at "
					"displacement %td overflows (sizes are size_t, bounds "
					"ptrdiff_t)",
					caller, i, members->lengths[i], old->size,
					members->displacements[i]);
	}
	if (dtc_type_pad(members->context, DTCONV_COMBINER_STRUCT, bounds))
		return dtc_build_overflow(members->context, caller,
					  "the extent, padded to the alignment,");
	return 0;
}

static struct dtc_signature *join_signatures(const struct members *members)
{
	struct dtc_signature_builder builder;

	if (!dtc_signature_builder_init(&builder, members->context))
		return NULL;
	for (size_t i = 0; i < members->count; i++) {
		if (!dtc_signature_builder_append(&builder, members->types[i]->signature,
						  members->lengths[i])) {
			dtc_signature_builder_drop(&builder);
			return NULL;
		}
	}
	return dtc_signature_builder_finish(&builder);
}

/* The predefined type of which all members with data consist, if there is one. */
static enum dtconv_predefined common_predefined(const struct members *members)
{
	enum dtconv_predefined common = DTCONV_PREDEFINED_COUNT;
	bool found = false;

	for (size_t i = 0; i < members->count; i++) {
		const struct dtconv_type *type = members->types[i];

		if (members->lengths[i] == 0 || type->bounds.size == 0)
			continue;
		if (found && type->predefined != common)
			return DTCONV_PREDEFINED_COUNT;
		common = type->predefined;
		found = true;
	}
	return common;
}

static void store_members(struct dtconv_type *type, const struct members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		int64_t length = (int64_t)members->lengths[i];
		int64_t displacement = members->displacements[i];

		dtc_ints_store(&type->counts, i, 1, &length);
		dtc_ints_store(&type->displacements, i, 1, &displacement);
		dtc_type_add_child(type, members->types[i]);
	}
}

static void plan_widths(const struct members *members, struct dtc_type_plan *plan)
{
	int64_t lowest = 0, highest = 0;
	size_t longest = 0;

	for (size_t i = 0; i < members->count; i++) {
		longest = DTC_MAX(longest, members->lengths[i]);
		lowest = DTC_MIN(lowest, (int64_t)members->displacements[i]);
		highest = DTC_MAX(highest, (int64_t)members->displacements[i]);
	}
	plan->count_width = dtc_ints_width_of_counts(longest);
	plan->displacement_width = dtc_ints_width(lowest, highest);
}

int dtconv_type_create_struct(struct dtconv_context *context, size_t count,
			      const size_t blocklengths[], const ptrdiff_t displacements[],
			      struct dtconv_type *const oldtypes[],
			      struct dtconv_type **newtype)
{
	if (!context || !newtype)
		return DTCONV_ERR_INVAL;
	const struct members members = {context, count, blocklengths, displacements, oldtypes};
	struct dtc_type_plan plan = {.context = context,
				     .caller = caller,
				     .combiner = DTCONV_COMBINER_STRUCT,
				     .count_count = count,
				     .displacement_count = count,
				     .type_count = count};
	struct dtconv_type *type;

	int status = check_members(&members);
	if (!status)
		status = measure(&members, &plan.bounds);
	if (status)
		return status;
	plan_widths(&members, &plan);
	status = dtc_type_allocate(&plan, &type);
	if (status)
		return status;
	store_members(type, &members);
	type->predefined = common_predefined(&members);
	type->signature = join_signatures(&members);
	return dtc_type_finish(type, caller, newtype);
}
