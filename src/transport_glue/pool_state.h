/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a pool, and what its files call of each other.
 */
#ifndef DTC_POOL_STATE_H
#define DTC_POOL_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/pool.h>

#include "slab.h"

struct dtc_pool_waiter;

struct dtconv_pool {
	struct dtc_slab_plan plan;
	struct dtconv_registrar registrars[DTCONV_POOL_REGISTRARS_MAX];
	/* Changes in the upper half, index + 1 of the first free fragment in the lower. */
	_Atomic uint64_t free;
	_Atomic size_t out;
	_Atomic bool changing; /* a thread grows or shrinks */
	bool warned;           /* of a refused registration; of the changing thread */
	_Atomic size_t waiting;
	pthread_mutex_t lock; /* of the queue */
	struct dtc_pool_waiter *first, **last;
	size_t limit; /* of slabs */
	_Atomic size_t count;
	struct dtc_slab *_Atomic slabs[];
};

/* Have the first one of the queue try again, after fragments have become free. */
void dtc_pool_notify(struct dtconv_pool *pool);

/* Add slabs for so many bytes. Of the thread that creates or grows the pool. */
int dtc_pool_add_slabs(struct dtconv_pool *pool, size_t bytes, const char *caller);

/* Undo a slab, whose fragments are all free or abandoned. */
void dtc_pool_close_slab(struct dtconv_pool *pool, struct dtc_slab *slab);

/* Account for a fragment that was taken from the free list, which is in @state now. NULL stays NULL. */
static inline struct dtconv_fragment *dtc_pool_hold(struct dtconv_pool *pool,
						    struct dtconv_fragment *fragment,
						    enum dtc_fragment_state state)
{
	if (!fragment)
		return NULL;
	atomic_fetch_add_explicit(&pool->out, 1, memory_order_relaxed);
	atomic_store_explicit(&fragment->state, state, memory_order_relaxed);
	return fragment;
}

#endif
