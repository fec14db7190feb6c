/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A slab: one mapping of a pool, its registrations, and the descriptors of its fragments. It is set up step by step
 * and torn down in reverse order.
 */
#ifndef DTC_SLAB_H
#define DTC_SLAB_H

#include <dtconv/pool.h>

#include "copy_backends/memory/slab_memory.h"
#include "fragment.h"

/* What all slabs of a pool have in common. */
struct dtc_slab_plan {
	struct dtconv_context *context;
	struct dtconv_pool *pool;
	struct dtc_slab_ledger *ledger; /* a reference of the pool's */
	enum dtconv_memory_kind kind;
	int device;
	unsigned flags;
	int numa_node;
	size_t bytes;          /* of a slab: whole pages */
	size_t fragment_bytes; /* capacity */
	size_t stride;         /* from one fragment to the next */
	size_t fragments;      /* of a slab */
	const struct dtconv_registrar *registrars;
	size_t registrar_count;
};

struct dtc_slab {
	const struct dtc_slab_plan *plan;
	size_t number;
	_Atomic bool
		live; /* has memory, and its fragments are in use or in the free list */
	_Atomic bool is_pinned;
	struct dtconv_slab what;
	struct dtc_slab_memory memory; /* the device driver's part */
	void *handles[DTCONV_POOL_REGISTRARS_MAX];
	size_t registered; /* so many registrars have registered it */
	size_t free_seen;  /* of its fragments, while the pool shrinks */
	_Atomic size_t abandoned;
	struct dtconv_fragment fragments[];
};

/* Allocate a slab without memory; NULL if the allocator has none. Freed with dtc_free. */
struct dtc_slab *dtc_slab_create(const struct dtc_slab_plan *plan, size_t number);

/*
 * Map, touch, pin and register its memory, and set up its fragments. If pinning is refused it stays ordinary memory,
 * and @refusal is the reason (else unchanged). On failure everything is undone.
 */
int dtc_slab_open(struct dtc_slab *slab, const char *caller, const char **refusal);

/* Undo all of it; no fragment is in use. The driver may unregister and unmap it later; the plan's ledger counts that. */
void dtc_slab_close(struct dtc_slab *slab);

/* Pin a slab that is ordinary memory. As dtc_slab_memory_pin(). */
int dtc_slab_pin(struct dtc_slab *slab, int device, const char *caller,
		 const char **refusal);

#endif
