/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory kinds: where an address lives, as the library finds out or as the caller hints.
 */
#ifndef DTCONV_MEMORY_H
#define DTCONV_MEMORY_H

#include <stddef.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;

/**
 * @defgroup memory Memory kinds
 * @brief Find out whether an address is host, pinned, managed or device memory.
 *
 * @snippet test_snippets.c memory
 *
 * Buffers may be host or device memory. The library asks the device driver, but only if
 * the process has loaded and initialised it. No call initialises a device, creates a
 * device context or changes the current one. See @ref device_memory "Device memory" for
 * the rules of calls that move bytes.
 * @{
 */

/** Where a buffer lives. */
enum dtconv_memory_kind {
	DTCONV_MEMORY_UNKNOWN, /**< no hint: the library asks the driver */
	DTCONV_MEMORY_HOST,    /**< ordinary memory of the process */
	DTCONV_MEMORY_PINNED,  /**< page-locked host memory that devices can access: allocated by or registered with the driver */
	DTCONV_MEMORY_MANAGED, /**< memory that migrates between host and device */
	DTCONV_MEMORY_DEVICE   /**< memory of a device, or host memory that only devices may access */
};

/**
 * Name a memory kind, as messages and dtconv_explain() do: host, pinned, managed, device.
 *
 * @param kind a memory kind.
 * @return the name, a constant string; NULL if there is no such kind.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API const char *dtconv_memory_kind_name(enum dtconv_memory_kind kind);

/** Memory kind, device and allocation of an address. */
struct dtconv_memory_attr {
	size_t struct_size; /**< sizeof(struct dtconv_memory_attr), set by the caller */
	enum dtconv_memory_kind kind; /**< never DTCONV_MEMORY_UNKNOWN */
	/** ordinal of the device that owns it; of a mapping that is closed to that device, of one that
	 * has access; or -1 */
	int device;
	void *base;    /**< start of the allocation, or of the mapping in a range with several; NULL for host memory */
	size_t length; /**< size in bytes from @p base; 0 for host memory */
};

/**
 * Find out where an address lives.
 *
 * @param context the context.
 * @param address any address; it is not dereferenced.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0; DTCONV_ERR_BACKEND if the driver does
 *         not say; DTCONV_ERR_NOMEM.
 *
 * Does not block. Callable from any thread, also during graph capture. Costs a few
 * nanoseconds in a process without a device driver, else one driver call.
 */
DTCONV_API int dtconv_memory_query(struct dtconv_context *context, const void *address,
				   struct dtconv_memory_attr *attr);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
