/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large pieces of memory for staging: host memory that a vendor registers with its devices, or memory of one of
 * them. Made and given back by threads that may block, never in a message.
 */
#ifndef DTC_SLAB_MEMORY_H
#define DTC_SLAB_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "address_range.h"

struct dtc_vendor_ops;
struct dtconv_context;

struct dtc_slab_memory {
	void *base; /* host memory: the caller's; device memory: filled in */
	size_t bytes;
	int device; /* ordinal; negative: that of the calling thread's device context; filled in */
	const char *caller;
	const char *why; /* in the driver's words, if it refused; a constant string */
	struct dtconv_context *context;
	bool is_allocated;                   /* by the vendor: memory of a device */
	const struct dtc_vendor_ops *vendor; /* that did it; NULL: none */
	void *owner;                         /* the vendor's own */
	bool is_shared; /* with other processes: memory of a device */
	int fd;         /* exported: a DMA-BUF */
	struct dtc_shared_memory shared;
};

/*
 * Page-lock host memory and let all devices access it. 0; UNSUPPORTED, without an error text, if there is no
 * device driver or no context of the device; otherwise the driver refused, and @memory->why says why.
 */
int dtc_slab_memory_pin(struct dtconv_context *context, struct dtc_slab_memory *memory);

/* Allocate memory of a device; statuses as above. */
int dtc_slab_memory_allocate(struct dtconv_context *context,
			     struct dtc_slab_memory *memory);

/* Allocate memory of a device that other processes can map by @fd, which the caller owns; statuses as above. */
int dtc_slab_memory_share(struct dtconv_context *context, struct dtc_slab_memory *memory,
			  int *fd);

/* Map what another process has shared, @memory->bytes bytes; statuses as above. @fd stays the caller's. */
int dtc_slab_memory_import(struct dtconv_context *context, struct dtc_slab_memory *memory,
			   int fd);

/* Export memory of a device as a DMA-BUF, @memory->fd, which the caller owns; statuses as above. */
int dtc_slab_memory_export(struct dtconv_context *context,
			   struct dtc_slab_memory *memory);

/* What has become of memory that was given back, for an owner that may be gone before it is known. */
struct dtc_slab_ledger {
	struct dtconv_context *context;
	_Atomic size_t references;
	_Atomic size_t releasing_bytes; /* not unregistered yet */
	_Atomic size_t
		abandoned_bytes; /* stay mapped, because a device may still write to them */
};

/* With one reference; NULL if the allocator has no memory. */
struct dtc_slab_ledger *dtc_slab_ledger_create(struct dtconv_context *context);
void dtc_slab_ledger_unref(struct dtc_slab_ledger *ledger);

/*
 * Give back what was pinned or allocated, and then unmap host memory, pinned or not. The driver
 * blocks until the device is idle, so a thread of the vendor calls it, and this does not block. If the device context
 * is gone or the driver refuses, the memory stays mapped and is abandoned. @ledger may be NULL.
 */
void dtc_slab_memory_release(struct dtc_slab_memory *memory,
			     struct dtc_slab_ledger *ledger);

/* Whether the device context is gone, so that nothing is known of what the device still writes. */
bool dtc_slab_memory_is_lost(const struct dtc_slab_memory *memory);

#endif
