/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream-ordered memory and its pools, and memory handles for other processes. Handles of cuMemAlloc's memory are for
 * any process of the user; pools are for the same process, where an import is the memory at a second address.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cuda_standin/standin_internal.h"

struct CUmemPoolHandle_st {
	struct standin_object object;
	int device;
	CUmemAllocationHandleType handle_types;
	bool imported;
	uint64_t release_threshold;
	int reuse[3];
	CUmemAccess_flags access[STANDIN_DEVICES_MAX];
	uint64_t used_bytes;
	uint64_t used_high;
};

static CUmemoryPool default_pools[STANDIN_DEVICES_MAX];
static CUmemoryPool current_pools[STANDIN_DEVICES_MAX];

static bool valid_device(CUdevice device)
{
	return device >= 0 && device < standin_get(STANDIN_DEVICES);
}

static CUmemoryPool new_pool(int device, bool counts)
{
	CUmemoryPool pool = standin_object(OBJECT_POOL, sizeof *pool, counts);
	pool->device = device;
	pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
	pool->access[device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return pool;
}

static CUmemoryPool default_pool(int device)
{
	if (!default_pools[device])
		default_pools[device] = new_pool(device, false);
	return default_pools[device];
}

static CUmemoryPool current_pool(int device)
{
	return current_pools[device] ? current_pools[device] : default_pool(device);
}

void standin_pool_reset(void)
{
	memset(default_pools, 0, sizeof default_pools);
	memset(current_pools, 0, sizeof current_pools);
}

/* ---- Pools ---- */

static CUresult pool_of_device(CUmemoryPool *pool, CUdevice device,
			       CUmemoryPool (*find)(int device))
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!standin_get(STANDIN_POOLS))
		return CUDA_ERROR_NOT_SUPPORTED;
	*pool = find(device);
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetDefaultMemPool, 0, (CUmemoryPool * pool, CUdevice device),
      (pool, device))
{
	return pool_of_device(pool, device, default_pool);
}

ENTRY(cuDeviceGetMemPool, 0, (CUmemoryPool * pool, CUdevice device), (pool, device))
{
	return pool_of_device(pool, device, current_pool);
}

ENTRY(cuDeviceSetMemPool, 0, (CUdevice device, CUmemoryPool pool), (device, pool))
{
	if (!valid_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	if (!pool || pool->device != device || pool->imported)
		return CUDA_ERROR_INVALID_VALUE;
	current_pools[device] = pool;
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolCreate, UNSAFE_IN_CAPTURE,
      (CUmemoryPool * pool, const CUmemPoolProps *properties), (pool, properties))
{
	if (!pool || !properties ||
	    properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!standin_get(STANDIN_POOLS) ||
	    properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    properties->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!valid_device(properties->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	*pool = new_pool(properties->location.id, true);
	(*pool)->handle_types = properties->handleTypes;
	return CUDA_SUCCESS;
}

/* What was allocated from it stays valid. */
ENTRY(cuMemPoolDestroy, UNSAFE_IN_CAPTURE, (CUmemoryPool pool), (pool))
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	if (pool == default_pools[pool->device])
		return CUDA_ERROR_INVALID_VALUE;
	if (current_pools[pool->device] == pool)
		current_pools[pool->device] = NULL;
	pool->object.alive = false;
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolTrimTo, UNSAFE_IN_CAPTURE, (CUmemoryPool pool, size_t keep), (pool, keep))
{
	(void)keep; /* nothing freed is kept anyway */
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int *reuse_policy(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
			       attribute <=
				       CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
		       ? &pool->reuse[attribute -
				      CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]
		       : NULL;
}

ENTRY(cuMemPoolSetAttribute, 0,
      (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
      (pool, attribute, value))
{
	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	int *policy = reuse_policy(pool, attribute);
	if (policy)
		*policy = *(const int *)value;
	else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->release_threshold = *(const cuuint64_t *)value;
	else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH &&
		 !*(const cuuint64_t *)value)
		pool->used_high = pool->used_bytes;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolGetAttribute, 0,
      (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
      (pool, attribute, value))
{
	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	const int *policy = reuse_policy(pool, attribute);
	if (policy)
		*(int *)value = *policy;
	else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		*(cuuint64_t *)value = pool->release_threshold;
	else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
		 attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
		*(cuuint64_t *)value = pool->used_bytes;
	else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
		 attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		*(cuuint64_t *)value = pool->used_high;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolSetAccess, UNSAFE_IN_CAPTURE,
      (CUmemoryPool pool, const CUmemAccessDesc *accesses, size_t count),
      (pool, accesses, count))
{
	if (!pool || !accesses)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	for (size_t i = 0; i < count; i++) {
		const CUmemLocation *location = &accesses[i].location;
		if (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !valid_device(location->id))
			return CUDA_ERROR_INVALID_VALUE;
		if (location->id != pool->device && !standin_get(STANDIN_PEERS))
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
		pool->access[location->id] = accesses[i].flags;
	}
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolGetAccess, 0,
      (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation *location),
      (flags, pool, location))
{
	if (!flags || !pool || !location ||
	    location->type != CU_MEM_LOCATION_TYPE_DEVICE || !valid_device(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	*flags = pool->access[location->id];
	return CUDA_SUCCESS;
}

/* Whether a device may touch memory of a pool. */
bool standin_pool_allows(CUmemoryPool pool, int device)
{
	return pool->access[device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* ---- Allocations in the order of a stream ---- */

static CUresult allocate(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
			 CUstream handle)
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (stream->capture) /* a real driver makes a node of it */
		return standin_capture_refuse(stream);
	pool = pool ? pool : current_pool(stream->context->device);
	if (!address || !bytes || pool->imported)
		return CUDA_ERROR_INVALID_VALUE;
	if (!standin_get(STANDIN_POOLS))
		return CUDA_ERROR_NOT_SUPPORTED;
	struct standin_region *region;
	result = standin_device_memory(REGION_ASYNC, pool->device, bytes, &region);
	if (result)
		return result;
	region->pool = pool;
	pool->used_bytes += bytes;
	pool->used_high = pool->used_bytes > pool->used_high ? pool->used_bytes
							     : pool->used_high;
	*address = region->base;
	return CUDA_SUCCESS;
}

STREAM_ENTRY(cuMemAllocAsync, _ptsz, NEEDS_CONTEXT,
	     (CUdeviceptr * address, size_t bytes, CUstream stream),
	     (address, bytes, stream))
{
	return allocate(address, bytes, NULL, stream);
}

STREAM_ENTRY(cuMemAllocFromPoolAsync, _ptsz, NEEDS_CONTEXT,
	     (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
	     (address, bytes, pool, stream))
{
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	return pool ? allocate(address, bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

static void run_free(struct standin_op *op)
{
	CUdeviceptr address;
	memcpy(&address, op->payload, sizeof address);
	struct standin_region *region = standin_region_at(address);
	if (!region || region->base != address)
		return;
	if (region->pool)
		region->pool->used_bytes -= region->bytes;
	standin_region_drop(region);
}

/* From this call on no other may name the memory; work submitted before it still does. */
STREAM_ENTRY(cuMemFreeAsync, _ptsz, NEEDS_CONTEXT, (CUdeviceptr address, CUstream handle),
	     (address, handle))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (stream->capture)
		return standin_capture_refuse(stream);
	struct standin_region *region = standin_region_at(address);
	if (!region || region->base != address || region->freed ||
	    (region->kind != REGION_ASYNC && region->kind != REGION_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	region->freed = true;
	return standin_submit(stream, standin_op(&address, sizeof address, run_free));
}

/* ---- Pools for others ---- */

ENTRY(cuMemPoolExportToShareableHandle, UNSAFE_IN_CAPTURE,
      (void *shareable, CUmemoryPool pool, CUmemAllocationHandleType type,
       unsigned long long flags),
      (shareable, pool, type, flags))
{
	if (!shareable || !pool || flags ||
	    type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	if (!(pool->handle_types & type))
		return CUDA_ERROR_INVALID_VALUE;
	const int descriptor = memfd_create("stand-in pool", MFD_CLOEXEC);
	if (descriptor < 0 || write(descriptor, &pool, sizeof pool) != sizeof pool)
		return CUDA_ERROR_OPERATING_SYSTEM;
	standin_descriptor_given(descriptor);
	*(int *)shareable = descriptor;
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolImportFromShareableHandle, UNSAFE_IN_CAPTURE,
      (CUmemoryPool * pool, void *shareable, CUmemAllocationHandleType type,
       unsigned long long flags),
      (pool, shareable, type, flags))
{
	CUmemoryPool source;
	const int descriptor = (int)(intptr_t)shareable;
	if (!pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread(descriptor, &source, sizeof source, 0) != sizeof source ||
	    !standin_alive(source, OBJECT_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	*pool = new_pool(source->device, true);
	(*pool)->imported = true;
	return CUDA_SUCCESS;
}

/* What a handle for others holds: whose memory, and which allocation at that address. */
static void write_ticket(void *handle, size_t bytes, const struct standin_region *region)
{
	const struct standin_foreign ticket = {
		.buffer_id = region->buffer_id,
		.address = region->base,
		.file = region->physical->file,
		.bytes = region->bytes,
		.offset = (uint32_t)(region->base - region->pages),
		.descriptor = region->physical->descriptor,
		.process = getpid(),
	};
	memset(handle, 0, bytes);
	memcpy(handle, &ticket, sizeof ticket);
}

/* The memory of this process that a handle means, if it is still the same. */
static struct standin_region *own_memory(const void *handle)
{
	struct standin_foreign ticket;
	memcpy(&ticket, handle, sizeof ticket);
	struct standin_region *region = standin_region_at(ticket.address);
	return region && region->buffer_id == ticket.buffer_id &&
			       ticket.process == getpid()
		       ? region
		       : NULL;
}

ENTRY(cuMemPoolExportPointer, UNSAFE_IN_CAPTURE,
      (CUmemPoolPtrExportData * data, CUdeviceptr address), (data, address))
{
	const struct standin_region *region = standin_region_at(address);
	if (!data || !region || region->kind != REGION_ASYNC || region->freed ||
	    !region->pool->handle_types)
		return CUDA_ERROR_INVALID_VALUE;
	write_ticket(data, sizeof *data, region);
	return CUDA_SUCCESS;
}

ENTRY(cuMemPoolImportPointer, UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, CUmemoryPool pool, CUmemPoolPtrExportData *data),
      (address, pool, data))
{
	if (!address || !pool || !data)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(pool, OBJECT_POOL, "a pool's handle");
	const struct standin_region *source = own_memory(data);
	struct standin_region *region;
	if (!source || !pool->imported)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = standin_device_memory_again(source, REGION_ASYNC, &region);
	if (result)
		return result;
	region->pool = pool;
	pool->used_bytes += region->bytes;
	*address = region->base;
	return CUDA_SUCCESS;
}

/* ---- Handles of device memory ---- */

ENTRY(cuIpcGetMemHandle, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUipcMemHandle * handle, CUdeviceptr address), (handle, address))
{
	const struct standin_region *region = standin_region_at(address);
	_Static_assert(sizeof(struct standin_foreign) <= sizeof(CUipcMemHandle),
		       "a handle has room");
	if (!handle || !region || region->kind != REGION_DEVICE || region->freed)
		return CUDA_ERROR_INVALID_VALUE;
	region = standin_region_export(address);
	if (!region)
		return CUDA_ERROR_OUT_OF_MEMORY;
	write_ticket(handle, sizeof *handle, region);
	return CUDA_SUCCESS;
}

/* An import of the same file in this context, which a second open shares. */
static struct standin_region *find_import(uint64_t file, CUcontext context)
{
	for (size_t i = 0; i < standin_region_count(); i++) {
		struct standin_region *region = standin_region_index(i);
		if (region->kind == REGION_IMPORTED && region->physical->file == file &&
		    region->context == context)
			return region;
	}
	return NULL;
}

static CUresult import_new(const struct standin_foreign *ticket,
			   struct standin_region **region)
{
	const struct standin_region *source = own_memory(ticket);
	CUresult result =
		source ? standin_device_memory_again(source, REGION_IMPORTED, region)
		: ticket->process == getpid() ? CUDA_ERROR_INVALID_VALUE
					      : standin_region_import(ticket, region);
	if (result)
		return result;
	(*region)->context = standin_current();
	(*region)->opens = 0;
	return CUDA_SUCCESS;
}

/* Whether the owner still has it; an import that exists does not say so. */
static bool still_exists(const struct standin_foreign *ticket)
{
	char path[64];
	struct stat status;
	if (ticket->process == getpid())
		return own_memory(ticket);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket->process,
		 ticket->descriptor);
	return !stat(path, &status) && status.st_ino == ticket->file;
}

ENTRY(cuIpcOpenMemHandle_v2, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags),
      (address, handle, flags))
{
	struct standin_foreign ticket;
	memcpy(&ticket, &handle, sizeof ticket);
	if (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
	    !still_exists(&ticket))
		return CUDA_ERROR_INVALID_VALUE;
	struct standin_region *region = find_import(ticket.file, standin_current());
	if (!region) {
		CUresult result = import_new(&ticket, &region);
		if (result)
			return result;
	}
	region->opens++;
	*address = region->base;
	return CUDA_SUCCESS;
}

ENTRY(cuIpcCloseMemHandle, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (CUdeviceptr address),
      (address))
{
	struct standin_region *region = standin_region_at(address);
	if (!region || region->kind != REGION_IMPORTED || region->base != address)
		return CUDA_ERROR_INVALID_VALUE;
	if (--region->opens)
		return CUDA_SUCCESS;
	standin_wait_device(region->device);
	region = standin_region_at(address);
	if (region && region->kind == REGION_IMPORTED && !region->opens)
		standin_region_drop(region);
	return CUDA_SUCCESS;
}
