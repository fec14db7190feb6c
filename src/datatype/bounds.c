/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds arithmetic. Markers take precedence over data: as soon as one member has markers, only
 * marked members determine lb and ub. A member's padded upper bound counts as its upper bound.
 */
#include "config.h"

#include "bounds.h"

#include "base/base.h"
#include "base/checked.h"

const struct dtc_bounds dtc_bounds_empty = {
	.alignment = 1, .empty = true, .single_run = true};

struct dtc_bounds dtc_bounds_basic(size_t size, size_t alignment)
{
	return (struct dtc_bounds){.size = size,
				   .ub = (ptrdiff_t)size,
				   .true_ub = (ptrdiff_t)size,
				   .alignment = alignment,
				   .single_run = true};
}

static bool extent_overflows(const struct dtc_bounds *bounds)
{
	ptrdiff_t ignored;

	return dtc_sub_disp(bounds->ub, bounds->lb, &ignored) ||
	       dtc_sub_disp(bounds->true_ub, bounds->true_lb, &ignored);
}

bool dtc_bounds_spread(const struct dtc_bounds *bounds, size_t count, ptrdiff_t lowest,
		       ptrdiff_t highest, bool dense, struct dtc_bounds *spread)
{
	struct dtc_bounds all = *bounds;

	if (count == 0 || bounds->empty) {
		*spread = dtc_bounds_empty;
		return false;
	}
	if (dtc_mul_size(bounds->size, count, &all.size) ||
	    dtc_add_disp(bounds->lb, lowest, &all.lb) ||
	    dtc_add_disp(bounds->ub, highest, &all.ub))
		return true;
	if (bounds->size && (dtc_add_disp(bounds->true_lb, lowest, &all.true_lb) ||
			     dtc_add_disp(bounds->true_ub, highest, &all.true_ub)))
		return true;
	all.single_run = bounds->size == 0 || (bounds->single_run && dense);
	*spread = all;
	return extent_overflows(&all);
}

bool dtc_bounds_repeat(const struct dtc_bounds *bounds, size_t count, ptrdiff_t stride,
		       struct dtc_bounds *repeated)
{
	ptrdiff_t last = 0;
	bool dense = count == 1 || (stride > 0 && (size_t)stride == bounds->size);

	if (count && !bounds->empty && dtc_scale_disp(count - 1, stride, &last))
		return true;
	return dtc_bounds_spread(bounds, count, DTC_MIN(last, 0), DTC_MAX(last, 0), dense,
				 repeated);
}

static void join(ptrdiff_t *low, ptrdiff_t *high, ptrdiff_t other_low, ptrdiff_t other_high)
{
	*low = DTC_MIN(*low, other_low);
	*high = DTC_MAX(*high, other_high);
}

static bool shift(struct dtc_bounds *bounds, ptrdiff_t disp)
{
	if (dtc_add_disp(bounds->lb, disp, &bounds->lb) ||
	    dtc_add_disp(bounds->ub, disp, &bounds->ub))
		return true;
	return bounds->size && (dtc_add_disp(bounds->true_lb, disp, &bounds->true_lb) ||
				dtc_add_disp(bounds->true_ub, disp, &bounds->true_ub));
}

static void join_data(struct dtc_bounds *all, const struct dtc_bounds *member)
{
	if (all->size == 0) {
		all->true_lb = member->true_lb;
		all->true_ub = member->true_ub;
		all->single_run = member->single_run;
		return;
	}
	all->single_run = all->single_run && member->single_run &&
			  member->true_lb == all->true_ub;
	join(&all->true_lb, &all->true_ub, member->true_lb, member->true_ub);
}

bool dtc_bounds_append(struct dtc_bounds *all, const struct dtc_bounds *member,
		       ptrdiff_t disp)
{
	struct dtc_bounds moved = *member;

	if (member->empty)
		return false;
	if (shift(&moved, disp))
		return true;
	if (moved.size)
		join_data(all, &moved);
	if (dtc_add_size(all->size, moved.size, &all->size))
		return true;
	if (all->empty || (moved.marked && !all->marked)) {
		all->lb = moved.lb;
		all->ub = moved.ub;
	} else if (moved.marked == all->marked) {
		join(&all->lb, &all->ub, moved.lb, moved.ub);
	}
	all->marked = all->marked || moved.marked;
	all->empty = false;
	all->alignment = DTC_MAX(all->alignment, moved.alignment);
	return extent_overflows(all);
}

bool dtc_bounds_resize(struct dtc_bounds *bounds, ptrdiff_t lb, ptrdiff_t extent)
{
	bounds->lb = lb;
	bounds->marked = true;
	bounds->empty = false;
	return dtc_add_disp(lb, extent, &bounds->ub);
}

bool dtc_bounds_pad(struct dtc_bounds *bounds)
{
	if (bounds->marked || bounds->empty)
		return false;
	size_t extent = (size_t)dtc_bounds_extent(bounds);
	size_t surplus = extent % bounds->alignment;
	if (surplus == 0)
		return false;
	return dtc_add_disp(bounds->ub, (ptrdiff_t)(bounds->alignment - surplus),
			    &bounds->ub) ||
	       extent_overflows(bounds);
}

bool dtc_bounds_are_too_many(const struct dtc_bounds *bounds, size_t count)
{
	ptrdiff_t last, edge;
	size_t size;

	if (dtc_mul_size(count, bounds->size, &size))
		return true;
	return size && (dtc_scale_disp(count - 1, dtc_bounds_extent(bounds), &last) ||
			dtc_add_disp(last, bounds->true_lb, &edge) ||
			dtc_add_disp(last, bounds->true_ub, &edge));
}
