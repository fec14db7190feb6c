/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by all ways: the memory of a row, the two clocks, and the mirror, which copies the
 * arena that the oracle checks to and from the memory of the engine.
 */
#include "config.h"

#include "bench/gpu/way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

/* ---- memory ---------------------------------------------------------------------------- */

static int refused(struct engine *e, struct gpu *gpu)
{
	engine_problem(e, "%s", gpu->problem);
	gpu->problem[0] = '\0';
	return -1;
}

static int place_row(struct engine *e, struct way *w, const struct arena *a)
{
	unsigned char *region =
		gpu_memory(w->gpu, w->user_place, ROLE_USER, a->region_bytes);

	w->packed = gpu_memory(w->gpu, w->packed_place, ROLE_PACKED,
			       a->packed_bytes + ARENA_GUARD);
	w->flat = gpu_memory(w->gpu, w->user_place, ROLE_FLAT, a->packed_bytes);
	if (!region || !w->packed || !w->flat)
		return refused(e, w->gpu);
	w->user = region + (a->user - a->region);
	return 0;
}

static int prepare(struct engine *e, const struct bench_case *c, const struct arena *a)
{
	struct way *w = way_of(e);
	bool has_memory = w->copying || w->fresh || w->pages;

	if (w->checked_bytes != c->bytes)
		w->checked[BENCH_PACK] = w->checked[BENCH_UNPACK] = false;
	w->checked_bytes = c->bytes;
	if (!has_memory && place_row(e, w, a))
		return -1;
	return w->ops->prepare ? w->ops->prepare(e, w) : 0;
}

/* ---- the mirror ------------------------------------------------------------------------ */

/* The user's bytes in the arena, and the engine's address of them. */
static size_t user_bytes(const struct engine *e, const struct way *w,
			 unsigned char **host, unsigned char **there)
{
	const struct arena *a = e->arena;

	*host = e->raw ? arena_flat(a) : a->map + a->region;
	*there = e->raw ? w->flat : w->user - (a->user - a->region);
	return e->raw ? a->packed_bytes : a->region_bytes;
}

static int mirrored(struct engine *e, struct way *w, enum bench_op op)
{
	size_t packed_bytes = e->arena->packed_bytes + (e->raw ? 0 : ARENA_GUARD);
	unsigned char *packed = arena_packed(e->arena);
	unsigned char *host, *there;
	size_t bytes = user_bytes(e, w, &host, &there);

	if (!gpu_copy(w->gpu, there, host, bytes) ||
	    !gpu_copy(w->gpu, w->packed, packed, packed_bytes))
		return refused(e, w->gpu);
	if (w->ops->once(e, w, op))
		return -1;
	/* An unpack must not change the stream, nor a pack the user's buffer; check both. */
	if (!gpu_copy(w->gpu, host, there, bytes) ||
	    !gpu_copy(w->gpu, packed, w->packed, packed_bytes))
		return refused(e, w->gpu);
	return 0;
}

/* ---- the clocks ------------------------------------------------------------------------ */

static int by_the_host(struct engine *e, struct way *w, enum bench_op op, size_t calls,
		       double *ns)
{
	double start = bench_clock();
	int failed = 0;

	for (size_t i = 0; i < calls && !failed; i++)
		failed = w->ops->once(e, w, op);
	*ns = bench_clock() - start;
	return failed;
}

static int queue_between_events(struct engine *e, struct way *w, enum bench_op op)
{
	struct gpu *gpu = w->gpu;

	if (!GPU_CALL(gpu, EventRecord(gpu->begin, gpu->stream)))
		return refused(e, gpu);
	if (w->ops->queue(e, w, op))
		return -1;
	return GPU_CALL(gpu, EventRecord(gpu->end, gpu->stream)) ? 0 : refused(e, gpu);
}

static int by_events(struct engine *e, struct way *w, enum bench_op op, double *ns)
{
	struct gpu *gpu = w->gpu;
	float milliseconds = 0;
	int failed;

	if (!gpu_hold(gpu))
		return refused(e, gpu);
	failed = queue_between_events(e, w, op);
	gpu_let_go(gpu);
	if (failed)
		return failed;
	if (!GPU_CALL(gpu, EventSynchronize(gpu->end)) ||
	    !GPU_CALL(gpu, EventElapsedTime(&milliseconds, gpu->begin, gpu->end)))
		return refused(e, gpu);
	*ns = (double)milliseconds * 1e6;
	return w->ops->finish ? w->ops->finish(e, w) : 0;
}

static int by_the_device(struct engine *e, struct way *w, enum bench_op op, size_t calls,
			 double *ns)
{
	int failed = 0;

	/* Events in quick succession may have the same time. */
	*ns = 1;
	for (size_t i = 0; i < calls && !failed; i++) {
		double one = 0;

		failed = by_events(e, w, op, &one);
		*ns += one;
	}
	return failed;
}

static int run(struct engine *e, enum bench_op op, size_t warm, size_t calls, double *ns)
{
	struct way *w = way_of(e);

	*ns = 0;
	if (w->ops->timed)
		return w->ops->timed(e, w, op, warm, calls, ns);
	if (w->mirrored)
		return mirrored(e, w, op);
	for (size_t i = 0; i < warm; i++)
		if (w->ops->once(e, w, op))
			return -1;
	return w->device_clock ? by_the_device(e, w, op, calls, ns)
			       : by_the_host(e, w, op, calls, ns);
}

/* ---- lifetime -------------------------------------------------------------------------- */

static void release(struct engine *e)
{
	struct way *w = way_of(e);

	if (w->ops->release)
		w->ops->release(w);
}

static void destroy(struct engine *e)
{
	struct way *w = way_of(e);

	if (w && w->ops->end)
		w->ops->end(w);
	free(w);
}

struct way *way_new(struct engine *e, const char *name, struct gpu *gpu,
		    const struct way_ops *ops, const struct route *route)
{
	static const struct engine_ops engine_ops = {
		.prepare = prepare, .run = run, .release = release, .destroy = destroy
	};
	struct way *w = calloc(1, sizeof(*w));

	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->ops = &engine_ops;
	e->state = w;
	if (!w) {
		e->absent = true;
		engine_problem(e, "no memory");
		return NULL;
	}
	w->ops = ops;
	w->gpu = w->by = gpu;
	w->user_place = route->user;
	w->packed_place = route->packed;
	w->fragment = route->fragment;
	return w;
}

int way_problem(struct engine *e, struct dtconv_context *context, int status)
{
	char text[ENGINE_PROBLEM_ROOM];

	if (!status)
		return 0;
	if (!dtconv_context_error(context, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", dtconv_strerror(status));
	engine_problem(e, "%s", text);
	return -1;
}
