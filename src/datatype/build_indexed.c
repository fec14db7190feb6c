/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors with lists of blocks of one type: indexed, hindexed and their block forms. The
 * lists may have millions of entries, so each is read in as few simple passes as possible.
 */
#include "config.h"

#include "build.h"

#include "base/base.h"
#include "base/checked.h"
#include "equal_blocks.h"
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

/* True on overflow. */
static bool plan_bounds(const struct blocks *blocks, const struct span *span,
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
	return dtc_bounds_spread(old, span->copies, span->lowest, span->highest,
				 span->dense, &plan->bounds) ||
	       dtc_type_pad(plan->context, plan->combiner, &plan->bounds);
}

static int plan_type(const struct blocks *blocks, const struct span *span,
		     struct dtc_type_plan *plan)
{
	if (plan_bounds(blocks, span, plan))
		return DTC_FAIL(
			plan->context, DTCONV_ERR_OVERFLOW,
			"%s: %zu elements of %zu bytes, displaced by %td to %td bytes, "
			"overflow (sizes are size_t, bounds ptrdiff_t)",
			blocks->caller, span->copies, blocks->oldtype->bounds.size,
			span->lowest, span->highest);
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

static int finish_blocks(struct dtconv_type *type, const struct blocks *blocks,
			 size_t copies, struct dtconv_type **newtype)
{
	dtc_type_add_child(type, blocks->oldtype);
	if (type->bounds.size)
		type->predefined = blocks->oldtype->predefined;
	type->signature = dtc_signature_create_repeat(blocks->oldtype->signature, copies);
	return dtc_type_finish(type, blocks->caller, newtype);
}

/* ---- equal blocks ---------------------------------------------------------------------- */

static bool are_equally_long(const struct blocks *blocks)
{
	uint64_t differ = 0;

	for (size_t i = 0; i < blocks->count && !differ;) {
		size_t end = DTC_MIN(blocks->count, i + DTC_BUILD_BATCH);

		for (; i < end; i++)
			differ |= blocks->lengths[i] ^ blocks->lengths[0];
	}
	return !differ;
}

/* What a block is, if it is one run of bytes; else a block of no bytes. */
static struct dtc_equal_blocks as_equal_blocks(const struct blocks *blocks)
{
	const struct dtc_bounds *old = &blocks->oldtype->bounds;
	struct dtc_equal_blocks equal = { .context = blocks->oldtype->context,
					  .count = blocks->count,
					  .displacements = blocks->displacements,
					  .unit = blocks->unit,
					  .disp = old->true_lb };
	size_t length, bytes;

	if (!blocks->count || !old->size || !old->single_run)
		return equal;
	length = length_of(blocks, 0);
	if (!blocks->uniform && !are_equally_long(blocks))
		return equal;
	if ((length == 1 || dtc_bounds_extent(old) == (ptrdiff_t)old->size) &&
	    !dtc_mul_size(length, old->size, &bytes))
		equal.bytes = bytes;
	return equal;
}

/* The span of blocks that lie between two displacements; true on overflow. */
static bool span_between(const struct blocks *blocks, int64_t lowest, int64_t highest,
			 struct span *span)
{
	ptrdiff_t extent = dtc_bounds_extent(&blocks->oldtype->bounds);
	size_t length = length_of(blocks, 0);
	ptrdiff_t from, to, reach, low, high;
	size_t copies;

	if (dtc_mul_size(length, blocks->count, &copies) ||
	    dtc_mul_disp((ptrdiff_t)lowest, blocks->unit, &from) ||
	    dtc_mul_disp((ptrdiff_t)highest, blocks->unit, &to) ||
	    dtc_scale_disp(length - 1, extent, &reach) ||
	    dtc_add_disp(DTC_MIN(from, to), DTC_MIN(reach, 0), &low) ||
	    dtc_add_disp(DTC_MAX(from, to), DTC_MAX(reach, 0), &high))
		return true;
	*span = (struct span){ .copies = copies, .lowest = low, .highest = high };
	return false;
}

/* The lists are not stored: the table has the displacements, and the lengths are one. */
static void keep_arguments(struct dtconv_type *type, const struct blocks *blocks,
			   const struct dtc_equal_list *list)
{
	type->program = list->program;
	type->displacements = list->displacements;
	type->counts.first = (int64_t)length_of(blocks, 0);
}

/* Make the type with its program, @made, if the blocks are a list of equal ones that needs no other normal form. */
static int create_equal(const struct blocks *blocks, struct dtconv_type **newtype,
			bool *made)
{
	const struct dtc_equal_blocks equal = as_equal_blocks(blocks);
	struct dtc_equal_list list;
	struct dtc_type_plan plan;
	struct dtconv_type *type;
	struct span span;
	size_t bytes;

	*made = false;
	if (!dtc_equal_blocks_list(&equal, &list, &bytes))
		return dtc_type_no_memory(equal.context, blocks->caller, bytes);
	if (!list.program)
		return 0;
	/* If something overflows, the general way finds the block that does. */
	if (span_between(blocks, list.lowest, list.highest, &span) ||
	    plan_bounds(blocks, &span, &plan)) {
		dtc_program_unref(list.program);
		return 0;
	}
	*made = true;
	plan.count_width = plan.displacement_width = 0;
	int status = dtc_type_allocate(&plan, &type);
	if (status) {
		dtc_program_unref(list.program);
		return status;
	}
	keep_arguments(type, blocks, &list);
	return finish_blocks(type, blocks, span.copies, newtype);
}

/* ---- all lists ------------------------------------------------------------------------- */

static int create_blocks(const struct blocks *blocks, struct dtconv_type **newtype)
{
	struct dtc_type_plan plan;
	struct dtconv_type *type;
	struct span span;

	bool made = false;
	int status = check_lists(blocks);

	if (!status)
		status = create_equal(blocks, newtype, &made);
	if (status || made)
		return status;
	status = measure(blocks, &span);
	if (!status)
		status = plan_type(blocks, &span, &plan);
	if (!status)
		status = dtc_type_allocate(&plan, &type);
	if (status)
		return status;
	store_arguments(type, blocks);
	return finish_blocks(type, blocks, span.copies, newtype);
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
