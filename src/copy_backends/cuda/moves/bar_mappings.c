/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping windows. Addresses are used again for other memory, which a mapping would miss: so a
 * window belongs to the driver's id of its memory, and is found by address and id only. Pinning and
 * unpinning are the worker's, because nobody promises that they do not wait for the device.
 */
#include "config.h"

#include "bar_mappings.h"

#include <errno.h>

#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/memory/memory.h"

void dtc_cuda_windows_init(struct dtc_cuda_windows *windows)
{
	pthread_mutex_init(&windows->lock, NULL);
}

static bool has_rested(const struct dtc_cuda_windows *windows,
		       const struct dtc_cuda_window *window)
{
	return windows->clock - window->used > DTC_CUDA_WINDOW_REST;
}

/* ---- the worker's part ------------------------------------------------------------------- */

static void undo_window(const struct dtc_gdr *gdr, struct dtc_cuda_window *window)
{
	if (window->mapped)
		gdr->unmap(gdr->connection, window->pin, window->mapped,
			   window->mapped_bytes);
	if (window->pinned)
		gdr->unpin_buffer(gdr->connection, window->pin);
	window->mapped = NULL;
	window->pinned = false;
}

/* Take the pinned window that has not been used for the longest time out of use, if that is long. */
static struct dtc_cuda_window *retire_window(struct dtc_cuda_windows *windows)
{
	struct dtc_cuda_window *retired = NULL;

	pthread_mutex_lock(&windows->lock);
	for (size_t i = 0; i < DTC_CUDA_WINDOWS; i++) {
		struct dtc_cuda_window *window = &windows->places[i];

		if (window->pinned && window->state != DTC_CUDA_WINDOW_ASKED &&
		    has_rested(windows, window) &&
		    (!retired || window->used < retired->used))
			retired = window;
	}
	if (retired)
		retired->state = DTC_CUDA_WINDOW_FREE;
	pthread_mutex_unlock(&windows->lock);
	return retired;
}

static size_t pages_of(const struct dtc_cuda_window *window, uintptr_t *page)
{
	*page = window->first / DTC_GDR_PAGE * DTC_GDR_PAGE;
	return (window->first - *page + window->bytes + DTC_GDR_PAGE - 1) / DTC_GDR_PAGE *
	       DTC_GDR_PAGE;
}

/* Pin the window's pages; where no more can be pinned, at the cost of others. */
static bool pin_window(struct dtc_cuda_context *context, struct dtc_cuda_window *window)
{
	const struct dtc_gdr *gdr = &context->cuda->gdr;
	struct dtc_cuda_window *retired;
	uintptr_t page;
	int error;

	window->mapped_bytes = pages_of(window, &page);
	while ((error = gdr->pin_buffer(gdr->connection, page, window->mapped_bytes, 0, 0,
					&window->pin)) == ENOMEM) {
		retired = retire_window(&context->windows);
		if (!retired)
			break;
		undo_window(gdr, retired);
	}
	window->pinned = !error;
	return window->pinned;
}

/* Memory that takes nothing but aligned words is not for plain copies. */
static bool is_for_copies(const struct dtc_gdr_info *info)
{
	if (info->type == DTC_GDR_MAPPING_UNKNOWN)
		return info->combining;
	return info->type == DTC_GDR_MAPPING_COMBINING ||
	       info->type == DTC_GDR_MAPPING_CACHING;
}

static bool map_window(const struct dtc_gdr *gdr, struct dtc_cuda_window *window)
{
	struct dtc_gdr_info info = { .type = DTC_GDR_MAPPING_UNKNOWN };
	void *mapped = NULL;

	if (gdr->map(gdr->connection, window->pin, &mapped, window->mapped_bytes) ||
	    !mapped)
		return false;
	window->mapped = mapped;
	if (gdr->get_info_v2(gdr->connection, window->pin, &info) ||
	    !is_for_copies(&info) || info.address > window->first)
		return false;
	window->mapping = (char *)mapped + (window->first - (uintptr_t)info.address);
	return true;
}

/* Ids are never used again: whoever has it now has had it since the window was asked for. */
static bool is_still_there(const struct dtc_cuda_context *context,
			   const struct dtc_cuda_window *window)
{
	return dtc_cuda_memory_id(context->cuda, window->first) == window->id;
}

/*
 * Copies of the driver's that the application takes for finished may still be on their way; for memory
 * that others write to, the driver can be told to finish them.
 */
static bool synchronise_copies(const struct dtc_cuda_context *context,
			       const struct dtc_cuda_window *window)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	const unsigned on = 1;

	return !driver->PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					    (CUdeviceptr)window->first);
}

/* Runs in the worker, which alone has to do with a window that is asked for. */
static void make_window(struct dtc_cuda_context *context, CUdeviceptr place)
{
	struct dtc_cuda_windows *windows = &context->windows;
	struct dtc_cuda_window *window = &windows->places[place];
	const struct dtc_gdr *gdr = &context->cuda->gdr;

	undo_window(gdr, window);
	bool made = is_still_there(context, window) &&
		    synchronise_copies(context, window) && pin_window(context, window) &&
		    map_window(gdr, window) && is_still_there(context, window);
	if (!made)
		undo_window(gdr, window);
	pthread_mutex_lock(&windows->lock);
	window->state = made ? DTC_CUDA_WINDOW_MAPPED : DTC_CUDA_WINDOW_REFUSED;
	window->used = windows->clock;
	pthread_mutex_unlock(&windows->lock);
}

void dtc_cuda_windows_close(struct dtc_cuda_context *context)
{
	for (size_t i = 0; i < DTC_CUDA_WINDOWS; i++)
		undo_window(&context->cuda->gdr, &context->windows.places[i]);
	pthread_mutex_destroy(&context->windows.lock);
}

/* ---- the jobs' part: the lock is held ------------------------------------------------------ */

void dtc_cuda_windows_enter(struct dtc_cuda_windows *windows)
{
	pthread_mutex_lock(&windows->lock);
	windows->clock++;
}

void dtc_cuda_windows_leave(struct dtc_cuda_windows *windows)
{
	pthread_mutex_unlock(&windows->lock);
}

static bool has_address(const struct dtc_cuda_window *window, uintptr_t address)
{
	return window->state != DTC_CUDA_WINDOW_FREE &&
	       address - window->first < window->bytes;
}

static struct dtc_cuda_window *window_at(struct dtc_cuda_windows *windows, uint64_t id,
					 uintptr_t address)
{
	for (size_t i = 0; i < DTC_CUDA_WINDOWS; i++)
		if (windows->places[i].id == id &&
		    has_address(&windows->places[i], address))
			return &windows->places[i];
	return NULL;
}

char *dtc_cuda_window_find(struct dtc_cuda_windows *windows, uint64_t id,
			   uintptr_t address, size_t *bytes)
{
	struct dtc_cuda_window *window = window_at(windows, id, address);

	if (!window || window->state != DTC_CUDA_WINDOW_MAPPED)
		return NULL;
	window->used = windows->clock;
	*bytes = window->bytes - (address - window->first);
	return window->mapping + (address - window->first);
}

/* How little a new window at the address would be missed in this place; 0: it must stay. */
static uint64_t fitness(const struct dtc_cuda_windows *windows,
			const struct dtc_cuda_window *window, uintptr_t address)
{
	if (window->state == DTC_CUDA_WINDOW_ASKED)
		return 0;
	/* The memory that it was made for has gone. */
	if (window->state == DTC_CUDA_WINDOW_FREE || has_address(window, address))
		return UINT64_MAX;
	return has_rested(windows, window) ? windows->clock - window->used : 0;
}

static struct dtc_cuda_window *choose_place(struct dtc_cuda_windows *windows,
					    uintptr_t address)
{
	struct dtc_cuda_window *best = NULL;
	uint64_t best_fitness = 0;

	for (size_t i = 0; i < DTC_CUDA_WINDOWS; i++) {
		uint64_t fit = fitness(windows, &windows->places[i], address);

		if (fit > best_fitness) {
			best = &windows->places[i];
			best_fitness = fit;
		}
	}
	return best;
}

/* A window lies in one allocation or mapping, and begins where all do that meet it there. */
static void aim_window(struct dtc_cuda_window *window, const struct dtc_memory *memory,
		       uint64_t id, uintptr_t address)
{
	uintptr_t first = address / DTC_CUDA_WINDOW_BYTES * DTC_CUDA_WINDOW_BYTES;

	window->state = DTC_CUDA_WINDOW_SEEN;
	window->id = id;
	window->first = DTC_MAX(first, memory->base);
	window->bytes =
		DTC_MIN(first + DTC_CUDA_WINDOW_BYTES, memory->end) - window->first;
	window->uses = 0;
}

static bool is_worth_retrying(const struct dtc_cuda_windows *windows,
			      const struct dtc_cuda_window *window)
{
	return window->state == DTC_CUDA_WINDOW_REFUSED &&
	       windows->clock - window->used > DTC_CUDA_WINDOW_RETRY;
}

void dtc_cuda_window_want(struct dtc_cuda_context *context,
			  const struct dtc_memory *memory, uint64_t id, uintptr_t address)
{
	struct dtc_cuda_windows *windows = &context->windows;
	struct dtc_cuda_window *window = window_at(windows, id, address);

	if (!window || is_worth_retrying(windows, window)) {
		window = window ? window : choose_place(windows, address);
		if (!window)
			return;
		aim_window(window, memory, id, address);
	}
	if (window->state != DTC_CUDA_WINDOW_SEEN)
		return;
	window->used = windows->clock;
	if (++window->uses < DTC_CUDA_WINDOW_USES)
		return;
	window->state = DTC_CUDA_WINDOW_ASKED;
	if (!dtc_cuda_worker_do(context, make_window,
				(CUdeviceptr)(window - windows->places)))
		window->state = DTC_CUDA_WINDOW_SEEN;
}
