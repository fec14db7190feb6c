/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of staging fragments: equal pieces of memory that are registered with CUDA and with
 * the networks of the application.
 */
#ifndef DTCONV_POOL_H
#define DTCONV_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;
struct dtconv_fragment;
struct dtconv_pool;

/**
 * @defgroup pool Fragment pools
 * @brief Staging memory in equal fragments, registered once and used for every message.
 *
 * @snippet test_snippets.c pool
 *
 * A pool consists of *slabs*. A slab is one mapping, cut into fragments of one size. It is
 * registered with the device driver, so that devices copy into it at full speed, and then
 * with each *registrar* of the application, usually a network (`ibv_reg_mr`, `ucp_mem_map`).
 *
 * - Registration takes milliseconds, so it happens in create, grow and prepare, never in a
 *   message.
 * - A slab is registered with the device driver first, then with the registrars in the
 *   order given. Everything is undone in reverse order: if a step fails, when the pool
 *   shrinks, and when it is destroyed.
 * - If the device driver refuses to register memory (limit of locked memory, no device
 *   context), the slab stays ordinary memory. The library then copies through buffers of its
 *   own. dtconv_pool_attr.pinned_slabs says so, and the log does once.
 * - If a device context is lost, its device may still write to a fragment. Such fragments
 *   are *abandoned*: never used again, never unmapped, and counted.
 *
 * Fragments may be taken and given back by any thread, without a lock. Create, prepare and
 * grow block, shrink and destroy only as long as the registrars do; any threads may call them, destroy excepted, while traffic
 * runs. A pool belongs to a context and must be destroyed before it.
 * @{
 */

/** One mapping of a pool, as registrars see it. */
struct dtconv_slab {
	void *base;   /**< its first byte; page-aligned */
	size_t bytes; /**< its size; whole pages */
	enum dtconv_memory_kind
		kind; /**< PINNED, DEVICE, or HOST if the device driver has not registered it */
	int device; /**< ordinal of the device that owns it, or -1 */
	int fd;     /**< the descriptor of a shared slab, else -1; the pool closes it */
	uint64_t
		fd_offset; /**< of the slab in the memory that the descriptor stands for; 0 */
};

/** Registers slabs with something else than the device driver, usually a network. */
struct dtconv_registrar {
	const char *name; /**< for messages; must outlive the pool */
	/**
	 * Register a slab. Called by create and grow, in their thread; may block.
	 * @param arg    the pointer given with the functions.
	 * @param slab   [in] valid during the call.
	 * @param handle [out] what dtconv_fragment_query() and dereg get; starts as NULL.
	 * @return 0, or a negative enum dtconv_status: the slab is then not used.
	 */
	int (*reg)(void *arg, const struct dtconv_slab *slab, void **handle);
	/**
	 * Undo reg. Called by shrink, destroy, and a grow that failed. No fragment of the slab
	 * is in use. The memory is still mapped.
	 */
	void (*dereg)(void *arg, const struct dtconv_slab *slab, void *handle);
	void *arg; /**< passed to both */
};

/**
 * Export a slab of kind DEVICE as a DMA-BUF. A registrar gives it to a network adapter
 * (`ibv_reg_dmabuf_mr`).
 *
 * @param context the pool's context.
 * @param slab    [in] as reg gets it.
 * @param fd      [out] a descriptor, owned by the caller, close-on-exec; not needed any more when
 *                the adapter has registered it.
 * @return 0; DTCONV_ERR_INVAL if an argument is NULL or the slab is not memory of a device;
 *         DTCONV_ERR_UNSUPPORTED if there is no device driver; DTCONV_ERR_BACKEND if it does not
 *         export the memory, which has to be whole pages of the host: the flag
 *         #DTCONV_POOL_SHARED sees to that; DTCONV_ERR_NOMEM.
 *
 * May block for some microseconds. Callable from any thread.
 */
DTCONV_API int dtconv_slab_dma_buf(struct dtconv_context *context,
				   const struct dtconv_slab *slab, int *fd);

/** Flags of struct dtconv_pool_params. */
enum dtconv_pool_flags {
	/**
	 * slabs have a descriptor, by which other processes map them: memfds; of kind DEVICE
	 * allocations of the virtual memory management, filled with zeros
	 */
	DTCONV_POOL_SHARED = 1,
	DTCONV_POOL_HUGE = 2, /**< ask the system for huge pages */
	DTCONV_POOL_NUMA = 4, /**< allocate on params.numa_node */
	DTCONV_POOL_CLEAN = 8 /**< fill fragments with zeros when they are given back */
};

/** The most registrars of a pool. */
#define DTCONV_POOL_REGISTRARS_MAX 8

/** Options of a pool. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_pool_params {
	size_t struct_size; /**< sizeof(struct dtconv_pool_params) */
	enum dtconv_memory_kind
		kind; /**< PINNED (default), HOST: never registered with a device, or DEVICE */
	/** ordinal of the device that slabs are registered with or allocated on; negative: the
	 * device of the calling thread's current device context */
	int device;
	/**
	 * capacity of a fragment; default: threshold fragment_bytes, rounded up to 256, but no more than
	 * slab_bytes or 262144, whichever is larger. Messages of a device from 1 to 64 MiB are fastest
	 * in fragments of 512 KiB to 4 MiB
	 */
	size_t fragment_bytes;
	size_t slab_bytes; /**< least size of a slab, at least a fragment; default: 64 MiB, or start_bytes if that is less */
	size_t start_bytes; /**< least size to begin with, rounded up to slabs; default: one slab */
	size_t limit_bytes; /**< largest size, rounded down to slabs, but at least one; default: 1024 slabs */
	unsigned flags; /**< of enum dtconv_pool_flags */
	int numa_node;  /**< with DTCONV_POOL_NUMA: the node of the memory */
	const struct dtconv_registrar
		*registrars;    /**< copied; in the order of registration */
	size_t registrar_count; /**< at most DTCONV_POOL_REGISTRARS_MAX */
};

/**
 * Create a pool.
 *
 * @param context the context; must outlive the pool.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param pool    [out] the new pool, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or an option has an undefined value;
 *         DTCONV_ERR_UNSUPPORTED for device memory without a usable device;
 *         DTCONV_ERR_NOMEM if the system has no memory; DTCONV_ERR_LIMIT if start_bytes
 *         exceeds the limit; the status of a registrar.
 *
 * Blocks while slabs are allocated, touched and registered (64 MiB pinned on an H200: 3 ms).
 * Callable from any thread, also from callbacks of the flow.
 */
DTCONV_API int dtconv_pool_create(struct dtconv_context *context,
				  const struct dtconv_pool_params *params,
				  struct dtconv_pool **pool);

/**
 * Register the slabs that are still ordinary memory with a device's driver.
 *
 * @param pool   a pool of pinned memory.
 * @param device ordinal of the device; negative: the device of the calling thread's current
 *               device context.
 * @return 0 if all slabs are registered now; DTCONV_ERR_UNSUPPORTED if there is no usable
 *         device or the pool is not of kind PINNED; DTCONV_ERR_BACKEND if the driver refuses.
 *
 * For a pool that was created before the application made its device context. Slabs that
 * grow adds later are registered with this device too. Blocks. Fragments in use may be
 * registered as well: their content stays.
 */
DTCONV_API int dtconv_pool_prepare(struct dtconv_pool *pool, int device);

/**
 * Take a free fragment.
 *
 * @param pool     the pool.
 * @param fragment [out] the fragment, owned by the caller until dtconv_fragment_put().
 * @return 0; DTCONV_ERR_AGAIN if none is free (no error text).
 *
 * Never blocks, never allocates; takes no lock. Callable from any thread. While the pool
 * shrinks, DTCONV_ERR_AGAIN is possible although fragments are free.
 */
DTCONV_API int dtconv_pool_get(struct dtconv_pool *pool,
			       struct dtconv_fragment **fragment);

/**
 * Give a fragment back.
 *
 * @param fragment a fragment from dtconv_pool_get(), which nothing accesses any more; or NULL.
 *
 * Never blocks, except that it wakes an operation that waits for a fragment. Callable from
 * any thread. A fragment that the caller does not own, for example one that was given back
 * before, is left alone, and the log gets a line at level error.
 */
DTCONV_API void dtconv_fragment_put(struct dtconv_fragment *fragment);

/** What a fragment is. */
struct dtconv_fragment_attr {
	size_t struct_size; /**< sizeof(struct dtconv_fragment_attr), set by the caller */
	void *address;      /**< its first byte; aligned to 256 bytes */
	size_t capacity;    /**< its size in bytes: dtconv_pool_params.fragment_bytes */
	enum dtconv_memory_kind kind; /**< as struct dtconv_slab */
	size_t slab;                  /**< number of its slab, from 0 */
	size_t slab_offset;           /**< bytes from the start of the slab */
	int slab_fd;                  /**< as struct dtconv_slab */
	void *const *
		handles; /**< what the registrars returned for the slab, in their order */
	size_t handle_count; /**< number of registrars */
};

/**
 * Read address, size and registrations of a fragment.
 *
 * @param fragment a fragment that is not free.
 * @param attr     [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block; does not allocate. Callable from any thread.
 */
DTCONV_API int dtconv_fragment_query(const struct dtconv_fragment *fragment,
				     struct dtconv_fragment_attr *attr);

/**
 * Address of a fragment: dtconv_fragment_attr.address.
 * @param fragment a fragment that is not free.
 * @return its first byte. Does not block. Callable from any thread.
 */
DTCONV_API void *dtconv_fragment_address(const struct dtconv_fragment *fragment);

/**
 * Add slabs.
 *
 * @param pool  the pool.
 * @param bytes least number of bytes to add, rounded up to slabs.
 * @return 0; DTCONV_ERR_LIMIT if the pool would exceed its limit (nothing was added);
 *         DTCONV_ERR_NOMEM; the status of a registrar. After a failure the slabs that were
 *         finished before stay.
 *
 * Blocks as dtconv_pool_create() does; traffic goes on meanwhile. Callable from any thread.
 */
DTCONV_API int dtconv_pool_grow(struct dtconv_pool *pool, size_t bytes);

/**
 * Remove slabs whose fragments are all free.
 *
 * @param pool  the pool.
 * @param bytes number of bytes to remove, rounded down to slabs.
 * @return 0; DTCONV_ERR_AGAIN if fewer slabs are wholly free (those were removed).
 *
 * The registrars unregister before this returns. The device driver unregisters only when the
 * device is idle, so a thread of the library calls it and unmaps the memory then; until that
 * the bytes are in dtconv_pool_attr.releasing_bytes. Traffic goes on meanwhile. Callable from
 * any thread.
 */
DTCONV_API int dtconv_pool_shrink(struct dtconv_pool *pool, size_t bytes);

/** Numbers of a pool. */
struct dtconv_pool_attr {
	size_t struct_size; /**< sizeof(struct dtconv_pool_attr), set by the caller */
	enum dtconv_memory_kind kind; /**< as created */
	size_t fragment_bytes;        /**< capacity of a fragment */
	size_t slab_bytes;            /**< size of a slab */
	size_t slabs;                 /**< number of slabs */
	size_t pinned_slabs;          /**< of those, registered with the device driver */
	size_t fragments;             /**< number of fragments: free, out and abandoned */
	size_t free;                  /**< fragments that can be taken */
	size_t out;                   /**< fragments that operations or callers own */
	size_t abandoned;             /**< fragments that a lost device may still write */
	size_t abandoned_bytes; /**< bytes of slabs that could not be unmapped, removed slabs included */
	size_t releasing_bytes; /**< bytes of removed slabs that the driver has not unregistered yet */
};

/**
 * Read the numbers of a pool.
 *
 * @param pool the pool.
 * @param attr [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block. Callable from any thread. Numbers are exact when no thread grows or shrinks
 * the pool, and takes or gives back fragments.
 */
DTCONV_API int dtconv_pool_query(struct dtconv_pool *pool, struct dtconv_pool_attr *attr);

/**
 * Destroy a pool.
 *
 * @param pool the pool, or NULL.
 * @return 0; DTCONV_ERR_STATE if fragments are out or operations wait for one (nothing
 *         happened).
 *
 * Memory is given back as by dtconv_pool_shrink(), at the latest when the context is
 * destroyed. No other call of the pool may run.
 */
DTCONV_API int dtconv_pool_destroy(struct dtconv_pool *pool);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
