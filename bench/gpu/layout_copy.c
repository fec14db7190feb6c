/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one layout to another in device memory: dtconv_copy beside one plain kernel, a pack and an unpack, the
 * driver, and PyTorch.
 */
#include "config.h"

#include "bench/gpu/layout_copy.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/layouts.h"
#include "bench/gpu/run.h"
#include "bench/harness/rounds.h"

/* A pair of layouts takes this much time at a size. */
#define MOST_BUDGET 50e6
#define OP          LAYOUT_COPY_OP

/*
 * Strided blocks by their numbers; others by a layout of the table, or by the text of @packed bytes, and the text of the
 * target, in both of which each %zu is the number of instances.
 */
struct row {
	const char *name;
	bool large; /* measured at 256 MiB over a link, too */
	size_t block, pitches[2];
	const char *layout, *source, *target;
	size_t packed;
};

static const struct row rows[] = {
	{ .name = "8of16_8of24", .block = 8, .pitches = { 16, 24 } },
	{ .name = "16of32_16of48", .block = 16, .pitches = { 32, 48 } },
	{ .name = "64of128_64of192",
	  .large = true,
	  .block = 64,
	  .pitches = { 128, 192 } },
	{ .name = "256of512_256of768", .block = 256, .pitches = { 512, 768 } },
	{ .name = "1kof2k_1kof3k",
	  .large = true,
	  .block = 1024,
	  .pitches = { 2048, 3072 } },
	{ .name = "4kof8k_4kof12k", .block = 4096, .pitches = { 8192, 12288 } },
	{ .name = "128of256_128of257", .block = 128, .pitches = { 256, 257 } },
	{ .name = "gather8_sorted_8of24",
	  .layout = "gather8_sorted",
	  .target = "vector(%zu, 1, 3, double)",
	  .packed = 8 },
	{ .name = "gather8_random_8of24",
	  .layout = "gather8_random",
	  .target = "vector(%zu, 1, 3, double)",
	  .packed = 8 },
	{ .name = "20of48_20of40",
	  .large = true,
	  .source =
		  "contiguous(%zu, resized(struct([3,2], [0,20], [float,float]), 0, 48))",
	  .target =
		  "contiguous(%zu, resized(struct([3,2], [0,16], [float,float]), 0, 40))",
	  .packed = 20 },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static const char *const contestants[] = { "plain", "dtconv-two", "torch", "copy2d",
					   "copy" };
#define CONTESTANTS (sizeof(contestants) / sizeof(*contestants))

/* ---- the two sides --------------------------------------------------------------------- */

static int parse_side(struct session *s, const char *format, size_t count,
		      struct bench_case *c, char *why)
{
	char text[160];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, count);
#pragma GCC diagnostic pop
	return bench_case_parse(s->context, text, 1, c, why, WHY_ROOM);
}

static int make_strided(struct session *s, const struct row *row, size_t bytes,
			struct layout_copy *copy, char *why)
{
	struct copy_side *sides[] = { &copy->source, &copy->target };
	int status = 0;

	for (int i = 0; i < 2 && !status; i++) {
		char text[160];

		snprintf(text, sizeof(text), "hvector(%zu, %zu, %zu, byte)",
			 bytes / row->block, row->block, row->pitches[i]);
		status = bench_case_parse(s->context, text, 1, &sides[i]->c, why,
					  WHY_ROOM);
		sides[i]->c.block = row->block;
		sides[i]->c.pitch = row->pitches[i];
		copy->pitches[i] = row->pitches[i];
	}
	copy->block = row->block;
	return status;
}

static int make_other(struct session *s, const struct row *row, size_t bytes,
		      struct layout_copy *copy, char *why)
{
	size_t count = bytes / row->packed;
	int status;

	if (row->layout)
		status = bench_case_make_bytes(s->context, s->options->seed,
					       run_find_layout(row->layout), bytes,
					       &copy->source.c, why, WHY_ROOM);
	else
		status = parse_side(s, row->source, count, &copy->source.c, why);
	return status ? status : parse_side(s, row->target, count, &copy->target.c, why);
}

/* ---- one row --------------------------------------------------------------------------- */

static void record(struct session *s, const char *name, const char *op,
		   const struct layout_copy *copy, const struct engine *e,
		   const struct timing *t)
{
	struct result r = { .bytes = copy->bytes + (copy->back ? copy->back->bytes : 0),
			    .count = 1,
			    .expr = session_expr(copy->source.c.type),
			    .clock = "wall" };

	snprintf(r.src, sizeof(r.src), "%s", gpu_place_name(copy->source.place));
	snprintf(r.dst, sizeof(r.dst), "%s", gpu_place_name(copy->target.place));
	snprintf(r.layout, sizeof(r.layout), "%s", name);
	snprintf(r.op, sizeof(r.op), "%s", op);
	memcpy(r.engine, e->name, sizeof(r.engine));
	snprintf(r.check, sizeof(r.check), "%s", e->problem[0] ? e->problem : "ok");
	if (t) {
		r.ns = t->ns;
		r.ns_p10 = t->ns_p10;
		r.ns_p90 = t->ns_p90;
		r.rounds = t->rounds;
	}
	session_record(s, &r);
}

static bool takes_part(const struct engine *e, const struct layout_copy *copy)
{
	bool strided = !strcmp(e->name, "copy2d") || !strcmp(e->name, "torch");

	return e->state && (!strided || copy->block);
}

struct field {
	struct engine *prepared[MOST_ENGINES], *good[MOST_ENGINES];
	size_t prepared_count, count;
};

/* PyTorch looks at its own bytes when it is prepared. */
static void add_to_field(struct session *s, const char *name, const char *op,
			 struct layout_copy *copy, struct engine *e, struct field *field)
{
	bool prepared, right;

	way_of(e)->copying = copy;
	prepared = !engine_prepare(e, &copy->source.c, NULL);
	right = prepared && (way_of(e)->torch || !layout_copy_verify(copy, e));
	if (prepared)
		field->prepared[field->prepared_count++] = e;
	if (right)
		field->good[field->count++] = e;
	else if (!e->absent)
		record(s, name, op, copy, e, NULL);
}

static double budget_of(const struct session *s)
{
	double share = session_share(s) / 2;

	return share < MOST_BUDGET ? share : MOST_BUDGET;
}

void layout_copy_measure(struct session *s, const char *name, const char *op,
			 struct layout_copy *copy)
{
	struct field field = { .count = 0 };
	struct timing timings[MOST_ENGINES];

	for (size_t i = 0; i < s->engine_count; i++)
		if (!s->engines[i].absent && takes_part(&s->engines[i], copy))
			add_to_field(s, name, op, copy, &s->engines[i], &field);
	if (field.count)
		rounds_time(field.good, field.count, BENCH_PACK, budget_of(s),
			    s->options->seed, timings);
	for (size_t i = 0; i < field.count; i++)
		record(s, name, op, copy, field.good[i], &timings[i]);
	for (size_t i = 0; i < field.prepared_count; i++)
		engine_release(field.prepared[i]);
}

static void run_row(struct session *s, const struct row *row, enum gpu_place from,
		    enum gpu_place to, size_t bytes)
{
	struct layout_copy copy = { .source.place = from, .target.place = to };
	char why[WHY_ROOM] = "";
	int status = row->block ? make_strided(s, row, bytes, &copy, why)
				: make_other(s, row, bytes, &copy, why);

	session_progress(s, row->name);
	if (!status)
		status = layout_copy_open(&copy, s->gpu, s->options->seed, why,
					  sizeof(why));
	if (status)
		printf("%s, %zu bytes: %s\n", row->name, bytes, why);
	else
		layout_copy_measure(s, row->name, OP, &copy);
	layout_copy_close(&copy);
	s->gpu->problem[0] = '\0';
	if (s->rows_left)
		s->rows_left--;
}

/* ---- the table ------------------------------------------------------------------------- */

static double ratio(const struct results *rs, const struct result *r, const char *other)
{
	double theirs = result_speed(find_result(rs, r, OP, other));

	return theirs > 0 ? result_speed(find_result(rs, r, OP, "dtconv")) / theirs : 0;
}

static void print_copies(const struct results *rs, size_t from)
{
	if (from == rs->count)
		return;
	printf("\n%-22s %10s %8s %8s", "copy", "bytes", "us", "GB/s");
	for (size_t k = 0; k < CONTESTANTS; k++)
		printf(" %12s", contestants[k]);
	printf("   aim L1\n");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i], *own;

		if (!is_first_result(rs, from, i))
			continue;
		own = find_result(rs, r, OP, "dtconv");
		printf("%-22s %10zu", r->layout, r->bytes);
		print_number(own ? own->ns / 1e3 : 0, 8, 1);
		print_number(result_speed(own), 8, 1);
		for (size_t k = 0; k < CONTESTANTS; k++)
			print_number(ratio(rs, r, contestants[k]), 12, 2);
		printf("     0.90\n");
	}
	printf("(dtconv_copy until the host sees completion, and its speed over that of: plain, the best kernel for the pair, which\n"
	       " the aim is for; two, a pack and an unpack in a stream; PyTorch's copy_; the driver's 2-D copy; its copy of as many bytes)\n");
}

/* ---- the question ---------------------------------------------------------------------- */

static void add_engines(struct session *s)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };

	run_add(s, way_copying, "dtconv", &on_device);
	run_add(s, way_copying_fused, "plain", &on_device);
	run_add(s, way_copying_twice, "dtconv-two", &on_device);
	run_add_torch(s);
	run_add(s, way_copying_2d, "copy2d", &on_device);
	run_add(s, way_copying_raw, "copy", &on_device);
}

/* The oracle takes half a minute for its list of 256 MiB. */
static bool is_slow(const struct row *row)
{
	return row->layout && !strcmp(row->layout, "gather8_random");
}

static bool is_wanted(const struct session *s, const struct row *row,
		      enum bench_size size, bool crosses)
{
	if (!bench_matches(s->layouts, row->name))
		return false;
	if (s->options->sizes || size != BENCH_SIZE_256M)
		return true;
	return crosses ? row->large : !is_slow(row);
}

void layout_copy_run_rows(struct session *s, enum gpu_place from, enum gpu_place to,
			  unsigned sizes)
{
	static const enum bench_size order[] = { BENCH_SIZE_64K, BENCH_SIZE_1M,
						 BENCH_SIZE_16M, BENCH_SIZE_256M };

	for (size_t k = 0; k < 4; k++)
		for (size_t i = 0; i < ROWS; i++) {
			if (!(sizes & order[k]) ||
			    !is_wanted(s, &rows[i], order[k], from != to))
				continue;
			if (bench_now() > s->deadline)
				s->left_out++;
			else
				run_row(s, &rows[i], from, to,
					bench_size_bytes(order[k]));
		}
	session_progress_end(s);
}

void question_copy(struct session *s)
{
	unsigned sizes = s->options->sizes ? s->options->sizes
					   : BENCH_SIZE_16M | BENCH_SIZE_256M;
	size_t from = s->results.count;

	add_engines(s);
	s->rows_left = 2 * ROWS + 1;
	layout_copy_run_rows(s, PLACE_DEVICE, PLACE_DEVICE, sizes);
	print_copies(&s->results, from);
	print_absent(s);
	run_drop_engines(s);
	/* It has a size of its own. */
	if (!s->options->sizes && bench_matches(s->layouts, COPY_HALO_NAME))
		copy_halo_run(s);
}

size_t layout_copy_rows(void)
{
	return ROWS;
}

void layout_copy_list(const struct session *s)
{
	for (size_t i = 0; i < ROWS; i++)
		if (bench_matches(s->layouts, rows[i].name))
			printf("%s\n", rows[i].name);
}

void list_copy(const struct session *s)
{
	layout_copy_list(s);
	if (bench_matches(s->layouts, COPY_HALO_NAME))
		printf("%s\n", COPY_HALO_NAME);
}
