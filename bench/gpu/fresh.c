/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages whose list of blocks is new, as pages of a cache are: dtconv makes, commits and frees a type for each,
 * beside a plain kernel whose table is uploaded for each, and PyTorch. And pages of a cache whose tables are new with each
 * message, but lie on the device: dtconv moves lists of pages.
 */
#include "config.h"

#include "bench/gpu/fresh.h"

#include <string.h>

#include "bench/gpu/page_copy.h"
#include "bench/gpu/run.h"
#include "bench/harness/rounds.h"

/* A row and direction takes this much time. */
#define MOST_BUDGET 100e6

/* L2, in microseconds: absolute, beside the plain kernel; 0: none is stated. */
struct row {
	const char *name;
	size_t blocks, block;
	bool sorted;
	double aim_us;
	size_t planes; /* pages: layers and parts, which the blocks are in; 0: none */
};

static const struct row rows[] = {
	{ "65536x512", 65536, 512, false, 90, 0 },
	{ "65536x512_sorted", 65536, 512, true, 90, 0 },
	{ "8192x32K", 8192, 32768, false, 180, 0 },
	{ "8192x32K_sorted", 8192, 32768, true, 180, 0 },
	{ "4096x4K", 4096, 4096, false, 0, 0 },
	{ "4096x4K_sorted", 4096, 4096, true, 0, 0 },
	{ "65536x8", 65536, 8, false, 0, 0 },
	{ "65536x8_sorted", 65536, 8, true, 0, 0 },
	{ "1024x64", 1024, 64, false, 0, 0 },
	{ "1024x64_sorted", 1024, 64, true, 0, 0 },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/*
 * 512 tokens of a model of 70 billion parameters with grouped queries: 80 layers, keys and values, pages of 16 tokens x 8
 * heads x 128 numbers of 16 bits. 4096 tokens of one with latent attention: 61 layers, pages of 64 x 576 bytes. Small
 * pages of one layer.
 */
static const struct row kv_rows[] = {
	{ "kv_70b", (size_t)160 * 32, 32768, false, 0, 160 },
	{ "kv_mla", (size_t)61 * 64, 36864, false, 0, 61 },
	{ "kv_small", 8192, 512, false, 0, 1 },
};

#define KV_ROWS (sizeof(kv_rows) / sizeof(*kv_rows))

/* ---- one row --------------------------------------------------------------------------- */

static void record(struct session *s, const struct row *row, const struct engine *e,
		   enum bench_op op, const struct timing *t)
{
	struct result r = { .bytes = row->blocks * row->block,
			    .count = 1,
			    .src = "device",
			    .dst = "device",
			    .clock = "wall" };
	char expr[80];

	if (row->planes)
		snprintf(expr, sizeof(expr), "%zu x %zu new pages of %zu bytes",
			 row->planes, row->blocks / row->planes, row->block);
	else
		snprintf(expr, sizeof(expr), "hindexed_block(%zu, [%zu new ones], byte)",
			 row->block, row->blocks);
	r.expr = strdup(expr);
	snprintf(r.layout, sizeof(r.layout), "%s", row->name);
	memcpy(r.engine, e->name, sizeof(r.engine));
	snprintf(r.op, sizeof(r.op), "%s", bench_op_name(op));
	snprintf(r.check, sizeof(r.check), "%s", e->problem[0] ? e->problem : "ok");
	if (t) {
		r.ns = t->ns;
		r.ns_p10 = t->ns_p10;
		r.ns_p90 = t->ns_p90;
		r.rounds = t->rounds;
	}
	session_record(s, &r);
}

struct field {
	struct engine *engines[MOST_ENGINES];
	size_t count;
};

static void prepare_field(struct session *s, const struct row *row, struct fresh *fresh,
			  struct field *field)
{
	const struct bench_case c = { .count = 1, .bytes = fresh_bytes(fresh) };

	for (size_t i = 0; i < s->engine_count; i++) {
		struct engine *e = &s->engines[i];

		if (e->absent || !e->state)
			continue;
		way_of(e)->fresh = fresh;
		if (!engine_prepare(e, &c, NULL)) {
			field->engines[field->count++] = e;
			continue;
		}
		for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
			if (s->options->ops[op] && !e->absent)
				record(s, row, e, (enum bench_op)op, NULL);
	}
}

static double budget_of(const struct session *s)
{
	double share = session_share(s) / 4;

	return share < MOST_BUDGET ? share : MOST_BUDGET;
}

/* PyTorch looks at its own bytes when it is prepared. */
static void measure(struct session *s, const struct row *row, struct fresh *fresh,
		    const struct field *field, enum bench_op op)
{
	struct timing timings[MOST_ENGINES];
	struct field good = { .count = 0 };

	for (size_t i = 0; i < field->count; i++) {
		struct engine *e = field->engines[i];

		e->problem[0] = '\0';
		if (way_of(e)->torch || e->raw || !fresh_verify(fresh, e, op))
			good.engines[good.count++] = e;
		else
			record(s, row, e, op, NULL);
	}
	if (good.count)
		rounds_time(good.engines, good.count, op, budget_of(s), s->options->seed,
			    timings);
	for (size_t i = 0; i < good.count; i++)
		record(s, row, good.engines[i], op, &timings[i]);
}

static void run_row(struct session *s, const struct row *row)
{
	struct fresh fresh = { .blocks = row->blocks,
			       .block = row->block,
			       .pool = 2 * row->blocks,
			       .sorted = row->sorted,
			       .planes = row->planes };
	struct field field = { .count = 0 };

	session_progress(s, row->name);
	if (fresh_open(&fresh, s->gpu, s->options->seed)) {
		printf("%s: %s\n", row->name,
		       s->gpu->problem[0] ? s->gpu->problem : "no memory for the lists");
		s->gpu->problem[0] = '\0';
	} else {
		prepare_field(s, row, &fresh, &field);
		for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
			if (s->options->ops[op])
				measure(s, row, &fresh, &field, (enum bench_op)op);
		for (size_t i = 0; i < field.count; i++)
			engine_release(field.engines[i]);
	}
	fresh_close(&fresh);
	if (s->rows_left)
		s->rows_left--;
}

/* ---- the table ------------------------------------------------------------------------- */

static double microseconds(const struct results *rs, const struct result *r,
			   const char *op, const char *engine)
{
	const struct result *found = find_result(rs, r, op, engine);

	return found ? found->ns / 1e3 : 0;
}

static const struct row *row_of(const struct result *r)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, r->layout))
			return &rows[i];
	return &rows[0];
}

static void print_message(const struct results *rs, const struct result *r,
			  const char *op)
{
	double own = microseconds(rs, r, op, "dtconv");
	double plain = microseconds(rs, r, op, "plain");
	double torch = microseconds(rs, r, op, "torch");

	printf("%-18s %10zu %-6s", r->layout, r->bytes, op);
	print_number(own, 9, 1);
	print_number(plain, 9, 1);
	print_number(torch, 9, 1);
	print_number(own > 0 ? plain / own : 0, 8, 2);
	print_number(own > 0 ? torch / own : 0, 8, 2);
	print_number(row_of(r)->aim_us, 7, 0);
	putchar('\n');
}

static void print_fresh(const struct results *rs, size_t from)
{
	printf("\n%-18s %10s %-6s %9s %9s %9s %8s %8s %7s\n", "fresh lists, us", "bytes",
	       "op", "dtconv", "plain", "torch", "x plain", "x torch", "aim us");
	for (size_t i = from; i < rs->count; i++) {
		if (!is_first_result(rs, from, i))
			continue;
		print_message(rs, &rs->list[i], "pack");
		print_message(rs, &rs->list[i], "unpack");
	}
	printf("(a new list of displacements for each message, all costs until the host sees completion: dtconv makes, commits and\n"
	       " frees a type; plain uploads a table for the best plain kernel; torch: index_select and index_copy_; aim L2: 1.0 x both)\n");
}

static void print_pages_of(const struct results *rs, const struct result *r,
			   const char *op)
{
	static const char *const others[] = { "plain", "torch", "copy" };
	double own = microseconds(rs, r, op, "dtconv");

	printf("%-12s %10zu %-6s", r->layout, r->bytes, op);
	print_number(own, 9, 1);
	for (size_t i = 0; i < 3; i++)
		print_number(microseconds(rs, r, op, others[i]), 9, 1);
	for (size_t i = 0; i < 3; i++)
		print_number(own > 0 ? microseconds(rs, r, op, others[i]) / own : 0, 8,
			     2);
	putchar('\n');
}

static void print_kv(const struct results *rs, size_t from)
{
	if (from == rs->count)
		return;
	printf("\n%-12s %10s %-6s %9s %9s %9s %9s %8s %8s %8s\n", "pages, us", "bytes",
	       "op", "dtconv", "plain", "torch", "copy", "x plain", "x torch", "x copy");
	for (size_t i = from; i < rs->count; i++) {
		if (!is_first_result(rs, from, i))
			continue;
		print_pages_of(rs, &rs->list[i], "pack");
		print_pages_of(rs, &rs->list[i], "unpack");
	}
	printf("(a new table of page numbers on the device for each message, all costs until the host sees completion; plain: the\n"
	       " best plain kernel; torch: index_select and index_copy_; copy: the driver's copy of as many bytes)\n");
}

/* ---- the question ---------------------------------------------------------------------- */

static void run_rows(struct session *s, const struct row *list, size_t count)
{
	s->rows_left = count;
	for (size_t i = 0; i < count; i++) {
		if (!bench_matches(s->layouts, list[i].name))
			continue;
		if (bench_now() > s->deadline)
			s->left_out++;
		else
			run_row(s, &list[i]);
	}
	session_progress_end(s);
}

void question_fresh(struct session *s)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	size_t from = s->results.count;

	run_add(s, way_fresh, "dtconv", &on_device);
	run_add(s, way_fresh_plain, "plain", &on_device);
	run_add_torch(s);
	run_rows(s, rows, ROWS);
	print_fresh(&s->results, from);
	print_absent(s);
}

void question_kv(struct session *s)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	size_t from = s->results.count;

	run_add(s, way_pages, "dtconv", &on_device);
	run_add(s, way_fresh_plain, "plain", &on_device);
	run_add(s, way_pages_copy, "copy", &on_device);
	run_add_torch(s);
	run_rows(s, kv_rows, KV_ROWS);
	print_kv(&s->results, from);
	print_absent(s);
	run_drop_engines(s);
	page_copy_run(s);
	print_absent(s);
}
