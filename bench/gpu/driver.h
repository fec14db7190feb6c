/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver as an application uses it, loaded at run time, so that the program also
 * starts without one. It does not depend on layouts. The library opens the same driver by
 * itself.
 */
#ifndef BENCH_GPU_DRIVER_H
#define BENCH_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#define GPU_ENTRIES(X)                      \
	X(Init, 2000)                       \
	X(DriverGetVersion, 2020)           \
	X(GetErrorName, 6000)               \
	X(DeviceGet, 2000)                  \
	X(DeviceGetCount, 2000)             \
	X(DeviceGetAttribute, 2000)         \
	X(DeviceGetName, 2000)              \
	X(DeviceCanAccessPeer, 4000)        \
	X(DevicePrimaryCtxRetain, 7000)     \
	X(DevicePrimaryCtxRelease, 11000)   \
	X(CtxSetCurrent, 4000)              \
	X(CtxEnablePeerAccess, 4000)        \
	X(PointerGetAttributes, 7000)       \
	X(MemAlloc, 3020)                   \
	X(MemFree, 3020)                    \
	X(MemHostAlloc, 2020)               \
	X(MemFreeHost, 2000)                \
	X(MemHostRegister, 6050)            \
	X(MemHostUnregister, 4000)          \
	X(MemcpyAsync, 4000)                \
	X(Memcpy2DAsync, 3020)              \
	X(EventCreate, 2000)                \
	X(EventDestroy, 4000)               \
	X(EventRecord, 2000)                \
	X(EventSynchronize, 2000)           \
	X(EventElapsedTime, 2000)           \
	X(StreamCreate, 2000)               \
	X(StreamDestroy, 4000)              \
	X(StreamSynchronize, 2000)          \
	X(StreamWaitEvent, 3020)            \
	X(StreamBeginCapture, 10010)        \
	X(StreamEndCapture, 10000)          \
	X(GraphInstantiateWithFlags, 11040) \
	X(GraphLaunch, 10000)               \
	X(GraphExecDestroy, 10000)          \
	X(GraphDestroy, 10000)              \
	X(ModuleLoadData, 2000)             \
	X(ModuleGetFunction, 2000)          \
	X(ModuleUnload, 2000)               \
	X(LaunchKernel, 4000)

/* The error text if there is none. */
#define GPU_NO_DEVICE "the CUDA driver reports no device"

#define GPU_MEMBER(name, version) PFN_cu##name##_v##version name;

struct gpu_driver {
	GPU_ENTRIES(GPU_MEMBER)
};

/* Find and initialise the driver. Returns 0, or -1 with an error text in `why`. */
int gpu_driver_open(struct gpu_driver *driver, char *why, size_t room);

/* The driver's name for a result. */
const char *gpu_result_name(const struct gpu_driver *driver, CUresult result);

#endif
