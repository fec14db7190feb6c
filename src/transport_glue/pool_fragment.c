/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fragments: getting them, giving them back, abandoning them to a lost device, and what can be asked of one.
 */
#include "config.h"

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "free_list.h"
#include "pool.h"
#include "pool_state.h"

int dtconv_pool_get(struct dtconv_pool *pool, struct dtconv_fragment **fragment)
{
	if (!pool || !fragment)
		return DTCONV_ERR_INVAL;
	struct dtconv_fragment *taken =
		dtc_pool_hold(pool, dtc_free_list_pop(pool), DTC_FRAGMENT_HELD);

	if (!taken)
		return DTCONV_ERR_AGAIN;
	*fragment = taken;
	return 0;
}

static void give_back(struct dtconv_pool *pool, struct dtconv_fragment *fragment)
{
	atomic_fetch_sub_explicit(&pool->out, 1, memory_order_relaxed);
	dtc_free_list_push(pool, fragment, fragment);
	dtc_pool_notify(pool);
}

/* Before anybody else can take it. */
static void clean(struct dtconv_fragment *fragment)
{
	const struct dtc_slab_plan *plan = fragment->slab->plan;

	if (plan->flags & DTCONV_POOL_CLEAN)
		memset(fragment->address, 0, plan->fragment_bytes);
}

void dtconv_fragment_put(struct dtconv_fragment *fragment)
{
	if (!fragment)
		return;
	const struct dtc_slab_plan *plan = fragment->slab->plan;

	/* Cleaned first: as soon as it is free, it may be another's. */
	if (atomic_load(&fragment->state) == DTC_FRAGMENT_HELD)
		clean(fragment);
	if (dtc_fragment_turn(fragment, DTC_FRAGMENT_HELD, DTC_FRAGMENT_FREE))
		give_back(plan->pool, fragment);
	else
		DTC_LOG(plan->context, DTCONV_LOG_ERROR,
			"%s: fragment %u is not the caller's: it was given back before, or an "
			"operation sends it",
			__func__, fragment->index);
}

static void abandon(struct dtconv_pool *pool, struct dtconv_fragment *fragment)
{
	atomic_store(&fragment->state, DTC_FRAGMENT_ABANDONED);
	atomic_fetch_add(&fragment->slab->abandoned, 1);
	atomic_fetch_sub(&pool->out, 1);
}

void dtc_pool_return(struct dtconv_fragment *fragment, enum dtc_fragment_state from,
		     bool failed)
{
	struct dtc_slab *slab = fragment->slab;
	struct dtconv_pool *pool = slab->plan->pool;
	bool is_devices = slab->plan->kind == DTCONV_MEMORY_DEVICE ||
			  atomic_load(&slab->is_pinned);

	assert(atomic_load(&fragment->state) == from);
	(void)from;
	if (failed && is_devices && dtc_slab_memory_is_lost(&slab->memory)) {
		abandon(pool, fragment);
		return;
	}
	clean(fragment);
	atomic_store_explicit(&fragment->state, DTC_FRAGMENT_FREE, memory_order_release);
	give_back(pool, fragment);
}

void *dtconv_fragment_address(const struct dtconv_fragment *fragment)
{
	return fragment ? fragment->address : NULL;
}

static enum dtconv_memory_kind kind_of(const struct dtc_slab *slab)
{
	if (slab->plan->kind == DTCONV_MEMORY_DEVICE)
		return DTCONV_MEMORY_DEVICE;
	return atomic_load(&slab->is_pinned) ? DTCONV_MEMORY_PINNED : DTCONV_MEMORY_HOST;
}

int dtconv_fragment_query(const struct dtconv_fragment *fragment,
			  struct dtconv_fragment_attr *attr)
{
	if (!fragment || !attr)
		return DTCONV_ERR_INVAL;
	const struct dtc_slab *slab = fragment->slab;
	const struct dtc_slab_plan *plan = slab->plan;

	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(plan->context, __func__, "attr",
					    "dtconv_fragment_attr");
	const struct dtconv_fragment_attr now = {
		.struct_size = attr->struct_size,
		.address = fragment->address,
		.capacity = plan->fragment_bytes,
		.kind = kind_of(slab),
		.slab = slab->number,
		.slab_offset = (size_t)(fragment->address - (char *)slab->what.base),
		.slab_fd = slab->what.fd,
		.handles = slab->handles,
		.handle_count = plan->registrar_count,
	};
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
