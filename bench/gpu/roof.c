/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roof: the best that plain kernels, compiled for the row's layout, get from its access pattern. It is
 * an engine like the others: verified, then timed in turn with them.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/pattern.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/roof.h"
#include "bench/gpu/roof_tables.h"
#include "bench/gpu/way.h"
#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

#define WARP       32
#define WIDE_BYTES 16

struct variant {
	const char *name;
	unsigned unroll; /* 0: a warp a run */
	enum roof_reads reads;
};

#define VARIANT(name, unroll, reads) { #name, unroll, reads },
static const struct variant variants[] = { ROOF_VARIANTS(VARIANT) };
#define VARIANTS (sizeof(variants) / sizeof(*variants))

/* The fastest of an operation. */
struct choice {
	struct plain_kernel kernel;
	const struct variant *variant;
};

struct roof {
	struct pattern pattern;
	CUmodule module;
	CUdeviceptr tables[ROOF_TABLES]; /* 0: none */
	struct choice best[2];           /* by operation */
};

/* ---- compiling ------------------------------------------------------------------------- */

/* Whether places in words, on the user's side, need more than 32 bits. */
static bool is_far(const struct way *w, const struct arena *a)
{
	return a->region_bytes / w->roof->pattern.word > INT32_MAX;
}

static bool compile(struct engine *e, struct way *w)
{
	struct roof *roof = w->roof;
	struct roof_options options;
	int arch;

	if (!plain_arch(w->by, &arch))
		return plain_refused(e, w->by);
	roof_set_options(&options, &roof->pattern, is_far(w, e->arena), arch);
	return plain_load(e, w->by, roof_source, options.list, options.count,
			  &roof->module);
}

/* ---- tables ---------------------------------------------------------------------------- */

static bool upload(struct engine *e, struct way *w, enum roof_reads which,
		   struct roof_table table)
{
	bool done = table.memory && plain_upload(e, w->by, table.memory, table.bytes,
						 &w->roof->tables[which]);

	free(table.memory);
	if (!table.memory)
		engine_problem(e, "cannot allocate a table of displacements");
	return done;
}

static bool upload_tables(struct engine *e, struct way *w)
{
	const struct pattern *p = &w->roof->pattern;
	uint64_t first = (uint64_t)(uintptr_t)w->user + (uint64_t)p->first;

	if (p->kind == PATTERN_GRID)
		return true;
	return upload(e, w, ROOF_PLACES, roof_make_places(p)) &&
	       upload(e, w, ROOF_PAIRS, roof_make_pairs(p, first)) &&
	       upload(e, w, ROOF_RUNS, roof_make_runs(p));
}

/* ---- launching ------------------------------------------------------------------------- */

/* What an entry is given: both buffers and its table. */
struct given {
	unsigned char *user;
	CUdeviceptr table;
	void *arguments[3];
};

static void give(struct way *w, const struct variant *v, struct given *given)
{
	given->user = w->user + w->roof->pattern.first;
	given->table = w->roof->tables[v->reads];
	given->arguments[0] = &w->packed;
	given->arguments[1] = &given->user;
	given->arguments[2] = &given->table;
}

static uint64_t threads_needed(const struct pattern *p, const struct variant *v)
{
	if (!v->unroll)
		return pattern_records(p) * p->record_runs * WARP;
	if (!strcmp(v->name, "wide"))
		return pattern_words(p) / (WIDE_BYTES / p->word);
	return (pattern_words(p) + v->unroll - 1) / v->unroll;
}

static void try_variant(struct way *w, enum bench_op op, const struct variant *v,
			double *best)
{
	struct roof *roof = w->roof;
	struct given given;
	CUfunction function;
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", bench_op_name(op), v->name);
	/* Not every pattern has every entry. */
	if (w->by->driver.ModuleGetFunction(&function, roof->module, name))
		return;
	give(w, v, &given);
	if (plain_try(w->by, function, threads_needed(&roof->pattern, v), given.arguments,
		      &roof->best[op].kernel, best))
		roof->best[op].variant = v;
}

static bool choose(struct engine *e, struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		double best = 0;

		for (size_t i = 0; i < VARIANTS; i++)
			try_variant(w, (enum bench_op)op, &variants[i], &best);
		if (best <= 0)
			return plain_refused(e, w->by);
	}
	return true;
}

/* ---- the way --------------------------------------------------------------------------- */

static void release(struct way *w)
{
	struct roof *roof = w->roof;

	gpu_enter(w->by);
	pattern_release(&roof->pattern);
	for (int i = 0; i < ROOF_TABLES; i++)
		if (roof->tables[i])
			GPU_CALL(w->by, MemFree(roof->tables[i]));
	if (roof->module)
		GPU_CALL(w->by, ModuleUnload(roof->module));
	gpu_leave(w->by);
	memset(roof, 0, sizeof(*roof));
}

static bool find_pattern(struct engine *e, struct way *w)
{
	const char *why;

	if (!pattern_find(e->c, arena_user(e->arena), &w->roof->pattern, &why))
		return true;
	engine_problem(e, "%s", why);
	return false;
}

static int prepare(struct engine *e, struct way *w)
{
	bool ready = (gpu_enter(w->by) || plain_refused(e, w->by)) &&
		     find_pattern(e, w) && compile(e, w) && upload_tables(e, w) &&
		     choose(e, w);

	gpu_leave(w->by);
	if (ready)
		return 0;
	release(w);
	return -1;
}

static bool launch(struct way *w, enum bench_op op)
{
	const struct choice *best = &w->roof->best[op];
	struct given given;

	give(w, best->variant, &given);
	return plain_queue(w->by, &best->kernel, given.arguments);
}

static int queue(struct engine *e, struct way *w, enum bench_op op)
{
	return launch(w, op) || plain_refused(e, w->by) ? 0 : -1;
}

static int once(struct engine *e, struct way *w, enum bench_op op)
{
	return plain_await(e, w->by, launch(w, op));
}

static void end(struct way *w)
{
	free(w->roof);
}

void way_roof(struct engine *e, const char *name, struct gpu *gpu,
	      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare,
					    .once = once,
					    .queue = queue,
					    .release = release,
					    .end = end };
	struct way *w = way_new(e, name, gpu, &ops, route);

	if (!w)
		return;
	w->roof = calloc(1, sizeof(*w->roof));
	if (w->roof)
		return;
	e->absent = true;
	engine_problem(e, "no memory");
}

void roof_describe(const struct way *w, enum bench_op op, char *text, size_t room)
{
	static const char *const kinds[] = { "grid", "record", "list" };
	const struct choice *best = &w->roof->best[op];

	if (!best->variant)
		return;
	snprintf(text, room,
		 "plain kernel for a %s, %zu-byte words, %s, %u threads a block",
		 kinds[w->roof->pattern.kind], w->roof->pattern.word, best->variant->name,
		 best->kernel.threads);
}
