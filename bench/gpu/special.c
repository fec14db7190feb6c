/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gain of specialised kernels: the library's own kernels beside the same source with the
 * shape's numbers as constants. Both are launched for every layout, even if the library would
 * not specialise it.
 */
#include "config.h"

#include "bench/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

/* Exclude driver copies, which the planner prefers for some layouts. */
static const struct dtconv_convertor_params kernels = { .struct_size = sizeof(kernels),
							.backends = "cuda_kernel" };

/* ---- the two ways ---------------------------------------------------------------------- */

static void way_kernel(struct engine *e, const char *name, struct gpu *gpu,
		       const struct route *route)
{
	way_started(e, name, gpu, route);
	if (way_of(e))
		way_of(e)->params = &kernels;
}

static void release_special(struct way *w)
{
	way_started_ops.release(w);
	dtconv_type_unref(w->own_type);
	dtconv_context_destroy(w->own_context);
	w->own_type = NULL;
	w->own_context = NULL;
}

/* Compile a kernel for every shape; its first job waits for it. */
static int create_context(struct dtconv_context **context)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_COUNTERS };

	setenv("DTCONV_SPECIALISE", "wait", 1);
	int status = dtconv_context_create(&params, context);
	unsetenv("DTCONV_SPECIALISE");
	return status;
}

static int check_launches(struct engine *e, struct way *w)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	dtconv_context_query_counters(w->own_context, &counters);
	if (counters.launches_special == 2)
		return 0;
	engine_problem(e, "no kernel was compiled for its shape");
	return -1;
}

static int prepare_special(struct engine *e, struct way *w)
{
	int status = create_context(&w->own_context);

	if (!status)
		status = engine_make_again(e->c->type, w->own_context, &w->own_type);
	if (!way_problem(e, w->own_context, status) && !way_started_ops.prepare(e, w) &&
	    !way_started_ops.once(e, w, BENCH_PACK) &&
	    !way_started_ops.once(e, w, BENCH_UNPACK) && !check_launches(e, w))
		return 0;
	release_special(w);
	return -1;
}

static int once_special(struct engine *e, struct way *w, enum bench_op op)
{
	return way_started_ops.once(e, w, op);
}

static int queue_special(struct engine *e, struct way *w, enum bench_op op)
{
	return way_started_ops.queue(e, w, op);
}

static int finish_special(struct engine *e, struct way *w)
{
	return way_started_ops.finish(e, w);
}

static void way_special(struct engine *e, const char *name, struct gpu *gpu,
			const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_special,
					    .once = once_special,
					    .queue = queue_special,
					    .finish = finish_special,
					    .release = release_special };
	struct way *w = way_new(e, name, gpu, &ops, route);

	if (w)
		w->params = &kernels;
}

/* ---- the question ---------------------------------------------------------------------- */

#define PREBUILT "dtconv-kernel"
#define SPECIAL  "dtconv-special"

/*
 * The layouts, and target G9: the required speed of the library's own kernel relative to the
 * specialised one.
 */
static const struct {
	const char *name;
	double aim;
} rows[] = {
	{ "vec8", 0.95 },       { "vec64", 0.95 },    { "vec4k", 0.95 },
	{ "box", 0.95 },        { "12of24", 0.95 },   { "128of257", 0.95 },
	{ "20of48", 0.8 },      { "19of24", 0.8 },    { "transpose", 0.8 },
	{ "irregular64", 0.8 }, { "lower_tri", 0.8 }, { "gather8_sorted", 0.8 },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static double aim_of(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].aim;
	return 0;
}

static double speed_of(const struct results *rs, const struct result *like,
		       const char *op, const char *engine)
{
	return result_speed(find_result(rs, like, op, engine));
}

static void print_row(const struct results *rs, const struct result *r)
{
	static const char *const ops[] = { "pack", "unpack" };
	double own[2], special[2];

	for (int op = 0; op < 2; op++) {
		own[op] = speed_of(rs, r, ops[op], PREBUILT);
		special[op] = speed_of(rs, r, ops[op], SPECIAL);
	}
	printf("%-16s %10zu", r->layout, r->bytes);
	for (int op = 0; op < 2; op++)
		print_number(own[op], 7, 1);
	for (int op = 0; op < 2; op++)
		print_number(special[op], 7, 1);
	for (int op = 0; op < 2; op++)
		print_number(special[op] > 0 ? own[op] / special[op] : 0, 7, 2);
	print_number(aim_of(r->layout), 7, 2);
	putchar('\n');
}

static void print_special(const struct results *rs, size_t from)
{
	printf("\n%-27s %-15s %-15s %-15s\n", "kernels for one shape", "   dtconv GB/s",
	       "   special GB/s", "   part of it");
	printf("%-16s %10s %7s %7s %7s %7s %7s %7s %7s\n", "layout", "bytes", "pack",
	       "unpack", "pack", "unpack", "pack", "unpack", "aim G9");
	for (size_t i = from; i < rs->count; i++)
		if (!strcmp(rs->list[i].clock, "device") && is_first_result(rs, from, i))
			print_row(rs, &rs->list[i]);
}

static void run_rows(struct session *s, size_t bytes)
{
	for (size_t i = 0; i < ROWS; i++)
		if (bench_matches(s->layouts, rows[i].name))
			run_layout(s, run_find_layout(rows[i].name), bytes,
				   1u << RUN_DEVICE);
}

void question_special(struct session *s)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	static const enum bench_size order[] = { BENCH_SIZE_64K, BENCH_SIZE_1M,
						 BENCH_SIZE_16M, BENCH_SIZE_256M };
	unsigned sizes = s->options->sizes ? s->options->sizes
					   : BENCH_SIZE_16M | BENCH_SIZE_256M;
	size_t from = s->results.count;

	run_add(s, way_kernel, PREBUILT, &on_device);
	run_add(s, way_special, SPECIAL, &on_device);
	for (size_t k = 0; k < 4; k++)
		if (sizes & order[k])
			run_rows(s, bench_size_bytes(order[k]));
	session_progress_end(s);
	print_special(&s->results, from);
}
