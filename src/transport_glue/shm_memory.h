/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that two processes share: each makes a ring and a slab of its own, and maps the other's. A process never
 * writes to the other's ring.
 */
#ifndef DTC_SHM_MEMORY_H
#define DTC_SHM_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy_backends/memory/slab_memory.h"
#include "wire.h"

struct dtconv_context;

#define DTC_SHM_LINE        64
#define DTC_SHM_ENTRY_WORDS (DTC_SHM_LINE / sizeof(uint64_t))

/* A header in the words of one cache line. */
struct dtc_shm_entry {
	_Atomic uint64_t words[DTC_SHM_ENTRY_WORDS];
};

/* What one process publishes. */
struct dtc_shm_ring {
	_Alignas(DTC_SHM_LINE) _Atomic uint64_t pushed; /* entries, in all */
	_Alignas(DTC_SHM_LINE) _Atomic uint64_t popped; /* of the other's ring, in all */
	/* Odd: it sleeps, or is going to; rings of the bell wake it. Changes with every sleep. */
	_Alignas(DTC_SHM_LINE) _Atomic uint64_t asleep;
	_Alignas(DTC_SHM_LINE) struct dtc_shm_entry entries[];
};

/* A memfd and where it is mapped. */
struct dtc_shm_mapping {
	void *base; /* NULL: not mapped */
	size_t bytes;
	struct dtc_slab_memory slab; /* as a device sees it */
	bool is_pinned;
};

/* The ring is followed by room for the offers of all slots, if there is any. */
static inline size_t dtc_shm_ring_bytes(size_t entries, bool has_offers)
{
	return sizeof(struct dtc_shm_ring) + entries * sizeof(struct dtc_shm_entry) +
	       (has_offers ? DTC_WIRE_SLOTS * DTC_WIRE_OFFER_BYTES : 0);
}

/* Where the offer of a slot lies, behind a ring of so many entries. */
static inline void *dtc_shm_offer(void *ring, size_t entries, uint32_t slot)
{
	return (char *)ring + dtc_shm_ring_bytes(entries, false) +
	       slot * DTC_WIRE_OFFER_BYTES;
}

/* A ring in a new memfd, which others can map but neither write nor resize. */
int dtc_shm_make_ring(struct dtconv_context *context, size_t entries, bool has_offers,
		      const char *caller, struct dtc_shm_mapping *mapping, int *fd);

/*
 * Map the other process's memfd, if it has so many bytes for ever: DTCONV_ERR_FORMAT if not. With @is_writable it is
 * mapped as device drivers want it; nothing is written.
 */
int dtc_shm_map(struct dtconv_context *context, int fd, size_t bytes, bool is_writable,
		struct dtc_shm_mapping *mapping);

/* Have a device read it directly. If that is refused, it stays as it is, and the log says so. */
void dtc_shm_pin(struct dtconv_context *context, struct dtc_shm_mapping *mapping,
		 int device);

/* Map the other process's memory of a device, which @device may read. */
int dtc_shm_import(struct dtconv_context *context, int fd, size_t bytes, int device,
		   struct dtc_shm_mapping *mapping);

void dtc_shm_unmap(struct dtc_shm_mapping *mapping);

#endif
