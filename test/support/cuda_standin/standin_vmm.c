/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual memory management: reserved addresses, physical memory, mappings, access of each
 * device, exports as file descriptors. No call here waits for work, and none needs a context.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cuda_standin/standin_internal.h"

#define GRANULARITY ((size_t)2 << 20)
#define DESCRIPTORS 256

static struct {
	int descriptor;
	ino_t file;
} given[DESCRIPTORS];
static size_t given_count;

/* ---- Descriptors ---- */

static bool names_file(int descriptor, ino_t file)
{
	struct stat status;
	return !fstat(descriptor, &status) && status.st_ino == file;
}

void standin_descriptor_given(int descriptor)
{
	struct stat status;
	size_t slot = 0;
	while (slot < given_count && names_file(given[slot].descriptor, given[slot].file))
		slot++;
	if (slot == DESCRIPTORS || fstat(descriptor, &status))
		return;
	given[slot].descriptor = descriptor;
	given[slot].file = status.st_ino;
	given_count += slot == given_count;
}

void standin_descriptor_leaks(void (*report)(const char *text, void *arg), void *arg)
{
	for (size_t i = 0; i < given_count; i++) {
		char line[60];
		if (!names_file(given[i].descriptor, given[i].file))
			continue;
		snprintf(line, sizeof line, "file descriptor %d", given[i].descriptor);
		report(line, arg);
	}
}

void standin_descriptor_reset(void)
{
	given_count = 0;
}

/* ---- Addresses ---- */

static bool is_whole(uint64_t value)
{
	return value % GRANULARITY == 0;
}

static bool is_free(CUdeviceptr base, size_t bytes)
{
	for (CUdeviceptr at = base; at < base + bytes; at += GRANULARITY)
		if (!standin_arena_owns(at) || standin_region_at(at) ||
		    standin_reservation_at(at))
			return false;
	return standin_arena_owns(base + bytes - 1);
}

ENTRY(cuMemAddressReserve, UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr wish,
       unsigned long long flags),
      (address, bytes, alignment, wish, flags))
{
	if (!standin_get(STANDIN_VMM))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!address || !bytes || !is_whole(bytes) || alignment & (alignment - 1) ||
	    flags)
		return CUDA_ERROR_INVALID_VALUE;
	alignment = alignment < GRANULARITY ? GRANULARITY : alignment;
	CUdeviceptr found = standin_arena_find(bytes, alignment);
	if (wish && wish % alignment == 0 && is_free(wish, bytes))
		found = wish;
	if (!found || !standin_reserve(found, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*address = found;
	return CUDA_SUCCESS;
}

static bool has_mapping(CUdeviceptr base, size_t bytes)
{
	for (CUdeviceptr at = base; at < base + bytes; at += GRANULARITY)
		if (standin_region_at(at))
			return true;
	return false;
}

ENTRY(cuMemAddressFree, UNSAFE_IN_CAPTURE, (CUdeviceptr address, size_t bytes),
      (address, bytes))
{
	struct standin_reservation *reserved = standin_reservation_at(address);
	if (!reserved || reserved->base != address || reserved->bytes != bytes ||
	    has_mapping(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	standin_unreserve(reserved);
	return CUDA_SUCCESS;
}

/* ---- Physical memory ---- */

static bool is_device_location(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id >= 0 &&
	       location->id < standin_get(STANDIN_DEVICES);
}

static CUresult check_properties(const CUmemAllocationProp *properties)
{
	if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->requestedHandleTypes &
	    ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return properties->location.id == 0 ? CUDA_SUCCESS
						    : CUDA_ERROR_INVALID_VALUE;
	return is_device_location(&properties->location) ? CUDA_SUCCESS
							 : CUDA_ERROR_INVALID_DEVICE;
}

ENTRY(cuMemGetAllocationGranularity, 0,
      (size_t * granularity, const CUmemAllocationProp *properties,
       CUmemAllocationGranularity_flags option),
      (granularity, properties, option))
{
	CUresult result = check_properties(properties);
	if (result || !granularity || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULARITY;
	return CUDA_SUCCESS;
}

static CUmemGenericAllocationHandle hand_out(struct standin_physical *physical)
{
	physical->handles++;
	physical->object.counts = true;
	return (CUmemGenericAllocationHandle)(uintptr_t)physical;
}

/* NULL: no such handle is held. */
static struct standin_physical *physical_of(CUmemGenericAllocationHandle handle)
{
	struct standin_physical *physical = (struct standin_physical *)(uintptr_t)handle;
	standin_insist(physical, OBJECT_PHYSICAL, "a handle of physical memory");
	return physical && physical->handles ? physical : NULL;
}

ENTRY(cuMemCreate, UNSAFE_IN_CAPTURE,
      (CUmemGenericAllocationHandle * handle, size_t bytes,
       const CUmemAllocationProp *properties, unsigned long long flags),
      (handle, bytes, properties, flags))
{
	if (!standin_get(STANDIN_VMM))
		return CUDA_ERROR_NOT_SUPPORTED;
	CUresult result = check_properties(properties);
	if (result || !handle || !bytes || !is_whole(bytes) || flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
	struct standin_physical *physical =
		standin_physical_create(bytes, on_device ? properties->location.id : -1);
	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical->properties = *properties;
	*handle = hand_out(physical);
	return CUDA_SUCCESS;
}

ENTRY(cuMemRelease, UNSAFE_IN_CAPTURE, (CUmemGenericAllocationHandle handle), (handle))
{
	struct standin_physical *physical = physical_of(handle);
	if (!physical)
		return CUDA_ERROR_INVALID_VALUE;
	physical->handles--;
	standin_physical_put(physical);
	return CUDA_SUCCESS;
}

ENTRY(cuMemGetAllocationPropertiesFromHandle, 0,
      (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle),
      (properties, handle))
{
	const struct standin_physical *physical = physical_of(handle);
	if (!properties || !physical)
		return CUDA_ERROR_INVALID_VALUE;
	*properties = physical->properties;
	return CUDA_SUCCESS;
}

ENTRY(cuMemRetainAllocationHandle, UNSAFE_IN_CAPTURE,
      (CUmemGenericAllocationHandle * handle, void *address), (handle, address))
{
	const struct standin_region *region = standin_region_at((CUdeviceptr)address);
	if (!handle || !region || region->kind != REGION_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = hand_out(region->physical);
	return CUDA_SUCCESS;
}

/* ---- Mappings ---- */

static bool is_reserved(CUdeviceptr base, size_t bytes)
{
	const struct standin_reservation *reserved = standin_reservation_at(base);
	return reserved && bytes <= reserved->bytes - (size_t)(base - reserved->base);
}

ENTRY(cuMemMap, UNSAFE_IN_CAPTURE,
      (CUdeviceptr address, size_t bytes, size_t offset,
       CUmemGenericAllocationHandle handle, unsigned long long flags),
      (address, bytes, offset, handle, flags))
{
	struct standin_physical *physical = physical_of(handle);
	if (!physical || !bytes || !is_whole(address) || !is_whole(bytes) || offset ||
	    flags || bytes > physical->bytes || !is_reserved(address, bytes) ||
	    has_mapping(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	const bool on_device = physical->properties.location.type ==
			       CU_MEM_LOCATION_TYPE_DEVICE;
	const struct standin_region region = {
		.base = address,
		.bytes = bytes,
		.kind = REGION_MAPPED,
		.device = on_device ? physical->properties.location.id : -1,
		.alias = physical->alias,
		.physical = physical,
		.pages = address,
		.pages_bytes = bytes,
	};
	if (!standin_map_pages(&region, 0))
		return CUDA_ERROR_MAP_FAILED;
	/* Nobody has access before cuMemSetAccess, not even a kernel that runs now. */
	mprotect((void *)address, bytes, PROT_NONE);
	physical->mappings++;
	standin_region_add(&region);
	return CUDA_SUCCESS;
}

/* Whole mappings, one after another, and nothing else. */
static bool is_mapped_exactly(CUdeviceptr base, size_t bytes)
{
	while (bytes) {
		const struct standin_region *region = standin_region_at(base);
		if (!region || region->kind != REGION_MAPPED || region->base != base ||
		    region->bytes > bytes)
			return false;
		base += region->bytes;
		bytes -= region->bytes;
	}
	return true;
}

ENTRY(cuMemUnmap, UNSAFE_IN_CAPTURE, (CUdeviceptr address, size_t bytes),
      (address, bytes))
{
	if (!bytes || !is_mapped_exactly(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (CUdeviceptr at = address; at < address + bytes;) {
		struct standin_region *region = standin_region_at(at);
		at += region->bytes;
		standin_region_drop(region);
	}
	return CUDA_SUCCESS;
}

/* ---- Access ---- */

static bool is_host_memory(const struct standin_region *region)
{
	return region->physical->properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
}

static CUresult check_access(const CUmemAccessDesc *access, CUdeviceptr address,
			     size_t bytes)
{
	if (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
	    access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
	    access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_ERROR_INVALID_VALUE;
	if (access->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		return is_device_location(&access->location) ? CUDA_SUCCESS
							     : CUDA_ERROR_INVALID_DEVICE;
	if (access->location.type != CU_MEM_LOCATION_TYPE_HOST &&
	    access->location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return CUDA_ERROR_INVALID_VALUE;
	for (CUdeviceptr at = address; at < address + bytes;) {
		const struct standin_region *region = standin_region_at(at);
		if (!is_host_memory(region))
			return CUDA_ERROR_NOT_SUPPORTED;
		at += region->bytes;
	}
	return CUDA_SUCCESS;
}

/* A device that cannot reach the memory's own device gets no access. */
static bool can_reach(const struct standin_region *region, const CUmemAccessDesc *access)
{
	return access->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	       is_host_memory(region) || access->location.id == region->device ||
	       standin_get(STANDIN_PEERS);
}

static void grant(struct standin_region *region, const CUmemAccessDesc *access)
{
	if (access->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		region->access[access->location.id] = access->flags;
	else
		region->host_access = access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
	standin_protect(region);
}

ENTRY(cuMemSetAccess, UNSAFE_IN_CAPTURE,
      (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *accesses, size_t count),
      (address, bytes, accesses, count))
{
	if (!bytes || !accesses || !count || !is_mapped_exactly(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult result = check_access(&accesses[i], address, bytes);
		if (result)
			return result;
	}
	for (CUdeviceptr at = address; at < address + bytes;) {
		struct standin_region *region = standin_region_at(at);
		for (size_t i = 0; i < count; i++) {
			if (!can_reach(region, &accesses[i]))
				return CUDA_ERROR_NOT_SUPPORTED;
			grant(region, &accesses[i]);
		}
		at += region->bytes;
	}
	return CUDA_SUCCESS;
}

ENTRY(cuMemGetAccess, 0,
      (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address),
      (flags, location, address))
{
	const struct standin_region *region = standin_region_at(address);
	if (!flags || !location || !region)
		return CUDA_ERROR_INVALID_VALUE;
	/* Seen on an H200: of memory of a pool it answers that nobody has access. */
	if (region->kind == REGION_ASYNC) {
		*flags = 0;
		return CUDA_SUCCESS;
	}
	if (region->kind != REGION_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		*flags = region->host_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0;
	else if (is_device_location(location))
		*flags = region->access[location->id];
	else
		return CUDA_ERROR_INVALID_DEVICE;
	return CUDA_SUCCESS;
}

/* ---- Exports ---- */

ENTRY(cuMemExportToShareableHandle, UNSAFE_IN_CAPTURE,
      (void *shareable, CUmemGenericAllocationHandle handle,
       CUmemAllocationHandleType type, unsigned long long flags),
      (shareable, handle, type, flags))
{
	const struct standin_physical *physical = physical_of(handle);
	if (!shareable || !physical || flags ||
	    type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(physical->properties.requestedHandleTypes & type))
		return CUDA_ERROR_INVALID_VALUE;
	const int descriptor = fcntl(physical->descriptor, F_DUPFD_CLOEXEC, 0);
	if (descriptor < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	standin_descriptor_given(descriptor);
	*(int *)shareable = descriptor;
	return CUDA_SUCCESS;
}

ENTRY(cuMemImportFromShareableHandle, UNSAFE_IN_CAPTURE,
      (CUmemGenericAllocationHandle * handle, void *shareable,
       CUmemAllocationHandleType type),
      (handle, shareable, type))
{
	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	const int descriptor = fcntl((int)(intptr_t)shareable, F_DUPFD_CLOEXEC, 0);
	if (descriptor < 0)
		return CUDA_ERROR_INVALID_VALUE;
	struct standin_physical *physical = standin_physical_import(descriptor);
	if (!physical)
		return CUDA_ERROR_INVALID_VALUE;
	physical->properties.requestedHandleTypes = type;
	*handle = hand_out(physical);
	return CUDA_SUCCESS;
}

/* A dma-buf that nothing can be done with but to hand it on and to close it. */
ENTRY(cuMemGetHandleForAddressRange, UNSAFE_IN_CAPTURE,
      (void *handle, CUdeviceptr address, size_t bytes, CUmemRangeHandleType type,
       unsigned long long flags),
      (handle, address, bytes, type, flags))
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned long long pcie = CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE;
	if (!standin_get(STANDIN_DMA_BUF))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!handle || !bytes || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
	    flags & ~pcie || address % page || bytes % page)
		return CUDA_ERROR_INVALID_VALUE;
	const struct standin_region *region = standin_region_at(address);
	if (!region || region->kind == REGION_HOST || region->kind == REGION_REGISTERED ||
	    region->kind == REGION_MANAGED ||
	    address + bytes > region->pages + region->pages_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	const int descriptor = memfd_create("stand-in dma-buf", MFD_CLOEXEC);
	if (descriptor < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	standin_descriptor_given(descriptor);
	*(int *)handle = descriptor;
	return CUDA_SUCCESS;
}
