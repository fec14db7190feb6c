/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools: their parameters, creating, destroying, and what can be asked of one.
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
#include "pool_state.h"

#define SLABS_MAX      1024
#define ALIGNMENT      256
#define FRAGMENT_BYTES ((size_t)256 << 10) /* without a tuning file */
#define SLAB_BYTES     ((size_t)64 << 20)

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
	if (params->kind == DTCONV_MEMORY_DEVICE &&
	    params->flags & ~(unsigned)DTCONV_POOL_SHARED)
		return bad_param(context, caller,
				 "params.kind is DEVICE, and of params.flags only "
				 "DTCONV_POOL_SHARED is possible with it");
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

/*
 * What a send packs into a fragment. A tuning file does not make slabs larger than the caller asks for, or than they are
 * without one.
 */
static size_t default_fragment(const struct dtconv_context *context, size_t slab_bytes)
{
	const size_t tuned = (size_t)context->tuning.fragment_bytes;
	const size_t most = DTC_MAX(slab_bytes, FRAGMENT_BYTES);

	return DTC_MIN(tuned + (ALIGNMENT - tuned % ALIGNMENT) % ALIGNMENT, most);
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

	if (plan->flags & DTCONV_POOL_HUGE ||
	    (plan->kind == DTCONV_MEMORY_DEVICE && plan->flags & DTCONV_POOL_SHARED))
		page = DTC_MAX(page, (size_t)2 << 20);
	if (!params->slab_bytes)
		params->slab_bytes = params->start_bytes
					     ? DTC_MIN(params->start_bytes, SLAB_BYTES)
					     : SLAB_BYTES;
	plan->fragment_bytes =
		params->fragment_bytes
			? params->fragment_bytes
			: default_fragment(plan->context, params->slab_bytes);
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
	pool->plan.ledger = dtc_slab_ledger_create(context);
	if (!pool->plan.ledger) {
		dtc_free(context, pool);
		return NULL;
	}
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
			dtc_pool_close_slab(pool, slab);
		dtc_free(context, slab);
	}
	dtc_slab_ledger_unref(pool->plan.ledger);
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
	status = dtc_pool_add_slabs(made, params.start_bytes ? params.start_bytes : 1,
				    __func__);
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

enum dtconv_memory_kind dtc_pool_kind(const struct dtconv_pool *pool)
{
	return pool->plan.kind;
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
	now.abandoned_bytes = atomic_load(&pool->plan.ledger->abandoned_bytes);
	now.releasing_bytes = atomic_load(&pool->plan.ledger->releasing_bytes);
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
