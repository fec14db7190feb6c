/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory at each address. Device memory is a file in memory that is mapped twice: at the
 * application's address, without any access, and at an alias for jobs. Kernels compute with the
 * application's addresses; while one runs, the memory that its context may access is opened.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cuda_standin/standin_internal.h"

#define ARENA_BYTES ((size_t)256 << 30)
#define GPU_PAGE    ((size_t)65536)

static struct standin_region *regions; /* ordered by address, disjoint */
static size_t region_count;
static size_t region_room;
static struct standin_reservation *reservations;
static size_t reservation_count;
static CUdeviceptr arena;
static size_t used_bytes[STANDIN_DEVICES_MAX];
static unsigned long long last_buffer_id;
static unsigned long long last_block_id;
static unsigned open_count;

/* ---- The list of regions ---- */

/* The number of regions that begin at the address or below it. */
static size_t regions_up_to(CUdeviceptr address)
{
	size_t first = 0;
	size_t last = region_count;
	while (first < last) {
		const size_t middle = (first + last) / 2;
		if (regions[middle].base <= address)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

struct standin_region *standin_region_at(CUdeviceptr address)
{
	const size_t index = regions_up_to(address);
	if (!index)
		return NULL;
	struct standin_region *region = &regions[index - 1];
	return address - region->base < region->bytes ? region : NULL;
}

struct standin_region *standin_region_next(const struct standin_region *region)
{
	const size_t index = (size_t)(region - regions) + 1;
	return index < region_count ? &regions[index] : NULL;
}

size_t standin_region_count(void)
{
	return region_count;
}

struct standin_region *standin_region_index(size_t index)
{
	return &regions[index];
}

struct standin_region *standin_region_add(const struct standin_region *region)
{
	if (region_count == region_room) {
		region_room = region_room ? 2 * region_room : 64;
		regions = realloc(regions, region_room * sizeof *regions);
		if (!regions)
			standin_crash("realloc", "the host has no memory");
	}
	const size_t index = regions_up_to(region->base);
	memmove(regions + index + 1, regions + index,
		(region_count - index) * sizeof *regions);
	region_count++;
	regions[index] = *region;
	regions[index].buffer_id = ++last_buffer_id;
	return &regions[index];
}

/* Nothing is mapped there any more; the addresses stay the arena's. */
static void close_pages(CUdeviceptr pages, size_t bytes)
{
	if (mmap((void *)pages, bytes, PROT_NONE,
		 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		standin_crash("mmap", "addresses cannot be taken back");
}

void standin_region_drop(struct standin_region *region)
{
	if (region->kind == REGION_HOST)
		munmap((void *)region->base, region->pages_bytes);
	else if (region->pages)
		close_pages(region->pages, region->pages_bytes);
	if (region->physical) {
		region->physical->mappings--;
		standin_physical_put(region->physical);
	}
	const size_t index = (size_t)(region - regions);
	region_count--;
	memmove(region, region + 1, (region_count - index) * sizeof *regions);
}

void standin_region_drop_all(CUcontext context)
{
	for (size_t i = region_count; i-- > 0;)
		if (regions[i].context == context)
			standin_region_drop(&regions[i]);
}

/* ---- Addresses ---- */

static CUdeviceptr align_up(CUdeviceptr address, size_t alignment)
{
	return (address + alignment - 1) / alignment * alignment;
}

static void open_arena(void)
{
	if (arena)
		return;
	void *base = mmap(NULL, ARENA_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		standin_crash("mmap", "no addresses for devices");
	arena = (CUdeviceptr)base;
}

bool standin_arena_owns(CUdeviceptr address)
{
	return arena && address - arena < ARENA_BYTES;
}

/* Moves a candidate past a range that it meets; a page on either side stays free. */
static bool move_past(CUdeviceptr *candidate, size_t bytes, size_t alignment,
		      CUdeviceptr base, size_t base_bytes)
{
	if (*candidate >= base + base_bytes + GPU_PAGE ||
	    base >= *candidate + bytes + GPU_PAGE)
		return false;
	*candidate = align_up(base + base_bytes + GPU_PAGE, alignment);
	return true;
}

/* The lowest address, so that what was freed is used again. */
CUdeviceptr standin_arena_find(size_t bytes, size_t alignment)
{
	open_arena();
	alignment = alignment < GPU_PAGE ? GPU_PAGE : alignment;
	CUdeviceptr candidate = align_up(arena, alignment);
	bool moved;
	do {
		moved = false;
		for (size_t i = 0; i < region_count; i++)
			moved |= regions[i].pages &&
				 move_past(&candidate, bytes, alignment, regions[i].pages,
					   regions[i].pages_bytes);
		for (size_t i = 0; i < reservation_count; i++)
			moved |= move_past(&candidate, bytes, alignment,
					   reservations[i].base, reservations[i].bytes);
	} while (moved);
	return bytes > ARENA_BYTES || candidate - arena > ARENA_BYTES - bytes ? 0
									      : candidate;
}

struct standin_reservation *standin_reservation_at(CUdeviceptr address)
{
	for (size_t i = 0; i < reservation_count; i++)
		if (address - reservations[i].base < reservations[i].bytes)
			return &reservations[i];
	return NULL;
}

bool standin_reserve(CUdeviceptr base, size_t bytes)
{
	struct standin_reservation *more =
		realloc(reservations, (reservation_count + 1) * sizeof *more);
	if (!more)
		return false;
	reservations = more;
	reservations[reservation_count++] = (struct standin_reservation){ base, bytes };
	return true;
}

void standin_unreserve(struct standin_reservation *reservation)
{
	*reservation = reservations[--reservation_count];
}

size_t standin_reservation_count(void)
{
	return reservation_count;
}

/* ---- Physical memory ---- */

/* The number of the file behind a descriptor; no two that exist have the same. */
static uint64_t file_of(int descriptor)
{
	struct stat status;

	return fstat(descriptor, &status) ? 0 : (uint64_t)status.st_ino;
}

/* Takes the descriptor over; the device's number is in the file's name, for importers. */
static struct standin_physical *physical_of(int descriptor, size_t bytes, int device)
{
	void *alias =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (alias == MAP_FAILED) {
		close(descriptor);
		return NULL;
	}
	struct standin_physical *physical =
		standin_object(OBJECT_PHYSICAL, sizeof *physical, false);
	physical->descriptor = descriptor;
	physical->bytes = bytes;
	physical->file = file_of(descriptor);
	physical->alias = alias;
	physical->block_id = ++last_block_id;
	physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	physical->properties.location.type = device >= 0 ? CU_MEM_LOCATION_TYPE_DEVICE
							 : CU_MEM_LOCATION_TYPE_HOST_NUMA;
	physical->properties.location.id = device >= 0 ? device : 0;
	if (device >= 0)
		used_bytes[device] += bytes;
	return physical;
}

struct standin_physical *standin_physical_create(size_t bytes, int device)
{
	const size_t limit = (size_t)standin_get(STANDIN_MEMORY_MIB) << 20;
	if (device >= 0 && (bytes > limit || used_bytes[device] > limit - bytes))
		return NULL;
	char name[40];
	snprintf(name, sizeof name, "stand-in %d", device);
	const int descriptor = memfd_create(name, MFD_CLOEXEC);
	if (descriptor < 0)
		return NULL;
	if (ftruncate(descriptor, (off_t)bytes)) {
		close(descriptor);
		return NULL;
	}
	return physical_of(descriptor, bytes, device);
}

struct standin_physical *standin_physical_import(int descriptor)
{
	char link[40], name[80] = "";
	int device;
	struct stat status;
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	if (fstat(descriptor, &status) || readlink(link, name, sizeof name - 1) < 0 ||
	    sscanf(name, "/memfd:stand-in %d", &device) != 1 || !status.st_size) {
		close(descriptor);
		return NULL;
	}
	return physical_of(descriptor, (size_t)status.st_size, device);
}

void standin_physical_put(struct standin_physical *physical)
{
	physical->object.counts = physical->handles > 0;
	if (physical->handles || physical->mappings)
		return;
	munmap(physical->alias, physical->bytes);
	if (physical->descriptor >= 0)
		close(physical->descriptor);
	physical->object.alive = false;
	if (physical->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		used_bytes[physical->properties.location.id] -= physical->bytes;
}

size_t standin_used_bytes(int device)
{
	return used_bytes[device];
}

static bool is_closed_memory(const struct standin_region *region)
{
	return region->pages && region->kind != REGION_HOST &&
	       region->kind != REGION_MANAGED && !region->host_access;
}

static int protection(const struct standin_region *region)
{
	return is_closed_memory(region) && !open_count ? PROT_NONE
						       : PROT_READ | PROT_WRITE;
}

void standin_protect(const struct standin_region *region)
{
	mprotect((void *)region->pages, region->pages_bytes, protection(region));
}

bool standin_map_pages(const struct standin_region *region, size_t offset)
{
	return mmap((void *)region->pages, region->pages_bytes, protection(region),
		    MAP_SHARED | MAP_FIXED, region->physical->descriptor,
		    (off_t)offset) != MAP_FAILED;
}

/* Only mapping needs the file; there may be more allocations than a process has descriptors. */
static void close_descriptor(struct standin_physical *physical)
{
	close(physical->descriptor);
	physical->descriptor = -1;
}

/*
 * The address is not that of a page if the memory is small: nobody should rely on more than 512.
 * A function of the page, so that a freed address comes again.
 */
static size_t offset_in_page(CUdeviceptr pages, size_t bytes)
{
	return bytes < GPU_PAGE ? pages / GPU_PAGE % 8 * 512 : 0;
}

CUresult standin_device_memory(enum region_kind kind, int device, size_t bytes,
			       struct standin_region **region)
{
	if (bytes > ARENA_BYTES / 2)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct standin_region new = { .kind = kind, .device = device, .bytes = bytes };
	new.pages_bytes = align_up(bytes + 7 * 512, GPU_PAGE);
	new.pages = standin_arena_find(new.pages_bytes, GPU_PAGE);
	new.physical = new.pages ? standin_physical_create(new.pages_bytes, device)
				 : NULL;
	if (!new.physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	new.physical->mappings = 1;
	if (!standin_map_pages(&new, 0)) {
		new.physical->mappings = 0;
		standin_physical_put(new.physical);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	const size_t offset = offset_in_page(new.pages, bytes);
	new.base = new.pages + offset;
	new.alias = kind == REGION_MANAGED ? (unsigned char *)new.base
					   : new.physical->alias + offset;
	close_descriptor(new.physical);
	*region = standin_region_add(&new);
	return CUDA_SUCCESS;
}

/* Linux makes a second mapping of shared memory if the first one is "moved" with no bytes. */
CUresult standin_device_memory_again(const struct standin_region *source,
				     enum region_kind kind,
				     struct standin_region **region)
{
	struct standin_region new = *source;
	new.kind = kind;
	new.pool = NULL;
	new.pages = standin_arena_find(source->pages_bytes, GPU_PAGE);
	if (!new.pages ||
	    mremap(source->physical->alias, 0, source->pages_bytes,
		   MREMAP_MAYMOVE | MREMAP_FIXED, (void *)new.pages) == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	new.base = new.pages + (source->base - source->pages);
	new.physical->mappings++;
	standin_protect(&new);
	*region = standin_region_add(&new);
	return CUDA_SUCCESS;
}

/* ---- Memory of another process ---- */

/* A file of their own for the same bytes, behind every mapping of them. False: no memory, nothing has changed. */
static bool move_to_file(struct standin_physical *physical, int device)
{
	char name[40];
	snprintf(name, sizeof name, "stand-in %d", device);
	const int descriptor = memfd_create(name, MFD_CLOEXEC);
	if (descriptor < 0)
		return false;
	if (ftruncate(descriptor, (off_t)physical->bytes) ||
	    pwrite(descriptor, physical->alias, physical->bytes, 0) !=
		    (ssize_t)physical->bytes ||
	    mmap(physical->alias, physical->bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
		close(descriptor);
		return false;
	}
	physical->descriptor = descriptor;
	physical->file = file_of(descriptor);
	for (size_t i = 0; i < region_count; i++)
		if (regions[i].physical == physical && !standin_map_pages(&regions[i], 0))
			standin_crash("mmap", "memory cannot be mapped again");
	return true;
}

/*
 * Allocations keep no descriptor, see close_descriptor. The first export of one moves it to a file that has one; kernels
 * that run meanwhile would lose what they write, so they end first.
 */
struct standin_region *standin_region_export(CUdeviceptr address)
{
	const struct standin_region *region = standin_region_at(address);
	if (region->physical->descriptor < 0)
		for (int i = 0; i < standin_get(STANDIN_DEVICES); i++)
			standin_wait_device(i);
	struct standin_region *still = standin_region_at(address);
	if (!still || still->freed || !still->physical ||
	    (still->physical->descriptor < 0 &&
	     !move_to_file(still->physical, still->device)))
		return NULL;
	return still;
}

/* The file behind a handle. NULL: the owner has freed the memory, or has exited; another file may have its descriptor. */
static struct standin_physical *open_foreign(const struct standin_foreign *foreign)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)foreign->process,
		 foreign->descriptor);
	const int descriptor = open(path, O_RDWR | O_CLOEXEC);
	if (descriptor < 0)
		return NULL;
	if (file_of(descriptor) == foreign->file)
		return standin_physical_import(descriptor);
	close(descriptor);
	return NULL;
}

CUresult standin_region_import(const struct standin_foreign *foreign,
			       struct standin_region **region)
{
	struct standin_physical *physical = open_foreign(foreign);
	if (!physical)
		return CUDA_ERROR_INVALID_VALUE;
	const bool fits = foreign->offset <= physical->bytes &&
			  foreign->bytes <= physical->bytes - foreign->offset;
	struct standin_region new = { .kind = REGION_IMPORTED,
				      .device = physical->properties.location.id,
				      .bytes = foreign->bytes,
				      .physical = physical,
				      .pages_bytes = physical->bytes };
	new.pages = fits ? standin_arena_find(new.pages_bytes, GPU_PAGE) : 0;
	if (!new.pages || !standin_map_pages(&new, 0)) {
		standin_physical_put(physical);
		return CUDA_ERROR_MAP_FAILED;
	}
	physical->mappings = 1;
	new.base = new.pages + foreign->offset;
	new.alias = physical->alias + foreign->offset;
	close_descriptor(physical);
	*region = standin_region_add(&new);
	return CUDA_SUCCESS;
}

/* ---- What jobs see ---- */

unsigned char *standin_translate(CUdeviceptr address, size_t *bytes)
{
	const struct standin_region *region = standin_region_at(address);
	if (region) {
		*bytes = region->bytes - (size_t)(address - region->base);
		return region->alias + (address - region->base);
	}
	*bytes = arena > address ? (size_t)(arena - address) : SIZE_MAX;
	return standin_arena_owns(address) ? NULL : (unsigned char *)address;
}

static bool accessible(const struct standin_region *region)
{
	if (region->freed)
		return false;
	if (region->kind != REGION_MAPPED)
		return true;
	for (int i = 0; i < STANDIN_DEVICES_MAX; i++)
		if (region->access[i])
			return true;
	return false;
}

bool standin_reachable(CUdeviceptr address, size_t bytes, bool device)
{
	while (bytes) {
		const struct standin_region *region = standin_region_at(address);
		if (region ? !accessible(region) : device)
			return false;
		size_t there;
		if (!standin_translate(address, &there))
			return false;
		there = there < bytes ? there : bytes;
		address += there;
		bytes -= there;
	}
	return true;
}

/* The region that has an address, or whose pages have it: small memory begins inside a page. */
static const struct standin_region *region_of_page(CUdeviceptr address)
{
	const struct standin_region *region = standin_region_at(address);
	const size_t index = regions_up_to(address);
	if (!region && index < region_count && regions[index].pages <= address)
		region = &regions[index];
	return region;
}

bool standin_pages(CUdeviceptr address, size_t bytes, struct standin_pages *pages)
{
	const struct standin_region *region = region_of_page(address);
	if (!region || region->freed || !is_closed_memory(region) ||
	    (bytes && address + bytes > align_up(region->base + region->bytes, GPU_PAGE)))
		return false;
	pages->address = address / GPU_PAGE * GPU_PAGE;
	pages->bytes = align_up(address + bytes, GPU_PAGE) - pages->address;
	pages->buffer_id = region->buffer_id;
	pages->host = region->alias - (region->base - region->pages) +
		      (pages->address - region->pages);
	return true;
}

/* ---- Opening device memory for kernels ---- */

static bool reaches_device(CUcontext context, int device)
{
	if (context->device == device)
		return true;
	for (size_t i = 0; i < PEERS_MAX; i++)
		if (context->peers[i] && context->peers[i]->device == device)
			return true;
	return false;
}

bool standin_may_touch(CUcontext context, const struct standin_region *region)
{
	if (region->kind == REGION_MAPPED)
		return region->access[context->device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
	if (region->kind == REGION_ASYNC && region->pool)
		return standin_pool_allows(region->pool, context->device);
	if (region->kind == REGION_IMPORTED) /* opening it enabled the access */
		return true;
	return reaches_device(context, region->device);
}

void standin_open_memory(CUcontext context)
{
	open_count++;
	for (size_t i = 0; i < region_count; i++)
		if (is_closed_memory(&regions[i]) &&
		    standin_may_touch(context, &regions[i]))
			mprotect((void *)regions[i].pages, regions[i].pages_bytes,
				 PROT_READ | PROT_WRITE);
}

void standin_close_memory(void)
{
	if (--open_count)
		return;
	for (size_t i = 0; i < region_count; i++)
		if (is_closed_memory(&regions[i]))
			mprotect((void *)regions[i].pages, regions[i].pages_bytes,
				 PROT_NONE);
}

void standin_region_reset(void)
{
	while (region_count)
		standin_region_drop(&regions[region_count - 1]);
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		struct standin_physical *physical = (struct standin_physical *)object;
		if (object->kind != OBJECT_PHYSICAL || !object->alive)
			continue;
		physical->handles = 0;
		standin_physical_put(physical);
	}
	reservation_count = 0;
	standin_descriptor_reset();
	open_count = 0;
}
