/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of entry points and cuGetProcAddress: which version of a name a caller gets, by the
 * driver's version and its own. An entry point that is not in the table does not exist.
 */
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

typedef void (*function)(void);

struct known {
	const char *name;
	int since; /* the version of CUDA */
	function legacy;
	function per_thread; /* NULL: no stream is meant */
};

#define PLAIN(name, since, symbol)                   \
	{                                            \
#name, since, (function)symbol, NULL \
	}
#define STREAM(name, since, symbol, suffix)                              \
	{                                                                \
#name, since, (function)symbol, (function)symbol##suffix \
	}

static CUresult get_address(const char *symbol, void **address, int version,
			    cuuint64_t flags, CUdriverProcAddressQueryResult *status);

ENTRY(cuGetProcAddress_v2, ANYTIME,
      (const char *symbol, void **address, int version, cuuint64_t flags,
       CUdriverProcAddressQueryResult *status),
      (symbol, address, version, flags, status))
{
	return get_address(symbol, address, version, flags, status);
}

/* Before version 12 there was no status, and what is missing was an error. */
ENTRY(cuGetProcAddress, ANYTIME,
      (const char *symbol, void **address, int version, cuuint64_t flags),
      (symbol, address, version, flags))
{
	CUresult result = get_address(symbol, address, version, flags, NULL);
	return result || *address ? result : CUDA_ERROR_NOT_FOUND;
}

static const struct known table[] = {
	PLAIN(cuInit, 2000, cuInit),
	PLAIN(cuDriverGetVersion, 2020, cuDriverGetVersion),
	PLAIN(cuGetProcAddress, 11030, cuGetProcAddress),
	PLAIN(cuGetProcAddress, 12000, cuGetProcAddress_v2),
	PLAIN(cuGetErrorName, 6000, cuGetErrorName),
	PLAIN(cuGetErrorString, 6000, cuGetErrorString),
	PLAIN(cuDeviceGet, 2000, cuDeviceGet),
	PLAIN(cuDeviceGetCount, 2000, cuDeviceGetCount),
	PLAIN(cuDeviceGetName, 2000, cuDeviceGetName),
	PLAIN(cuDeviceGetUuid, 9020, cuDeviceGetUuid),
	PLAIN(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2),
	PLAIN(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId),
	PLAIN(cuDeviceGetByPCIBusId, 4010, cuDeviceGetByPCIBusId),
	PLAIN(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2),
	PLAIN(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute),
	PLAIN(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer),
	PLAIN(cuFlushGPUDirectRDMAWrites, 11030, cuFlushGPUDirectRDMAWrites),

	PLAIN(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain),
	PLAIN(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
	PLAIN(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2),
	PLAIN(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState),
	PLAIN(cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2),
	PLAIN(cuCtxCreate, 3020, cuCtxCreate_v2),
	PLAIN(cuCtxCreate, 11040, cuCtxCreate_v3),
	PLAIN(cuCtxCreate, 12050, cuCtxCreate_v4),
	PLAIN(cuCtxDestroy, 4000, cuCtxDestroy_v2),
	PLAIN(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2),
	PLAIN(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2),
	PLAIN(cuCtxSetCurrent, 4000, cuCtxSetCurrent),
	PLAIN(cuCtxGetCurrent, 4000, cuCtxGetCurrent),
	PLAIN(cuCtxGetDevice, 2000, cuCtxGetDevice),
	PLAIN(cuCtxGetDevice, 13000, cuCtxGetDevice_v2),
	PLAIN(cuCtxGetId, 12000, cuCtxGetId),
	PLAIN(cuCtxGetFlags, 7000, cuCtxGetFlags),
	PLAIN(cuCtxGetApiVersion, 3020, cuCtxGetApiVersion),
	PLAIN(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange),
	PLAIN(cuCtxSynchronize, 2000, cuCtxSynchronize),
	PLAIN(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess),
	PLAIN(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess),

	PLAIN(cuMemAlloc, 3020, cuMemAlloc_v2),
	PLAIN(cuMemAllocPitch, 3020, cuMemAllocPitch_v2),
	PLAIN(cuMemAllocManaged, 6000, cuMemAllocManaged),
	PLAIN(cuMemFree, 3020, cuMemFree_v2),
	PLAIN(cuMemGetInfo, 3020, cuMemGetInfo_v2),
	PLAIN(cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2),
	PLAIN(cuMemAllocHost, 3020, cuMemAllocHost_v2),
	PLAIN(cuMemHostAlloc, 2020, cuMemHostAlloc),
	PLAIN(cuMemFreeHost, 2000, cuMemFreeHost),
	PLAIN(cuMemHostRegister, 6050, cuMemHostRegister_v2),
	PLAIN(cuMemHostUnregister, 4000, cuMemHostUnregister),
	PLAIN(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2),
	PLAIN(cuMemHostGetFlags, 2030, cuMemHostGetFlags),
	PLAIN(cuPointerGetAttribute, 4000, cuPointerGetAttribute),
	PLAIN(cuPointerGetAttributes, 7000, cuPointerGetAttributes),
	PLAIN(cuPointerSetAttribute, 6000, cuPointerSetAttribute),

	PLAIN(cuMemAddressReserve, 10020, cuMemAddressReserve),
	PLAIN(cuMemAddressFree, 10020, cuMemAddressFree),
	PLAIN(cuMemCreate, 10020, cuMemCreate),
	PLAIN(cuMemRelease, 10020, cuMemRelease),
	PLAIN(cuMemMap, 10020, cuMemMap),
	PLAIN(cuMemUnmap, 10020, cuMemUnmap),
	PLAIN(cuMemSetAccess, 10020, cuMemSetAccess),
	PLAIN(cuMemGetAccess, 10020, cuMemGetAccess),
	PLAIN(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity),
	PLAIN(cuMemGetAllocationPropertiesFromHandle, 10020,
	      cuMemGetAllocationPropertiesFromHandle),
	PLAIN(cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle),
	PLAIN(cuMemExportToShareableHandle, 10020, cuMemExportToShareableHandle),
	PLAIN(cuMemImportFromShareableHandle, 10020, cuMemImportFromShareableHandle),
	PLAIN(cuMemGetHandleForAddressRange, 11070, cuMemGetHandleForAddressRange),

	PLAIN(cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool),
	PLAIN(cuDeviceGetMemPool, 11020, cuDeviceGetMemPool),
	PLAIN(cuDeviceSetMemPool, 11020, cuDeviceSetMemPool),
	PLAIN(cuMemPoolCreate, 11020, cuMemPoolCreate),
	PLAIN(cuMemPoolDestroy, 11020, cuMemPoolDestroy),
	PLAIN(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo),
	PLAIN(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute),
	PLAIN(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute),
	PLAIN(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess),
	PLAIN(cuMemPoolGetAccess, 11020, cuMemPoolGetAccess),
	PLAIN(cuMemPoolExportToShareableHandle, 11020, cuMemPoolExportToShareableHandle),
	PLAIN(cuMemPoolImportFromShareableHandle, 11020,
	      cuMemPoolImportFromShareableHandle),
	PLAIN(cuMemPoolExportPointer, 11020, cuMemPoolExportPointer),
	PLAIN(cuMemPoolImportPointer, 11020, cuMemPoolImportPointer),
	STREAM(cuMemAllocAsync, 11020, cuMemAllocAsync, _ptsz),
	STREAM(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync, _ptsz),
	STREAM(cuMemFreeAsync, 11020, cuMemFreeAsync, _ptsz),
	PLAIN(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle),
	PLAIN(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2),
	PLAIN(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle),

	STREAM(cuMemcpy, 4000, cuMemcpy, _ptds),
	STREAM(cuMemcpyAsync, 4000, cuMemcpyAsync, _ptsz),
	STREAM(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, _ptds),
	STREAM(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2, _ptsz),
	STREAM(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, _ptds),
	STREAM(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2, _ptsz),
	STREAM(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2, _ptds),
	STREAM(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2, _ptsz),
	STREAM(cuMemcpyPeer, 4000, cuMemcpyPeer, _ptds),
	STREAM(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync, _ptsz),
	STREAM(cuMemcpy2D, 3020, cuMemcpy2D_v2, _ptds),
	STREAM(cuMemcpy2DUnaligned, 3020, cuMemcpy2DUnaligned_v2, _ptds),
	STREAM(cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2, _ptsz),
	STREAM(cuMemcpy3D, 3020, cuMemcpy3D_v2, _ptds),
	STREAM(cuMemcpy3DAsync, 3020, cuMemcpy3DAsync_v2, _ptsz),
	STREAM(cuMemsetD8, 3020, cuMemsetD8_v2, _ptds),
	STREAM(cuMemsetD8Async, 3020, cuMemsetD8Async, _ptsz),
	STREAM(cuMemsetD16, 3020, cuMemsetD16_v2, _ptds),
	STREAM(cuMemsetD16Async, 3020, cuMemsetD16Async, _ptsz),
	STREAM(cuMemsetD32, 3020, cuMemsetD32_v2, _ptds),
	STREAM(cuMemsetD32Async, 3020, cuMemsetD32Async, _ptsz),

	STREAM(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, _ptsz),
	STREAM(cuStreamEndCapture, 10000, cuStreamEndCapture, _ptsz),
	STREAM(cuStreamIsCapturing, 10000, cuStreamIsCapturing, _ptsz),
	STREAM(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2, _ptsz),
	STREAM(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3, _ptsz),
	PLAIN(cuThreadExchangeStreamCaptureMode, 10010,
	      cuThreadExchangeStreamCaptureMode),
	PLAIN(cuGraphCreate, 10000, cuGraphCreate),
	PLAIN(cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2),
	PLAIN(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2),
	PLAIN(cuGraphDestroy, 10000, cuGraphDestroy),
	PLAIN(cuGraphGetNodes, 10000, cuGraphGetNodes),
	PLAIN(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags),
	PLAIN(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags),
	STREAM(cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams, _ptsz),
	STREAM(cuGraphUpload, 11010, cuGraphUpload, _ptsz),
	STREAM(cuGraphLaunch, 10000, cuGraphLaunch, _ptsz),
	PLAIN(cuGraphExecDestroy, 10000, cuGraphExecDestroy),

	PLAIN(cuModuleLoadData, 2000, cuModuleLoadData),
	PLAIN(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx),
	PLAIN(cuModuleLoadFatBinary, 2000, cuModuleLoadFatBinary),
	PLAIN(cuModuleUnload, 2000, cuModuleUnload),
	PLAIN(cuModuleGetFunction, 2000, cuModuleGetFunction),
	PLAIN(cuLibraryLoadData, 12000, cuLibraryLoadData),
	PLAIN(cuLibraryUnload, 12000, cuLibraryUnload),
	PLAIN(cuLibraryGetKernel, 12000, cuLibraryGetKernel),
	PLAIN(cuLibraryGetModule, 12000, cuLibraryGetModule),
	PLAIN(cuKernelGetFunction, 12000, cuKernelGetFunction),
	PLAIN(cuFuncGetAttribute, 2020, cuFuncGetAttribute),
	PLAIN(cuFuncSetAttribute, 9000, cuFuncSetAttribute),
	PLAIN(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,
	      cuOccupancyMaxActiveBlocksPerMultiprocessor),
	PLAIN(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000,
	      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
	STREAM(cuLaunchKernel, 4000, cuLaunchKernel, _ptsz),
	STREAM(cuLaunchKernelEx, 11060, cuLaunchKernelEx, _ptsz),

	PLAIN(cuStreamCreate, 2000, cuStreamCreate),
	PLAIN(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority),
	PLAIN(cuStreamDestroy, 4000, cuStreamDestroy_v2),
	STREAM(cuStreamQuery, 2000, cuStreamQuery, _ptsz),
	STREAM(cuStreamSynchronize, 2000, cuStreamSynchronize, _ptsz),
	STREAM(cuStreamGetCtx, 9020, cuStreamGetCtx, _ptsz),
	STREAM(cuStreamGetCtx, 12050, cuStreamGetCtx_v2, _ptsz),
	STREAM(cuStreamGetDevice, 12080, cuStreamGetDevice, _ptsz),
	STREAM(cuStreamGetId, 12000, cuStreamGetId, _ptsz),
	STREAM(cuStreamGetFlags, 5050, cuStreamGetFlags, _ptsz),
	STREAM(cuStreamGetPriority, 5050, cuStreamGetPriority, _ptsz),
	STREAM(cuLaunchHostFunc, 10000, cuLaunchHostFunc, _ptsz),
	PLAIN(cuEventCreate, 2000, cuEventCreate),
	PLAIN(cuEventDestroy, 4000, cuEventDestroy_v2),
	STREAM(cuEventRecord, 2000, cuEventRecord, _ptsz),
	STREAM(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags, _ptsz),
	STREAM(cuStreamWaitEvent, 3020, cuStreamWaitEvent, _ptsz),
	PLAIN(cuEventQuery, 2000, cuEventQuery),
	PLAIN(cuEventSynchronize, 2000, cuEventSynchronize),
	PLAIN(cuEventElapsedTime, 2000, cuEventElapsedTime),
	PLAIN(cuEventElapsedTime, 12080, cuEventElapsedTime_v2),
	STREAM(cuStreamWaitValue32, 11070, cuStreamWaitValue32_v2, _ptsz),
	STREAM(cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2, _ptsz),
	STREAM(cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2, _ptsz),
	STREAM(cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2, _ptsz),
	STREAM(cuStreamBatchMemOp, 11070, cuStreamBatchMemOp_v2, _ptsz),
};

/* The newest that caller and driver both know. */
static const struct known *find(const char *symbol, int version, bool *too_old)
{
	const struct known *best = NULL;
	*too_old = false;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].name, symbol) ||
		    table[i].since > standin_get(STANDIN_VERSION))
			continue;
		if (table[i].since > version)
			*too_old = true;
		else if (!best || table[i].since > best->since)
			best = &table[i];
	}
	return best;
}

static CUresult get_address(const char *symbol, void **address, int version,
			    cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	if (!symbol || !address ||
	    flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
	    version > standin_get(STANDIN_VERSION))
		return CUDA_ERROR_INVALID_VALUE;
	bool too_old = false;
	const struct known *known = NULL;
	if (!standin_is_absent(symbol))
		known = find(symbol, version, &too_old);
	if (status)
		*status = known     ? CU_GET_PROC_ADDRESS_SUCCESS
			  : too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	function found = known ? known->legacy : NULL;
	if (known && known->per_thread &&
	    flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		found = known->per_thread;
	memcpy(address, &found, sizeof found);
	return CUDA_SUCCESS;
}
