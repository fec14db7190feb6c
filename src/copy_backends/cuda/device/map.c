/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps that a device keeps. The first job that needs one makes it; it lives as long as the layout. Two threads may make the same map at once: the later one is found, and both are freed.
 */
#include "config.h"

#include "map.h"

#include "arena.h"
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
	_Atomic uint32_t
		filled; /* of a map in packed order, once jobs have asked for it */
	_Atomic uint32_t asked; /* how often, without an answer */
	uint64_t upload;
	struct dtc_gpu_map map;
};

/* What @filled is before. */
#define UNCOUNTED UINT32_MAX

/* Up to so many units are sorted or counted at once, more at that request: a list may be used once only. */
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

static struct dtconv_context *owner_of(const struct kept *kept)
{
	return kept->context->cuda->context;
}

static uint32_t units_of(const struct kept *kept)
{
	return (uint32_t)dtc_gpu_map_units(&kept->map.form, kept->unit);
}

/* The arrays of a map on the host; the last two are for sorting. */
struct arrays {
	uint32_t count;
	int32_t *disps;
	struct dtc_gpu_sorted_unit *sorted, *scratch;
};

static void close_arrays(const struct kept *kept, const struct arrays *arrays)
{
	dtc_free(owner_of(kept), arrays->disps);
	dtc_free(owner_of(kept), arrays->sorted);
	dtc_free(owner_of(kept), arrays->scratch);
}

static bool allocate(const struct kept *kept, bool for_sorting, struct arrays *arrays)
{
	struct dtconv_context *owner = owner_of(kept);

	arrays->disps = dtc_alloc(owner, arrays->count * sizeof(*arrays->disps));
	if (!for_sorting)
		return arrays->disps;
	arrays->sorted = dtc_alloc(owner, arrays->count * sizeof(*arrays->sorted));
	arrays->scratch = dtc_alloc(owner, arrays->count * sizeof(*arrays->scratch));
	return arrays->disps && arrays->sorted && arrays->scratch;
}

/* The displacements in packed order, with room to sort them. */
static int open_arrays(const struct dtc_cuda_map_request *request,
		       const struct kept *kept, bool for_sorting, struct arrays *arrays)
{
	*arrays = (struct arrays){ .count = units_of(kept) };
	if (!allocate(kept, for_sorting, arrays)) {
		close_arrays(kept, arrays);
		return DTC_FAIL(owner_of(kept), DTCONV_ERR_NOMEM,
				"%s: cannot allocate a map of %u units for a layout",
				request->caller, arrays->count);
	}
	dtc_gpu_map_write(request->layout, kept->unit, arrays->disps);
	return 0;
}

/* False: two units have one address. */
static bool sort(const struct kept *kept, const struct arrays *arrays, uint32_t *filled)
{
	const size_t step = sizeof(*arrays->sorted) / sizeof(arrays->sorted->disp);
	bool distinct = dtc_gpu_map_sort(arrays->disps, arrays->count, arrays->sorted,
					 arrays->scratch);

	*filled = dtc_gpu_map_filled(&arrays->sorted->disp, step, arrays->count,
				     kept->unit);
	return distinct;
}

/* What is uploaded, in packed order. */
struct source {
	const struct dtc_layout *layout;
	uint32_t unit;
};

static void write_map(const void *from, void *to)
{
	const struct source *source = from;

	dtc_gpu_map_write(source->layout, source->unit, to);
}

static CUresult begin_upload(const struct dtc_cuda_map_request *request,
			     struct kept *kept, const struct dtc_cuda_table *table)
{
	CUdeviceptr memory = 0;
	CUresult result = dtc_cuda_arena_take(kept->context, table->bytes, &memory);

	kept->map.memory = memory;
	return result ? result
		      : dtc_cuda_upload(kept->context, memory, table, request->reader,
					&kept->upload);
}

/* Through an array, because the ring is too short. */
static int upload_long(const struct dtc_cuda_map_request *request, struct kept *kept,
		       CUresult *result)
{
	struct arrays arrays;
	int status = open_arrays(request, kept, false, &arrays);

	if (status)
		return status;
	const struct dtc_cuda_table table = {
		.source = arrays.disps, .bytes = arrays.count * sizeof(*arrays.disps)
	};
	*result = begin_upload(request, kept, &table);
	close_arrays(kept, &arrays);
	return 0;
}

static int upload_packed(const struct dtc_cuda_map_request *request, struct kept *kept,
			 CUresult *result)
{
	const struct source source = { request->layout, kept->unit };
	const struct dtc_cuda_table table = { .write = write_map,
					      .source = &source,
					      .bytes = units_of(kept) * sizeof(int32_t) };

	if (table.bytes > DTC_CUDA_UPLOAD_WHOLE_BYTES)
		return upload_long(request, kept, result);
	*result = begin_upload(request, kept, &table);
	return 0;
}

/* A map that cannot be sorted is left out. */
static int upload_sorted(const struct dtc_cuda_map_request *request, struct kept *kept,
			 CUresult *result)
{
	struct arrays arrays;
	int status = open_arrays(request, kept, true, &arrays);

	if (status)
		return status;
	const struct dtc_cuda_table table = {
		.source = arrays.sorted, .bytes = arrays.count * sizeof(*arrays.sorted)
	};
	kept->map.sorted = sort(kept, &arrays, &kept->map.filled);
	if (kept->map.sorted)
		*result = begin_upload(request, kept, &table);
	close_arrays(kept, &arrays);
	return 0;
}

static int fill(const struct dtc_cuda_map_request *request, struct kept *kept)
{
	CUresult result = CUDA_SUCCESS;
	int status = kept->sorts ? upload_sorted(request, kept, &result)
				 : upload_packed(request, kept, &result);

	return result ? dtc_cuda_fail(kept->context, result,
				      "copying a layout's map to the device",
				      request->caller)
		      : status;
}

/* Whether there can be a map at all; its form is in @kept in any case. */
static bool survey(const struct dtc_cuda_map_request *request, struct kept *kept)
{
	const struct kept *other = any_kept(request->layout, kept->context);
	struct dtc_gpu_map_form *form = &kept->map.form;
	bool fits = true;

	if (other)
		*form = other->map.form;
	else
		fits = dtc_gpu_map_of_layout(request->layout, form);
	kept->unit = DTC_MIN(request->unit, form->unit);
	return fits && dtc_gpu_map_fits(form, kept->unit);
}

static int make(struct dtc_cuda_context *context,
		const struct dtc_cuda_map_request *request, bool sorts,
		struct kept **made)
{
	struct dtconv_context *owner = context->cuda->context;
	struct kept *kept = dtc_alloc_zeroed(owner, sizeof(*kept));
	int status = 0;

	if (!kept)
		return DTC_FAIL(owner, DTCONV_ERR_NOMEM,
				"%s: cannot allocate what is kept of a layout's map",
				request->caller);
	kept->base.release = release;
	kept->context = context;
	kept->sorts = sorts;
	atomic_init(&kept->filled, UNCOUNTED);
	if (survey(request, kept)) {
		kept->map.unit = kept->unit;
		status = fill(request, kept);
	}
	if (status) {
		release(&kept->base);
		return status;
	}
	*made = kept;
	dtc_cuda_image_hang_in(request->layout, &kept->base);
	if (kept->map.memory)
		dtc_context_count(owner, DTC_COUNT_IMAGES_MADE, 1);
	return 0;
}

/* ---- sectors --------------------------------------------------------------------------- */

static int count_filled(const struct dtc_cuda_map_request *request,
			const struct kept *kept, uint32_t *filled)
{
	const bool ascends = kept->map.form.ascends;
	struct arrays arrays;

	*filled = 0;
	if (!ascends && units_of(kept) > COUNTED_MOST)
		return 0;
	int status = open_arrays(request, kept, !ascends, &arrays);
	if (status)
		return status;
	if (ascends)
		*filled = dtc_gpu_map_filled(arrays.disps, 1, arrays.count, kept->unit);
	else
		sort(kept, &arrays, filled);
	close_arrays(kept, &arrays);
	return 0;
}

/* To count those of 65,536 blocks of 64 bytes in random order takes 11 ms. */
static bool is_worth_counting(struct kept *kept)
{
	return units_of(kept) <= SORTED_AT_ONCE ||
	       atomic_fetch_add_explicit(&kept->asked, 1, memory_order_relaxed) + 1 >=
		       SORTED_AT;
}

/* Short jobs need no count. 0: not known, so threads move one word each. */
static int find_filled(const struct dtc_cuda_map_request *request, struct kept *kept,
		       uint32_t *filled)
{
	if (!request->filled || kept->sorts || !kept->map.memory)
		return 0;
	*filled = atomic_load_explicit(&kept->filled, memory_order_relaxed);
	if (*filled != UNCOUNTED)
		return 0;
	*filled = 0;
	if (!is_worth_counting(kept))
		return 0;
	int status = count_filled(request, kept, filled);
	if (!status)
		atomic_store_explicit(&kept->filled, *filled, memory_order_relaxed);
	return status;
}

/* ---- for jobs -------------------------------------------------------------------------- */

static int find_or_make(struct dtc_cuda_context *context,
			const struct dtc_cuda_map_request *request, bool sorts,
			struct kept **kept)
{
	*kept = find(request->layout, context, request->unit, sorts);
	if (!*kept)
		return make(context, request, sorts, kept);
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
static int choose(struct dtc_cuda_context *context,
		  const struct dtc_cuda_map_request *request, struct kept **chosen)
{
	struct kept *sorted;
	int status = find_or_make(context, request, false, chosen);

	if (status || !is_sorted_wanted(*chosen, request->order))
		return status;
	status = find_or_make(context, request, true, &sorted);
	if (!status && sorted->map.memory)
		*chosen = sorted;
	return status;
}

int dtc_cuda_map_find(struct dtc_cuda_context *context,
		      const struct dtc_cuda_map_request *request, struct dtc_gpu_map *map)
{
	struct kept *kept;
	int status = choose(context, request, &kept);

	if (status)
		return status;
	*map = kept->map;
	status = find_filled(request, kept, &map->filled);
	if (status)
		return status;
	CUresult result = dtc_cuda_upload_order(context, kept->upload, request->reader);
	return result ? dtc_cuda_fail(context, result, "waiting for a layout's map",
				      request->caller)
		      : 0;
}
