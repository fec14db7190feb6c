/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and checks the placements of an array: every box inside it, every displacement a ptrdiff_t. What the
 * placements mean for each other is the planner's matter.
 */
#include "config.h"

#include "reshard.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/log.h"
#include "type.h"

static const char caller[] = "dtconv_reshard_create";

/* What the checks of a box look at. */
struct reading {
	struct dtconv_context *context;
	const struct dtconv_reshard_params *params;
	const char *name; /* of the placement */
	const struct dtconv_reshard_box *boxes;
	size_t number; /* of the box */
	bool written;  /* elements must not overlap */
};

static const struct dtconv_reshard_box *current(const struct reading *reading)
{
	return &reading->boxes[reading->number];
}

/* ---- a box in the array ---------------------------------------------------------------- */

static int check_pointers(const struct reading *reading)
{
	const struct dtconv_reshard_box *box = current(reading);

	if (reading->params->ndims && (!box->lower || !box->sizes))
		return DTC_FAIL(reading->context, DTCONV_ERR_INVAL,
				"%s: params.%s.boxes[%zu].%s is NULL", caller,
				reading->name, reading->number,
				box->lower ? "sizes" : "lower");
	if (box->strides && box->order)
		return DTC_FAIL(
			reading->context, DTCONV_ERR_INVAL,
			"%s: params.%s.boxes[%zu] has strides and an order; set one "
			"of them to NULL",
			caller, reading->name, reading->number);
	return 0;
}

static int check_place(const struct reading *reading)
{
	const struct dtconv_reshard_params *params = reading->params;
	const struct dtconv_reshard_box *box = current(reading);

	if (box->rank >= params->rank_count)
		return DTC_FAIL(
			reading->context, DTCONV_ERR_INVAL,
			"%s: params.%s.boxes[%zu].rank is %zu, but params.rank_count "
			"is %zu",
			caller, reading->name, reading->number, box->rank,
			params->rank_count);
	for (size_t d = 0; d < params->ndims; d++) {
		size_t upper;

		if (dtc_add_size(box->lower[d], box->sizes[d], &upper) ||
		    upper > params->sizes[d])
			return DTC_FAIL(
				reading->context, DTCONV_ERR_INVAL,
				"%s: params.%s.boxes[%zu] of rank %zu begins at %zu "
				"with %zu elements in dimension %zu, where the array "
				"has %zu",
				caller, reading->name, reading->number, box->rank,
				box->lower[d], box->sizes[d], d, params->sizes[d]);
	}
	return 0;
}

static bool is_empty(const struct reading *reading)
{
	for (size_t d = 0; d < reading->params->ndims; d++)
		if (current(reading)->sizes[d] == 0)
			return true;
	return false;
}

/* ---- a box in its buffer --------------------------------------------------------------- */

static int overflow(const struct reading *reading)
{
	return DTC_FAIL(
		reading->context, DTCONV_ERR_OVERFLOW,
		"%s: params.%s.boxes[%zu] of rank %zu: its bytes exceed size_t or its "
		"displacements ptrdiff_t",
		caller, reading->name, reading->number, current(reading)->rank);
}

static int check_order(const struct reading *reading)
{
	const struct dtconv_reshard_box *box = current(reading);
	uint32_t seen = 0;

	for (size_t i = 0; box->order && i < reading->params->ndims; i++) {
		const size_t d = box->order[i];

		if (d >= reading->params->ndims || seen >> d & 1)
			return DTC_FAIL(
				reading->context, DTCONV_ERR_INVAL,
				"%s: params.%s.boxes[%zu].order[%zu] is %zu: an order "
				"has each of the %zu dimensions once",
				caller, reading->name, reading->number, i, d,
				reading->params->ndims);
		seen |= UINT32_C(1) << d;
	}
	return 0;
}

/* Strides of a dense box, from its last dimension on; true on overflow. */
static bool fill_strides(const struct reading *reading, ptrdiff_t *strides)
{
	const struct dtconv_reshard_box *box = current(reading);
	ptrdiff_t stride = dtc_bounds_extent(&reading->params->element->bounds);

	for (size_t i = reading->params->ndims; i-- > 0;) {
		const size_t d = box->order ? box->order[i] : i;

		strides[d] = stride;
		if (i > 0 && dtc_scale_disp(box->sizes[d], stride, &stride))
			return true;
	}
	return false;
}

/* Extend [*low, *high] by the reach of each dimension; true on overflow. */
static bool reach(const struct reading *reading, const ptrdiff_t *strides, ptrdiff_t *low,
		  ptrdiff_t *high)
{
	for (size_t d = 0; d < reading->params->ndims; d++) {
		ptrdiff_t *bound = strides[d] < 0 ? low : high;
		ptrdiff_t way;

		if (dtc_scale_disp(current(reading)->sizes[d] - 1, strides[d], &way) ||
		    dtc_add_disp(*bound, way, bound))
			return true;
	}
	return false;
}

/* Whether the bytes of a box and all of their displacements can be counted. */
static bool overflows(const struct reading *reading, const ptrdiff_t *strides)
{
	const struct dtc_bounds *element = &reading->params->element->bounds;
	ptrdiff_t low = current(reading)->offset, high = low;
	size_t bytes = element->size;

	for (size_t d = 0; d < reading->params->ndims; d++)
		if (dtc_mul_size(bytes, current(reading)->sizes[d], &bytes))
			return true;
	return reach(reading, strides, &low, &high) ||
	       dtc_add_disp(low, element->true_lb, &low) ||
	       dtc_add_disp(high, element->true_ub, &high);
}

/* Elements at less than their length overlap; those with gaps may lie in the gaps of others. */
static int check_written(const struct reading *reading, const ptrdiff_t *strides)
{
	const struct dtc_bounds *element = &reading->params->element->bounds;
	const size_t least = element->single_run ? element->size : 1;

	for (size_t d = 0; d < reading->params->ndims; d++)
		if (current(reading)->sizes[d] > 1 && dtc_magnitude(strides[d]) < least)
			return DTC_FAIL(
				reading->context, DTCONV_ERR_INVAL,
				"%s: params.%s.boxes[%zu] of rank %zu: the stride of "
				"dimension %zu is %td, so elements of %zu bytes "
				"overlap",
				caller, reading->name, reading->number,
				current(reading)->rank, d, strides[d], element->size);
	return 0;
}

static int read_strides(const struct reading *reading, ptrdiff_t *strides)
{
	const struct dtconv_reshard_box *box = current(reading);
	int status = check_order(reading);

	if (status)
		return status;
	if (!box->strides && fill_strides(reading, strides))
		return overflow(reading);
	if (box->strides && reading->params->ndims)
		memcpy(strides, box->strides,
		       reading->params->ndims * sizeof(strides[0]));
	if (overflows(reading, strides))
		return overflow(reading);
	return reading->written ? check_written(reading, strides) : 0;
}

static void read_corners(const struct reading *reading, size_t *corners)
{
	const size_t ndims = reading->params->ndims;

	for (size_t d = 0; d < ndims; d++) {
		corners[d] = current(reading)->lower[d];
		corners[ndims + d] = corners[d] + current(reading)->sizes[d];
	}
}

/* ---- a placement ----------------------------------------------------------------------- */

static int no_memory(struct dtconv_context *context, size_t boxes)
{
	return DTC_FAIL(context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate the index of %zu boxes", caller, boxes);
}

static bool allocate(struct dtconv_context *context, size_t boxes,
		     struct dtc_shards *shards)
{
	size_t bytes, numbers;

	if (dtc_add_size(boxes, 1, &boxes) ||
	    dtc_mul_size(boxes, sizeof(shards->all[0]), &bytes) ||
	    dtc_mul_size(boxes, (3 * shards->ndims + 1) * sizeof(size_t), &numbers))
		return false;
	shards->all = dtc_alloc(context, bytes);
	shards->numbers = dtc_alloc(context, numbers);
	return shards->all && shards->numbers;
}

static int read_box(const struct reading *reading, struct dtc_shards *shards)
{
	const struct dtconv_reshard_box *box = current(reading);
	size_t *corners = (size_t *)shards->numbers + shards->count * 3 * shards->ndims;
	ptrdiff_t *strides = (ptrdiff_t *)(corners + 2 * shards->ndims);
	int status = check_pointers(reading);

	if (!status)
		status = check_place(reading);
	if (status || is_empty(reading))
		return status;
	status = read_strides(reading, strides);
	if (status)
		return status;
	read_corners(reading, corners);
	shards->all[shards->count++] = (struct dtc_shard){ .ndims = shards->ndims,
							   .corners = corners,
							   .strides = strides,
							   .offset = box->offset,
							   .rank = box->rank,
							   .number = reading->number };
	return 0;
}

static int read_placement(struct reading *reading, const char *name,
			  const struct dtconv_reshard_placement *placement,
			  struct dtc_shards *shards)
{
	reading->name = name;
	reading->boxes = placement->boxes;
	shards->ndims = reading->params->ndims;
	if (placement->box_count && !placement->boxes)
		return DTC_FAIL(reading->context, DTCONV_ERR_INVAL,
				"%s: params.%s.boxes is NULL, but its box_count is %zu",
				caller, name, placement->box_count);
	if (!allocate(reading->context, placement->box_count, shards))
		return no_memory(reading->context, placement->box_count);
	for (size_t i = 0; i < placement->box_count; i++) {
		reading->number = i;
		int status = read_box(reading, shards);
		if (status)
			return status;
	}
	if (!dtc_shards_index(reading->context, shards, !reading->written))
		return no_memory(reading->context, placement->box_count);
	return 0;
}

/* ---- both ------------------------------------------------------------------------------ */

/* Whether a rank has all elements of its target box in one source box. */
static bool is_at_home(const struct dtc_shards *source, const struct dtc_shard *target)
{
	size_t corner[DTC_CORNERS_MAX];
	struct dtc_search search = { .shards = source, .corners = corner };
	size_t group;

	for (size_t d = 0; d < target->ndims; d++) {
		corner[d] = target->corners[d];
		corner[target->ndims + d] = corner[d] + 1;
	}
	while (dtc_search_next(&search, &group))
		if (dtc_corners_contain(target->ndims,
					source->all[source->groups[group]].corners,
					target->corners) &&
		    dtc_shards_find(source, group, target->rank))
			return true;
	return false;
}

static void number_targets(struct dtconv_reshard *reshard)
{
	size_t number = 0;

	for (size_t i = 0; i < reshard->target.count; i++) {
		struct dtc_shard *target = &reshard->target.all[i];

		if (!is_at_home(&reshard->source, target))
			target->spread = number++;
	}
}

static int read_both(const struct dtconv_reshard_params *params,
		     struct dtconv_reshard *reshard)
{
	struct reading reading = { .context = reshard->context, .params = params };
	int status =
		read_placement(&reading, "source", &params->source, &reshard->source);

	reading.written = true;
	if (!status)
		status = read_placement(&reading, "target", &params->target,
					&reshard->target);
	if (!status)
		number_targets(reshard);
	return status;
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_reshard_params *params)
{
	if (params->ndims > DTCONV_RESHARD_NDIMS_MAX)
		return DTC_FAIL(context, DTCONV_ERR_LIMIT,
				"%s: params.ndims is %zu, the limit is %d", caller,
				params->ndims, DTCONV_RESHARD_NDIMS_MAX);
	if (params->ndims && !params->sizes)
		return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: params.sizes is NULL",
				caller);
	if (params->element->bounds.size == 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.element has no data (size 0)", caller);
	return 0;
}

int dtconv_reshard_create(const struct dtconv_reshard_params *params,
			  struct dtconv_reshard **reshard)
{
	struct dtconv_reshard_params all = { 0 };

	if (!params || !reshard || !params->element)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = params->element->context;
	if (params->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params",
					    "dtconv_reshard_params");
	memcpy(&all, params, DTC_MIN(params->struct_size, sizeof(all)));
	if (!all.element)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: params.struct_size is %zu, which ends before params.element",
			caller, params->struct_size);
	int status = check_params(context, &all);
	if (status)
		return status;
	struct dtconv_reshard *made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return no_memory(context, all.source.box_count + all.target.box_count);
	made->context = context;
	made->rank_count = all.rank_count;
	made->ndims = all.ndims;
	made->element = all.element;
	dtconv_type_ref(made->element);
	status = read_both(&all, made);
	if (status) {
		dtconv_reshard_destroy(made);
		return status;
	}
	*reshard = made;
	return 0;
}

void dtconv_reshard_destroy(struct dtconv_reshard *reshard)
{
	if (!reshard)
		return;
	struct dtconv_context *context = reshard->context;

	dtc_shards_drop(context, &reshard->source);
	dtc_shards_drop(context, &reshard->target);
	dtconv_type_unref(reshard->element);
	dtc_free(context, reshard);
}
