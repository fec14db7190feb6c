/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application's side of a GPU: a driver, which is the real one where there is a device and the
 * stand-in elsewhere, its entry points, and memory of every kind. The library under test finds the same
 * driver by itself and shares nothing with this.
 */
#ifndef TEST_SUPPORT_GPU_H
#define TEST_SUPPORT_GPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "support/cuda_standin/standin.h"
#include "support/marks.h"

struct dtconv_context;

#define GPU_ENTRIES(X)                             \
	X(Init, 2000)                              \
	X(DeviceGet, 2000)                         \
	X(DeviceGetCount, 2000)                    \
	X(DeviceGetAttribute, 2000)                \
	X(DeviceCanAccessPeer, 4000)               \
	X(DevicePrimaryCtxRetain, 7000)            \
	X(DevicePrimaryCtxRelease, 11000)          \
	X(DevicePrimaryCtxReset, 11000)            \
	X(CtxCreate, 3020)                         \
	X(CtxDestroy, 4000)                        \
	X(CtxSetCurrent, 4000)                     \
	X(CtxGetCurrent, 4000)                     \
	X(CtxSynchronize, 2000)                    \
	X(CtxEnablePeerAccess, 4000)               \
	X(CtxDisablePeerAccess, 4000)              \
	X(MemAlloc, 3020)                          \
	X(MemFree, 3020)                           \
	X(MemHostAlloc, 2020)                      \
	X(MemFreeHost, 2000)                       \
	X(MemHostRegister, 6050)                   \
	X(MemHostUnregister, 4000)                 \
	X(MemAllocManaged, 6000)                   \
	X(MemAllocAsync, 11020)                    \
	X(MemFreeAsync, 11020)                     \
	X(MemPoolCreate, 11020)                    \
	X(MemPoolDestroy, 11020)                   \
	X(MemPoolSetAccess, 11020)                 \
	X(MemAllocFromPoolAsync, 11020)            \
	X(MemPoolExportToShareableHandle, 11020)   \
	X(MemPoolImportFromShareableHandle, 11020) \
	X(MemPoolExportPointer, 11020)             \
	X(MemPoolImportPointer, 11020)             \
	X(IpcGetMemHandle, 4010)                   \
	X(IpcOpenMemHandle, 11000)                 \
	X(IpcCloseMemHandle, 4010)                 \
	X(MemExportToShareableHandle, 10020)       \
	X(MemImportFromShareableHandle, 10020)     \
	X(MemAddressReserve, 10020)                \
	X(MemAddressFree, 10020)                   \
	X(MemCreate, 10020)                        \
	X(MemRelease, 10020)                       \
	X(MemMap, 10020)                           \
	X(MemUnmap, 10020)                         \
	X(MemSetAccess, 10020)                     \
	X(MemGetAllocationGranularity, 10020)      \
	X(MemGetAccess, 10020)                     \
	X(Memcpy, 4000)                            \
	X(MemcpyAsync, 4000)                       \
	X(MemsetD8, 3020)                          \
	X(MemsetD8Async, 3020)                     \
	X(EventCreate, 2000)                       \
	X(EventRecord, 2000)                       \
	X(EventSynchronize, 2000)                  \
	X(EventElapsedTime, 2000)                  \
	X(EventDestroy, 4000)                      \
	X(StreamCreate, 2000)                      \
	X(StreamDestroy, 4000)                     \
	X(StreamQuery, 2000)                       \
	X(StreamGetPriority, 5050)                 \
	X(CtxGetStreamPriorityRange, 5050)         \
	X(StreamSynchronize, 2000)                 \
	X(StreamWaitEvent, 3020)                   \
	X(StreamWaitValue64, 11070)                \
	X(StreamWriteValue64, 11070)               \
	X(StreamBeginCapture, 10010)               \
	X(StreamEndCapture, 10000)                 \
	X(ThreadExchangeStreamCaptureMode, 10010)  \
	X(GraphInstantiateWithFlags, 11040)        \
	X(GraphLaunch, 10000)                      \
	X(GraphExecDestroy, 10000)                 \
	X(GraphDestroy, 10000)                     \
	X(ModuleLoadData, 2000)                    \
	X(ModuleGetFunction, 2000)                 \
	X(ModuleUnload, 2000)                      \
	X(LaunchKernel, 4000)

#define GPU_MEMBER(name, version) PFN_cu##name##_v##version name;

/* The driver as the application calls it. */
extern struct gpu_driver {
	GPU_ENTRIES(GPU_MEMBER)
	const struct standin *standin; /* NULL: the driver is real */
	bool running;                  /* open, so that failures are a case's */
} gpu;

/* Skips the program (exit 77) where there is neither a device nor a stand-in. Loads nothing. */
void gpu_find(void);

/* Whether gpu_open will find a real driver. */
bool gpu_is_real(void);

/* Loads the driver, initialises it, and makes device 0's primary context current. */
void gpu_open(void);
void gpu_close(void);

/*
 * Finds and opens the driver for a program whose cases run in its own process: a process that is
 * forked from one with a context has no device.
 */
void gpu_open_in_program(void);

/* Fails the running case unless the result is success. */
void gpu_must(CUresult result, const char *what);
#define MUST(call) gpu_must(gpu.call, #call)

/* A case with the fixture's context and an open driver. */
TCase *gpu_case(Suite *suite, const char *name, double seconds);

/* A stream that the default streams do not wait for. */
CUstream gpu_stream(void);

void gpu_nap(long milliseconds);

/* The entry points that the library asks the driver for, by name: each is made to fail on demand. */
extern const char *const gpu_entries[];
extern const int gpu_entry_count;

/* Fails the running case if a job of the context, none of which is in flight, has kept its flag. */
void gpu_must_be_idle(struct dtconv_context *context, const char *when);

/* ---- refused calls of the stand-in ------------------------------------------------------- */

/* The @nth call of an entry point from now on fails, until gpu_was_refused(), which answers whether there was one. */
void gpu_refuse(const char *entry, unsigned nth);
bool gpu_was_refused(void);

/* Have @attempt refuse the first calls of an entry point, one after another, as long as it answers that there was one. */
typedef bool gpu_attempt_fn(const char *entry, unsigned nth, int arg);
void gpu_refuse_calls(const char *entry, gpu_attempt_fn *attempt, int arg);

/* A case of the suite for a test of each entry point, and how many there are: 0 if the driver is real. */
TCase *gpu_faults(Suite *suite);
int gpu_refusals(void);

/* Gives the device back. On the stand-in nothing may be left behind by what @faults says; faults end. */
void gpu_must_be_clean(const char *faults);

/* ---- memory ---------------------------------------------------------------------------- */

enum arena_kind {
	ARENA_HOST,       /* malloc */
	ARENA_REGISTERED, /* the same, registered */
	ARENA_PINNED,     /* the driver's */
	ARENA_MANAGED,
	ARENA_DEVICE,
	ARENA_ASYNC, /* of a stream-ordered pool */
	ARENA_VMM,   /* one range over handles of one granule each */
	ARENA_HOST_NUMA, /* the same of the host's memory, to which device 0 alone has access */
	ARENA_KINDS
};

extern const char *const arena_kind_names[ARENA_KINDS];

struct arena {
	enum arena_kind kind;
	unsigned char *memory;
	size_t bytes;
	size_t reserved; /* VMM: bytes of the range */
	/* In which memory of a device was opened; NULL: the first device's primary context. */
	CUcontext owner;
};

void arena_open(struct arena *arena, enum arena_kind kind, size_t bytes);
void arena_close(struct arena *arena);
/* Where the range of a mapped arena begins. */
uintptr_t arena_base(const struct arena *arena);
void arena_write(const struct arena *arena, size_t offset, const void *from, size_t bytes);
void arena_read(const struct arena *arena, size_t offset, void *to, size_t bytes);

/*
 * Zeros in device memory of the current context, which are there on return. cuMemset alone returns earlier, and the
 * library's streams do not wait for the default stream.
 */
void gpu_clear(void *memory, size_t bytes);

/* ---- kernels of the application -------------------------------------------------------- */

/* A kernel that runs until it is released, at most some seconds on a real device. */
struct spin {
	CUstream stream;
	uint64_t *word; /* mapped */
};

void spin_begin(struct spin *spin, CUstream stream);
void spin_release(struct spin *spin);
void spin_end(struct spin *spin);

/*
 * On the stand-in: a thread that releases a spin some time after the nth (from 1) call from now on of an
 * entry point, which is time enough for whoever has made it to go on without what waits behind the spin.
 */
struct spin_releaser {
	struct spin *spin;
	const char *entry;
	size_t calls;
	bool released, ending; /* atomic */
	pthread_t thread;
};

void releaser_begin(struct spin_releaser *releaser, struct spin *spin, const char *entry,
		    size_t nth);
/* Whether the spin has been released by now; the thread is gone after. */
bool releaser_end(struct spin_releaser *releaser);

/* The same kernel for many spins on words of the caller's: loading it waits for those that run. */
CUfunction spin_load(void);
void spin_launch(CUfunction kernel, uint64_t *word, CUstream stream);

/*
 * A kernel that owns bytes of device memory, a thread each, and counts them up until it is stopped, some
 * seconds at most: a store of anybody else's to one of them loses counts, also one of its old value.
 */
struct race {
	CUstream stream;
	uint64_t *stop; /* mapped */
	struct arena places, counts;
	size_t count;
};

void race_begin(struct race *race, CUstream stream, unsigned char *const places[],
		size_t count);
/* Stops it; tells how often each byte was counted up. */
void race_end(struct race *race, uint32_t counts[]);

/* Launch a kernel that touches an illegal address: the context is broken for good. */
void gpu_fault(CUstream stream);

#endif
