/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of addresses by CUDA's virtual memory management. Its calls need no current context and wait for no work;
 * whoever unmaps waits for the device first.
 */
#include "config.h"

#include "address_range.h"

#include <sched.h>

#include "contexts.h"
#include "copy_backends/memory/address_range.h"

static const struct dtc_cuda_driver *driver_of(const struct dtc_range *range)
{
	return &((const struct dtc_cuda_context *)range->owner)->cuda->driver;
}

static int judge(struct dtc_range *range, CUresult result)
{
	if (!result)
		return 0;
	range->why = dtc_cuda_result_name(driver_of(range), result);
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return DTCONV_ERR_NOMEM;
	return result == CUDA_ERROR_NOT_SUPPORTED ? DTCONV_ERR_UNSUPPORTED
						  : DTCONV_ERR_BACKEND;
}

static CUdeviceptr address_of(const struct dtc_range *range, size_t offset)
{
	return (CUdeviceptr)(uintptr_t)range->base + offset;
}

/* ---- memory ----------------------------------------------------------------------------- */

static bool is_capable(const struct dtc_range *range, CUdevice_attribute attribute)
{
	return dtc_cuda_context_capability(range->owner, attribute);
}

/* What a range asks for in the memory that it creates, as far as the device can. */
static CUmemAllocationProp properties_of(const struct dtc_range *range)
{
	CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = range->device },
	};

	if (range->is_shareable)
		properties.requestedHandleTypes =
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	properties.allocFlags.gpuDirectRDMACapable = is_capable(
		range, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
	if (range->compressible &&
	    is_capable(range, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED))
		properties.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
	return properties;
}

/* What the memory has become: a driver may leave out what it was asked for. */
static CUresult look_at(const struct dtc_range *range, struct dtc_mapping *mapping)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_INVALID };
	CUresult result = driver_of(range)->MemGetAllocationPropertiesFromHandle(
		&properties, mapping->handle);

	mapping->device = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE
				  ? properties.location.id
				  : -1;
	mapping->is_compressed = properties.allocFlags.compressionType ==
				 CU_MEM_ALLOCATION_COMP_GENERIC;
	return result;
}

static void release(struct dtc_range *range, const struct dtc_mapping *mapping)
{
	driver_of(range)->MemRelease(mapping->handle);
}

static int keep(struct dtc_range *range, struct dtc_mapping *mapping,
		CUmemGenericAllocationHandle handle)
{
	mapping->handle = handle;
	int status = judge(range, look_at(range, mapping));

	if (status)
		release(range, mapping);
	return status;
}

static int create(struct dtc_range *range, struct dtc_mapping *mapping)
{
	const CUmemAllocationProp properties = properties_of(range);
	CUmemGenericAllocationHandle handle = 0;
	int status = judge(range, driver_of(range)->MemCreate(&handle, mapping->bytes,
							      &properties, 0));

	return status ? status : keep(range, mapping, handle);
}

static int import(struct dtc_range *range, struct dtc_mapping *mapping, int fd)
{
	CUmemGenericAllocationHandle handle = 0;
	int status = judge(range, driver_of(range)->MemImportFromShareableHandle(
					  &handle, (void *)(intptr_t)fd,
					  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));

	return status ? status : keep(range, mapping, handle);
}

static int export(struct dtc_range *range, const struct dtc_mapping *mapping, int *fd)
{
	return judge(range, driver_of(range)->MemExportToShareableHandle(
				    fd, mapping->handle,
				    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

static int export_dma_buf(struct dtc_range *range, size_t offset, size_t bytes, int *fd)
{
	return judge(range, driver_of(range)->MemGetHandleForAddressRange(
				    fd, address_of(range, offset), bytes,
				    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
}

/* ---- mappings --------------------------------------------------------------------------- */

static int map(struct dtc_range *range, const struct dtc_mapping *mapping)
{
	return judge(range,
		     driver_of(range)->MemMap(address_of(range, mapping->offset),
					      mapping->bytes, 0, mapping->handle, 0));
}

static int unmap(struct dtc_range *range, const struct dtc_mapping *mapping)
{
	return judge(range, driver_of(range)->MemUnmap(address_of(range, mapping->offset),
						       mapping->bytes));
}

static int set_access(struct dtc_range *range, const struct dtc_mapping *mapping,
		      int device, enum dtc_range_access access)
{
	static const CUmemAccess_flags flags[] = {
		[DTC_RANGE_NONE] = CU_MEM_ACCESS_FLAGS_PROT_NONE,
		[DTC_RANGE_READ] = CU_MEM_ACCESS_FLAGS_PROT_READ,
		[DTC_RANGE_WRITE] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	const CUmemAccessDesc description = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.flags = flags[access],
	};

	return judge(range,
		     driver_of(range)->MemSetAccess(address_of(range, mapping->offset),
						    mapping->bytes, &description, 1));
}

/* In a stream of its own: nothing of the application is waited for. */
static CUresult clear_in_stream(const struct dtc_cuda_driver *driver, CUdeviceptr from,
				size_t bytes)
{
	CUstream stream;
	CUresult result =
		driver->StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);

	if (result)
		return result;
	result = driver->MemsetD8Async(from, 0, bytes, stream);
	while (!result) {
		result = driver->StreamQuery(stream);
		if (result != CUDA_ERROR_NOT_READY)
			break;
		result = CUDA_SUCCESS;
		sched_yield();
	}
	driver->StreamDestroy(stream);
	return result;
}

static int clear(struct dtc_range *range, const struct dtc_mapping *mapping)
{
	const struct dtc_cuda_context *context = range->owner;
	const struct dtc_cuda_driver *driver = driver_of(range);
	CUresult result = driver->CtxPushCurrent(context->handle);
	CUcontext popped;

	if (result)
		return judge(range, result);
	result = clear_in_stream(driver, address_of(range, mapping->offset),
				 mapping->bytes);
	driver->CtxPopCurrent(&popped);
	return judge(range, result);
}

/* ---- addresses -------------------------------------------------------------------------- */

static CUresult find_granularity(struct dtc_range *range)
{
	const CUmemAllocationProp properties = properties_of(range);

	return driver_of(range)->MemGetAllocationGranularity(
		&range->granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
}

/* Addresses cost nothing: enough for all memory of the device. */
static CUresult find_size(struct dtc_range *range)
{
	CUresult result = range->bytes ? CUDA_SUCCESS
				       : driver_of(range)->DeviceTotalMem(&range->bytes,
									  range->device);
	const size_t over = range->bytes % range->granularity;

	if (over && range->bytes > SIZE_MAX - (range->granularity - over))
		return CUDA_ERROR_OUT_OF_MEMORY;
	range->bytes += over ? range->granularity - over : 0;
	return result;
}

static CUresult reserve_in(struct dtc_range *range)
{
	CUdeviceptr base = 0;
	CUresult result = find_granularity(range);

	if (!result)
		result = find_size(range);
	if (!result)
		result = driver_of(range)->MemAddressReserve(&base, range->bytes,
							     range->granularity, 0, 0);
	range->base = (char *)(uintptr_t)base;
	return result;
}

static int reserve_on_device(struct dtc_range *range)
{
	struct dtc_cuda *cuda = dtc_cuda_of(range->context);
	struct dtc_cuda_context *chosen = NULL;
	int status =
		dtc_cuda_context_of_device(cuda, range->device, range->caller, &chosen);

	if (status)
		return status;
	range->owner = chosen;
	range->device = chosen->device;
	range->is_shareable = is_capable(
		range, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	return judge(range, reserve_in(range));
}

static int reserve(struct dtc_range *range)
{
	const struct dtc_cuda_driver *driver = &dtc_cuda_of(range->context)->driver;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	int status = reserve_on_device(range);

	dtc_cuda_unrelax(driver, mode);
	return status;
}

static int unreserve(struct dtc_range *range)
{
	return judge(range, driver_of(range)->MemAddressFree(address_of(range, 0),
							     range->bytes));
}

/* ---- calls ------------------------------------------------------------------------------- */

static void enter(struct dtc_range *range)
{
	range->entered = (int)dtc_cuda_relax(driver_of(range));
}

static void leave(struct dtc_range *range)
{
	dtc_cuda_unrelax(driver_of(range), (CUstreamCaptureMode)range->entered);
}

static bool await(struct dtc_range *range)
{
	struct dtc_cuda_context *context = range->owner;
	const struct dtc_cuda_driver *driver = driver_of(range);
	CUcontext popped;

	if (!dtc_cuda_context_is_alive(context) ||
	    driver->CtxPushCurrent(context->handle))
		return false;
	const bool idle = !driver->CtxSynchronize();
	driver->CtxPopCurrent(&popped);
	return idle;
}

const struct dtc_range_ops dtc_cuda_ranges = {
	.reserve = reserve,
	.enter = enter,
	.leave = leave,
	.unreserve = unreserve,
	.create = create,
	.import = import,
	.export = export,
	.release = release,
	.map = map,
	.unmap = unmap,
	.set_access = set_access,
	.clear = clear,
	.export_dma_buf = export_dma_buf,
	.await = await,
};
