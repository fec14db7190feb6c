/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growing and shrinking a pool while traffic runs, and registering its slabs with a device. Shrinking takes the whole
 * free list, keeps what is to go, and puts the rest back.
 */
#include "config.h"

#include "base/base.h"
#include "base/log.h"
#include "free_list.h"
#include "pool_state.h"

/* ---- growing --------------------------------------------------------------------------- */

static int begin_change(struct dtconv_pool *pool, const char *caller)
{
	if (!atomic_exchange(&pool->changing, true))
		return 0;
	return DTC_FAIL(pool->plan.context, DTCONV_ERR_AGAIN,
			"%s: another call grows, shrinks or registers the pool now",
			caller);
}

static void end_change(struct dtconv_pool *pool)
{
	atomic_store(&pool->changing, false);
}

static void warn_unpinned(struct dtconv_pool *pool, const char *refusal)
{
	if (!refusal || pool->warned)
		return;
	pool->warned = true;
	DTC_LOG(pool->plan.context, DTCONV_LOG_WARN,
		"pool: the device driver refuses to register a slab of %zu bytes (%s); it stays "
		"ordinary memory, which devices reach through staging buffers",
		pool->plan.bytes, refusal);
}

static void add_to_free(struct dtconv_pool *pool, struct dtc_slab *slab)
{
	const size_t count = pool->plan.fragments;

	for (size_t i = 0; i + 1 < count; i++)
		atomic_store_explicit(&slab->fragments[i].next,
				      slab->fragments[i + 1].index + 1,
				      memory_order_relaxed);
	dtc_free_list_push(pool, &slab->fragments[0], &slab->fragments[count - 1]);
}

/* A slab in the first place that has none. */
static int add_slab(struct dtconv_pool *pool, const char *caller)
{
	const char *refusal = NULL;
	struct dtc_slab *slab;
	size_t number = 0;

	while ((slab = atomic_load(&pool->slabs[number])) && atomic_load(&slab->live))
		number++;
	if (!slab)
		slab = dtc_slab_create(&pool->plan, number);
	if (!slab)
		return DTC_FAIL(pool->plan.context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the descriptors of a slab", caller);
	atomic_store(&pool->slabs[number], slab);
	int status = dtc_slab_open(slab, caller, &refusal);
	warn_unpinned(pool, refusal);
	if (status)
		return status;
	atomic_store(&slab->live, true);
	atomic_fetch_add(&pool->count, 1);
	add_to_free(pool, slab);
	dtc_pool_notify(pool);
	return 0;
}

int dtc_pool_add_slabs(struct dtconv_pool *pool, size_t bytes, const char *caller)
{
	const size_t more = (size_t)dtc_divide_up(bytes, pool->plan.bytes);
	const size_t count = atomic_load(&pool->count);
	int status = 0;

	if (more > pool->limit - count)
		return DTC_FAIL(
			pool->plan.context, DTCONV_ERR_LIMIT,
			"%s: the pool has %zu slabs of %zu bytes, its limit is %zu; %zu "
			"bytes more exceed it",
			caller, count, pool->plan.bytes, pool->limit, bytes);
	for (size_t i = 0; !status && i < more; i++)
		status = add_slab(pool, caller);
	return status;
}

int dtconv_pool_grow(struct dtconv_pool *pool, size_t bytes)
{
	if (!pool)
		return DTCONV_ERR_INVAL;
	int status = begin_change(pool, __func__);

	if (status)
		return status;
	status = dtc_pool_add_slabs(pool, bytes, __func__);
	end_change(pool);
	return status;
}

static int pin_all(struct dtconv_pool *pool, const char *caller, const char **refusal)
{
	int status = 0;

	for (size_t i = 0; i < pool->limit; i++) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (!slab || !atomic_load(&slab->live) || atomic_load(&slab->is_pinned))
			continue;
		int one = dtc_slab_pin(slab, pool->plan.device, caller, refusal);
		status = status ? status : one;
	}
	return status;
}

int dtconv_pool_prepare(struct dtconv_pool *pool, int device)
{
	const char *refusal = NULL;

	if (!pool)
		return DTCONV_ERR_INVAL;
	if (pool->plan.kind != DTCONV_MEMORY_PINNED)
		return DTC_FAIL(pool->plan.context, DTCONV_ERR_UNSUPPORTED,
				"%s: the pool's kind is %s, not pinned", __func__,
				dtconv_memory_kind_name(pool->plan.kind));
	int status = begin_change(pool, __func__);
	if (status)
		return status;
	pool->plan.device = device;
	status = pin_all(pool, __func__, &refusal);
	end_change(pool);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return DTC_FAIL(
			pool->plan.context, status,
			"%s: there is no device driver, or no CUDA context of device %d "
			"(argument 2)",
			__func__, device);
	if (status)
		return DTC_FAIL(
			pool->plan.context, status,
			"%s: the device driver refuses to register a slab of %zu bytes: %s",
			__func__, pool->plan.bytes, refusal ? refusal : "unknown");
	return 0;
}

/* ---- shrinking ------------------------------------------------------------------------- */

/* Take the whole free list and count what is free of each slab. */
static uint32_t take_all(struct dtconv_pool *pool)
{
	uint64_t head = atomic_load(&pool->free);

	while (!atomic_compare_exchange_weak(&pool->free, &head,
					     dtc_free_list_with_first(head, 0)))
		;
	for (size_t i = 0; i < pool->limit; i++) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (slab)
			slab->free_seen = 0;
	}
	for (uint32_t at = (uint32_t)head; at;) {
		struct dtconv_fragment *fragment = dtc_free_list_at(pool, at - 1);

		fragment->slab->free_seen++;
		at = atomic_load_explicit(&fragment->next, memory_order_relaxed);
	}
	return (uint32_t)head;
}

/* The last slabs of which all is free are no longer live; their number. */
static size_t choose_slabs(struct dtconv_pool *pool, size_t most)
{
	size_t chosen = 0;

	for (size_t i = pool->limit; i-- && chosen < most;) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (!slab || !atomic_load(&slab->live) ||
		    slab->free_seen < pool->plan.fragments)
			continue;
		atomic_store(&slab->live, false);
		chosen++;
	}
	return chosen;
}

/* Put back what belongs to slabs that stay. */
static void put_rest(struct dtconv_pool *pool, uint32_t at)
{
	struct dtconv_fragment *first = NULL, *last = NULL;

	while (at) {
		struct dtconv_fragment *fragment = dtc_free_list_at(pool, at - 1);

		at = atomic_load_explicit(&fragment->next, memory_order_relaxed);
		if (!atomic_load(&fragment->slab->live))
			continue;
		if (last)
			atomic_store_explicit(&last->next, fragment->index + 1,
					      memory_order_relaxed);
		else
			first = fragment;
		last = fragment;
	}
	if (!last)
		return;
	dtc_free_list_push(pool, first, last);
	dtc_pool_notify(pool);
}

void dtc_pool_close_slab(struct dtconv_pool *pool, struct dtc_slab *slab)
{
	dtc_slab_close(slab);
	atomic_fetch_sub(&pool->count, 1);
}

/* Slabs that have memory but are no longer live, the last first. */
static void close_chosen(struct dtconv_pool *pool)
{
	for (size_t i = pool->limit; i--;) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (slab && !atomic_load(&slab->live) && slab->what.base)
			dtc_pool_close_slab(pool, slab);
	}
}

int dtconv_pool_shrink(struct dtconv_pool *pool, size_t bytes)
{
	if (!pool)
		return DTCONV_ERR_INVAL;
	const size_t most = bytes / pool->plan.bytes;
	int status = begin_change(pool, __func__);

	if (status)
		return status;
	uint32_t all = take_all(pool);
	size_t chosen = choose_slabs(pool, most);
	put_rest(pool, all);
	close_chosen(pool);
	end_change(pool);
	if (chosen == most)
		return 0;
	return DTC_FAIL(
		pool->plan.context, DTCONV_ERR_AGAIN,
		"%s: %zu slabs were asked for, but only %zu had all fragments free",
		__func__, most, chosen);
}
