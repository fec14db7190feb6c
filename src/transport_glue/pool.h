/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What operations need of a pool: fragments in the order in which operations asked, and giving them back after a
 * device has failed.
 */
#ifndef DTC_POOL_H
#define DTC_POOL_H

#include <stdbool.h>

#include <dtconv/pool.h>

#include "fragment.h"

/* An operation that may have to wait for a fragment. Initially all zero but for the function. */
struct dtc_pool_waiter {
	struct dtc_pool_waiter *next;
	bool is_queued; /* under the pool's lock */
	/* A fragment may be free now; try again. Called by any thread, under the pool's lock; must not block. */
	void (*wake)(struct dtc_pool_waiter *waiter);
};

/*
 * Take a fragment, which is KEPT then, unless another one has been waiting for longer. If false, the waiter is in the queue until it gets a
 * fragment or leaves.
 */
bool dtc_pool_take(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter,
		   struct dtconv_fragment **fragment);

/* Leave the queue, if in it. After that the waiter is not woken. */
void dtc_pool_leave(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter);

/*
 * Give back a fragment in state @from, whose flight has failed if @failed: if the slab's device context is gone, the
 * fragment is abandoned.
 */
void dtc_pool_return(struct dtconv_fragment *fragment, enum dtc_fragment_state from,
		     bool failed);

/* Its first slab, which stays as long as the pool is not shrunk. */
const struct dtc_slab *dtc_pool_first_slab(const struct dtconv_pool *pool);

struct dtconv_context *dtc_pool_context(const struct dtconv_pool *pool);

enum dtconv_memory_kind dtc_pool_kind(const struct dtconv_pool *pool);

size_t dtc_pool_fragment_bytes(const struct dtconv_pool *pool);

/* Number of fragments. */
size_t dtc_pool_fragments(const struct dtconv_pool *pool);

#endif
