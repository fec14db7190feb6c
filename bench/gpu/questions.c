/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The questions: which engines on which memory, at which sizes, and the table that answers.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/layouts.h"
#include "bench/gpu/path.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/run.h"
#include "bench/harness/columns.h"

#define WALL        (1u << RUN_WALL)
#define BOTH_CLOCKS (1u << RUN_WALL | 1u << RUN_DEVICE)

static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
static const struct route to_pinned = { PLACE_DEVICE, PLACE_PINNED, 0 };
static const struct route to_host = { PLACE_DEVICE, PLACE_HOST, 0 };
static const struct route to_peer = { PLACE_DEVICE, PLACE_PEER, 0 };
static const struct route from_peer = { PLACE_PEER, PLACE_DEVICE, 0 };

void print_number(double value, int width, int decimals)
{
	if (value > 0)
		printf(" %*.*f", width, decimals, value);
	else
		printf(" %*s", width, "-");
}

static double speed_of(const struct results *rs, const struct result *like,
		       const char *op, const char *engine)
{
	return result_speed(find_result(rs, like, op, engine));
}

/* dtconv's speed over another engine's, or 0. */
static double over(const struct results *rs, const struct result *like, const char *op,
		   const char *ours, const char *other)
{
	double theirs = speed_of(rs, like, op, other);

	return theirs > 0 ? speed_of(rs, like, op, ours) / theirs : 0;
}

static double microseconds(const struct results *rs, const struct result *like,
			   const char *op, const char *engine)
{
	const struct result *r = find_result(rs, like, op, engine);

	return r ? r->ns / 1e3 : 0;
}

void print_absent(const struct session *s)
{
	for (size_t i = 0; i < s->engine_count; i++)
		if (s->engines[i].absent)
			printf("absent: %s (%s)\n", s->engines[i].name,
			       s->engines[i].problem);
}

/* ---- layouts in device memory ---------------------------------------------------------- */

enum group {
	GROUP_BYTES,
	GROUP_SPEED,
	GROUP_COPY,
	GROUP_AIM,
	GROUP_COPY2D,
	GROUP_TORCH,
	GROUP_PLAIN,
	GROUP_WALL,
	GROUP_WALL_COPY,
	GROUPS
};

#define RATIOS "    pack unpack"

static const struct column_group groups[GROUPS] = {
	[GROUP_BYTES] = { 3, 11, { "", "      bytes" }, "bytes" },
	[GROUP_SPEED] = { 0, 16, { "    dtconv GB/s", "    pack  unpack" }, NULL },
	[GROUP_COPY] = { 1, 15, { "    x copy", RATIOS }, "x copy" },
	[GROUP_AIM] = { 4, 15, { "    aim", RATIOS }, "aim" },
	[GROUP_COPY2D] = { 6, 15, { "    x copy2d", RATIOS }, "x copy2d" },
	[GROUP_TORCH] = { 7, 15, { "    x torch", RATIOS }, "x torch" },
	[GROUP_PLAIN] = { 2, 15, { "    x plain", RATIOS }, "x plain" },
	[GROUP_WALL] = { 5,
			 19,
			 { "  wall us: dtconv", "      pack   unpack" },
			 "wall us" },
	[GROUP_WALL_COPY] = { 8, 18, { "     copy   pinned", "" }, "wall us of copies" },
};

static void print_ratios(const struct results *rs, const struct result *r,
			 const char *engine, int decimals)
{
	print_number(over(rs, r, "pack", "dtconv", engine), 7, decimals);
	print_number(over(rs, r, "unpack", "dtconv", engine), 6, decimals);
}

static void print_wall(const struct columns *c, const struct results *rs,
		       const struct result *r)
{
	struct result wall = *r, pinned;

	snprintf(wall.clock, sizeof(wall.clock), "wall");
	pinned = wall;
	snprintf(pinned.op, sizeof(pinned.op), "pack");
	snprintf(pinned.dst, sizeof(pinned.dst), "pinned");
	print_number(microseconds(rs, &wall, "pack", "dtconv"), 9, 1);
	print_number(microseconds(rs, &wall, "unpack", "dtconv"), 8, 1);
	if (!columns_show(c, GROUP_WALL_COPY))
		return;
	print_number(microseconds(rs, &wall, "pack", "copy"), 8, 1);
	print_number(microseconds(rs, &pinned, "pack", "pinned"), 8, 1);
}

static void print_layout(const struct columns *c, const struct results *rs,
			 const struct result *r)
{
	const struct gpu_target *aim = gpu_target_of(r->layout, r->bytes);

	columns_print_name(stdout, c, r->layout, path_mark(rs, r));
	if (columns_show(c, GROUP_BYTES))
		printf(" %10zu", r->bytes);
	print_number(speed_of(rs, r, "pack", "dtconv"), 7, 1);
	print_number(speed_of(rs, r, "unpack", "dtconv"), 7, 1);
	if (columns_show(c, GROUP_COPY))
		print_ratios(rs, r, "copy", 2);
	if (columns_show(c, GROUP_AIM)) {
		print_number(aim ? aim->pack : 0, 7, 2);
		print_number(aim ? aim->unpack : 0, 6, 2);
	}
	if (columns_show(c, GROUP_COPY2D))
		print_ratios(rs, r, "copy2d", 1);
	if (columns_show(c, GROUP_TORCH))
		print_ratios(rs, r, "torch", 1);
	if (columns_show(c, GROUP_PLAIN))
		print_ratios(rs, r, "plain", 2);
	if (columns_show(c, GROUP_WALL))
		print_wall(c, rs, r);
	putchar('\n');
}

struct tally {
	const char *id;
	size_t rows, reached;
};

/* A row has reached its aim if it is within the spread that medians of one run have. */
#define SPREAD 0.02

static void count_aim(struct tally *t, double reached, double aim)
{
	if (reached <= 0 || aim <= 0)
		return;
	t->rows++;
	t->reached += reached >= aim * (1 - SPREAD);
}

static void tally_row(struct tally *all, size_t count, const struct results *rs,
		      const struct result *r)
{
	const struct gpu_target *aim = gpu_target_of(r->layout, r->bytes);

	for (size_t k = 0; aim && k < count; k++) {
		if (strcmp(aim->id, all[k].id) != 0)
			continue;
		count_aim(&all[k], over(rs, r, "pack", "dtconv", "copy"), aim->pack);
		count_aim(&all[k], over(rs, r, "unpack", "dtconv", "copy"), aim->unpack);
	}
}

/* The group of an engine that has no result. */
static unsigned without(const struct results *rs, const char *engine, enum group group)
{
	for (size_t i = 0; i < rs->count; i++)
		if (!strcmp(rs->list[i].engine, engine))
			return 0;
	return 1u << group;
}

static void print_layouts(const struct results *rs, size_t from, size_t limit)
{
	struct columns c = columns_choose(groups, GROUPS, limit,
					  without(rs, "torch", GROUP_TORCH),
					  without(rs, "plain", GROUP_PLAIN), rs);
	struct tally all[] = { { "G1", 0, 0 }, { "G2", 0, 0 }, { "G3", 0, 0 },
			       { "G4", 0, 0 }, { "G5", 0, 0 }, { "G6", 0, 0 } };
	size_t count = sizeof(all) / sizeof(*all);

	putchar('\n');
	columns_print_head(stdout, &c, "device memory", "layout");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (strcmp(r->clock, "device") != 0 || strcmp(r->src, r->dst) != 0 ||
		    !is_first_result(rs, from, i))
			continue;
		print_layout(&c, rs, r);
		tally_row(all, count, rs, r);
	}
	columns_print_dropped(stdout, &c);
	printf("aims reached, within %.0f %%:", 100 * SPREAD);
	for (size_t k = 0; k < count; k++)
		if (all[k].rows)
			printf(" %s %zu of %zu", all[k].id, all[k].reached, all[k].rows);
	printf("\n");
}

/* A row whose lists take the oracle half a minute has to be asked for by its size. */
static bool is_slow(const struct session *s, const struct bench_layout *l,
		    enum bench_size size)
{
	return !s->options->sizes && size == BENCH_SIZE_256M &&
	       !strcmp(l->name, "gather8_random");
}

/* An application's layouts repeat their sets; without --sizes two sizes of them will do. */
static void add_rows(struct session *s, const struct bench_layout *table, unsigned sizes,
		     enum bench_size size)
{
	for (const struct bench_layout *l = table; l->name; l++)
		if (sizes & size && !is_slow(s, l, size) &&
		    bench_matches(s->layouts, l->name) &&
		    (table != bench_layouts_gpu || l->sizes & size))
			run_layout(s, l, bench_size_bytes(size), BOTH_CLOCKS);
}

static size_t count_layouts(const struct session *s)
{
	size_t count = 0;

	for (const struct bench_layout *l = bench_layouts_gpu; l->name; l++)
		count += bench_matches(s->layouts, l->name);
	for (const struct bench_layout *l = bench_layouts_applications; l->name; l++)
		count += bench_matches(s->layouts, l->name);
	return count;
}

/* The layouts that were given on the command line, at their own sizes. */
static void run_exprs(struct session *s)
{
	for (size_t i = 0; i < s->options->expr_count; i++) {
		struct row_key key = { .expr = s->options->exprs[i],
				       .expr_count = s->options->count };
		struct bench_case c;
		char why[WHY_ROOM];

		session_name_expr(s, i, key.name);
		if (session_make_case(s, &key, &c, why, sizeof(why)))
			session_record_failure(s, &key, why);
		else
			run_case(s, &c, BOTH_CLOCKS);
		bench_case_release(&c);
	}
}

/* Starting it takes seconds; it is known at once where it cannot be. */
void run_add_torch(struct session *s)
{
	struct engine *e = session_new_engine(s, "torch");
	char program[PEER_ROOM];

	if (!e)
		return;
	session_find_peer("torch", program, sizeof(program));
	way_torch(e, "torch", s->gpu, &on_device, program);
	e->context = s->context;
}

void question_layouts(struct session *s)
{
	static const enum bench_size order[] = { BENCH_SIZE_64K, BENCH_SIZE_1M,
						 BENCH_SIZE_16M, BENCH_SIZE_256M };
	unsigned sizes = s->options->sizes, from = (unsigned)s->results.count;
	unsigned application_sizes = sizes ? sizes : BENCH_SIZE_1M | BENCH_SIZE_16M;

	run_add(s, way_dtconv, "dtconv", &on_device);
	run_add(s, way_copy, "copy", &on_device);
	run_add(s, way_copy2d, "copy2d", &on_device);
	run_add(s, way_copy, "pinned", &to_pinned);
	run_add_torch(s);
	if (s->options->gpu & BENCH_GPU_ROOF)
		run_add(s, way_roof, "plain", &on_device);
	run_exprs(s);
	s->rows_left = 2 * count_layouts(s);
	for (size_t i = 0; i < 4 && (!s->options->expr_count || s->layouts); i++) {
		add_rows(s, bench_layouts_gpu, sizes ? sizes : BENCH_SIZES_GPU, order[i]);
		add_rows(s, bench_layouts_applications, application_sizes, order[i]);
	}
	session_progress_end(s);
	print_layouts(&s->results, from, s->options->columns);
	print_absent(s);
}

/* ---- host memory on one side ----------------------------------------------------------- */

/* The best plain kernel by the device of the user's memory, which is the one that dtconv has move. */
static void add_plain(struct session *s, struct gpu *by, const struct route *route)
{
	struct engine *e = run_add(s, way_roof, "plain", route);

	if (!e || e->absent)
		return;
	plain_need_compiler(e);
	way_of(e)->by = by;
}

/* What one kernel, and a pipeline of chunks from 16 MiB on, can reach of the pinned copy. */
static double host_aim(size_t bytes, bool pack)
{
	if (bytes < (size_t)3 << 20)
		return pack ? 0.87 : 0.84;
	if (bytes < (size_t)12 << 20)
		return pack ? 0.93 : 0.90;
	return 0.97;
}

#define PAGEABLE_AIM 1.5

static void print_host(const struct results *rs, size_t from)
{
	printf("\n%-16s %10s %-7s %15s %14s %14s %14s\n", "host memory", "bytes",
	       "memory", "   dtconv GB/s", "   x copy", "   aim", "   x plain");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];
		bool pinned = !strcmp(strcmp(r->op, "pack") ? r->src : r->dst, "pinned");

		if (!is_first_result(rs, from, i))
			continue;
		path_print_name(rs, r, 16);
		printf(" %10zu %-7s", r->bytes, pinned ? "pinned" : "host");
		print_number(speed_of(rs, r, "pack", "dtconv"), 7, 1);
		print_number(speed_of(rs, r, "unpack", "dtconv"), 7, 1);
		print_number(over(rs, r, "pack", "dtconv", "copy"), 7, 2);
		print_number(over(rs, r, "unpack", "dtconv", "copy"), 6, 2);
		print_number(pinned ? host_aim(r->bytes, true) : PAGEABLE_AIM, 7, 2);
		print_number(pinned ? host_aim(r->bytes, false) : PAGEABLE_AIM, 6, 2);
		print_ratios(rs, r, "plain", 2);
		putchar('\n');
	}
	printf("(wall clock, pack / unpack; copy: a driver copy of as many bytes in the same memory; plain: the best plain\n"
	       " kernel for the layout, which stores to pinned memory or loads from it)\n");
}

static void run_some(struct session *s, const char *const *names, const size_t *sizes,
		     unsigned clocks)
{
	for (; *sizes; sizes++)
		for (const char *const *name = names; *name; name++)
			if (bench_matches(s->layouts, *name))
				run_layout(s, run_find_layout(*name), *sizes, clocks);
}

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

void question_host(struct session *s)
{
	static const char *const layouts[] = { "contig", "vec4",   "vec64",
					       "vec4k",  "20of48", NULL };
	static const size_t sizes[] = { MIB(1), MIB(4), MIB(16), MIB(64), 0 };
	const struct route *const routes[] = { &to_pinned, &to_host };
	size_t from = s->results.count;

	s->rows_left = 2 * 5 * 4;
	for (size_t i = 0; i < 2; i++) {
		run_add(s, way_dtconv, "dtconv", routes[i]);
		run_add(s, way_copy, "copy", routes[i]);
		if (routes[i] == &to_pinned)
			add_plain(s, s->gpu, routes[i]);
		run_some(s, layouts, sizes, WALL);
		run_drop_engines(s);
	}
	session_progress_end(s);
	print_host(&s->results, from);
}

/* ---- staging --------------------------------------------------------------------------- */

static void print_staging(const struct results *rs, size_t from)
{
	printf("\n%-10s %10s %17s %17s %14s\n", "staging", "fragment",
	       "   registered GB/s", "   ordinary GB/s", "   ratio");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];
		struct result ordinary = *r;
		double fast[2], slow[2];

		if (strcmp(r->dst, "registered") != 0 || !is_first_result(rs, from, i))
			continue;
		snprintf(ordinary.dst, sizeof(ordinary.dst), "host");
		fast[0] = speed_of(rs, r, "pack", "dtconv");
		fast[1] = speed_of(rs, r, "unpack", "dtconv");
		slow[0] = speed_of(rs, &ordinary, "pack", "dtconv");
		slow[1] = speed_of(rs, &ordinary, "unpack", "dtconv");
		path_print_name(rs, r, 10);
		printf(" %10zu", r->fragment);
		print_number(fast[0], 9, 2);
		print_number(fast[1], 8, 2);
		print_number(slow[0], 9, 2);
		print_number(slow[1], 8, 2);
		print_number(slow[0] > 0 ? fast[0] / slow[0] : 0, 7, 2);
		print_number(slow[1] > 0 ? fast[1] / slow[1] : 0, 6, 2);
		putchar('\n');
	}
	printf("(pack / unpack, wall clock, fragments in sequence through one convertor)\n");
}

/* Long enough for a fragment of 4 MiB; shorter where fragments are small. */
static size_t staged_bytes(size_t fragment)
{
	size_t bytes = 256 * fragment;

	return bytes < MIB(4) ? bytes : MIB(4);
}

void question_staging(struct session *s)
{
	static const char *const layouts[] = { "vec8", "vec64", NULL };
	static const enum gpu_place places[] = { PLACE_REGISTERED, PLACE_HOST };
	size_t from = s->results.count;

	s->rows_left = 2 * 6 * 2;
	for (size_t fragment = KIB(4); fragment <= MIB(4); fragment *= 4) {
		for (size_t i = 0; i < 2; i++) {
			const struct route route = { PLACE_DEVICE, places[i], fragment };
			const size_t sizes[] = { staged_bytes(fragment), 0 };

			run_add(s, way_dtconv, "dtconv", &route);
			run_some(s, layouts, sizes, WALL);
			run_drop_engines(s);
		}
	}
	session_progress_end(s);
	print_staging(&s->results, from);
}

/* ---- crossover ------------------------------------------------------------------------- */

static const char *const crossing[] = { "dtconv", "staged", "copy2d", "bar" };

#define CROSSING (sizeof(crossing) / sizeof(*crossing))

static void print_crossing(const struct results *rs, const struct result *r,
			   const char *op)
{
	const char *best = "-";
	double least = 0;

	path_print_name(rs, r, 10);
	printf(" %10zu %-6s", r->bytes, op);
	for (size_t k = 0; k < CROSSING; k++) {
		double us = microseconds(rs, r, op, crossing[k]);

		print_number(us, 9, 2);
		if (us > 0 && (least <= 0 || us < least)) {
			least = us;
			best = crossing[k];
		}
	}
	printf("  %s\n", best);
}

static void print_crossover(const struct results *rs, size_t from)
{
	printf("\n%-10s %10s %-6s", "crossover", "bytes", "op");
	for (size_t k = 0; k < CROSSING; k++)
		printf(" %9s", crossing[k]);
	printf("  fastest\n");
	for (size_t i = from; i < rs->count; i++) {
		if (!is_first_result(rs, from, i))
			continue;
		print_crossing(rs, &rs->list[i], "pack");
		print_crossing(rs, &rs->list[i], "unpack");
	}
	printf("(us by the wall clock, device to and from pinned memory; dtconv: the path that the planner chooses;\n"
	       " staged: packed in device memory, then one copy; copy2d: cuMemcpy2DAsync;\n"
	       " bar: CPU loads and stores)\n");
}

void question_crossover(struct session *s)
{
	static const char *const layouts[] = { "contig", "vec8", "vec64", "vec4k", NULL };
	static const size_t sizes[] = { 64,      512,      KIB(4), KIB(16),
					KIB(64), KIB(256), MIB(1), 0 };
	size_t from = s->results.count;

	run_add(s, way_dtconv, "dtconv", &to_pinned);
	run_add(s, way_staged, "staged", &to_pinned);
	run_add(s, way_copy2d, "copy2d", &to_pinned);
	run_add(s, way_bar, "bar", &to_pinned);
	s->rows_left = 4 * 7;
	run_some(s, layouts, sizes, WALL);
	session_progress_end(s);
	print_crossover(&s->results, from);
	print_absent(s);
}

/* ---- small messages -------------------------------------------------------------------- */

static const char *const small_engines[] = { "flag",
					     "dtconv",
					     "dtconv-convertor",
					     "dtconv-start",
					     "dtconv-graph",
					     "dtconv-graph-mode",
					     "dtconv-resident",
					     "copy" };

#define SMALL_ENGINES (sizeof(small_engines) / sizeof(*small_engines))

/* Bytes a nanosecond that the device copies when no cache holds them; see question_small. */
#define CEILING       "ceiling"
#define CEILING_BYTES MIB(64)

static double ceiling(const struct results *rs)
{
	for (size_t i = 0; i < rs->count; i++)
		if (!strcmp(rs->list[i].layout, CEILING) &&
		    !strcmp(rs->list[i].clock, "device"))
			return result_speed(&rs->list[i]);
	return 0;
}

/* G7: 1.2 x an empty kernel whose flag the host sees, and the bytes at the device's speed. */
static double small_aim(const struct results *rs, const struct result *r)
{
	double floor = microseconds(rs, r, "pack", "flag"), speed = ceiling(rs);

	return floor > 0 && speed > 0 ? 1.2 * floor + (double)r->bytes / speed / 1e3 : 0;
}

static void print_small_row(const struct results *rs, const struct result *r,
			    const char *op)
{
	path_print_name(rs, r, 8);
	printf(" %9zu %-6s", r->bytes, op);
	for (size_t k = 0; k < SMALL_ENGINES; k++)
		print_number(microseconds(rs, r, op, small_engines[k]), 12, 2);
	print_number(small_aim(rs, r), 8, 2);
	putchar('\n');
}

static void print_small(const struct results *rs, size_t from)
{
	printf("\n%-8s %9s %-6s", "small", "bytes", "op");
	for (size_t k = 0; k < SMALL_ENGINES; k++)
		printf(" %12.12s", strncmp(small_engines[k], "dtconv-", 7)
					   ? small_engines[k]
					   : small_engines[k] + 7);
	printf(" %8s\n", "aim G7");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (!strcmp(r->layout, CEILING) || strcmp(r->clock, "wall") != 0 ||
		    !is_first_result(rs, from, i))
			continue;
		print_small_row(rs, r, "pack");
		print_small_row(rs, r, "unpack");
	}
	printf("(us until the host sees completion; flag: an empty kernel and its flag; copy: a driver copy;\n"
	       " graph: captured by the application; graph-mode and resident: flags of the context)\n");
}

static void run_ceiling(struct session *s)
{
	struct bench_layout layout = *run_find_layout("contig");

	layout.name = CEILING;
	run_add(s, way_copy, "copy", &on_device);
	run_layout(s, &layout, CEILING_BYTES, 1u << RUN_DEVICE);
	run_drop_engines(s);
}

/* ---- M1: where is this address? -------------------------------------------------------- */

#define ASKED 20000

static double ask_library(struct session *s, const void *address)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	double start = bench_now();

	for (int i = 0; i < ASKED; i++)
		dtconv_memory_query(s->context, address, &attr);
	return (bench_now() - start) / ASKED;
}

/* Five attributes, or six: with the context, which is needed to order a job. */
static double ask_driver(const struct gpu *gpu, const void *address, unsigned count)
{
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
					CU_POINTER_ATTRIBUTE_RANGE_SIZE,
					CU_POINTER_ATTRIBUTE_CONTEXT };
	CUdeviceptr start_address;
	unsigned kind, managed;
	CUcontext context;
	size_t length;
	int ordinal;
	void *values[] = { &kind,          &managed, &ordinal,
			   &start_address, &length,  &context };
	double start = bench_now();

	for (int i = 0; i < ASKED; i++)
		gpu->driver.PointerGetAttributes(count, names, values,
						 gpu_address(address));
	return (bench_now() - start) / ASKED;
}

static void record_asked(struct session *s, const char *engine, enum gpu_place place,
			 double ns)
{
	struct result r = { .layout = "classify",
			    .op = "query",
			    .check = "ok",
			    .clock = "wall",
			    .ns = ns,
			    .ns_p10 = ns,
			    .ns_p90 = ns,
			    .rounds = 1 };

	snprintf(r.engine, sizeof(r.engine), "%s", engine);
	snprintf(r.src, sizeof(r.src), "%s", gpu_place_name(place));
	snprintf(r.dst, sizeof(r.dst), "%s", gpu_place_name(place));
	session_record(s, &r);
}

static void classify(struct session *s)
{
	static const enum gpu_place places[] = { PLACE_DEVICE, PLACE_PINNED, PLACE_HOST };

	printf("\nclassifying an address, ns: library / five attributes of the driver (aim M1: 1.2 x) / six\n");
	for (size_t i = 0; i < 3; i++) {
		const void *address = gpu_memory(s->gpu, places[i], ROLE_PACKED, KIB(64));
		double ours, theirs, with_context;

		if (!address)
			continue;
		ours = ask_library(s, address);
		theirs = ask_driver(s->gpu, address, 5);
		with_context = ask_driver(s->gpu, address, 6);
		record_asked(s, "dtconv", places[i], ours);
		record_asked(s, "driver", places[i], theirs);
		record_asked(s, "driver-six", places[i], with_context);
		printf("%-8s %.0f / %.0f / %.0f\n", gpu_place_name(places[i]), ours, theirs,
		       with_context);
	}
}

void question_small(struct session *s)
{
	static const char *const layouts[] = { "contig", "vec8", NULL };
	static const size_t sizes[] = {
		8, 64, 512, KIB(4), KIB(64), KIB(256), MIB(1), 0
	};
	size_t from;

	s->rows_left = 15;
	run_ceiling(s);
	from = s->results.count;
	run_add(s, way_flag, "flag", &on_device);
	run_add(s, way_dtconv, "dtconv", &on_device);
	run_add(s, way_convertor, "dtconv-convertor", &on_device);
	run_add(s, way_started, "dtconv-start", &on_device);
	run_add(s, way_graph, "dtconv-graph", &on_device);
	run_add(s, way_graphs, "dtconv-graph-mode", &on_device);
	run_add(s, way_resident, "dtconv-resident", &on_device);
	run_add(s, way_copy, "copy", &on_device);
	run_some(s, layouts, sizes, WALL);
	session_progress_end(s);
	print_small(&s->results, from);
	classify(s);
}

/* ---- a second device ------------------------------------------------------------------- */

/* Its kernel runs on the device of packed memory, because the stream is that device's. */
#define OTHER "dtconv-other"

static void print_peer(const struct results *rs, size_t from)
{
	printf("\n%-11s %10s %-7s %14s %14s %14s   aim N1 %14s\n", "peer", "bytes",
	       "packed", "dtconv GB/s", "x copy", "x plain", "other GB/s");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (!is_first_result(rs, from, i))
			continue;
		path_print_name(rs, r, 11);
		printf(" %10zu %-7s", r->bytes, !strcmp(r->op, "pack") ? r->dst : r->src);
		print_number(speed_of(rs, r, "pack", "dtconv"), 7, 1);
		print_number(speed_of(rs, r, "unpack", "dtconv"), 6, 1);
		print_ratios(rs, r, "copy", 2);
		print_ratios(rs, r, "plain", 2);
		printf("   0.95  ");
		print_number(speed_of(rs, r, "pack", OTHER), 8, 1);
		print_number(speed_of(rs, r, "unpack", OTHER), 6, 1);
		putchar('\n');
	}
	printf("(packed memory on the peer, or the user's; copy: a peer copy of as many bytes, which the aim is for;\n"
	       " plain: the best of plain kernels on the device of the user's memory, as dtconv's is; other: dtconv in a\n"
	       " stream of the other device)\n");
}

static void add_peers(struct session *s, struct gpu *user, struct gpu *packed,
		      const struct route *route)
{
	struct engine *e;

	run_add(s, way_dtconv, "dtconv", route);
	run_add(s, way_copy, "copy", route);
	add_plain(s, user, route);
	e = run_add(s, way_started, OTHER, route);
	if (e && !e->absent)
		way_of(e)->by = packed;
}

#define PEER_SIZES 3

/* Ends with a 0. */
static void choose_peer_sizes(const struct session *s, size_t *sizes)
{
	static const enum bench_size order[PEER_SIZES] = { BENCH_SIZE_1M, BENCH_SIZE_16M,
							   BENCH_SIZE_256M };

	for (size_t i = 0; i < PEER_SIZES; i++)
		if (!s->options->sizes || s->options->sizes & order[i])
			*sizes++ = bench_size_bytes(order[i]);
	*sizes = 0;
}

void question_peer(struct session *s)
{
	static const char *const layouts[] = { "contig",      "vec8", "vec64", "vec4k",
					       "irregular64", "box",  NULL };
	size_t from = s->results.count, sizes[PEER_SIZES + 1];
	struct gpu *other = run_other_device(s, "peer");

	if (!other)
		return;
	choose_peer_sizes(s, sizes);
	s->rows_left = 6 * PEER_SIZES;
	add_peers(s, s->gpu, other, &to_peer);
	add_peers(s, other, s->gpu, &from_peer);
	run_some(s, layouts, sizes, WALL);
	session_progress_end(s);
	print_peer(&s->results, from);
	print_absent(s);
	run_drop_engines(s);
	duplex_between_devices(s, sizes);
}
