/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps that a device keeps. The first job that needs one makes it; it lives as long as the layout. Two threads may make the same map at once: the later one is found, and both are freed.
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
	bool sorts;    /* it is, or was to be, in the order of the user's addresses */
	uint32_t unit; /* that the map was made for, even if there is none */
	/* In packed order: how often it was handed out although a sorted one was asked for. */
	_Atomic uint32_t substituted;
	uint64_t upload;
	struct dtc_gpu_map map;
};

/* Up to so many units are sorted at once, more at that request: a list may be used once only. */
#define SORTED_AT_ONCE (UINT64_C(1) << 14)
#define SORTED_AT      3

/* The sectors of so many units at most are counted where that takes sorting them. */
#define COUNTED_MOST (UINT64_C(1) << 18)

static void release(struct dtc_layout_image *base)
{
	struct kept *kept = (struct kept *)base;

	dtc_cuda_image_drop(kept->context, (CUdeviceptr)kept->map.memory);
	dtc_free(kept->context->cuda->context, kept);
}

/* ---- finding --------------------------------------------------------------------------- */

/* What is kept of a layout on this device, from @base on. */
static struct kept *next_kept(struct dtc_layout_image *base,
			      const struct dtc_cuda_context *context)
{
	for (; base; base = base->next) {
		struct kept *kept = (struct kept *)base;

		if (base->release == release && kept->context == context)
			return kept;
	}
	return NULL;
}

/* The form is the same in all that is kept. */
static struct kept *any_kept(const struct dtc_layout *layout,
			     const struct dtc_cuda_context *context)
{
	return next_kept(atomic_load_explicit(&layout->images, memory_order_acquire),
			 context);
}

static struct kept *find(const struct dtc_layout *layout,
			 const struct dtc_cuda_context *context, uint32_t unit,
			 bool sorts)
{
	struct kept *kept = any_kept(layout, context);

	while (kept &&
	       (kept->sorts != sorts || kept->unit != DTC_MIN(unit, kept->map.form.unit)))
		kept = next_kept(kept->base.next, context);
	return kept;
}

/* ---- making ---------------------------------------------------------------------------- */

/* The arrays of a map on the host; the last two are for sorting. */
struct arrays {
	uint32_t count;
	int32_t *disps;
	struct dtc_gpu_sorted_unit *sorted, *scratch;
};

static bool allocate(struct dtconv_context *owner, bool for_sorting,
		     struct arrays *arrays)
{
	arrays->disps = dtc_alloc(owner, arrays->count * sizeof(*arrays->disps));
	if (!for_sorting)
		return arrays->disps;
	arrays->sorted = dtc_alloc(owner, arrays->count * sizeof(*arrays->sorted));
	arrays->scratch = dtc_alloc(owner, arrays->count * sizeof(*arrays->scratch));
	return arrays->disps && arrays->sorted && arrays->scratch;
}

static void deallocate(struct dtconv_context *owner, const struct arrays *arrays)
{
	dtc_free(owner, arrays->disps);
	dtc_free(owner, arrays->sorted);
	dtc_free(owner, arrays->scratch);
}

/* Sort, if there is memory for it, and count sectors. False: two units have one address. */
static bool survey_order(struct kept *kept, const struct arrays *arrays)
{
	struct dtc_gpu_map *map = &kept->map;
	bool distinct = true;

	if (map->form.ascends)
		map->filled =
			dtc_gpu_map_filled(arrays->disps, 1, arrays->count, map->unit);
	if (!arrays->sorted)
		return distinct;
	distinct = dtc_gpu_map_sort(arrays->disps, arrays->count, arrays->sorted,
				    arrays->scratch);
	map->filled =
		dtc_gpu_map_filled(&arrays->sorted->disp,
				   sizeof(*arrays->sorted) / sizeof(arrays->sorted->disp),
				   arrays->count, map->unit);
	return distinct;
}

/* Write the map and put it on the device; one that cannot be sorted is left out. */
static CUresult place(const struct dtc_layout *layout, struct kept *kept,
		      const struct arrays *arrays)
{
	const void *bytes = arrays->disps;
	size_t length = arrays->count * sizeof(*arrays->disps);
	CUdeviceptr memory = 0;

	dtc_gpu_map_write(layout, kept->unit, arrays->disps);
	bool distinct = survey_order(kept, arrays);
	if (kept->sorts) {
		if (!distinct)
			return CUDA_SUCCESS;
		kept->map.sorted = true;
		bytes = arrays->sorted;
		length = arrays->count * sizeof(*arrays->sorted);
	}
	CUresult result = dtc_cuda_image_begin(kept->context, bytes, length, &memory,
					       &kept->upload);
	kept->map.memory = memory;
	return result;
}

static int fill(const struct dtc_layout *layout, struct kept *kept, const char *caller)
{
	struct dtconv_context *owner = kept->context->cuda->context;
	const struct dtc_gpu_map_form *form = &kept->map.form;
	uint64_t count = dtc_gpu_map_units(form, kept->unit);
	struct arrays arrays = { .count = (uint32_t)count };
	CUresult result = CUDA_SUCCESS;
	int status = 0;

	if (allocate(owner, kept->sorts || (!form->ascends && count <= COUNTED_MOST),
		     &arrays))
		result = place(layout, kept, &arrays);
	else
		status = DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				  "%s: cannot allocate a map of %u units for a layout",
				  caller, arrays.count);
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
		uint32_t unit, bool sorts, const char *caller, struct kept **made)
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
	kept->sorts = sorts;
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
			uint32_t unit, bool sorts, const char *caller, struct kept **kept)
{
	*kept = find(layout, context, unit, sorts);
	if (!*kept)
		return make(layout, context, unit, sorts, caller, kept);
	if ((*kept)->map.memory)
		dtc_context_count(context->cuda->context, DTC_COUNT_IMAGES_FOUND, 1);
	return 0;
}

/* Whether the sorted map is to be used instead of @packed. */
static bool is_sorted_wanted(struct kept *packed, enum dtc_gpu_map_order order)
{
	const struct dtc_gpu_map *map = &packed->map;

	if (order == DTC_GPU_MAP_PACKED || !map->memory || map->form.ascends ||
	    (order == DTC_GPU_MAP_SORTED_PERIODS && !map->form.apart))
		return false;
	return dtc_gpu_map_units(&map->form, map->unit) <= SORTED_AT_ONCE ||
	       atomic_fetch_add_explicit(&packed->substituted, 1, memory_order_relaxed) +
			       1 >=
		       SORTED_AT;
}

/* The map of those that the job uses. */
static int choose(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		  uint32_t unit, enum dtc_gpu_map_order order, const char *caller,
		  struct kept **chosen)
{
	struct kept *sorted;
	int status = find_or_make(layout, context, unit, false, caller, chosen);

	if (status || !is_sorted_wanted(*chosen, order))
		return status;
	status = find_or_make(layout, context, unit, true, caller, &sorted);
	if (!status && sorted->map.memory)
		*chosen = sorted;
	return status;
}

int dtc_cuda_map_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		      uint32_t unit, enum dtc_gpu_map_order order,
		      const struct dtc_cuda_reader *reader, const char *caller,
		      struct dtc_gpu_map *map)
{
	struct kept *kept;
	int status = choose(layout, context, unit, order, caller, &kept);

	if (status)
		return status;
	CUresult result = dtc_cuda_upload_order(context, kept->upload, reader);
	if (result)
		return dtc_cuda_fail(context, result, "waiting for a layout's map",
				     caller);
	*map = kept->map;
	return 0;
}
