/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The free list of a pool: a stack of indices in one 64-bit word, whose upper half counts changes, so that a thread
 * that was held up between its read and its exchange fails. Descriptors are never freed before the pool, so reading a
 * stale one is harmless.
 */
#ifndef DTC_FREE_LIST_H
#define DTC_FREE_LIST_H

#include "pool_state.h"

static inline struct dtconv_fragment *dtc_free_list_at(struct dtconv_pool *pool,
						       uint32_t index)
{
	/* Fits: a division of 32 bits is faster. */
	const uint32_t each = (uint32_t)pool->plan.fragments;

	return &atomic_load(&pool->slabs[index / each])->fragments[index % each];
}

static inline uint64_t dtc_free_list_with_first(uint64_t head, uint32_t first)
{
	return ((head >> 32) + 1) << 32 | first;
}

static inline struct dtconv_fragment *dtc_free_list_pop(struct dtconv_pool *pool)
{
	uint64_t head = atomic_load(&pool->free);

	while ((uint32_t)head) {
		struct dtconv_fragment *fragment =
			dtc_free_list_at(pool, (uint32_t)head - 1);
		uint32_t next =
			atomic_load_explicit(&fragment->next, memory_order_relaxed);

		if (atomic_compare_exchange_weak(&pool->free, &head,
						 dtc_free_list_with_first(head, next)))
			return fragment;
	}
	return NULL;
}

/* Push a chain of fragments. */
static inline void dtc_free_list_push(struct dtconv_pool *pool,
				      struct dtconv_fragment *first,
				      struct dtconv_fragment *last)
{
	uint64_t head = atomic_load_explicit(&pool->free, memory_order_relaxed);

	do
		atomic_store_explicit(&last->next, (uint32_t)head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(
		&pool->free, &head, dtc_free_list_with_first(head, first->index + 1)));
}

static inline bool dtc_free_list_has_any(struct dtconv_pool *pool)
{
	return (uint32_t)atomic_load(&pool->free);
}

#endif
