/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points of the CUDA driver, taken with cuGetProcAddress from the libcuda that the process has loaded.
 * This file decides which ones are used.
 */
#ifndef DTC_CUDA_DRIVER_H
#define DTC_CUDA_DRIVER_H

#include <stdbool.h>

#include <cuda.h>
#include <cudaTypedefs.h>

struct dtconv_context;

/*
 * Every entry point that the library uses: its name without the prefix, the version of its
 * interface. A driver that lacks one is no driver for us.
 */
#define DTC_CUDA_ENTRIES(X)                            \
	X(GetErrorName, 6000)                          \
	X(DriverGetVersion, 2020)                      \
	X(DeviceGet, 2000)                             \
	X(DeviceGetAttribute, 2000)                    \
	X(DeviceGetCount, 2000)                        \
	X(DeviceGetName, 2000)                         \
	X(DeviceGetUuid, 11040)                        \
	X(DeviceTotalMem, 3020)                        \
	X(DevicePrimaryCtxGetState, 7000)              \
	X(DevicePrimaryCtxRetain, 7000)                \
	X(DevicePrimaryCtxRelease, 11000)              \
	X(CtxGetCurrent, 4000)                         \
	X(CtxPushCurrent, 4000)                        \
	X(CtxPopCurrent, 4000)                         \
	X(CtxGetDevice, 2000)                          \
	X(CtxGetId, 12000)                             \
	X(CtxGetStreamPriorityRange, 5050)             \
	X(CtxSynchronize, 2000)                        \
	X(CtxEnablePeerAccess, 4000)                   \
	X(PointerGetAttributes, 7000)                  \
	X(PointerSetAttribute, 6000)                   \
	X(MemAlloc, 3020)                              \
	X(MemFree, 3020)                               \
	X(IpcGetMemHandle, 4010)                       \
	X(IpcOpenMemHandle, 11000)                     \
	X(IpcCloseMemHandle, 4010)                     \
	X(MemHostRegister, 6050)                       \
	X(MemHostUnregister, 4000)                     \
	X(MemHostGetDevicePointer, 3020)               \
	X(MemGetAccess, 10020)                         \
	X(MemAddressReserve, 10020)                    \
	X(MemAddressFree, 10020)                       \
	X(MemCreate, 10020)                            \
	X(MemRelease, 10020)                           \
	X(MemMap, 10020)                               \
	X(MemUnmap, 10020)                             \
	X(MemSetAccess, 10020)                         \
	X(MemGetAllocationGranularity, 10020)          \
	X(MemGetAllocationPropertiesFromHandle, 10020) \
	X(MemExportToShareableHandle, 10020)           \
	X(MemImportFromShareableHandle, 10020)         \
	X(MemGetHandleForAddressRange, 11070)          \
	X(MemcpyAsync, 4000)                           \
	X(Memcpy2DAsync, 3020)                         \
	X(MemsetD8Async, 3020)                         \
	X(StreamCreateWithPriority, 5050)              \
	X(StreamDestroy, 4000)                         \
	X(StreamQuery, 2000)                           \
	X(StreamGetCtx, 9020)                          \
	X(StreamIsCapturing, 10000)                    \
	X(StreamWriteValue64, 11070)                   \
	X(StreamWaitEvent, 3020)                       \
	X(EventCreate, 2000)                           \
	X(EventRecord, 2000)                           \
	X(EventQuery, 2000)                            \
	X(EventDestroy, 4000)                          \
	X(ThreadExchangeStreamCaptureMode, 10010)      \
	X(ModuleLoadData, 2000)                        \
	X(ModuleGetFunction, 2000)                     \
	X(ModuleUnload, 2000)                          \
	X(LaunchKernel, 4000)                          \
	X(LaunchHostFunc, 10000)                       \
	X(GraphCreate, 10000)                          \
	X(GraphAddKernelNode, 12000)                   \
	X(GraphInstantiateWithFlags, 11040)            \
	X(GraphExecKernelNodeSetParams, 12000)         \
	X(GraphLaunch, 10000)                          \
	X(GraphExecDestroy, 10000)                     \
	X(GraphDestroy, 10000)

#define DTC_CUDA_MEMBER(name, version) PFN_cu##name##_v##version name;

struct dtc_cuda_driver {
	DTC_CUDA_ENTRIES(DTC_CUDA_MEMBER)
	int version; /* of the driver: 12040 is 12.4 */
};

/* Whether this process has loaded a driver. */
bool dtc_cuda_driver_is_loaded(void);

/*
 * Find the entry points of the driver that this process has loaded. False if it has loaded none, or
 * none that will do, which the log then says at level warn. Initialises nothing.
 */
bool dtc_cuda_driver_find(struct dtconv_context *context, struct dtc_cuda_driver *driver);

/*
 * Of a driver that is loaded and will not do: whether the processor must keep off the address, because it is
 * a device's. Slow; asks by the oldest entry point there is.
 */
bool dtc_cuda_driver_claims(const void *address);

/* The driver's own word for a result, never NULL. */
const char *dtc_cuda_result_name(const struct dtc_cuda_driver *driver, CUresult result);

/*
 * Round driver calls on the application's thread: while another thread captures a graph in global
 * mode, a query of ours would be refused and would break that capture.
 */
static inline CUstreamCaptureMode dtc_cuda_relax(const struct dtc_cuda_driver *driver)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	driver->ThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

static inline void dtc_cuda_unrelax(const struct dtc_cuda_driver *driver,
				    CUstreamCaptureMode mode)
{
	driver->ThreadExchangeStreamCaptureMode(&mode);
}

#endif
