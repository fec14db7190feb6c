/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory of other processes: handles of memory of cudaMalloc, and a cache of what is mapped.
 */
#ifndef DTCONV_IPC_H
#define DTCONV_IPC_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;

/**
 * @defgroup ipc Device memory of other processes
 * @brief Map memory that another process of the machine has allocated with cudaMalloc or cuMemAlloc.
 *
 * @snippet test_snippets.c ipc export
 * @snippet test_snippets.c ipc open
 *
 * The owner calls dtconv_ipc_export() and sends the handle to the other process, by any means.
 * That process calls dtconv_ipc_open() and gets an address, which may be on either side of every
 * call that moves bytes.
 *
 * - CUDA IPC shares memory of cudaMalloc and cuMemAlloc only. It does not share memory of cuMemAllocAsync and of pools,
 *   mappings of cuMemMap, managed memory and host memory. Use a segment (dtconv_segment_create) for memory
 *   that is made to be shared.
 * - A mapping costs a driver call that takes much longer than a small message. So a mapping stays open after the last
 *   dtconv_ipc_close(), in a cache of the context, and the next open of the same allocation is a
 *   *hit*. The cache keeps at most #DTCONV_IPC_IDLE_MAX *idle* mappings and evicts the least recently used one.
 *   It never evicts a mapping that is open.
 * - The key of a mapping is the owner (process ID, start time, PID namespace, machine), its allocation (the driver's handle, the
 *   address and the buffer ID, which the driver uses once) and the device. If the owner frees memory and
 *   allocates anew at the same address, the buffer ID differs: the old mapping is closed first, and
 *   the new memory is mapped. After that the handle of the freed memory is an error.
 * - The driver refuses a handle of freed memory only while its address is free. If the owner has allocated anew there, the
 *   driver maps the new allocation (H200, driver 580). So do not open handles of memory that is freed.
 * - The driver maps whole allocations. Ranges of one allocation share a mapping.
 * - Access is not synchronised. Order accesses of the two processes by messages, or by CUDA IPC events.
 * - CUDA requires that all other processes close memory before its owner frees it. An idle mapping counts
 *   as open there. dtconv_ipc_trim() closes it.
 *
 * See @ref sharing_device_memory "Sharing device memory between processes".
 * @{
 */

/** Size of a handle. */
#define DTCONV_IPC_HANDLE_BYTES 192

/** The most mappings that stay open although no caller has them open. */
#define DTCONV_IPC_IDLE_MAX 64

/**
 * A range of device memory, as plain bytes to send to another process. They have a version and a checksum, and the same
 * form on all machines. A process that has them can read and write the whole allocation.
 */
struct dtconv_ipc_handle {
	unsigned char bytes[DTCONV_IPC_HANDLE_BYTES]; /**< opaque */
};

/**
 * Make a handle of a range of device memory.
 *
 * @param context the context.
 * @param address [in] the first byte of the range, in memory of cudaMalloc or cuMemAlloc. The handle
 *                does not keep the memory: the caller must not free it while another process has it mapped.
 * @param bytes   length of the range in bytes; it must end inside the allocation. May be 0.
 * @param handle  [out] the handle.
 * @return 0; DTCONV_ERR_INVAL if the range leaves its allocation; DTCONV_ERR_UNSUPPORTED if there is no
 *         usable driver, no /proc, or CUDA IPC does not share this memory; DTCONV_ERR_BACKEND if the driver
 *         refuses; DTCONV_ERR_STATE if no CUDA context of the device can be used, or in a forked child; DTCONV_ERR_NOMEM.
 *
 * Does not wait for the device. Callable from any thread. Handles of one allocation and range are equal.
 */
DTCONV_API int dtconv_ipc_export(struct dtconv_context *context, const void *address,
				 size_t bytes, struct dtconv_ipc_handle *handle);

/**
 * Map the range of a handle in this process.
 *
 * @param context the context; owns the mapping.
 * @param handle  [in] from dtconv_ipc_export() in another process, or in this one. It may come from an untrusted peer: a
 *                damaged or invented handle is an error. The library trusts the driver that a handle's memory is the peer's to
 *                share.
 * @param device  ordinal, in this process, of the device whose context maps the memory; negative: the device of the
 *                calling thread's current context. It may be another device than the owner's if the devices have peer
 *                access. Ignored for memory of this process.
 * @param address [out] the first byte of the range, valid until dtconv_ipc_close().
 * @return 0; DTCONV_ERR_FORMAT if the handle is none, of another version, damaged, or claims more memory
 *         than there is; DTCONV_ERR_STATE if an older allocation at the owner's address is still open here, if the memory is this
 *         process's and was freed, if newer memory of the owner is known at the address, if there is no CUDA context of the device, or in a forked child; DTCONV_ERR_UNSUPPORTED
 *         if there is no usable driver or the handle is from another machine; DTCONV_ERR_BACKEND if the driver refuses, for example
 *         because the owner has freed the memory or has exited; DTCONV_ERR_NOMEM.
 *
 * - A hit makes no driver call that maps or waits. It costs a search through the open and idle mappings.
 * - If the owner is this process, @p address is the exported address itself.
 * - If an idle mapping of freed memory is in the way, the call closes it first, and the driver then blocks until
 *   the device is idle. The same holds if the mapping is being evicted at this moment. Otherwise the call blocks only
 *   as long as cuIpcOpenMemHandle does, which does not wait for the device.
 * - Two threads that open one allocation at the same time share one driver call; one waits for the other.
 *
 * Callable from any thread, but not from the log and allocator callbacks of the context.
 */
DTCONV_API int dtconv_ipc_open(struct dtconv_context *context,
			       const struct dtconv_ipc_handle *handle, int device,
			       void **address);

/**
 * Give a range back. The mapping stays in the cache if it is the last.
 *
 * @param context the context that opened it.
 * @param address what dtconv_ipc_open() returned, once for each successful call. No work that accesses the range may be
 *                in flight.
 * @return 0; DTCONV_ERR_INVAL if no range that is open contains the address.
 *
 * Does not block: if there are too many idle mappings, a thread of the library closes the least recently used ones,
 * because the driver blocks until the device is idle. Callable from any thread, but not from the log and allocator callbacks.
 */
DTCONV_API int dtconv_ipc_close(struct dtconv_context *context, void *address);

/**
 * Close idle mappings, the least recently used ones first.
 *
 * @param context the context.
 * @param keep    number of idle mappings that may stay.
 * @return 0. A mapping that the driver refuses to close is forgotten, logged at level warn, and counted.
 *
 * With @p keep 0, no mapping of memory that this process has given back is left, so that its owner may free it. Blocks
 * until the device is idle. Callable from any thread, but not from the log and allocator callbacks.
 */
DTCONV_API int dtconv_ipc_trim(struct dtconv_context *context, size_t keep);

/** Numbers of the cache. Counters begin with the context. */
struct dtconv_ipc_attr {
	size_t struct_size; /**< sizeof(struct dtconv_ipc_attr), set by the caller */
	size_t open; /**< allocations that callers have open, those of this process included */
	size_t idle;           /**< mappings that only the cache has open */
	uint64_t hits;         /**< successful opens that needed no driver call to map */
	uint64_t driver_opens; /**< allocations mapped by the driver */
	uint64_t
		evicted; /**< idle mappings closed because there were too many, or by dtconv_ipc_trim() */
	uint64_t
		replaced; /**< idle mappings closed because their owner has freed the memory and allocated anew */
	uint64_t
		dropped; /**< mappings forgotten: their device context was lost, or the driver refused to close them */
};

/**
 * Read the numbers of the cache.
 *
 * @param context the context.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block. Callable from any thread. dtconv_context_destroy() closes all mappings, also open ones; it may
 * block until the device is idle. If a device context is lost, its mappings are forgotten without driver calls.
 */
DTCONV_API int dtconv_ipc_query(struct dtconv_context *context,
				struct dtconv_ipc_attr *attr);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
