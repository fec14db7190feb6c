/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large pieces of memory for staging: host memory that a vendor registers with its devices, or memory of one of
 * them. Made and given back by threads that may block, never in a message.
 */
#ifndef DTC_SLAB_MEMORY_H
#define DTC_SLAB_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct dtc_vendor_ops;
struct dtconv_context;

struct dtc_slab_memory {
	void *base; /* host memory: the caller's; device memory: filled in */
	size_t bytes;
	int device; /* ordinal; negative: that of the calling thread's device context; filled in */
	const char *caller;
	const char *why; /* in the driver's words, if it refused; a constant string */
	const struct dtc_vendor_ops *vendor; /* that did it; NULL: nobody */
	void *owner;                         /* the vendor's own */
};

/*
 * Page-lock host memory and let all devices access it. 0; UNSUPPORTED, without an error text, if there is no
 * device driver or no context of the device; otherwise the driver refused, and @memory->why says why.
 */
int dtc_slab_memory_pin(struct dtconv_context *context, struct dtc_slab_memory *memory);

/*
 * Undo it. Blocks until the device is idle. False: the device context is gone or the driver refused, so the memory
 * may still be written; do not unmap it. True for memory that nobody has pinned.
 */
bool dtc_slab_memory_unpin(struct dtc_slab_memory *memory);

/* Allocate memory of a device; statuses as above. Freeing returns false if the device context is gone. */
int dtc_slab_memory_allocate(struct dtconv_context *context,
			     struct dtc_slab_memory *memory);
bool dtc_slab_memory_free(struct dtc_slab_memory *memory);

/* Whether the device context is gone, so that nothing is known of what the device still writes. */
bool dtc_slab_memory_is_lost(const struct dtc_slab_memory *memory);

#endif
