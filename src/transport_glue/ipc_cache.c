/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache. A mapping is opening, open or closing; the thread that opens or closes it calls the driver without the lock,
 * and other threads that need the same allocation wait until it is settled. An open mapping without users is idle. The
 * callbacks of the context are called without the lock, too.
 */
#include "config.h"

#include "ipc_cache.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/ipc.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/memory/memory.h"
#include "copy_backends/memory/vendor.h"

enum state { OPENING, OPEN, CLOSING };

struct mapping {
	struct mapping *next;
	struct dtc_process owner;
	struct dtc_ipc_allocation allocation;
	struct dtc_ipc_mapping place; /* here */
	enum state state;
	bool is_own;  /* memory of this process: no mapping, and never idle */
	bool is_lost; /* its device context is: no longer found by its key */
	size_t users;
	uint64_t used; /* a number that grows with each use */
};

struct dtc_ipc_cache {
	struct dtconv_context *context;
	const struct dtc_vendor_ops *vendor;
	struct dtc_process self;
	pthread_mutex_t lock;
	pthread_cond_t settled; /* a mapping has become open, or is gone */
	/*
	 * Searched from its start, the last used one first. A process opens few allocations, because allocators
	 * hand out parts of large ones.
	 */
	struct mapping *mappings;
	uint64_t uses;
	size_t idle;
	bool is_trimming;              /* the vendor's thread is, or will */
	struct dtconv_ipc_attr counts; /* open and idle are counted when asked for */
};

/* ---- making the cache -------------------------------------------------------------------- */

struct dtc_ipc_cache *dtc_ipc_cache_find(struct dtconv_context *context)
{
	return atomic_load_explicit(&context->ipc, memory_order_acquire);
}

const struct dtc_process *dtc_ipc_cache_process(const struct dtc_ipc_cache *cache)
{
	return &cache->self;
}

const struct dtc_vendor_ops *dtc_ipc_cache_vendor(const struct dtc_ipc_cache *cache)
{
	return cache->vendor;
}

static void free_cache(struct dtc_ipc_cache *cache)
{
	pthread_cond_destroy(&cache->settled);
	pthread_mutex_destroy(&cache->lock);
	dtc_free(cache->context, cache);
}

static int make_cache(struct dtconv_context *context, const char *caller,
		      struct dtc_ipc_cache **made)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_find(context);

	if (!vendor)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: there is no device driver: the library was built without CUDA, the process "
			"has not loaded the driver, it is not usable, or the context is for host memory",
			caller);
	struct dtc_ipc_cache *cache = dtc_alloc_zeroed(context, sizeof(*cache));
	if (!cache)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the cache of mappings", caller);
	cache->context = context;
	cache->vendor = vendor;
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->settled, NULL);
	if (dtc_process_self(&cache->self)) {
		*made = cache;
		return 0;
	}
	free_cache(cache);
	return DTC_FAIL(
		context, DTCONV_ERR_UNSUPPORTED,
		"%s: cannot read the start time of this process in /proc/self/stat",
		caller);
}

int dtc_ipc_cache_of(struct dtconv_context *context, const char *caller,
		     struct dtc_ipc_cache **found)
{
	struct dtc_ipc_cache *cache = dtc_ipc_cache_find(context);
	void *none = NULL;

	if (!cache) {
		int status = make_cache(context, caller, &cache);

		if (status)
			return status;
		if (!atomic_compare_exchange_strong(&context->ipc, &none, cache)) {
			free_cache(cache);
			cache = none;
		}
	}
	*found = cache;
	if (cache->self.id == (uint64_t)getpid())
		return 0;
	return DTC_FAIL(
		context, DTCONV_ERR_STATE,
		"%s: the context is that of process %llu, from which this one was forked",
		caller, (unsigned long long)cache->self.id);
}

/* ---- the list, under the lock ------------------------------------------------------------ */

static bool is_idle(const struct mapping *mapping)
{
	return mapping->state == OPEN && !mapping->users;
}

static bool is_same_allocation(const struct dtc_ipc_allocation *a,
			       const struct dtc_ipc_allocation *b)
{
	return a->id == b->id && a->base == b->base && a->bytes == b->bytes &&
	       !memcmp(a->driver, b->driver, sizeof(a->driver));
}

static bool overlaps(const struct dtc_ipc_allocation *a,
		     const struct dtc_ipc_allocation *b)
{
	return a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

static bool is_for(const struct mapping *mapping, const struct dtc_process *owner,
		   int device)
{
	return !mapping->is_lost && mapping->place.device == device &&
	       dtc_process_equal(&mapping->owner, owner);
}

/* The mapping with that key. */
static struct mapping *find_same(const struct dtc_ipc_cache *cache,
				 const struct dtc_ipc_handle *handle, int device)
{
	for (struct mapping *at = cache->mappings; at; at = at->next)
		if (is_same_allocation(&at->allocation, &handle->allocation) &&
		    is_for(at, &handle->owner, device))
			return at;
	return NULL;
}

/* One of the same addresses of the owner, but of another allocation: one of them no longer exists. */
static struct mapping *find_stale(const struct dtc_ipc_cache *cache,
				  const struct dtc_ipc_handle *handle, int device)
{
	for (struct mapping *at = cache->mappings; at; at = at->next)
		if (overlaps(&at->allocation, &handle->allocation) && !at->is_own &&
		    !is_same_allocation(&at->allocation, &handle->allocation) &&
		    is_for(at, &handle->owner, device))
			return at;
	return NULL;
}

/* The one that an address is in. First a lost one, because a later mapping may have its addresses. */
static struct mapping *find_open(const struct dtc_ipc_cache *cache, uintptr_t address)
{
	struct mapping *found = NULL;

	for (struct mapping *at = cache->mappings; at; at = at->next)
		if (at->state == OPEN && at->users && address >= at->place.base &&
		    address - at->place.base < at->allocation.bytes &&
		    (!found || at->is_lost))
			found = at;
	return found;
}

static struct mapping *find_oldest_idle(const struct dtc_ipc_cache *cache)
{
	struct mapping *oldest = NULL;

	for (struct mapping *at = cache->mappings; at; at = at->next)
		if (is_idle(at) && (!oldest || at->used < oldest->used))
			oldest = at;
	return oldest;
}

static void link_first(struct dtc_ipc_cache *cache, struct mapping *mapping)
{
	mapping->next = cache->mappings;
	cache->mappings = mapping;
}

static void unlink_mapping(struct dtc_ipc_cache *cache, const struct mapping *mapping)
{
	struct mapping **at = &cache->mappings;

	while (*at != mapping)
		at = &(*at)->next;
	*at = mapping->next;
}

static void add_user(struct dtc_ipc_cache *cache, struct mapping *mapping)
{
	cache->idle -= is_idle(mapping);
	mapping->users++;
	mapping->used = ++cache->uses;
}

/* True: it is unlinked, and the caller frees it without the lock. */
static bool drop_user(struct dtc_ipc_cache *cache, struct mapping *mapping)
{
	mapping->used = ++cache->uses;
	if (--mapping->users)
		return false;
	if (!mapping->is_own && !mapping->is_lost) {
		cache->idle++;
		return false;
	}
	unlink_mapping(cache, mapping);
	return true;
}

/* ---- closing ----------------------------------------------------------------------------- */

static void warn_refused(const struct dtc_ipc_cache *cache, const struct mapping *mapping)
{
	DTC_LOG(cache->context, DTCONV_LOG_WARN,
		"ipc: the driver refuses to close %llu bytes of process %llu; they stay mapped",
		(unsigned long long)mapping->allocation.bytes,
		(unsigned long long)mapping->owner.id);
}

/* Close an idle mapping and free it; @counter counts it. The lock is held, but not during the driver's call. */
static void close_idle(struct dtc_ipc_cache *cache, struct mapping *mapping,
		       uint64_t *counter)
{
	mapping->state = CLOSING;
	cache->idle--;
	pthread_mutex_unlock(&cache->lock);
	const enum dtc_ipc_end end = cache->vendor->unmap_allocation(&mapping->place);

	if (end == DTC_IPC_REFUSED)
		warn_refused(cache, mapping);
	pthread_mutex_lock(&cache->lock);
	unlink_mapping(cache, mapping);
	++*(end == DTC_IPC_UNMAPPED ? counter : &cache->counts.dropped);
	pthread_cond_broadcast(&cache->settled);
	pthread_mutex_unlock(&cache->lock);
	dtc_free(cache->context, mapping);
	pthread_mutex_lock(&cache->lock);
}

/* The lock is held. */
static void trim(struct dtc_ipc_cache *cache, size_t keep)
{
	while (cache->idle > keep)
		close_idle(cache, find_oldest_idle(cache), &cache->counts.evicted);
}

void dtc_ipc_cache_trim(struct dtc_ipc_cache *cache, size_t keep)
{
	pthread_mutex_lock(&cache->lock);
	trim(cache, keep);
	pthread_mutex_unlock(&cache->lock);
}

/* What the vendor's thread is given. */
struct order {
	struct dtc_ipc_cache *cache;
};

/* In the vendor's thread. What has been opened again since then is not idle and stays. */
static void trim_later(void *owned)
{
	struct dtc_ipc_cache *cache = ((const struct order *)owned)->cache;

	pthread_mutex_lock(&cache->lock);
	trim(cache, DTCONV_IPC_IDLE_MAX);
	cache->is_trimming = false;
	pthread_cond_broadcast(&cache->settled);
	pthread_mutex_unlock(&cache->lock);
}

/* Without memory nothing is closed now: the next call that makes a mapping idle tries again. */
static void order_trim(struct dtc_ipc_cache *cache)
{
	struct order *order = dtc_alloc(cache->context, sizeof(*order));

	if (order) {
		order->cache = cache;
		if (cache->vendor->run_later(cache->context, trim_later, order))
			return;
		dtc_free(cache->context, order);
	}
	pthread_mutex_lock(&cache->lock);
	cache->is_trimming = false;
	pthread_mutex_unlock(&cache->lock);
}

bool dtc_ipc_cache_close(struct dtc_ipc_cache *cache, uintptr_t address)
{
	pthread_mutex_lock(&cache->lock);
	struct mapping *mapping = find_open(cache, address);
	const bool is_gone = mapping && drop_user(cache, mapping);
	const bool is_full = cache->idle > DTCONV_IPC_IDLE_MAX && !cache->is_trimming;

	cache->is_trimming |= is_full;
	pthread_mutex_unlock(&cache->lock);
	if (is_gone)
		dtc_free(cache->context, mapping);
	if (is_full)
		order_trim(cache);
	return mapping;
}

/* ---- memory of this process -------------------------------------------------------------- */

/* A handle of this process may have outlived its memory, or be invented. */
static int check_own(struct dtc_ipc_cache *cache,
		     const struct dtc_ipc_allocation *allocation, const char *caller)
{
	const uintptr_t base = (uintptr_t)allocation->base;
	struct dtc_memory memory;

	dtc_memory_query(cache->context, (const void *)base, &memory);
	if (memory.base == base && memory.end - memory.base == allocation->bytes &&
	    cache->vendor->allocation_id(cache->context, base) == allocation->id)
		return 0;
	return DTC_FAIL(
		cache->context, DTCONV_ERR_STATE,
		"%s: the handle (argument 2) is of memory of this process that has been "
		"freed",
		caller);
}

/* ---- opening ----------------------------------------------------------------------------- */

struct opening {
	const struct dtc_ipc_handle *handle;
	int device;
	const char *caller;
	bool is_own;
	struct mapping *fresh; /* for a mapping that is not there yet */
	/* Why it fails, for the sentence, which is said without the lock. */
	bool is_freed; /* the handle's memory */
	bool is_stale; /* a mapping that is in use */
	bool lacks_memory;
};

/* Forwards a failure that has its sentence. */
static int fail_opening(const struct dtc_ipc_cache *cache, const struct opening *opening,
			int status)
{
	const struct dtc_ipc_handle *handle = opening->handle;

	if (opening->lacks_memory)
		return DTC_FAIL(cache->context, status,
				"%s: cannot allocate the description of a mapping",
				opening->caller);
	if (opening->is_freed)
		return DTC_FAIL(
			cache->context, status,
			"%s: the handle (argument 2) is of memory that process %llu has freed: "
			"there is newer memory at address 0x%llx",
			opening->caller, (unsigned long long)handle->owner.id,
			(unsigned long long)handle->allocation.base);
	if (!opening->is_stale)
		return status;

	return DTC_FAIL(
		cache->context, status,
		"%s: process %llu has freed memory at address 0x%llx and allocated anew, but "
		"this process still has the freed memory open; close it first",
		opening->caller, (unsigned long long)handle->owner.id,
		(unsigned long long)handle->allocation.base);
}

/* No longer use a mapping. The lock is held, but not while memory is freed. */
static void leave(struct dtc_ipc_cache *cache, struct mapping *mapping)
{
	if (!drop_user(cache, mapping))
		return;
	pthread_mutex_unlock(&cache->lock);
	dtc_free(cache->context, mapping);
	pthread_mutex_lock(&cache->lock);
}

/* Use a mapping that is open, unless its device context is lost. The lock is held, but not during the question. */
static bool use(struct dtc_ipc_cache *cache, struct mapping *mapping)
{
	add_user(cache, mapping);
	if (mapping->is_own)
		return true;
	pthread_mutex_unlock(&cache->lock);
	const bool is_lost = cache->vendor->is_mapping_lost(&mapping->place);

	pthread_mutex_lock(&cache->lock);
	if (!is_lost)
		return true;
	cache->counts.dropped += !mapping->is_lost;
	mapping->is_lost = true;
	leave(cache, mapping);
	return false;
}

/*
 * A mapping of freed memory: it is closed if it is idle. One in use is left, unless its device context is lost. The list may
 * have changed afterwards. False: it is in use.
 */
static bool clear_stale(struct dtc_ipc_cache *cache, struct mapping *stale)
{
	if (is_idle(stale)) {
		close_idle(cache, stale, &cache->counts.replaced);
		return true;
	}
	if (!use(cache, stale))
		return true;
	const bool is_used = stale->users > 1;

	leave(cache, stale);
	return !is_used;
}

static struct mapping *make_mapping(struct dtc_ipc_cache *cache,
				    const struct opening *opening)
{
	struct mapping *fresh = dtc_alloc_zeroed(cache->context, sizeof(*fresh));

	if (!fresh)
		return NULL;
	fresh->owner = opening->handle->owner;
	fresh->allocation = opening->handle->allocation;
	fresh->place.device = opening->device;
	fresh->is_own = opening->is_own;
	return fresh;
}

/*
 * Whether the handle is of memory that was there before. Buffer IDs grow. The driver maps such a handle to the newer
 * memory, instead of refusing it (H200, driver 580).
 */
static bool is_newer(const struct mapping *mapping, const struct opening *opening)
{
	return mapping->allocation.id > opening->handle->allocation.id;
}

/* What to do next, with the lock held: the mapping to use, or NULL to map anew, or a failure. */
static int settle(struct dtc_ipc_cache *cache, struct opening *opening,
		  struct mapping **found)
{
	for (;;) {
		struct mapping *same = find_same(cache, opening->handle, opening->device);
		struct mapping *other =
			same ? same : find_stale(cache, opening->handle, opening->device);

		*found = NULL;
		if (!other)
			return 0;
		if (other->state != OPEN) {
			pthread_cond_wait(&cache->settled, &cache->lock);
		} else if (!same && is_newer(other, opening)) {
			opening->is_freed = true;
			return DTCONV_ERR_STATE;
		} else if (!same) {
			opening->is_stale = !clear_stale(cache, other);
			if (opening->is_stale)
				return DTCONV_ERR_STATE;
		} else if (use(cache, same)) {
			*found = same;
			return 0;
		}
	}
}

/* Have the driver map it. If it refuses, mappings that nobody uses may be in the way. */
static int map_fresh(struct dtc_ipc_cache *cache, const struct opening *opening)
{
	struct mapping *fresh = opening->fresh;
	const struct dtc_vendor_ops *vendor = cache->vendor;

	if (fresh->is_own) {
		fresh->place.base = (uintptr_t)fresh->allocation.base;
		return 0;
	}
	int status = vendor->map_allocation(cache->context, &fresh->allocation,
					    opening->caller, false, &fresh->place);
	if (!status || !fresh->place.is_refused)
		return status;
	dtc_ipc_cache_trim(cache, 0);
	return vendor->map_allocation(cache->context, &fresh->allocation, opening->caller,
				      true, &fresh->place);
}

/* The lock is held, but not during the driver's call. */
static int open_fresh(struct dtc_ipc_cache *cache, struct opening *opening,
		      struct mapping **opened)
{
	struct mapping *fresh = opening->fresh;

	fresh->state = OPENING;
	link_first(cache, fresh);
	pthread_mutex_unlock(&cache->lock);
	const int status = map_fresh(cache, opening);

	pthread_mutex_lock(&cache->lock);
	pthread_cond_broadcast(&cache->settled);
	if (status) {
		unlink_mapping(cache, fresh);
		return status;
	}
	opening->fresh = NULL;
	fresh->state = OPEN;
	fresh->users = 1;
	fresh->used = ++cache->uses;
	cache->counts.driver_opens += !fresh->is_own;
	cache->counts.hits += fresh->is_own;
	*opened = fresh;
	return 0;
}

/* The lock is held. Allocates without it, so that the list may have changed then, and the search begins again. */
static int open_locked(struct dtc_ipc_cache *cache, struct opening *opening,
		       struct mapping **opened)
{
	int status = settle(cache, opening, opened);

	if (!status && !*opened && !opening->fresh) {
		pthread_mutex_unlock(&cache->lock);
		opening->fresh = make_mapping(cache, opening);
		pthread_mutex_lock(&cache->lock);
		opening->lacks_memory = !opening->fresh;
		if (opening->lacks_memory)
			return DTCONV_ERR_NOMEM;
		status = settle(cache, opening, opened);
	}
	if (status)
		return status;
	if (!*opened)
		return open_fresh(cache, opening, opened);
	cache->counts.hits++;
	return 0;
}

static int resolve_device(struct dtc_ipc_cache *cache, struct opening *opening)
{
	if (opening->is_own)
		opening->device = -1;
	else if (opening->device < 0)
		opening->device = cache->vendor->current_device(cache->context);
	if (opening->is_own || opening->device >= 0)
		return 0;
	return DTC_FAIL(
		cache->context, DTCONV_ERR_STATE,
		"%s: device (argument 3) is negative, but no CUDA context is current on the "
		"calling thread",
		opening->caller);
}

int dtc_ipc_cache_open(struct dtc_ipc_cache *cache, const struct dtc_ipc_handle *handle,
		       int device, const char *caller, void **address)
{
	struct opening opening = { .handle = handle,
				   .device = device,
				   .caller = caller,
				   .is_own = dtc_process_equal(&handle->owner,
							       &cache->self) };
	struct mapping *opened = NULL;
	int status = opening.is_own ? check_own(cache, &handle->allocation, caller) : 0;

	if (!status)
		status = resolve_device(cache, &opening);
	if (status)
		return status;
	pthread_mutex_lock(&cache->lock);
	status = open_locked(cache, &opening, &opened);
	const uintptr_t base = status ? 0 : opened->place.base;
	pthread_mutex_unlock(&cache->lock);
	dtc_free(cache->context, opening.fresh);
	if (status)
		return fail_opening(cache, &opening, status);
	*address = (void *)(base + (uintptr_t)handle->offset);
	return 0;
}

/* ---- numbers ----------------------------------------------------------------------------- */

void dtc_ipc_cache_query(struct dtc_ipc_cache *cache, struct dtconv_ipc_attr *attr)
{
	const size_t struct_size = attr->struct_size;

	pthread_mutex_lock(&cache->lock);
	*attr = cache->counts;
	attr->struct_size = struct_size;
	attr->idle = cache->idle;
	for (const struct mapping *at = cache->mappings; at; at = at->next)
		attr->open += at->users > 0;
	pthread_mutex_unlock(&cache->lock);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void free_all(struct dtc_ipc_cache *cache, bool unmaps)
{
	while (cache->mappings) {
		struct mapping *mapping = cache->mappings;

		cache->mappings = mapping->next;
		if (unmaps && !mapping->is_own && !mapping->is_lost &&
		    cache->vendor->unmap_allocation(&mapping->place) == DTC_IPC_REFUSED)
			warn_refused(cache, mapping);
		dtc_free(cache->context, mapping);
	}
}

void dtc_ipc_cache_destroy(struct dtconv_context *context)
{
	struct dtc_ipc_cache *cache = dtc_ipc_cache_find(context);

	if (!cache)
		return;
	/* A forked child has neither the vendor's thread nor a driver, and the lock may be held for ever. */
	if (cache->self.id != (uint64_t)getpid()) {
		free_all(cache, false);
		dtc_free(context, cache);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	while (cache->is_trimming)
		pthread_cond_wait(&cache->settled, &cache->lock);
	pthread_mutex_unlock(&cache->lock);
	free_all(cache, true);
	free_cache(cache);
}
