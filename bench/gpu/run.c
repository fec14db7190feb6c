/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case from its bytes to its results: the oracle judges an arena in host memory, which an engine
 * that is being verified brings to where it works, and back.
 */
#include "config.h"

#include "bench/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/layouts.h"
#include "bench/gpu/path.h"
#include "bench/harness/rounds.h"

/* A row's engines share this much time in each operation and by each clock. */
#define MOST_BUDGET 25e6
/* Larger ones are left out, whatever the device has. */
#define MOST_REGION ((size_t)5 << 30)

struct engine *run_add(struct session *s, way_maker make, const char *name,
		       const struct route *route)
{
	struct engine *e = session_new_engine(s, name);

	if (!e)
		return NULL;
	make(e, name, s->gpu, route);
	e->context = s->context;
	return e;
}

struct gpu *run_other_device(struct session *s, const char *question)
{
	struct gpu *gpu = s->gpu;
	struct gpu *other = gpu->peer_absent[0] ? NULL : gpu_other(gpu);

	if (!other)
		printf("\n%s: absent (%s)\n", question,
		       gpu->peer_absent[0] ? gpu->peer_absent : gpu->problem);
	gpu->problem[0] = '\0';
	return other;
}

void run_drop_engines(struct session *s)
{
	for (size_t i = 0; i < s->engine_count; i++)
		engine_destroy(&s->engines[i]);
	s->engine_count = 0;
}

/* ---- recording ------------------------------------------------------------------------- */

static double aim_of(const struct bench_case *c, enum bench_op op)
{
	const struct gpu_target *aim = gpu_target_of(c->name, c->bytes);

	return !aim ? 0 : op == BENCH_PACK ? aim->pack : aim->unpack;
}

static void record(struct session *s, const struct bench_case *c, const struct engine *e,
		   enum bench_op op, enum run_clock clock, const struct timing *t)
{
	const struct way *w = way_of(e);
	enum gpu_place from = op == BENCH_PACK ? w->user_place : w->packed_place;
	enum gpu_place to = op == BENCH_PACK ? w->packed_place : w->user_place;
	struct result r = { .bytes = c->bytes,
			    .count = c->count,
			    .expr = session_expr(c->type),
			    .fragment = w->fragment };

	memcpy(r.layout, c->name, sizeof(r.layout));
	memcpy(r.engine, e->name, sizeof(r.engine));
	snprintf(r.op, sizeof(r.op), "%s", bench_op_name(op));
	snprintf(r.check, sizeof(r.check), "%s", e->problem[0] ? e->problem : "ok");
	snprintf(r.src, sizeof(r.src), "%s", gpu_place_name(from));
	snprintf(r.dst, sizeof(r.dst), "%s", gpu_place_name(to));
	snprintf(r.clock, sizeof(r.clock), "%s", clock == RUN_WALL ? "wall" : "device");
	if (clock == RUN_DEVICE && from == to && !strcmp(e->name, "dtconv"))
		r.aim = aim_of(c, op);
	path_explain(e, op, &r);
	if (t) {
		r.ns = t->ns;
		r.ns_p10 = t->ns_p10;
		r.ns_p90 = t->ns_p90;
		r.rounds = t->rounds;
	}
	session_record(s, &r);
}

/* ---- one operation --------------------------------------------------------------------- */

/* A flag moves nothing, and a raw copy is the same for all layouts of a size. */
static bool needs_no_check(const struct engine *e, enum bench_op op)
{
	return !strcmp(e->name, "flag") || (e->raw && way_of(e)->checked[op]);
}

static int verify(struct verify *v, struct engine *e, enum bench_op op)
{
	struct way *w = way_of(e);
	int failed;

	e->problem[0] = '\0';
	if (needs_no_check(e, op))
		return 0;
	if (w->judge)
		return w->judge(e, w, op);
	w->mirrored = true;
	failed = verify_engine(v, e, op);
	w->mirrored = false;
	w->checked[op] = !failed;
	return failed;
}

struct field {
	struct engine *engines[MOST_ENGINES];
	size_t count;
};

static void time_field(struct session *s, const struct bench_case *c, enum bench_op op,
		       enum run_clock clock, const struct field *field, double budget_ns)
{
	struct timing timings[MOST_ENGINES];
	struct field timed = { .count = 0 };

	for (size_t i = 0; i < field->count; i++) {
		struct way *w = way_of(field->engines[i]);

		w->device_clock = clock == RUN_DEVICE;
		if (clock == RUN_WALL || w->ops->queue || w->ops->timed)
			timed.engines[timed.count++] = field->engines[i];
	}
	if (timed.count)
		rounds_time(timed.engines, timed.count, op, budget_ns, s->options->seed,
			    timings);
	for (size_t i = 0; i < timed.count; i++)
		record(s, c, timed.engines[i], op, clock, &timings[i]);
}

static void do_operation(struct session *s, struct verify *v, const struct bench_case *c,
			 enum bench_op op, unsigned clocks, const struct field *field,
			 double budget_ns)
{
	struct field good = { .count = 0 };

	for (size_t i = 0; i < field->count; i++) {
		if (verify(v, field->engines[i], op))
			record(s, c, field->engines[i], op, RUN_WALL, NULL);
		else
			good.engines[good.count++] = field->engines[i];
	}
	for (int clock = RUN_WALL; clock < RUN_CLOCKS; clock++)
		if (clocks >> clock & 1)
			time_field(s, c, op, (enum run_clock)clock, &good, budget_ns);
}

/* ---- one case -------------------------------------------------------------------------- */

static bool takes_part(const struct engine *e, const struct bench_case *c)
{
	if (e->absent)
		return false;
	bool strided = !strcmp(e->name, "copy2d") || !strcmp(e->name, "torch");
	size_t most_bytes = way_of(e)->most_bytes;
	return (!strided || c->block) && (!most_bytes || c->bytes <= most_bytes);
}

static void prepare_field(struct session *s, const struct bench_case *c,
			  struct field *field)
{
	for (size_t i = 0; i < s->engine_count; i++) {
		struct engine *e = &s->engines[i];

		if (!takes_part(e, c))
			continue;
		if (!engine_prepare(e, c, &s->arena)) {
			field->engines[field->count++] = e;
			continue;
		}
		/* It may have found that it cannot work here. */
		for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
			if (s->options->ops[op] && !e->absent)
				record(s, c, e, (enum bench_op)op, RUN_WALL, NULL);
	}
}

static double budget_of(const struct session *s)
{
	double share = session_share(s) / 4;

	return share < MOST_BUDGET ? share : MOST_BUDGET;
}

/* Walking every element of a large row takes the oracle seconds. */
static bool needs_oracle(const struct session *s)
{
	for (size_t i = 0; i < s->engine_count; i++) {
		const struct way *w = way_of(&s->engines[i]);

		if (w && !w->judge)
			return true;
	}
	return false;
}

void run_case(struct session *s, struct bench_case *c, unsigned clocks)
{
	struct field field = { .count = 0 };
	double budget = budget_of(s);
	struct verify v = { .seed = s->options->seed };

	arena_place(&s->arena, c);
	if (needs_oracle(s) && verify_create(&v, &s->arena, c, s->options->seed)) {
		printf("%s, %zu bytes: cannot allocate the oracle\n", c->name, c->bytes);
		return;
	}
	prepare_field(s, c, &field);
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
		if (s->options->ops[op])
			do_operation(s, &v, c, (enum bench_op)op, clocks, &field, budget);
	for (size_t i = 0; i < field.count; i++)
		engine_release(field.engines[i]);
	verify_destroy(&v);
}

static bool fits(const struct session *s, const struct bench_case *c)
{
	return c->bytes && arena_bytes_for(c) < s->memory_limit &&
	       c->arena_bytes < MOST_REGION;
}

void run_layout(struct session *s, const struct bench_layout *layout, size_t bytes,
		unsigned clocks)
{
	struct bench_case c;
	char why[WHY_ROOM];

	if (bench_now() > s->deadline) {
		s->left_out++;
		return;
	}
	session_progress(s, layout->name);
	if (bench_case_make_bytes(s->context, s->options->seed, layout, bytes, &c, why,
				  sizeof(why)))
		printf("%s, %zu bytes: %s\n", layout->name, bytes, why);
	else if (fits(s, &c))
		run_case(s, &c, clocks);
	else
		printf("%s, %zu bytes: left out, its arrays take %zu MiB\n", layout->name,
		       bytes, c.arena_bytes >> 20);
	bench_case_release(&c);
	if (s->rows_left)
		s->rows_left--;
}

const struct bench_layout *run_find_layout(const char *name)
{
	const struct bench_layout *l = bench_layouts_gpu;

	while (strcmp(l->name, name) != 0)
		l++;
	return l;
}
