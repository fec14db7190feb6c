/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping BAR mappings. Device addresses are reused, so a mapping is found by its address and by the driver's buffer
 * ID of the memory, which is never reused. The worker pins and unpins, because those calls may block on the device.
 */
#include "config.h"

#include "bar_mappings.h"

#include <errno.h>

#include "copy_backends/cuda/device/memory_kinds.h"
#include "copy_backends/cuda/device/worker.h"
#include "copy_backends/memory/memory.h"

static void init_mappings(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&dtc_cuda_bar_mappings_of(context)->lock, NULL);
}

static bool has_rested(const struct dtc_cuda_bar_mappings *mappings,
		       const struct dtc_cuda_bar_mapping *mapping)
{
	return mappings->clock - mapping->used > DTC_CUDA_BAR_MAPPING_REST;
}

/* ---- the worker's part ------------------------------------------------------------------- */

static void undo_mapping(const struct dtc_gdr *gdr, struct dtc_cuda_bar_mapping *mapping)
{
	if (mapping->mapped)
		gdr->unmap(gdr->connection, mapping->pin, mapping->mapped,
			   mapping->mapped_bytes);
	if (mapping->pinned)
		gdr->unpin_buffer(gdr->connection, mapping->pin);
	mapping->mapped = NULL;
	mapping->pinned = false;
}

/* Take the pinned window that has not been used for the longest time out of use, if that is long. */
static struct dtc_cuda_bar_mapping *retire_mapping(struct dtc_cuda_bar_mappings *mappings)
{
	struct dtc_cuda_bar_mapping *retired = NULL;

	pthread_mutex_lock(&mappings->lock);
	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++) {
		struct dtc_cuda_bar_mapping *mapping = &mappings->places[i];

		if (mapping->pinned && mapping->state != DTC_CUDA_BAR_MAPPING_ASKED &&
		    has_rested(mappings, mapping) &&
		    (!retired || mapping->used < retired->used))
			retired = mapping;
	}
	if (retired)
		retired->state = DTC_CUDA_BAR_MAPPING_FREE;
	pthread_mutex_unlock(&mappings->lock);
	return retired;
}

static size_t pages_of(const struct dtc_cuda_bar_mapping *mapping, uintptr_t *page)
{
	*page = mapping->first / DTC_GDR_PAGE * DTC_GDR_PAGE;
	return (mapping->first - *page + mapping->bytes + DTC_GDR_PAGE - 1) /
	       DTC_GDR_PAGE * DTC_GDR_PAGE;
}

/* Pin the window's pages; where no more can be pinned, at the cost of others. */
static bool pin_mapping(struct dtc_cuda_context *context,
			struct dtc_cuda_bar_mapping *mapping)
{
	const struct dtc_gdr *gdr = context->cuda->gdr;
	struct dtc_cuda_bar_mapping *retired;
	uintptr_t page;
	int error;

	mapping->mapped_bytes = pages_of(mapping, &page);
	while ((error = gdr->pin_buffer(gdr->connection, page, mapping->mapped_bytes, 0,
					0, &mapping->pin)) == ENOMEM) {
		retired = retire_mapping(dtc_cuda_bar_mappings_of(context));
		if (!retired)
			break;
		undo_mapping(gdr, retired);
	}
	mapping->pinned = !error;
	return mapping->pinned;
}

/* Memory that takes nothing but aligned words is not for plain copies. */
static bool is_for_copies(const struct dtc_gdr_info *info)
{
	if (info->type == DTC_GDR_MAPPING_UNKNOWN)
		return info->combining;
	return info->type == DTC_GDR_MAPPING_COMBINING ||
	       info->type == DTC_GDR_MAPPING_CACHING;
}

static bool map_pinned(const struct dtc_gdr *gdr, struct dtc_cuda_bar_mapping *mapping)
{
	struct dtc_gdr_info info = { .type = DTC_GDR_MAPPING_UNKNOWN };
	void *mapped = NULL;

	if (gdr->map(gdr->connection, mapping->pin, &mapped, mapping->mapped_bytes) ||
	    !mapped)
		return false;
	mapping->mapped = mapped;
	if (gdr->get_info_v2(gdr->connection, mapping->pin, &info) ||
	    !is_for_copies(&info) || info.address > mapping->first)
		return false;
	mapping->host = (char *)mapped + (mapping->first - (uintptr_t)info.address);
	return true;
}

/* Ids are never used again: whoever has it now has had it since the window was asked for. */
static bool is_still_there(const struct dtc_cuda_context *context,
			   const struct dtc_cuda_bar_mapping *mapping)
{
	return dtc_cuda_memory_id(context->cuda, mapping->first) == mapping->id;
}

/*
 * Copies of the driver's that the application takes for finished may still be on their way; for memory
 * that others write to, the driver can be told to finish them.
 */
static bool synchronise_copies(const struct dtc_cuda_context *context,
			       const struct dtc_cuda_bar_mapping *mapping)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	const unsigned on = 1;

	return !driver->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					    (CUdeviceptr)mapping->first);
}

/* Runs in the worker, which alone has to do with a window that is asked for. */
static void make_mapping(struct dtc_cuda_context *context, CUdeviceptr place)
{
	struct dtc_cuda_bar_mappings *mappings = dtc_cuda_bar_mappings_of(context);
	struct dtc_cuda_bar_mapping *mapping = &mappings->places[place];
	const struct dtc_gdr *gdr = context->cuda->gdr;

	undo_mapping(gdr, mapping);
	bool made = is_still_there(context, mapping) &&
		    synchronise_copies(context, mapping) &&
		    pin_mapping(context, mapping) && map_pinned(gdr, mapping) &&
		    is_still_there(context, mapping);
	if (!made)
		undo_mapping(gdr, mapping);
	pthread_mutex_lock(&mappings->lock);
	mapping->state = made ? DTC_CUDA_BAR_MAPPING_MAPPED
			      : DTC_CUDA_BAR_MAPPING_REFUSED;
	mapping->used = mappings->clock;
	pthread_mutex_unlock(&mappings->lock);
}

/* Give all of them back, also if the device context is gone. The worker has ended. */
static void free_mappings(struct dtc_cuda_context *context)
{
	struct dtc_cuda_bar_mappings *mappings = dtc_cuda_bar_mappings_of(context);

	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++)
		undo_mapping(context->cuda->gdr, &mappings->places[i]);
	pthread_mutex_destroy(&mappings->lock);
}

const struct dtc_cuda_feature dtc_cuda_bar_mappings_feature = {
	.name = "bar_mappings",
	.bytes = sizeof(struct dtc_cuda_bar_mappings),
	.init = init_mappings,
	.free = free_mappings,
};

/* ---- the jobs' part: the lock is held ------------------------------------------------------ */

void dtc_cuda_bar_mappings_enter(struct dtc_cuda_bar_mappings *mappings)
{
	pthread_mutex_lock(&mappings->lock);
	mappings->clock++;
}

void dtc_cuda_bar_mappings_leave(struct dtc_cuda_bar_mappings *mappings)
{
	pthread_mutex_unlock(&mappings->lock);
}

static bool has_address(const struct dtc_cuda_bar_mapping *mapping, uintptr_t address)
{
	return mapping->state != DTC_CUDA_BAR_MAPPING_FREE &&
	       address - mapping->first < mapping->bytes;
}

static struct dtc_cuda_bar_mapping *mapping_at(struct dtc_cuda_bar_mappings *mappings,
					       uint64_t id, uintptr_t address)
{
	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++)
		if (mappings->places[i].id == id &&
		    has_address(&mappings->places[i], address))
			return &mappings->places[i];
	return NULL;
}

char *dtc_cuda_bar_mapping_find(struct dtc_cuda_bar_mappings *mappings, uint64_t id,
				uintptr_t address, size_t *bytes)
{
	struct dtc_cuda_bar_mapping *mapping = mapping_at(mappings, id, address);

	if (!mapping || mapping->state != DTC_CUDA_BAR_MAPPING_MAPPED)
		return NULL;
	mapping->used = mappings->clock;
	*bytes = mapping->bytes - (address - mapping->first);
	return mapping->host + (address - mapping->first);
}

/* How little a new window at the address would be missed in this place; 0: it must stay. */
static uint64_t fitness(const struct dtc_cuda_bar_mappings *mappings,
			const struct dtc_cuda_bar_mapping *mapping, uintptr_t address)
{
	if (mapping->state == DTC_CUDA_BAR_MAPPING_ASKED)
		return 0;
	/* The memory that it was made for has gone. */
	if (mapping->state == DTC_CUDA_BAR_MAPPING_FREE || has_address(mapping, address))
		return UINT64_MAX;
	return has_rested(mappings, mapping) ? mappings->clock - mapping->used : 0;
}

static struct dtc_cuda_bar_mapping *choose_place(struct dtc_cuda_bar_mappings *mappings,
						 uintptr_t address)
{
	struct dtc_cuda_bar_mapping *best = NULL;
	uint64_t best_fitness = 0;

	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++) {
		uint64_t fit = fitness(mappings, &mappings->places[i], address);

		if (fit > best_fitness) {
			best = &mappings->places[i];
			best_fitness = fit;
		}
	}
	return best;
}

/* A window lies in one allocation or mapping, and begins where all do that meet it there. */
static void aim_mapping(struct dtc_cuda_bar_mapping *mapping,
			const struct dtc_memory *memory, uint64_t id, uintptr_t address)
{
	uintptr_t first =
		address / DTC_CUDA_BAR_MAPPING_BYTES * DTC_CUDA_BAR_MAPPING_BYTES;

	mapping->state = DTC_CUDA_BAR_MAPPING_SEEN;
	mapping->id = id;
	mapping->first = DTC_MAX(first, memory->base);
	mapping->bytes =
		DTC_MIN(first + DTC_CUDA_BAR_MAPPING_BYTES, memory->end) - mapping->first;
	mapping->uses = 0;
}

static bool is_worth_retrying(const struct dtc_cuda_bar_mappings *mappings,
			      const struct dtc_cuda_bar_mapping *mapping)
{
	return mapping->state == DTC_CUDA_BAR_MAPPING_REFUSED &&
	       mappings->clock - mapping->used > DTC_CUDA_BAR_MAPPING_RETRY;
}

void dtc_cuda_bar_mapping_want(struct dtc_cuda_context *context,
			       const struct dtc_memory *memory, uint64_t id,
			       uintptr_t address)
{
	struct dtc_cuda_bar_mappings *mappings = dtc_cuda_bar_mappings_of(context);
	struct dtc_cuda_bar_mapping *mapping = mapping_at(mappings, id, address);

	if (!mapping || is_worth_retrying(mappings, mapping)) {
		mapping = mapping ? mapping : choose_place(mappings, address);
		if (!mapping)
			return;
		aim_mapping(mapping, memory, id, address);
	}
	if (mapping->state != DTC_CUDA_BAR_MAPPING_SEEN)
		return;
	mapping->used = mappings->clock;
	if (++mapping->uses < DTC_CUDA_BAR_MAPPING_USES)
		return;
	mapping->state = DTC_CUDA_BAR_MAPPING_ASKED;
	if (!dtc_cuda_worker_defer(context, make_mapping,
				   (CUdeviceptr)(mapping - mappings->places)))
		mapping->state = DTC_CUDA_BAR_MAPPING_SEEN;
}
