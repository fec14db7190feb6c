/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation, versions, devices and their attributes, and the names of errors.
 */
#include <stdio.h>
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

ENTRY(cuInit, ANYTIME, (unsigned flags), (flags))
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (standin_get(STANDIN_INIT_RESULT))
		return (CUresult)standin_get(STANDIN_INIT_RESULT);
	if (!standin_get(STANDIN_DEVICES))
		return CUDA_ERROR_NO_DEVICE;
	standin_initialised = true;
	return CUDA_SUCCESS;
}

ENTRY(cuDriverGetVersion, ANYTIME, (int *version), (version))
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = (int)standin_get(STANDIN_VERSION);
	return CUDA_SUCCESS;
}

static bool valid(CUdevice device)
{
	return device >= 0 && device < standin_get(STANDIN_DEVICES);
}

ENTRY(cuDeviceGetCount, 0, (int *count), (count))
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = (int)standin_get(STANDIN_DEVICES);
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceGet, 0, (CUdevice * device, int ordinal), (device, ordinal))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetName, 0, (char *name, int bytes, CUdevice device), (name, bytes, device))
{
	if (!name || bytes <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)bytes, "Stand-in %d", device);
	return CUDA_SUCCESS;
}

static CUresult uuid_of(CUuuid *uuid, CUdevice device)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(device))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid, 0x5d, sizeof *uuid);
	uuid->bytes[15] = (char)device;
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetUuid, 0, (CUuuid * uuid, CUdevice device), (uuid, device))
{
	return uuid_of(uuid, device);
}

ENTRY(cuDeviceGetUuid_v2, 0, (CUuuid * uuid, CUdevice device), (uuid, device))
{
	return uuid_of(uuid, device);
}

ENTRY(cuDeviceGetPCIBusId, 0, (char *text, int bytes, CUdevice device),
      (text, bytes, device))
{
	if (!text || bytes < 13)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(text, (size_t)bytes, "0000:%02X:00.0", device + 1);
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetByPCIBusId, 0, (CUdevice * device, const char *text), (device, text))
{
	unsigned domain, bus;
	if (!device || !text || sscanf(text, "%x:%x:", &domain, &bus) != 2)
		return CUDA_ERROR_INVALID_VALUE;
	if (domain || !bus || !valid((int)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = (int)bus - 1;
	return CUDA_SUCCESS;
}

ENTRY(cuDeviceTotalMem_v2, 0, (size_t * bytes, CUdevice device), (bytes, device))
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = (size_t)standin_get(STANDIN_MEMORY_MIB) << 20;
	return CUDA_SUCCESS;
}

/* ---- Attributes ---- */

static const struct {
	CUdevice_attribute attribute;
	int value;
} constants[] = {
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448 },
	{ CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472 },
	{ CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536 },
	{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
	{ CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536 },
	{ CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000 },
	{ CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512 },
	{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132 },
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1 },
	{ CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0 },
	{ CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0 },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000 },
	{ CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144 },
	{ CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560 },
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32 },
	{ CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1 },
	{ CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0 },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT },
	{ CU_DEVICE_ATTRIBUTE_INTEGRATED, 0 },
	{ CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0 },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
	  CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
	  CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0 },
	{ CU_DEVICE_ATTRIBUTE_NUMA_ID, 0 },
	{ CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0 },
};

static const struct {
	CUdevice_attribute attribute;
	enum standin_option option;
} switched[] = {
	{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, STANDIN_VMM },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, STANDIN_VMM },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, STANDIN_MEM_OPS },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, STANDIN_GPU_DIRECT },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
	  STANDIN_GPU_DIRECT },
	{ CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, STANDIN_DMA_BUF },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, STANDIN_POOLS },
};

static bool computed_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	const int compute = (int)standin_get(STANDIN_COMPUTE);
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = compute / 10;
	else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = compute % 10;
	else if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*value = device + 1;
	else if (attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)
		*value = standin_get(STANDIN_POOLS)
				 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
				 : 0;
	else
		return false;
	return true;
}

static void attribute_of(int *value, CUdevice_attribute attribute, CUdevice device)
{
	*value = 0; /* unknown attributes mean unsupported features */
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
		if (constants[i].attribute == attribute)
			*value = constants[i].value;
	for (size_t i = 0; i < sizeof switched / sizeof *switched; i++)
		if (switched[i].attribute == attribute)
			*value = standin_get(switched[i].option) != 0;
	computed_attribute(value, attribute, device);
}

ENTRY(cuDeviceGetAttribute, 0,
      (int *value, CUdevice_attribute attribute, CUdevice device),
      (value, attribute, device))
{
	if (!value || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(device))
		return CUDA_ERROR_INVALID_DEVICE;
	attribute_of(value, attribute, device);
	return CUDA_SUCCESS;
}

ENTRY(cuFlushGPUDirectRDMAWrites, NEEDS_CONTEXT,
      (CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope),
      (target, scope))
{
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX)
		return CUDA_ERROR_INVALID_VALUE;
	if (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
	    scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES)
		return CUDA_ERROR_INVALID_VALUE;
	return standin_get(STANDIN_GPU_DIRECT) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- Errors ---- */

#define ERROR_NAME(name)    \
	{                   \
		name, #name \
	}
static const struct {
	CUresult error;
	const char *name;
} errors[] = {
	ERROR_NAME(CUDA_SUCCESS),
	ERROR_NAME(CUDA_ERROR_INVALID_VALUE),
	ERROR_NAME(CUDA_ERROR_OUT_OF_MEMORY),
	ERROR_NAME(CUDA_ERROR_NOT_INITIALIZED),
	ERROR_NAME(CUDA_ERROR_DEINITIALIZED),
	ERROR_NAME(CUDA_ERROR_NO_DEVICE),
	ERROR_NAME(CUDA_ERROR_INVALID_DEVICE),
	ERROR_NAME(CUDA_ERROR_INVALID_IMAGE),
	ERROR_NAME(CUDA_ERROR_INVALID_CONTEXT),
	ERROR_NAME(CUDA_ERROR_MAP_FAILED),
	ERROR_NAME(CUDA_ERROR_NO_BINARY_FOR_GPU),
	ERROR_NAME(CUDA_ERROR_ECC_UNCORRECTABLE),
	ERROR_NAME(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
	ERROR_NAME(CUDA_ERROR_INVALID_PTX),
	ERROR_NAME(CUDA_ERROR_INVALID_HANDLE),
	ERROR_NAME(CUDA_ERROR_ILLEGAL_STATE),
	ERROR_NAME(CUDA_ERROR_NOT_FOUND),
	ERROR_NAME(CUDA_ERROR_NOT_READY),
	ERROR_NAME(CUDA_ERROR_ILLEGAL_ADDRESS),
	ERROR_NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
	ERROR_NAME(CUDA_ERROR_LAUNCH_TIMEOUT),
	ERROR_NAME(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
	ERROR_NAME(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED),
	ERROR_NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED),
	ERROR_NAME(CUDA_ERROR_TOO_MANY_PEERS),
	ERROR_NAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
	ERROR_NAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
	ERROR_NAME(CUDA_ERROR_MISALIGNED_ADDRESS),
	ERROR_NAME(CUDA_ERROR_LAUNCH_FAILED),
	ERROR_NAME(CUDA_ERROR_NOT_PERMITTED),
	ERROR_NAME(CUDA_ERROR_NOT_SUPPORTED),
	ERROR_NAME(CUDA_ERROR_SYSTEM_NOT_READY),
	ERROR_NAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_MERGE),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
	ERROR_NAME(CUDA_ERROR_CAPTURED_EVENT),
	ERROR_NAME(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
	ERROR_NAME(CUDA_ERROR_UNKNOWN),
};

static CUresult error_name(CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == error)
			*text = errors[i].name;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ENTRY(cuGetErrorName, ANYTIME, (CUresult error, const char **text), (error, text))
{
	return error_name(error, text);
}

ENTRY(cuGetErrorString, ANYTIME, (CUresult error, const char **text), (error, text))
{
	return error_name(error, text);
}
