/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of other processes' memory that a context has, in use and idle. It decides when a mapping may be used
 * again, when it is closed, and who waits for whom.
 */
#ifndef DTC_IPC_CACHE_H
#define DTC_IPC_CACHE_H

#include <stddef.h>

#include "base/process.h"
#include "ipc_handle.h"

struct dtc_ipc_cache;
struct dtc_vendor_ops;
struct dtconv_context;
struct dtconv_ipc_attr;

/* The context's cache, made by the first call; or a failure with its sentence. */
int dtc_ipc_cache_of(struct dtconv_context *context, const char *caller,
		     struct dtc_ipc_cache **cache);

/* The same if it has been made; else NULL. */
struct dtc_ipc_cache *dtc_ipc_cache_find(struct dtconv_context *context);

/* This process. */
const struct dtc_process *dtc_ipc_cache_process(const struct dtc_ipc_cache *cache);
const struct dtc_vendor_ops *dtc_ipc_cache_vendor(const struct dtc_ipc_cache *cache);

/* See dtconv_ipc_open. The handle has been read, and is of this machine. */
int dtc_ipc_cache_open(struct dtc_ipc_cache *cache, const struct dtc_ipc_handle *handle,
		       int device, const char *caller, void **address);

/* False: nobody has the address open. */
bool dtc_ipc_cache_close(struct dtc_ipc_cache *cache, uintptr_t address);

void dtc_ipc_cache_trim(struct dtc_ipc_cache *cache, size_t keep);
void dtc_ipc_cache_query(struct dtc_ipc_cache *cache, struct dtconv_ipc_attr *attr);

/* Close all mappings, and free the cache of a context. No other thread uses it, but the vendor's may. */
void dtc_ipc_cache_destroy(struct dtconv_context *context);

#endif
