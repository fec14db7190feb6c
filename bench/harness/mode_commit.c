/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of creating a type, of committing it, and of the memory it holds. An allocator of
 * the context counts the library's memory.
 */
#include "config.h"

#include "bench/harness/modes.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/rounds.h"
#include "bench/harness/session.h"
#include "bench/harness/table.h"

#define MOST_REPETITIONS 101
#define BLOCKS           1000000
#define SLOT             64 /* bytes, a block in each */
#define EQUAL_BYTES \
	512 /* of a block of the lists of equal ones, in slots of twice that */

/* ---- memory of the library ----------------------------------------------------------- */

struct account {
	size_t held; /* bytes allocated and not freed */
};

/* The size of a block is stored in front of it. */
#define HEAD 16

static void *count_alloc(void *arg, size_t bytes)
{
	struct account *account = arg;
	char *memory = malloc(bytes + HEAD);

	if (!memory)
		return NULL;
	memcpy(memory, &bytes, sizeof(bytes));
	account->held += bytes;
	return memory + HEAD;
}

static void count_free(void *arg, void *memory)
{
	struct account *account = arg;
	size_t bytes;

	memcpy(&bytes, (char *)memory - HEAD, sizeof(bytes));
	account->held -= bytes;
	free((char *)memory - HEAD);
}

/* ---- the types ----------------------------------------------------------------------- */

/* Blocks for the indexed types, made once. */
struct blocks {
	size_t count;
	size_t *lengths; /* NULL: all are EQUAL_BYTES long */
	ptrdiff_t *displacements;
};

struct commit_type {
	const char *name;
	const char *expr; /* text form, or NULL: an indexed type */
	size_t blocks;    /* of an indexed type */
	bool shuffled;    /* blocks in random order */
	bool equal;       /* blocks of one length, displaced by bytes */
};

static const struct commit_type commit_types[] = {
	{ "vector", "vector(1000, 1, 2, double)", 0, false, false },
	{ "vector_1e9", "vector(1000000000, 1, 2, double)", 0, false, false },
	{ "hvector_of_vector", "hvector(64, 1, 65536, vector(64, 2, 8, double))", 0,
	  false, false },
	{ "depth3",
	  "hvector(16, 1, 1048576, hvector(64, 1, 65536, vector(64, 2, 8, double)))", 0,
	  false, false },
	{ "subarray2", "subarray([512,512], [100,200], [7,9], c, double)", 0, false,
	  false },
	{ "subarray3", "subarray([256,256,256], [1,256,2], [3,0,4], c, double)", 0, false,
	  false },
	{ "struct3", "resized(struct([1,1,7], [0,8,16], [int,double,char]), 0, 24)", 0,
	  false, false },
	{ "indexed_1e3", NULL, 1000, true, false },
	{ "indexed_ascending", NULL, BLOCKS, false, false },
	{ "indexed_random", NULL, BLOCKS, true, false },
	{ "equal_4096", NULL, 4096, true, true },
	{ "equal_65536", NULL, 65536, true, true },
	{ "equal_1e6", NULL, BLOCKS, true, true },
};

static void place_equal(struct blocks *b)
{
	free(b->lengths);
	b->lengths = NULL;
	for (size_t i = 0; i < b->count; i++)
		b->displacements[i] = (ptrdiff_t)(i * 2 * EQUAL_BYTES);
}

/* Blocks of 1 to 4 doubles, one in each slot of 64 bytes; or equal ones. */
static int make_blocks(struct blocks *b, const struct commit_type *t, uint64_t seed)
{
	*b = (struct blocks){ .count = t->blocks };
	b->lengths = calloc(b->count + 1, sizeof(*b->lengths));
	b->displacements = calloc(b->count + 1, sizeof(*b->displacements));
	if (!b->lengths || !b->displacements)
		return -1;
	for (size_t i = 0; i < b->count; i++) {
		b->lengths[i] = 1 + bench_random_below(&seed, 4);
		b->displacements[i] = (ptrdiff_t)(i * (SLOT / sizeof(double)));
	}
	if (t->equal)
		place_equal(b);
	for (size_t i = b->count; t->shuffled && i > 1; i--) {
		size_t other = bench_random_below(&seed, i);
		ptrdiff_t last = b->displacements[i - 1];

		b->displacements[i - 1] = b->displacements[other];
		b->displacements[other] = last;
	}
	return 0;
}

static void free_blocks(struct blocks *b)
{
	free(b->lengths);
	free(b->displacements);
}

/* Timed as "create". For text forms this includes the parsing, which is the smaller part. */
static int create(struct dtconv_context *context, const struct commit_type *t,
		  const struct blocks *b, struct dtconv_type **type)
{
	if (t->expr)
		return dtconv_type_parse(context, t->expr, strlen(t->expr), type);
	if (t->equal)
		return dtconv_type_create_hindexed_block(
			b->count, EQUAL_BYTES, b->displacements,
			dtconv_type_predefined(context, DTCONV_BYTE), type);
	return dtconv_type_create_indexed(b->count, b->lengths, b->displacements,
					  dtconv_type_predefined(context, DTCONV_DOUBLE),
					  type);
}

/* ---- the measurement ----------------------------------------------------------------- */

struct commit_values {
	double create[MOST_REPETITIONS];
	double commit[MOST_REPETITIONS];
	double both[MOST_REPETITIONS];
	double release[MOST_REPETITIONS];
	size_t count;
	size_t held;
	size_t bytes;
	char problem[ENGINE_PROBLEM_ROOM];
};

static int once(struct dtconv_context *context, struct account *account,
		const struct commit_type *t, const struct blocks *b,
		struct commit_values *v)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = NULL;
	size_t before = account->held;
	double start = bench_clock();
	int status = create(context, t, b, &type);
	double created = bench_clock();

	if (!status)
		status = dtconv_type_commit(type);
	v->create[v->count] = created - start;
	v->commit[v->count] = bench_clock() - created;
	v->both[v->count] = v->create[v->count] + v->commit[v->count];
	if (!status) {
		v->count++;
		v->held = account->held - before;
		status = dtconv_type_query(type, &attr);
		v->bytes = attr.size;
	}
	start = bench_clock();
	dtconv_type_unref(type);
	if (!status)
		v->release[v->count - 1] = bench_clock() - start;
	if (status)
		snprintf(v->problem, sizeof(v->problem), "%s", dtconv_strerror(status));
	return status;
}

static void measure(const struct commit_type *t, const struct blocks *b, double budget_ns,
		    struct commit_values *v)
{
	struct account account = { 0 };
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { count_alloc, count_free, &account },
	};
	struct dtconv_context *context;
	double end = bench_now() + budget_ns;

	memset(v, 0, sizeof(*v));
	if (dtconv_context_create(&params, &context)) {
		snprintf(v->problem, sizeof(v->problem), "cannot create a context");
		return;
	}
	while (v->count < MOST_REPETITIONS && (v->count < 3 || bench_now() < end))
		if (once(context, &account, t, b, v))
			break;
	dtconv_context_destroy(context);
}

static void record(struct session *s, const struct commit_type *t, const char *op,
		   const char *engine, double *values, const struct commit_values *v)
{
	struct result r = { .bytes = v->bytes, .count = 1, .held = v->held };
	struct timing timing = { 0 };

	timing_sum_up(&timing, values, v->count);
	snprintf(r.layout, sizeof(r.layout), "commit_%s", t->name);
	snprintf(r.op, sizeof(r.op), "%s", op);
	snprintf(r.engine, sizeof(r.engine), "%s", engine);
	snprintf(r.check, sizeof(r.check), "%s", v->problem[0] ? v->problem : "ok");
	r.expr = strdup(t->expr    ? t->expr
			: t->equal ? "hindexed_block(512, [...], byte)"
				   : "indexed([...], [...], double)");
	r.ns = timing.ns;
	r.ns_p10 = timing.ns_p10;
	r.ns_p90 = timing.ns_p90;
	r.rounds = v->count;
	session_record(s, &r);
}

/* ---- peers: building and committing together ----------------------------------------- */

static void measure_peer(struct session *s, struct engine *e, const struct commit_type *t,
			 struct bench_case *c, double budget_ns)
{
	struct commit_values *v = calloc(1, sizeof(*v));
	double end = bench_now() + budget_ns;

	if (!v)
		return;
	v->bytes = c->bytes;
	arena_place(&s->arena, c);
	while (v->count < MOST_REPETITIONS && (v->count < 3 || bench_now() < end)) {
		if (engine_prepare(e, c, &s->arena)) {
			memcpy(v->problem, e->problem, sizeof(v->problem));
			break;
		}
		v->both[v->count++] = e->prepare_ns;
		engine_release(e);
	}
	record(s, t, "both", e->name, v->both, v);
	free(v);
}

static void measure_peers(struct session *s, const struct commit_type *t,
			  const struct blocks *b, double budget_ns)
{
	struct bench_case c = { .count = 1 };
	int status = create(s->context, t, b, &c.type);

	if (!status)
		status = bench_case_finish(&c);
	for (size_t i = 0; !status && i < s->engine_count; i++)
		if (!s->engines[i].absent && arena_bytes_for(&c) < s->memory_limit)
			measure_peer(s, &s->engines[i], t, &c, budget_ns);
	bench_case_release(&c);
}

/* ---- the table ----------------------------------------------------------------------- */

static void print_ns(double ns)
{
	if (ns <= 0)
		printf(" %10s", "-");
	else if (ns < 1e5)
		printf(" %7.0f ns", ns);
	else
		printf(" %7.2f ms", ns / 1e6);
}

static const struct result *find(const struct session *s, const struct commit_type *t,
				 const char *op, const char *engine)
{
	char layout[BENCH_NAME_ROOM];

	snprintf(layout, sizeof(layout), "commit_%s", t->name);
	for (size_t i = 0; i < s->results.count; i++) {
		const struct result *r = &s->results.list[i];

		if (!strcmp(r->layout, layout) && !strcmp(r->op, op) &&
		    !strcmp(r->engine, engine))
			return r;
	}
	return NULL;
}

static void print_type(const struct session *s, const struct commit_type *t)
{
	const struct result *made = find(s, t, "create", "dtconv");
	const struct result *committed = find(s, t, "commit", "dtconv");
	const struct result *both = find(s, t, "both", "dtconv");
	const struct result *released = find(s, t, "release", "dtconv");

	printf("%-18s", t->name);
	print_ns(made ? made->ns : 0);
	print_ns(committed ? committed->ns : 0);
	print_ns(released ? released->ns : 0);
	printf(" %10zu", committed ? committed->held : 0);
	if (t->blocks && committed && both)
		printf(" %7.1f %7.1f", both->ns / (double)t->blocks,
		       (double)committed->held / (double)t->blocks);
	else
		printf(" %7s %7s", "-", "-");
	for (size_t i = 0; i < s->engine_count; i++) {
		const struct result *r = find(s, t, "both", s->engines[i].name);

		print_ns(r ? r->ns : 0);
	}
	printf("\n");
}

static void print_table(const struct session *s)
{
	printf("\n%-18s %10s %10s %10s %10s %7s %7s", "type", "create", "commit",
	       "release", "held bytes", "ns/blk", "B/blk");
	for (size_t i = 0; i < s->engine_count; i++)
		printf(" %10.10s", s->engines[i].name);
	printf("\n");
	for (size_t i = 0; i < sizeof(commit_types) / sizeof(*commit_types); i++)
		print_type(s, &commit_types[i]);
	printf("(medians; peers: create and commit together; held: memory that one type "
	       "takes in the library)\n");
}

void mode_commit(struct session *s)
{
	size_t count = sizeof(commit_types) / sizeof(*commit_types);
	struct commit_values *v = calloc(1, sizeof(*v));

	session_add_peers(s);
	for (size_t i = 0; v && i < count; i++) {
		const struct commit_type *t = &commit_types[i];
		double budget = s->options->seconds * 1e9 / (double)count;
		struct blocks b;

		if (!make_blocks(&b, t, s->options->seed)) {
			measure(t, &b, budget / 3, v);
			record(s, t, "create", "dtconv", v->create, v);
			record(s, t, "commit", "dtconv", v->commit, v);
			record(s, t, "both", "dtconv", v->both, v);
			record(s, t, "release", "dtconv", v->release, v);
			measure_peers(s, t, &b, budget / 4);
		}
		free_blocks(&b);
	}
	free(v);
	print_table(s);
	summary_checks(stdout, &s->results);
}
