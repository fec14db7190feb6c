/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of operations that wait for a fragment of a pool: the one that has waited longest takes first.
 */
#include "config.h"

#include <pthread.h>

#include "free_list.h"
#include "pool.h"
#include "pool_state.h"

static void wake_first(struct dtconv_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	if (pool->first && dtc_free_list_has_any(pool))
		pool->first->wake(pool->first);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * After fragments have become free. A waiter looks at the free list after it has joined the queue, and this looks at
 * the queue after fragments were pushed: one of them sees the other.
 */
void dtc_pool_notify(struct dtconv_pool *pool)
{
	if (atomic_load(&pool->waiting))
		wake_first(pool);
}

static void join(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter)
{
	if (waiter->is_queued)
		return;
	waiter->next = NULL;
	waiter->is_queued = true;
	*pool->last = waiter;
	pool->last = &waiter->next;
	atomic_fetch_add(&pool->waiting, 1);
}

static void leave(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter)
{
	struct dtc_pool_waiter **place = &pool->first;

	if (!waiter->is_queued)
		return;
	while (*place != waiter)
		place = &(*place)->next;
	*place = waiter->next;
	if (pool->last == &waiter->next)
		pool->last = place;
	waiter->is_queued = false;
	atomic_fetch_sub(&pool->waiting, 1);
	/* The next one may be able to go on: more fragments than one may have come. */
	if (pool->first && dtc_free_list_has_any(pool))
		pool->first->wake(pool->first);
}

void dtc_pool_leave(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter)
{
	pthread_mutex_lock(&pool->lock);
	leave(pool, waiter);
	pthread_mutex_unlock(&pool->lock);
}

/* In the queue's order: only the first one may take. */
static struct dtconv_fragment *take_in_turn(struct dtconv_pool *pool,
					    struct dtc_pool_waiter *waiter)
{
	struct dtconv_fragment *fragment = NULL;

	pthread_mutex_lock(&pool->lock);
	join(pool, waiter);
	if (pool->first == waiter)
		fragment = dtc_free_list_pop(pool);
	if (fragment)
		leave(pool, waiter);
	pthread_mutex_unlock(&pool->lock);
	return fragment;
}

bool dtc_pool_take(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter,
		   struct dtconv_fragment **fragment)
{
	struct dtconv_fragment *taken = NULL;

	if (!atomic_load(&pool->waiting))
		taken = dtc_free_list_pop(pool);
	if (!taken)
		taken = take_in_turn(pool, waiter);
	*fragment = dtc_pool_hold(pool, taken, DTC_FRAGMENT_KEPT);
	return taken;
}
