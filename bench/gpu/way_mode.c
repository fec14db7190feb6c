/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv's one-shot calls in a context that moves small jobs in a special mode. The case's type
 * is created there anew for each row.
 */
#include "config.h"

#include "bench/gpu/way.h"

#include <time.h>

#include <dtconv/dtconv.h>

#include "bench/layouts/layout.h"

/* The largest job of the library's resident kernel. */
#define RESIDENT_BYTES 131072

struct mode {
	unsigned flag;
	size_t member; /* of the counters: jobs that went in the mode */
};

static int once(struct engine *e, struct way *w, enum bench_op op)
{
	const struct bench_case *c = e->c;
	int status = op == BENCH_PACK ? dtconv_pack(w->own_type, c->count, w->user,
						    w->packed, c->bytes, NULL)
				      : dtconv_unpack(w->own_type, c->count, w->user,
						      w->packed, c->bytes, NULL);

	return way_problem(e, w->own_context, status);
}

static void release(struct way *w)
{
	dtconv_type_unref(w->own_type);
	dtconv_context_destroy(w->own_context);
	w->own_type = NULL;
	w->own_context = NULL;
}

static bool is_settled(const struct way *w, size_t member)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	return !dtconv_context_query_counters(w->own_context, &counters) &&
	       *(const uint64_t *)(const void *)((const char *)&counters + member);
}

/* The first jobs run without the mode, while its resources are being created. */
static int settle(struct engine *e, struct way *w, size_t member)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (int i = 0; i < 300 && !is_settled(w, member); i++) {
		if (once(e, w, BENCH_PACK))
			return -1;
		nanosleep(&nap, NULL);
	}
	if (is_settled(w, member))
		return 0;
	engine_problem(e, "the mode takes no job of that size");
	return -1;
}

static int prepare(struct engine *e, struct way *w, struct mode mode)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_COUNTERS |
							       mode.flag };
	int status = dtconv_context_create(&params, &w->own_context);

	if (!status)
		status = engine_make_again(e->c->type, w->own_context, &w->own_type);
	if (!way_problem(e, w->own_context, status) && !settle(e, w, mode.member))
		return 0;
	release(w);
	return -1;
}

static int prepare_resident(struct engine *e, struct way *w)
{
	return prepare(e, w,
		       (struct mode){ DTCONV_CONTEXT_RESIDENT,
				      offsetof(struct dtconv_counters, resident_jobs) });
}

static int prepare_graphs(struct engine *e, struct way *w)
{
	return prepare(e, w,
		       (struct mode){ DTCONV_CONTEXT_GRAPHS,
				      offsetof(struct dtconv_counters, graph_launches) });
}

void way_graphs(struct engine *e, const char *name, struct gpu *gpu,
		const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_graphs,
					    .once = once,
					    .release = release };

	way_new(e, name, gpu, &ops, route);
}

void way_resident(struct engine *e, const char *name, struct gpu *gpu,
		  const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_resident,
					    .once = once,
					    .release = release };

	struct way *w = way_new(e, name, gpu, &ops, route);

	if (w)
		w->most_bytes = RESIDENT_BYTES;
}
