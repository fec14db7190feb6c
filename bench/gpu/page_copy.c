/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from pages of one cache to pages of another: their rows, memory and judge, and the table. The judge copies token
 * by token.
 */
#include "config.h"

#include "bench/gpu/page_copy.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/run.h"
#include "bench/harness/arena.h"
#include "bench/harness/rounds.h"
#include "bench/layouts/layout.h"

#define OP "copy"
/* A row takes this much time. */
#define MOST_BUDGET 50e6
#define TABLES      32

/*
 * 512 tokens of a model of 70 billion parameters with grouped queries, from pages of 16 to pages of 64. Half of the heads of
 * 2048 tokens, of which one side has all: rows of 512 bytes of 1024. Small pages of one layer.
 */
static const struct row {
	const char *name;
	size_t planes, tokens, row_bytes;
	size_t from_tokens, from_stride, to_tokens, to_stride;
} rows[] = {
	{ "pages_16_to_64", 160, 512, 2048, 16, 2048, 64, 2048 },
	{ "pages_heads", 160, 2048, 512, 16, 1024, 16, 512 },
	{ "pages_joined", 160, 2048, 512, 16, 512, 64, 1024 },
	{ "pages_small", 1, 4096, 512, 1, 512, 16, 1024 },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* ---- memory ---------------------------------------------------------------------------- */

static bool draw_tables(struct page_side *side, size_t tables, uint64_t *state)
{
	uint32_t *all = malloc(side->pool_pages * sizeof(*all));

	side->numbers = malloc(tables * side->pages * sizeof(*side->numbers));
	for (size_t i = 0; all && i < side->pool_pages; i++)
		all[i] = (uint32_t)i;
	for (size_t i = 0; all && side->numbers && i < tables * side->pages; i++) {
		const size_t at = i % side->pages;
		const size_t chosen =
			at + bench_random_below(state, side->pool_pages - at);
		const uint32_t number = all[chosen];

		all[chosen] = all[at];
		all[at] = number;
		side->numbers[i] = (int32_t)number;
	}
	free(all);
	return all && side->numbers;
}

static bool open_side(struct page_copy *copy, struct page_side *side, enum gpu_role role,
		      uint64_t *state)
{
	const size_t room = copy->planes * page_plane_bytes(side);

	side->region_bytes = room + 2 * ARENA_GUARD;
	side->host = malloc(side->region_bytes);
	side->region = gpu_memory(copy->gpu, PLACE_DEVICE, role, side->region_bytes);
	if (!side->host || !side->region || !draw_tables(side, copy->table_count, state))
		return false;
	side->pool = side->region + ARENA_GUARD;
	pattern_fill(side->host, side->region_bytes, *state);
	const size_t bytes = copy->table_count * side->pages * sizeof(int32_t);
	return GPU_CALL(copy->gpu, MemAlloc(&side->tables, bytes)) &&
	       gpu_copy(copy->gpu, (void *)(uintptr_t)side->tables, side->numbers, bytes);
}

static void close_side(const struct page_copy *copy, struct page_side *side)
{
	if (side->tables)
		GPU_CALL(copy->gpu, MemFree(side->tables));
	free(side->numbers);
	free(side->host);
}

static struct page_side side_of(const struct row *row, size_t tokens, size_t row_stride)
{
	return (struct page_side){ .tokens = tokens,
				   .row_stride = row_stride,
				   .pages = row->tokens / tokens,
				   .pool_pages = 2 * (row->tokens / tokens) };
}

static bool open_copy(struct page_copy *copy, const struct row *row, struct gpu *gpu,
		      uint64_t seed)
{
	*copy = (struct page_copy){ .gpu = gpu,
				    .planes = row->planes,
				    .tokens = row->tokens,
				    .row_bytes = row->row_bytes,
				    .from = side_of(row, row->from_tokens,
						    row->from_stride),
				    .to = side_of(row, row->to_tokens, row->to_stride),
				    .table_count = TABLES };
	copy->packed = gpu_memory(gpu, PLACE_DEVICE, ROLE_PACKED, page_copy_bytes(copy));
	return copy->packed && open_side(copy, &copy->from, ROLE_USER, &seed) &&
	       open_side(copy, &copy->to, ROLE_FLAT, &seed);
}

/* ---- judging --------------------------------------------------------------------------- */

/* Where a token of a plane is in the region, by the table that is next. */
static size_t place_of(const struct page_copy *copy, const struct page_side *side,
		       size_t plane, size_t token)
{
	const size_t table = (copy->next + 1) % copy->table_count;
	const size_t number =
		(size_t)side->numbers[table * side->pages + token / side->tokens];

	return ARENA_GUARD + plane * page_plane_bytes(side) +
	       (number * side->tokens + token % side->tokens) * side->row_stride +
	       side->row_stride - copy->row_bytes;
}

static void expect(const struct page_copy *copy, unsigned char *expected)
{
	memcpy(expected, copy->to.host, copy->to.region_bytes);
	for (size_t plane = 0; plane < copy->planes; plane++)
		for (size_t token = 0; token < copy->tokens; token++)
			memcpy(expected + place_of(copy, &copy->to, plane, token),
			       copy->from.host +
				       place_of(copy, &copy->from, plane, token),
			       copy->row_bytes);
}

static int verify(struct page_copy *copy, struct engine *e)
{
	const size_t bytes = copy->to.region_bytes;
	unsigned char *expected = malloc(2 * bytes);
	int failed = -1;
	double ns;

	if (!expected) {
		engine_problem(e, "no memory to compare in");
		return -1;
	}
	expect(copy, expected);
	if (!gpu_copy(copy->gpu, copy->from.region, copy->from.host,
		      copy->from.region_bytes) ||
	    !gpu_copy(copy->gpu, copy->to.region, copy->to.host, bytes))
		engine_problem(e, "%s", copy->gpu->problem);
	else if (!engine_run(e, BENCH_PACK, 0, 1, &ns) &&
		 gpu_copy(copy->gpu, expected + bytes, copy->to.region, bytes))
		failed = memcmp(expected, expected + bytes, bytes) ? -1 : 0;
	if (failed && !e->problem[0])
		engine_problem(e, "wrong bytes in the pages or their gaps");
	free(expected);
	return failed;
}

/* ---- one row --------------------------------------------------------------------------- */

static void record(struct session *s, const struct row *row, const struct page_copy *copy,
		   const struct engine *e, const struct timing *t)
{
	struct result r = { .bytes = page_copy_bytes(copy),
			    .count = 1,
			    .src = "device",
			    .dst = "device",
			    .op = OP,
			    .clock = "wall" };
	char expr[120];

	snprintf(expr, sizeof(expr),
		 "%zu x %zu new pages of %zu rows, %zu bytes of %zu, to %zu of %zu, %zu",
		 copy->planes, copy->from.pages, copy->from.tokens, copy->row_bytes,
		 copy->from.row_stride, copy->to.pages, copy->to.tokens,
		 copy->to.row_stride);
	r.expr = strdup(expr);
	snprintf(r.layout, sizeof(r.layout), "%s", row->name);
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

struct field {
	struct engine *prepared[MOST_ENGINES], *good[MOST_ENGINES];
	size_t prepared_count, count;
};

static void add_to_field(struct session *s, const struct row *row, struct page_copy *copy,
			 struct engine *e, struct field *field)
{
	const struct bench_case c = { .count = 1, .bytes = page_copy_bytes(copy) };
	bool prepared, right;

	way_of(e)->pages = copy;
	prepared = !engine_prepare(e, &c, NULL);
	right = prepared && (e->raw || !verify(copy, e));
	if (prepared)
		field->prepared[field->prepared_count++] = e;
	if (right)
		field->good[field->count++] = e;
	else if (!e->absent)
		record(s, row, copy, e, NULL);
}

static double budget_of(const struct session *s)
{
	double share = session_share(s) / 2;

	return share < MOST_BUDGET ? share : MOST_BUDGET;
}

static void measure(struct session *s, const struct row *row, struct page_copy *copy)
{
	struct timing timings[MOST_ENGINES];
	struct field field = { .count = 0 };

	for (size_t i = 0; i < s->engine_count; i++)
		if (!s->engines[i].absent && s->engines[i].state)
			add_to_field(s, row, copy, &s->engines[i], &field);
	if (field.count)
		rounds_time(field.good, field.count, BENCH_PACK, budget_of(s),
			    s->options->seed, timings);
	for (size_t i = 0; i < field.count; i++)
		record(s, row, copy, field.good[i], &timings[i]);
	for (size_t i = 0; i < field.prepared_count; i++)
		engine_release(field.prepared[i]);
}

static void run_row(struct session *s, const struct row *row)
{
	struct page_copy copy;

	session_progress(s, row->name);
	if (open_copy(&copy, row, s->gpu, s->options->seed)) {
		measure(s, row, &copy);
	} else {
		printf("%s: %s\n", row->name,
		       s->gpu->problem[0] ? s->gpu->problem : "no memory for the pages");
		s->gpu->problem[0] = '\0';
	}
	close_side(&copy, &copy.from);
	close_side(&copy, &copy.to);
	if (s->rows_left)
		s->rows_left--;
}

/* ---- the table ------------------------------------------------------------------------- */

static void print_copy(const struct results *rs, const struct result *r)
{
	static const char *const engines[] = { "dtconv", "dtconv-two", "plain", "copy" };
	double ns[4];

	printf("%-15s %10zu", r->layout, r->bytes);
	for (size_t i = 0; i < 4; i++) {
		const struct result *found = find_result(rs, r, OP, engines[i]);

		ns[i] = found ? found->ns : 0;
		print_number(ns[i] / 1e3, 10, 1);
	}
	for (size_t i = 1; i < 4; i++)
		print_number(ns[0] > 0 ? ns[i] / ns[0] : 0, 8, 2);
	putchar('\n');
}

static void print_copies(const struct results *rs, size_t from)
{
	if (from == rs->count)
		return;
	printf("\n%-15s %10s %10s %10s %10s %10s %8s %8s %8s\n", "page copies, us",
	       "bytes", "dtconv", "two", "plain", "copy", "x two", "x plain", "x copy");
	for (size_t i = from; i < rs->count; i++)
		if (is_first_result(rs, from, i))
			print_copy(rs, &rs->list[i]);
	printf("(from pages to pages by two new tables on the device, until the host sees completion; two: packed, then unpacked, in a\n"
	       " stream; plain: the best plain kernel; copy: the driver's copy of as many bytes)\n");
}

void page_copy_run(struct session *s)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	size_t from = s->results.count;

	run_add(s, way_page_copy, "dtconv", &on_device);
	run_add(s, way_page_copy_twice, "dtconv-two", &on_device);
	run_add(s, way_page_copy_plain, "plain", &on_device);
	run_add(s, way_page_copy_raw, "copy", &on_device);
	s->rows_left = ROWS;
	for (size_t i = 0; i < ROWS; i++) {
		if (!bench_matches(s->layouts, rows[i].name))
			continue;
		if (bench_now() > s->deadline)
			s->left_out++;
		else
			run_row(s, &rows[i]);
	}
	session_progress_end(s);
	print_copies(&s->results, from);
}
