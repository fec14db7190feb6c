/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors with lists of blocks of one type: indexed, hindexed and their block forms. The
 * lists may have millions of entries, so each is read in as few simple passes as possible.
 */
#include "config.h"

#include "build.h"

#include "base/base.h"
#include "base/checked.h"
#include "signature.h"

/* The arguments of all four constructors. */
struct blocks {
	const char *caller;
	enum dtconv_combiner combiner;
	size_t count;
	bool uniform; /* all blocks have @length; otherwise see @lengths */
	size_t length;
	const size_t *lengths;
	const ptrdiff_t *displacements;
	ptrdiff_t unit; /* bytes per unit of a displacement */
	struct dtconv_type *oldtype;
};

/* The results of one pass over the lists. Displacements are those of elements, in bytes. */
struct span {
	size_t copies;
	ptrdiff_t lowest, highest;
	bool dense;
	/* Determine the width of the stored lists. */
	size_t longest;
	ptrdiff_t lowest_value, highest_value;
};

static size_t length_of(const struct blocks *blocks, size_t i)
{
	return blocks->uniform ? blocks->length : blocks->lengths[i];
}

static int check_lists(const struct blocks *blocks)
{
	struct dtconv_context *context = blocks->oldtype->context;

	if (blocks->count && !blocks->uniform && !blocks->lengths)
		return dtc_build_null(context, blocks->caller, "blocklengths", 2);
	if (blocks->count && !blocks->displacements)
		return dtc_build_null(context, blocks->caller, "displacements", 3);
	return 0;
}

static int overflow_at(const struct blocks *blocks, size_t i)
{
	return DTC_FAIL(blocks->oldtype->context, DTCONV_ERR_OVERFLOW,
			"%s: block %zu of length %zu at displacement %td (x %td bytes) "
			"overflows (sizes are size_t, bounds ptrdiff_t)",
			blocks->caller, i, length_of(blocks, i), blocks->displacements[i],
			blocks->unit);
}

/* Extend the span by block @i; true on overflow. */
static inline bool span_add(struct span *span, const struct blocks *blocks, ptrdiff_t extent,
			    size_t i, ptrdiff_t *end)
{
	size_t length = length_of(blocks, i);
	ptrdiff_t first, reach, last;

	if (length == 0)
		return false;
	if (dtc_mul_disp(blocks->displacements[i], blocks->unit, &first) ||
	    dtc_scale_disp(length - 1, extent, &reach) || dtc_add_disp(first, reach, &last) ||
	    dtc_add_size(span->copies, length, &span->copies))
		return true;
	bool is_first = span->copies == length;
	ptrdiff_t low = DTC_MIN(first, last);
	ptrdiff_t high = DTC_MAX(first, last);
	span->lowest = is_first ? low : DTC_MIN(span->lowest, low);
	span->highest = is_first ? high : DTC_MAX(span->highest, high);
	span->dense &= is_first || first == *end;
	/* May wrap around, because nothing is dense at the end of the address space. */
	*end = (ptrdiff_t)((size_t)last + (size_t)extent);
	return false;
}

static int measure(const struct blocks *blocks, struct span *span)
{
	ptrdiff_t extent = dtc_bounds_extent(&blocks->oldtype->bounds);
	ptrdiff_t end = 0;

	*span = (struct span){.dense = true, .longest = blocks->uniform ? blocks->length : 0};
	for (size_t i = 0; i < blocks->count; i++) {
		ptrdiff_t value = blocks->displacements[i];

		span->longest = DTC_MAX(span->longest, length_of(blocks, i));
		span->lowest_value = DTC_MIN(span->lowest_value, value);
		span->highest_value = DTC_MAX(span->highest_value, value);
		if (DTC_UNLIKELY(span_add(span, blocks, extent, i, &end)))
			return overflow_at(blocks, i);
	}
	/* Consecutive blocks are one run only if the extent equals the size. */
	span->dense &= span->copies <= 1 || extent == (ptrdiff_t)blocks->oldtype->bounds.size;
	return 0;
}

static int plan_type(const struct blocks *blocks, const struct span *span,
		     struct dtc_type_plan *plan)
{
	const struct dtc_bounds *old = &blocks->oldtype->bounds;

	*plan = (struct dtc_type_plan){
		.context = blocks->oldtype->context,
		.caller = blocks->caller,
		.combiner = blocks->combiner,
		.count_count = blocks->uniform ? 1 : blocks->count,
		.count_width = dtc_ints_width_of_counts(span->longest),
		.displacement_count = blocks->count,
		.displacement_width =
			dtc_ints_width(span->lowest_value, span->highest_value),
		.type_count = 1
	};
	if (dtc_bounds_spread(old, span->copies, span->lowest, span->highest, span->dense,
			      &plan->bounds) ||
	    dtc_type_pad(plan->context, plan->combiner, &plan->bounds))
		return DTC_FAIL(plan->context, DTCONV_ERR_OVERFLOW,
				"%s: %zu elements of %zu bytes, displaced by %td to %td bytes, "
				"overflow (sizes are size_t, bounds ptrdiff_t)",
				blocks->caller, span->copies, old->size, span->lowest,
				span->highest);
	return 0;
}

static void store_arguments(struct dtconv_type *type, const struct blocks *blocks)
{
	int64_t batch[DTC_BUILD_BATCH];

	for (size_t first = 0; first < blocks->count; first += DTC_BUILD_BATCH) {
		size_t n = DTC_MIN(blocks->count - first, (size_t)DTC_BUILD_BATCH);

		for (size_t i = 0; i < n; i++)
			batch[i] = blocks->displacements[first + i];
		dtc_ints_store(&type->displacements, first, n, batch);
		if (blocks->uniform)
			continue;
		for (size_t i = 0; i < n; i++)
			batch[i] = (int64_t)blocks->lengths[first + i];
		dtc_ints_store(&type->counts, first, n, batch);
	}
	batch[0] = (int64_t)blocks->length;
	if (blocks->uniform)
		dtc_ints_store(&type->counts, 0, 1, batch);
}

static int create_blocks(const struct blocks *blocks, struct dtconv_type **newtype)
{
	struct dtc_type_plan plan;
	struct dtconv_type *type;
	struct span span;

	int status = check_lists(blocks);
	if (!status)
		status = measure(blocks, &span);
	if (!status)
		status = plan_type(blocks, &span, &plan);
	if (!status)
		status = dtc_type_allocate(&plan, &type);
	if (status)
		return status;
	store_arguments(type, blocks);
	dtc_type_add_child(type, blocks->oldtype);
	if (type->bounds.size)
		type->predefined = blocks->oldtype->predefined;
	type->signature = dtc_signature_create_repeat(blocks->oldtype->signature, span.copies);
	return dtc_type_finish(type, blocks->caller, newtype);
}

int dtconv_type_create_indexed(size_t count, const size_t blocklengths[],
			       const ptrdiff_t displacements[], struct dtconv_type *oldtype,
			       struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct blocks blocks = {.caller = __func__,
				.combiner = DTCONV_COMBINER_INDEXED,
				.count = count,
				.lengths = blocklengths,
				.displacements = displacements,
				.unit = dtc_bounds_extent(&oldtype->bounds),
				.oldtype = oldtype};

	return create_blocks(&blocks, newtype);
}

int dtconv_type_create_hindexed(size_t count, const size_t blocklengths[],
				const ptrdiff_t displacements[], struct dtconv_type *oldtype,
				struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct blocks blocks = {.caller = __func__,
				.combiner = DTCONV_COMBINER_HINDEXED,
				.count = count,
				.lengths = blocklengths,
				.displacements = displacements,
				.unit = 1,
				.oldtype = oldtype};

	return create_blocks(&blocks, newtype);
}

int dtconv_type_create_indexed_block(size_t count, size_t blocklength,
				     const ptrdiff_t displacements[],
				     struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct blocks blocks = {.caller = __func__,
				.combiner = DTCONV_COMBINER_INDEXED_BLOCK,
				.count = count,
				.uniform = true,
				.length = blocklength,
				.displacements = displacements,
				.unit = dtc_bounds_extent(&oldtype->bounds),
				.oldtype = oldtype};

	return create_blocks(&blocks, newtype);
}

int dtconv_type_create_hindexed_block(size_t count, size_t blocklength,
				      const ptrdiff_t displacements[],
				      struct dtconv_type *oldtype,
				      struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct blocks blocks = {.caller = __func__,
				.combiner = DTCONV_COMBINER_HINDEXED_BLOCK,
				.count = count,
				.uniform = true,
				.length = blocklength,
				.displacements = displacements,
				.unit = 1,
				.oldtype = oldtype};

	return create_blocks(&blocks, newtype);
}
