/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory, managed memory, and host memory that the device can access. Freeing waits for
 * the work of the device, as in the driver; allocating does not.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/cuda_standin/standin_internal.h"

static CUresult allocate(CUdeviceptr *address, size_t bytes, enum region_kind kind,
			 unsigned flags)
{
	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	CUcontext context = standin_current();
	struct standin_region *region;
	CUresult result = standin_device_memory(kind, context->device, bytes, &region);
	if (result)
		return result;
	region->context = context;
	region->flags = flags;
	*address = region->base;
	return CUDA_SUCCESS;
}

ENTRY(cuMemAlloc_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, size_t bytes), (address, bytes))
{
	return allocate(address, bytes, REGION_DEVICE, 0);
}

ENTRY(cuMemAllocPitch_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, size_t *pitch, size_t width, size_t height,
       unsigned element),
      (address, pitch, width, height, element))
{
	if (!pitch || (element != 4 && element != 8 && element != 16) ||
	    width > SIZE_MAX / 2)
		return CUDA_ERROR_INVALID_VALUE;
	const size_t row = (width + 511) / 512 * 512;
	size_t bytes;
	if (__builtin_mul_overflow(row, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = allocate(address, bytes, REGION_DEVICE, 0);
	if (result == CUDA_SUCCESS)
		*pitch = row;
	return result;
}

ENTRY(cuMemAllocManaged, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, size_t bytes, unsigned flags), (address, bytes, flags))
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate(address, bytes, REGION_MANAGED, flags);
}

/* The region that begins there; it may have moved while the caller waited. */
static struct standin_region *region_from(CUdeviceptr address)
{
	struct standin_region *region = standin_region_at(address);
	return region && region->base == address ? region : NULL;
}

static bool is_freed_by_mem_free(const struct standin_region *region)
{
	return region && !region->freed &&
	       (region->kind == REGION_DEVICE || region->kind == REGION_MANAGED ||
		region->kind == REGION_ASYNC);
}

ENTRY(cuMemFree_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (CUdeviceptr address), (address))
{
	if (!address)
		return CUDA_SUCCESS;
	struct standin_region *region = region_from(address);
	if (!is_freed_by_mem_free(region))
		return CUDA_ERROR_INVALID_VALUE;
	standin_wait_device(region->device);
	region = region_from(address);
	if (is_freed_by_mem_free(region))
		standin_region_drop(region);
	return standin_current()->error;
}

ENTRY(cuMemGetInfo_v2, NEEDS_CONTEXT, (size_t * free, size_t *total), (free, total))
{
	if (!free || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = (size_t)standin_get(STANDIN_MEMORY_MIB) << 20;
	*free = *total - standin_used_bytes(standin_current()->device);
	return CUDA_SUCCESS;
}

ENTRY(cuMemGetAddressRange_v2, NEEDS_CONTEXT,
      (CUdeviceptr * base, size_t *bytes, CUdeviceptr address), (base, bytes, address))
{
	const struct standin_region *region = standin_region_at(address);
	if (!region)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = region->base;
	if (bytes)
		*bytes = region->bytes;
	return CUDA_SUCCESS;
}

/* ---- Pinned host memory ---- */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static CUresult allocate_host(void **address, size_t bytes, unsigned flags)
{
	if (!address || !bytes || bytes > SIZE_MAX / 2)
		return CUDA_ERROR_INVALID_VALUE;
	const size_t whole = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
	void *pages = mmap(NULL, whole, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	const struct standin_region region = {
		.base = (CUdeviceptr)pages,
		.bytes = bytes,
		.kind = REGION_HOST,
		.device = standin_current()->device,
		.context = standin_current(),
		.alias = pages,
		.pages = (CUdeviceptr)pages,
		.pages_bytes = whole,
		.flags = flags,
	};
	standin_region_add(&region);
	*address = pages;
	return CUDA_SUCCESS;
}

ENTRY(cuMemAllocHost_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (void **address, size_t bytes), (address, bytes))
{
	return allocate_host(address, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

ENTRY(cuMemHostAlloc, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (void **address, size_t bytes, unsigned flags), (address, bytes, flags))
{
	const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
			       CU_MEMHOSTALLOC_WRITECOMBINED;
	return flags & ~known ? CUDA_ERROR_INVALID_VALUE
			      : allocate_host(address, bytes, flags);
}

ENTRY(cuMemFreeHost, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (void *address), (address))
{
	if (!address)
		return CUDA_SUCCESS;
	struct standin_region *region = region_from((CUdeviceptr)address);
	if (!region || region->kind != REGION_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	standin_wait_device(region->device);
	region = region_from((CUdeviceptr)address);
	if (region && region->kind == REGION_HOST)
		standin_region_drop(region);
	return standin_current()->error;
}

/* Every page is mapped; the driver cannot pin what is not. */
static bool is_mapped(CUdeviceptr base, size_t bytes)
{
	const CUdeviceptr first = base / page_bytes() * page_bytes();
	return !msync((void *)first, (size_t)(base - first) + bytes, MS_ASYNC) ||
	       errno != ENOMEM;
}

static bool meets_region(CUdeviceptr base, size_t bytes)
{
	for (size_t i = 0; i < standin_region_count(); i++) {
		const struct standin_region *region = standin_region_index(i);
		if (region->base < base + bytes && base < region->base + region->bytes)
			return true;
	}
	return false;
}

ENTRY(cuMemHostRegister_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (void *address, size_t bytes, unsigned flags), (address, bytes, flags))
{
	const CUdeviceptr base = (CUdeviceptr)address;
	const unsigned known = CU_MEMHOSTREGISTER_PORTABLE |
			       CU_MEMHOSTREGISTER_DEVICEMAP |
			       CU_MEMHOSTREGISTER_READ_ONLY;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!base || !bytes || flags & ~known || base + bytes < base)
		return CUDA_ERROR_INVALID_VALUE;
	if (meets_region(base, bytes))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (standin_arena_owns(base) || !is_mapped(base, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	const struct standin_region region = {
		.base = base,
		.bytes = bytes,
		.kind = REGION_REGISTERED,
		.device = standin_current()->device,
		.context = standin_current(),
		.alias = address,
		.flags = flags,
	};
	standin_region_add(&region);
	return CUDA_SUCCESS;
}

ENTRY(cuMemHostUnregister, UNSAFE_IN_CAPTURE, (void *address), (address))
{
	struct standin_region *region = region_from((CUdeviceptr)address);
	if (!region || region->kind != REGION_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	CUcontext context = region->context;
	standin_wait_device(region->device);
	region = region_from((CUdeviceptr)address);
	if (region && region->kind == REGION_REGISTERED)
		standin_region_drop(region);
	return context->error;
}

static const struct standin_region *host_region(const void *address)
{
	const struct standin_region *region = standin_region_at((CUdeviceptr)address);
	if (!region || (region->kind != REGION_HOST && region->kind != REGION_REGISTERED))
		return NULL;
	return region;
}

ENTRY(cuMemHostGetDevicePointer_v2, NEEDS_CONTEXT,
      (CUdeviceptr * device, void *address, unsigned flags), (device, address, flags))
{
	if (!device || flags || !host_region(address))
		return CUDA_ERROR_INVALID_VALUE;
	*device = (CUdeviceptr)address;
	return CUDA_SUCCESS;
}

ENTRY(cuMemHostGetFlags, NEEDS_CONTEXT, (unsigned *flags, void *address),
      (flags, address))
{
	const struct standin_region *region = host_region(address);
	if (!flags || !region)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = region->flags;
	return CUDA_SUCCESS;
}
