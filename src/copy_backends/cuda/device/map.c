/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps that a device keeps. The first job that needs one makes it; it lives as long as the layout, and the worker
 * frees its memory. Two threads may make the same map at once: the later one is found, and both are freed.
 */
#include "config.h"

#include "map.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "image.h"

struct kept {
	struct dtc_layout_image base;
	struct dtc_cuda_context *context;
	enum dtc_cuda_map_order order;
	uint32_t unit; /* that the map was made for, even if there is none */
	struct dtc_gpu_map map;
};

static void release(struct dtc_layout_image *base)
{
	struct kept *kept = (struct kept *)base;

	dtc_cuda_image_drop(kept->context, (CUdeviceptr)kept->map.memory);
	dtc_free(kept->context->cuda->context, kept);
}

/* ---- finding --------------------------------------------------------------------------- */

/* What is kept of a layout on this device, from @base on. */
static const struct kept *next_kept(const struct dtc_layout_image *base,
				    const struct dtc_cuda_context *context)
{
	for (; base; base = base->next) {
		const struct kept *kept = (const struct kept *)base;

		if (base->release == release && kept->context == context)
			return kept;
	}
	return NULL;
}

/* The form is the same in all that is kept. */
static const struct kept *any_kept(const struct dtc_layout *layout,
				   const struct dtc_cuda_context *context)
{
	return next_kept(atomic_load_explicit(&layout->images, memory_order_acquire),
			 context);
}

static const struct kept *find(const struct dtc_layout *layout,
			       const struct dtc_cuda_context *context, uint32_t unit,
			       enum dtc_cuda_map_order order)
{
	const struct kept *kept = any_kept(layout, context);

	while (kept &&
	       (kept->order != order || kept->unit != DTC_MIN(unit, kept->map.form.unit)))
		kept = next_kept(kept->base.next, context);
	return kept;
}

/* ---- making ---------------------------------------------------------------------------- */

/* The arrays of a map on the host; sorting needs all three. */
struct arrays {
	int32_t *disps;
	struct dtc_gpu_sorted_unit *sorted, *scratch;
};

static bool allocate(struct dtconv_context *owner, size_t count,
		     enum dtc_cuda_map_order order, struct arrays *arrays)
{
	*arrays = (struct arrays){ .disps = dtc_alloc(owner,
						      count * sizeof(*arrays->disps)) };
	if (order == DTC_CUDA_MAP_PACKED)
		return arrays->disps;
	arrays->sorted = dtc_alloc(owner, count * sizeof(*arrays->sorted));
	arrays->scratch = dtc_alloc(owner, count * sizeof(*arrays->scratch));
	return arrays->disps && arrays->sorted && arrays->scratch;
}

static void deallocate(struct dtconv_context *owner, const struct arrays *arrays)
{
	dtc_free(owner, arrays->disps);
	dtc_free(owner, arrays->sorted);
	dtc_free(owner, arrays->scratch);
}

/* Write the map and put it on the device; one that cannot be sorted is left out. */
static CUresult place(const struct dtc_layout *layout, struct kept *kept, size_t count,
		      const struct arrays *arrays)
{
	const void *bytes = arrays->disps;
	size_t length = count * sizeof(*arrays->disps);
	CUdeviceptr memory = 0;

	dtc_gpu_map_write(layout, kept->unit, arrays->disps);
	if (kept->order == DTC_CUDA_MAP_SORTED) {
		if (!dtc_gpu_map_sort(arrays->disps, (uint32_t)count, arrays->sorted,
				      arrays->scratch))
			return CUDA_SUCCESS;
		kept->map.sorted = true;
		bytes = arrays->sorted;
		length = count * sizeof(*arrays->sorted);
	}
	CUresult result = dtc_cuda_image_place(kept->context, bytes, length, &memory);
	kept->map.memory = memory;
	return result;
}

static int fill(const struct dtc_layout *layout, struct kept *kept, const char *caller)
{
	struct dtconv_context *owner = kept->context->cuda->context;
	size_t count = (size_t)dtc_gpu_map_units(&kept->map.form, kept->unit);
	CUresult result = CUDA_SUCCESS;
	struct arrays arrays;
	int status = 0;

	if (allocate(owner, count, kept->order, &arrays))
		result = place(layout, kept, count, &arrays);
	else
		status = DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				  "%s: cannot allocate a map of %zu units for a layout",
				  caller, count);
	deallocate(owner, &arrays);
	if (result)
		status = dtc_cuda_fail(kept->context, result,
				       "copying a layout's map to the device", caller);
	return status;
}

/* Whether there can be a map at all; its form is in @kept in any case. */
static bool survey(const struct dtc_layout *layout, struct kept *kept, uint32_t unit)
{
	const struct kept *other = any_kept(layout, kept->context);
	struct dtc_gpu_map_form *form = &kept->map.form;
	bool fits = true;

	if (other)
		*form = other->map.form;
	else
		fits = dtc_gpu_map_of_layout(layout, form);
	kept->unit = DTC_MIN(unit, form->unit);
	return fits && dtc_gpu_map_fits(form, kept->unit);
}

static int make(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		uint32_t unit, enum dtc_cuda_map_order order, const char *caller,
		const struct kept **made)
{
	struct dtconv_context *owner = context->cuda->context;
	struct kept *kept = dtc_alloc_zeroed(owner, sizeof(*kept));
	int status = 0;

	if (!kept)
		return DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				"%s: cannot allocate what is kept of a layout's map",
				caller);
	kept->base.release = release;
	kept->context = context;
	kept->order = order;
	if (survey(layout, kept, unit)) {
		kept->map.unit = kept->unit;
		status = fill(layout, kept, caller);
	}
	if (status) {
		release(&kept->base);
		return status;
	}
	*made = kept;
	dtc_cuda_image_hang_in(layout, &kept->base);
	if (kept->map.memory)
		dtc_context_count(owner, DTC_COUNT_IMAGES_MADE, 1);
	return 0;
}

/* ---- for jobs -------------------------------------------------------------------------- */

static int find_or_make(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			uint32_t unit, enum dtc_cuda_map_order order, const char *caller,
			const struct kept **kept)
{
	*kept = find(layout, context, unit, order);
	if (!*kept)
		return make(layout, context, unit, order, caller, kept);
	if ((*kept)->map.memory)
		dtc_context_count(context->cuda->context, DTC_COUNT_IMAGES_FOUND, 1);
	return 0;
}

/* Whether units in packed order are in the order of their addresses. */
static bool is_sorted(const struct dtc_layout *layout,
		      const struct dtc_cuda_context *context)
{
	const struct kept *kept = any_kept(layout, context);
	struct dtc_gpu_map_form form;

	if (kept)
		return kept->map.form.ascends;
	return dtc_gpu_map_of_layout(layout, &form) && form.ascends;
}

int dtc_cuda_map_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		      uint32_t unit, enum dtc_cuda_map_order order, const char *caller,
		      struct dtc_gpu_map *map)
{
	const struct kept *kept;

	if (order == DTC_CUDA_MAP_SORTED && is_sorted(layout, context))
		order = DTC_CUDA_MAP_PACKED;
	int status = find_or_make(layout, context, unit, order, caller, &kept);
	if (!status && kept->map.unit && !kept->map.memory)
		status = find_or_make(layout, context, unit, DTC_CUDA_MAP_PACKED, caller,
				      &kept);
	if (!status)
		*map = kept->map;
	return status;
}
