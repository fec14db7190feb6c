/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools: the free list, the table of slabs with growing and shrinking, and the queue of those who wait.
 *
 * The free list is a stack of indices in one 64-bit word, whose upper half counts changes, so that a thread that
 * was held up between its read and its exchange fails. Descriptors are never freed before the pool, so reading a
 * stale one is harmless. Shrinking takes the whole stack, keeps what is to go, and puts the rest back.
 */
#include "config.h"

#include "pool.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "slab.h"

#define SLABS_MAX      1024
#define ALIGNMENT      256
#define FRAGMENT_BYTES ((size_t)256 << 10)
#define SLAB_BYTES     ((size_t)64 << 20)

struct dtconv_pool {
	struct dtc_slab_plan plan;
	struct dtconv_registrar registrars[DTCONV_POOL_REGISTRARS_MAX];
	/* Changes in the upper half, index + 1 of the first free fragment in the lower. */
	_Atomic uint64_t free;
	_Atomic size_t out;
	_Atomic size_t abandoned_bytes;
	_Atomic bool changing; /* a thread grows or shrinks */
	bool warned;           /* of a refused registration; of the changing thread */
	_Atomic size_t waiting;
	pthread_mutex_t lock; /* of the queue */
	struct dtc_pool_waiter *first, **last;
	size_t limit; /* of slabs */
	_Atomic size_t count;
	struct dtc_slab *_Atomic slabs[];
};

/* ---- free list ------------------------------------------------------------------------- */

static struct dtconv_fragment *fragment_at(struct dtconv_pool *pool, uint32_t index)
{
	const size_t each = pool->plan.fragments;

	return &atomic_load(&pool->slabs[index / each])->fragments[index % each];
}

static uint64_t with_first(uint64_t head, uint32_t first)
{
	return ((head >> 32) + 1) << 32 | first;
}

static struct dtconv_fragment *pop(struct dtconv_pool *pool)
{
	uint64_t head = atomic_load(&pool->free);

	while ((uint32_t)head) {
		struct dtconv_fragment *fragment = fragment_at(pool, (uint32_t)head - 1);
		uint32_t next =
			atomic_load_explicit(&fragment->next, memory_order_relaxed);

		if (atomic_compare_exchange_weak(&pool->free, &head,
						 with_first(head, next)))
			return fragment;
	}
	return NULL;
}

/* Push a chain of fragments. */
static void push(struct dtconv_pool *pool, struct dtconv_fragment *first,
		 struct dtconv_fragment *last)
{
	uint64_t head = atomic_load_explicit(&pool->free, memory_order_relaxed);

	do
		atomic_store_explicit(&last->next, (uint32_t)head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&pool->free, &head,
					     with_first(head, first->index + 1)));
}

static bool is_any_free(struct dtconv_pool *pool)
{
	return (uint32_t)atomic_load(&pool->free);
}

/* ---- the queue ------------------------------------------------------------------------- */

static void wake_first(struct dtconv_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	if (pool->first && is_any_free(pool))
		pool->first->wake(pool->first);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * After fragments have become free. A waiter looks at the free list after it has joined the queue, and this looks at
 * the queue after fragments were pushed: one of them sees the other.
 */
static void notify(struct dtconv_pool *pool)
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
	if (pool->first && is_any_free(pool))
		pool->first->wake(pool->first);
}

void dtc_pool_leave(struct dtconv_pool *pool, struct dtc_pool_waiter *waiter)
{
	pthread_mutex_lock(&pool->lock);
	leave(pool, waiter);
	pthread_mutex_unlock(&pool->lock);
}

static struct dtconv_fragment *hold(struct dtconv_pool *pool,
				    struct dtconv_fragment *fragment)
{
	if (!fragment)
		return NULL;
	atomic_fetch_add_explicit(&pool->out, 1, memory_order_relaxed);
	atomic_store_explicit(&fragment->state, DTC_FRAGMENT_HELD, memory_order_relaxed);
	return fragment;
}

/* In the queue's order: only the first one may take. */
static struct dtconv_fragment *take_in_turn(struct dtconv_pool *pool,
					    struct dtc_pool_waiter *waiter)
{
	struct dtconv_fragment *fragment = NULL;

	pthread_mutex_lock(&pool->lock);
	join(pool, waiter);
	if (pool->first == waiter)
		fragment = pop(pool);
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
		taken = pop(pool);
	if (!taken)
		taken = take_in_turn(pool, waiter);
	*fragment = hold(pool, taken);
	return taken;
}

/* ---- getting and giving back ----------------------------------------------------------- */

int dtconv_pool_get(struct dtconv_pool *pool, struct dtconv_fragment **fragment)
{
	if (!pool || !fragment)
		return DTCONV_ERR_INVAL;
	struct dtconv_fragment *taken = hold(pool, pop(pool));

	if (!taken)
		return DTCONV_ERR_AGAIN;
	*fragment = taken;
	return 0;
}

static void give_back(struct dtconv_pool *pool, struct dtconv_fragment *fragment)
{
	atomic_fetch_sub_explicit(&pool->out, 1, memory_order_relaxed);
	push(pool, fragment, fragment);
	notify(pool);
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
	atomic_store(&fragment->state, DTC_FRAGMENT_FREE);
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
		return DTC_FAIL_STRUCT_SIZE(plan->context, __func__, "attr", "dtconv_fragment_attr");
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
	push(pool, &slab->fragments[0], &slab->fragments[count - 1]);
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
	notify(pool);
	return 0;
}

static int add_slabs(struct dtconv_pool *pool, size_t bytes, const char *caller)
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
	status = add_slabs(pool, bytes, __func__);
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

	while (!atomic_compare_exchange_weak(&pool->free, &head, with_first(head, 0)))
		;
	for (size_t i = 0; i < pool->limit; i++) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (slab)
			slab->free_seen = 0;
	}
	for (uint32_t at = (uint32_t)head; at;) {
		struct dtconv_fragment *fragment = fragment_at(pool, at - 1);

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
		struct dtconv_fragment *fragment = fragment_at(pool, at - 1);

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
	push(pool, first, last);
	notify(pool);
}

static void close_slab(struct dtconv_pool *pool, struct dtc_slab *slab)
{
	if (!dtc_slab_close(slab))
		atomic_fetch_add(&pool->abandoned_bytes, pool->plan.bytes);
	atomic_fetch_sub(&pool->count, 1);
}

/* Slabs that have memory but are no longer live, the last first. */
static void close_chosen(struct dtconv_pool *pool)
{
	for (size_t i = pool->limit; i--;) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (slab && !atomic_load(&slab->live) && slab->what.base)
			close_slab(pool, slab);
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

/* ---- creating -------------------------------------------------------------------------- */

static int bad_param(struct dtconv_context *context, const char *caller, const char *what)
{
	return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: %s", caller, what);
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_pool_params *params, const char *caller)
{
	const unsigned known = DTCONV_POOL_SHARED | DTCONV_POOL_HUGE | DTCONV_POOL_NUMA |
			       DTCONV_POOL_CLEAN;

	if (params->flags & ~known)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->kind != DTCONV_MEMORY_PINNED && params->kind != DTCONV_MEMORY_HOST &&
	    params->kind != DTCONV_MEMORY_DEVICE)
		return bad_param(context, caller,
				 "params.kind is not PINNED, HOST or DEVICE");
	if (params->kind == DTCONV_MEMORY_DEVICE && params->flags)
		return bad_param(
			context, caller,
			"params.flags are for host memory, but params.kind is DEVICE");
	if (params->numa_node && !(params->flags & DTCONV_POOL_NUMA))
		return bad_param(
			context, caller,
			"params.numa_node is set, but params.flags lacks DTCONV_POOL_NUMA");
	if (params->numa_node < 0)
		return bad_param(context, caller, "params.numa_node is negative");
	if (params->registrar_count > DTCONV_POOL_REGISTRARS_MAX)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.registrar_count is %zu, the most is %d",
				caller, params->registrar_count,
				DTCONV_POOL_REGISTRARS_MAX);
	for (size_t i = 0; i < params->registrar_count; i++)
		if (!params->registrars || !params->registrars[i].reg ||
		    !params->registrars[i].dereg || !params->registrars[i].name)
			return DTC_FAIL(
				context, DTCONV_ERR_INVAL,
				"%s: params.registrars[%zu] lacks a name or a function",
				caller, i);
	return 0;
}

static int read_params(struct dtconv_context *context,
		       const struct dtconv_pool_params *given, const char *caller,
		       struct dtconv_pool_params *params)
{
	*params = (struct dtconv_pool_params){ .struct_size = sizeof(*params),
					       .device = given ? 0 : -1 };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params", "dtconv_pool_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (!params->kind)
		params->kind = DTCONV_MEMORY_PINNED;
	return check_params(context, params, caller);
}

/* A multiple of @unit that is at least @bytes; false if there is none. */
static bool round_up(size_t bytes, size_t unit, size_t *rounded)
{
	return !dtc_mul_size((size_t)dtc_divide_up(bytes, unit), unit, rounded);
}

static int plan_sizes(struct dtc_slab_plan *plan, struct dtconv_pool_params *params,
		      const char *caller)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (plan->flags & DTCONV_POOL_HUGE)
		page = DTC_MAX(page, (size_t)2 << 20);
	plan->fragment_bytes = params->fragment_bytes ? params->fragment_bytes
						      : FRAGMENT_BYTES;
	if (!params->slab_bytes)
		params->slab_bytes = params->start_bytes
					     ? DTC_MIN(params->start_bytes, SLAB_BYTES)
					     : SLAB_BYTES;
	if (!round_up(plan->fragment_bytes, ALIGNMENT, &plan->stride) ||
	    !round_up(DTC_MAX(params->slab_bytes, plan->stride), page, &plan->bytes) ||
	    plan->bytes > PTRDIFF_MAX - page)
		return DTC_FAIL(
			plan->context, DTCONV_ERR_OVERFLOW,
			"%s: params.fragment_bytes or params.slab_bytes exceeds the "
			"address space",
			caller);
	/* As many as were asked for, also where the pages have room for more. */
	plan->fragments = DTC_MAX(params->slab_bytes, plan->stride) / plan->stride;
	if (plan->fragments > UINT32_MAX / SLABS_MAX)
		return DTC_FAIL(
			plan->context, DTCONV_ERR_LIMIT,
			"%s: a slab would have %zu fragments, the most are %" PRIu32,
			caller, plan->fragments, UINT32_MAX / SLABS_MAX);
	return 0;
}

static struct dtconv_pool *allocate_pool(const struct dtc_slab_plan *plan, size_t limit)
{
	struct dtconv_context *context = plan->context;
	struct dtconv_pool *pool =
		dtc_alloc_zeroed(context, sizeof(*pool) + limit * sizeof(pool->slabs[0]));

	if (!pool)
		return NULL;
	pool->plan = *plan;
	pool->plan.pool = pool;
	pool->plan.registrars = pool->registrars;
	pool->limit = limit;
	pool->last = &pool->first;
	pthread_mutex_init(&pool->lock, NULL);
	return pool;
}

static void destroy(struct dtconv_pool *pool)
{
	struct dtconv_context *context = pool->plan.context;

	for (size_t i = pool->limit; i--;) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (slab && slab->what.base)
			close_slab(pool, slab);
		dtc_free(context, slab);
	}
	size_t abandoned = atomic_load(&pool->abandoned_bytes);
	if (abandoned)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"pool: %zu bytes stay mapped, because the device context that may write "
			"to them was lost",
			abandoned);
	pthread_mutex_destroy(&pool->lock);
	dtc_free(context, pool);
}

int dtconv_pool_create(struct dtconv_context *context,
		       const struct dtconv_pool_params *given, struct dtconv_pool **pool)
{
	struct dtconv_pool_params params;

	if (!context || !pool)
		return DTCONV_ERR_INVAL;
	int status = read_params(context, given, __func__, &params);
	if (status)
		return status;
	struct dtc_slab_plan plan = { .context = context,
				      .kind = params.kind,
				      .device = params.device,
				      .flags = params.flags,
				      .numa_node = params.numa_node,
				      .registrar_count = params.registrar_count };
	status = plan_sizes(&plan, &params, __func__);
	if (status)
		return status;
	size_t limit = params.limit_bytes ? params.limit_bytes / plan.bytes : SLABS_MAX;
	limit = DTC_MIN(DTC_MAX(limit, (size_t)1), (size_t)SLABS_MAX);
	struct dtconv_pool *made = allocate_pool(&plan, limit);
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM, "%s: cannot allocate a pool",
				__func__);
	if (params.registrar_count)
		memcpy(made->registrars, params.registrars,
		       params.registrar_count * sizeof(params.registrars[0]));
	status = add_slabs(made, params.start_bytes ? params.start_bytes : 1, __func__);
	if (status) {
		destroy(made);
		return status;
	}
	*pool = made;
	return 0;
}

int dtconv_pool_destroy(struct dtconv_pool *pool)
{
	if (!pool)
		return 0;
	size_t out = atomic_load(&pool->out), waiting = atomic_load(&pool->waiting);

	if (out || waiting)
		return DTC_FAIL(
			pool->plan.context, DTCONV_ERR_STATE,
			"%s: %zu fragments are out, and %zu operations wait for one",
			__func__, out, waiting);
	destroy(pool);
	return 0;
}

/* ---- queries --------------------------------------------------------------------------- */

const struct dtc_slab *dtc_pool_first_slab(const struct dtconv_pool *pool)
{
	return atomic_load(&pool->slabs[0]);
}

struct dtconv_context *dtc_pool_context(const struct dtconv_pool *pool)
{
	return pool->plan.context;
}

size_t dtc_pool_fragment_bytes(const struct dtconv_pool *pool)
{
	return pool->plan.fragment_bytes;
}

size_t dtc_pool_fragments(const struct dtconv_pool *pool)
{
	return atomic_load_explicit(&pool->count, memory_order_relaxed) *
	       pool->plan.fragments;
}

int dtconv_pool_query(struct dtconv_pool *pool, struct dtconv_pool_attr *attr)
{
	if (!pool || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(pool->plan.context, __func__, "attr", "dtconv_pool_attr");
	struct dtconv_pool_attr now = { .struct_size = attr->struct_size,
					.kind = pool->plan.kind,
					.fragment_bytes = pool->plan.fragment_bytes,
					.slab_bytes = pool->plan.bytes };
	for (size_t i = 0; i < pool->limit; i++) {
		struct dtc_slab *slab = atomic_load(&pool->slabs[i]);

		if (!slab || !atomic_load(&slab->live))
			continue;
		now.slabs++;
		now.pinned_slabs += atomic_load(&slab->is_pinned);
		now.abandoned += atomic_load(&slab->abandoned);
	}
	now.fragments = now.slabs * pool->plan.fragments;
	now.out = atomic_load(&pool->out);
	now.free = now.fragments - DTC_MIN(now.fragments, now.out + now.abandoned);
	now.abandoned_bytes = atomic_load(&pool->abandoned_bytes);
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
