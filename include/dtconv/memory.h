/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where memory lives: what the library finds out about an address, and what callers can tell it.
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
 * @defgroup memory Memory
 * Buffers may lie in the memory of the host or of a GPU. The library asks the GPU's driver, but
 * only if the process has loaded and initialised it: nothing here initialises a device, makes a
 * context of one or leaves one current.
 * @{
 */

/** Where a buffer lives. */
enum dtconv_memory_kind {
	DTCONV_MEMORY_UNKNOWN, /**< to be found out */
	DTCONV_MEMORY_HOST,    /**< ordinary memory of the process */
	DTCONV_MEMORY_PINNED,  /**< host memory that a device sees: registered, or made by its driver */
	DTCONV_MEMORY_MANAGED, /**< memory that moves between host and device */
	DTCONV_MEMORY_DEVICE   /**< memory of a device, or the host's that only devices may touch */
};

/**
 * Name a kind of memory, as messages and @ref dtconv_explain do: host, pinned, managed, device.
 *
 * @param kind a kind.
 * @return the name, which the library owns; NULL for a number that is no kind.
 */
DTCONV_API const char *dtconv_memory_kind_name(enum dtconv_memory_kind kind);

/** What is known of an address. */
struct dtconv_memory_attr {
	size_t struct_size; /**< sizeof(struct dtconv_memory_attr), set by the caller */
	enum dtconv_memory_kind kind; /**< never DTCONV_MEMORY_UNKNOWN */
	int device;                   /**< ordinal of the device that owns it, or -1 */
	void *base;    /**< start of the allocation, or of the mapping in a range that is made of several; NULL
			    for host memory */
	size_t length; /**< bytes from @p base; 0 for host memory */
};

/**
 * Find out where an address lives.
 *
 * @param context the context.
 * @param address any address; it is not looked at.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0; DTCONV_ERR_BACKEND if the driver does not say; DTCONV_ERR_NOMEM.
 *
 * Does not block. Costs a few nanoseconds in a process without a GPU's driver, else one call of
 * the driver. Callable from any thread, also while a graph is captured.
 */
DTCONV_API int dtconv_memory_query(struct dtconv_context *context, const void *address,
				   struct dtconv_memory_attr *attr);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
