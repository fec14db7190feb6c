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

#include "bench/gpu/compile.h"
#include "bench/gpu/pattern.h"
#include "bench/gpu/roof.h"
#include "bench/gpu/roof_tables.h"
#include "bench/gpu/way.h"
#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

#define WARP       32
#define WIDE_BYTES 16
#define TRIES      4

static const unsigned thread_counts[] = { 128, 256, 512 };
#define THREAD_COUNTS (sizeof(thread_counts) / sizeof(*thread_counts))

struct variant {
	const char *name;
	unsigned unroll; /* 0: a warp a run */
	enum roof_reads reads;
};

#define VARIANT(name, unroll, reads) { #name, unroll, reads },
static const struct variant variants[] = { ROOF_VARIANTS(VARIANT) };
#define VARIANTS (sizeof(variants) / sizeof(*variants))

/* One launch: which kernel, and how it is cut. */
struct launch {
	CUfunction kernel;
	const struct variant *variant;
	unsigned blocks, threads;
};

struct roof {
	struct pattern pattern;
	CUmodule module;
	CUdeviceptr tables[ROOF_TABLES]; /* 0: none */
	struct launch best[2];           /* by operation */
};

/* ---- compiling ------------------------------------------------------------------------- */

static bool refused(struct engine *e, struct gpu *gpu)
{
	engine_problem(e, "%s", gpu->problem);
	gpu->problem[0] = '\0';
	return false;
}

/* Whether places in words, on the user's side, need more than 32 bits. */
static bool is_far(const struct way *w, const struct arena *a)
{
	return a->region_bytes / w->roof->pattern.word > INT32_MAX;
}

static bool find_arch(struct gpu *gpu, int *arch)
{
	int major = 0, minor = 0;

	if (!GPU_CALL(gpu, DeviceGetAttribute(
				   &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				   gpu->device)) ||
	    !GPU_CALL(gpu, DeviceGetAttribute(
				   &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				   gpu->device)))
		return false;
	*arch = 10 * major + minor;
	return true;
}

static bool compile(struct engine *e, struct way *w)
{
	struct roof *roof = w->roof;
	struct roof_options options;
	size_t bytes;
	char why[ENGINE_PROBLEM_ROOM];
	bool loaded;
	void *image;
	int arch;

	if (!find_arch(w->gpu, &arch))
		return refused(e, w->gpu);
	roof_set_options(&options, &roof->pattern, is_far(w, e->arena), arch);
	image = compile_kernels(roof_source, options.list, options.count, &bytes, why,
				sizeof(why));
	if (!image) {
		engine_problem(e, "%s", why);
		return false;
	}
	loaded = GPU_CALL(w->gpu, ModuleLoadData(&roof->module, image));
	free(image);
	return loaded || refused(e, w->gpu);
}

/* ---- tables ---------------------------------------------------------------------------- */

static bool upload(struct engine *e, struct way *w, enum roof_reads which,
		   struct roof_table table)
{
	CUdeviceptr *to = &w->roof->tables[which];
	bool done = table.memory && GPU_CALL(w->gpu, MemAlloc(to, table.bytes)) &&
		    gpu_copy(w->gpu, (void *)(uintptr_t)*to, table.memory, table.bytes);

	free(table.memory);
	if (!table.memory)
		engine_problem(e, "cannot allocate a table of displacements");
	return done || (table.memory && refused(e, w->gpu));
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

static bool queue_launch(struct way *w, const struct launch *launch)
{
	struct roof *roof = w->roof;
	unsigned char *user = w->user + roof->pattern.first;
	CUdeviceptr table = roof->tables[launch->variant->reads];
	void *arguments[] = { &w->packed, &user, &table };

	return GPU_CALL(w->gpu, LaunchKernel(launch->kernel, launch->blocks, 1, 1,
					     launch->threads, 1, 1, 0, w->gpu->stream,
					     arguments, NULL));
}

static uint64_t threads_needed(const struct pattern *p, const struct variant *v)
{
	if (!v->unroll)
		return pattern_records(p) * p->record_runs * WARP;
	if (!strcmp(v->name, "wide"))
		return pattern_words(p) / (WIDE_BYTES / p->word);
	return (pattern_words(p) + v->unroll - 1) / v->unroll;
}

/* Nanoseconds, the best of a few; 0 if the launch fails. */
static double time_launch(struct way *w, const struct launch *launch)
{
	struct gpu *gpu = w->gpu;
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		float ms = 0;

		if (!GPU_CALL(gpu, EventRecord(gpu->begin, gpu->stream)) ||
		    !queue_launch(w, launch) ||
		    !GPU_CALL(gpu, EventRecord(gpu->end, gpu->stream)) ||
		    !GPU_CALL(gpu, EventSynchronize(gpu->end)) ||
		    !GPU_CALL(gpu, EventElapsedTime(&ms, gpu->begin, gpu->end)))
			return 0;
		if (best <= 0 || ms * 1e6 < best)
			best = ms * 1e6;
	}
	return best;
}

static void try_variant(struct way *w, enum bench_op op, const struct variant *v,
			double *best)
{
	struct roof *roof = w->roof;
	struct launch launch = { .variant = v };
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", bench_op_name(op), v->name);
	/* Not every pattern has every entry. */
	if (w->gpu->driver.ModuleGetFunction(&launch.kernel, roof->module, name))
		return;
	for (size_t i = 0; i < THREAD_COUNTS; i++) {
		uint64_t threads = threads_needed(&roof->pattern, v);

		launch.threads = thread_counts[i];
		launch.blocks =
			(unsigned)((threads + launch.threads - 1) / launch.threads);
		double ns = time_launch(w, &launch);
		if (ns > 0 && (*best <= 0 || ns < *best)) {
			*best = ns;
			roof->best[op] = launch;
		}
	}
}

static bool choose(struct engine *e, struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		double best = 0;

		for (size_t i = 0; i < VARIANTS; i++)
			try_variant(w, (enum bench_op)op, &variants[i], &best);
		if (best <= 0)
			return refused(e, w->gpu);
	}
	return true;
}

/* ---- the way --------------------------------------------------------------------------- */

static void release(struct way *w)
{
	struct roof *roof = w->roof;

	pattern_release(&roof->pattern);
	for (int i = 0; i < ROOF_TABLES; i++)
		if (roof->tables[i])
			GPU_CALL(w->gpu, MemFree(roof->tables[i]));
	if (roof->module)
		GPU_CALL(w->gpu, ModuleUnload(roof->module));
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
	if (find_pattern(e, w) && compile(e, w) && upload_tables(e, w) && choose(e, w))
		return 0;
	release(w);
	return -1;
}

static int queue(struct engine *e, struct way *w, enum bench_op op)
{
	return queue_launch(w, &w->roof->best[op]) || refused(e, w->gpu) ? 0 : -1;
}

static int once(struct engine *e, struct way *w, enum bench_op op)
{
	if (queue(e, w, op))
		return -1;
	return GPU_CALL(w->gpu, StreamSynchronize(w->gpu->stream)) || refused(e, w->gpu)
		       ? 0
		       : -1;
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
	const struct launch *launch = &w->roof->best[op];

	if (!launch->variant)
		return;
	snprintf(text, room,
		 "plain kernel for a %s, %zu-byte words, %s, %u threads a block",
		 kinds[w->roof->pattern.kind], w->roof->pattern.word,
		 launch->variant->name, launch->threads);
}
