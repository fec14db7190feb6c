/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch memory of a device, which a thread borrows for a job.
 */
#ifndef DTC_SCRATCH_MEMORY_H
#define DTC_SCRATCH_MEMORY_H

#include <stddef.h>

/* Each has memory of its own. */
enum dtc_scratch_purpose {
	DTC_SCRATCH_COPIES, /* from layout to layout on one device */
	DTC_SCRATCH_LINK,   /* from layout to layout on two */
	DTC_SCRATCH_VIA_DEVICE, /* packed and copied, where devices have no access to each other */
	DTC_SCRATCH_PURPOSES
};

/* The memory, and the stream that orders its uses. */
struct dtc_scratch {
	char *memory;
	size_t bytes;
	void *stream;
	void *owner; /* from here on the vendor's own */
	void (*end)(struct dtc_scratch *scratch);
};

/* Release it; nothing that uses it may be in flight. */
static inline void dtc_scratch_release(struct dtc_scratch *scratch)
{
	scratch->end(scratch);
}

#endif
