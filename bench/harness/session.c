/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run from its options to its exit status.
 */
#include "config.h"

#include "bench/harness/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#include "bench/harness/rounds.h"
#include "bench/harness/session_internal.h"
#include "bench/harness/table.h"

#define SELF_TEST_TRIES 3
/* Copies of one engine that differ by less than this agree, however still the machine is. */
#define SELF_TEST_FLOOR 0.01
/* With a larger spread than this, agreement says little, and another try may find a lull. */
#define SELF_TEST_BUSY 0.25

/* ---- the self-test ------------------------------------------------------------------- */

struct agreement {
	struct timing copies[2];
	double difference; /* of the medians, relative */
	double spread;     /* p10 to p90 of the wider one, relative */
	char problem[ENGINE_PROBLEM_ROOM];
};

static double spread_of(const struct timing *t)
{
	return t->ns > 0 ? (t->ns_p90 - t->ns_p10) / t->ns : 0;
}

/* Verify and time two copies of dtconv on one case. */
static void time_copies(struct session *s, struct bench_case *c, double budget_ns,
			struct agreement *a)
{
	struct engine engines[2];
	struct engine *both[2] = { &engines[0], &engines[1] };
	struct verify v;

	memset(a, 0, sizeof(*a));
	engine_dtconv(both[0], "dtconv");
	engine_dtconv(both[1], "dtconv#2");
	arena_place(&s->arena, c);
	if (verify_create(&v, &s->arena, c, s->options->seed)) {
		snprintf(a->problem, sizeof(a->problem), "no memory for the oracle");
		return;
	}
	for (int i = 0; i < 2 && !a->problem[0]; i++) {
		engine_prepare(both[i], c, &s->arena);
		if (verify_engine(&v, both[i], BENCH_PACK))
			memcpy(a->problem, both[i]->problem, sizeof(a->problem));
	}
	if (!a->problem[0])
		rounds_time(both, 2, BENCH_PACK, budget_ns, s->options->seed, a->copies);
	verify_destroy(&v);
	if (a->copies[0].ns <= 0 || a->copies[1].ns <= 0)
		return;
	a->difference = fabs(a->copies[0].ns - a->copies[1].ns) / a->copies[0].ns;
	a->spread = fmax(spread_of(&a->copies[0]), spread_of(&a->copies[1]));
}

/* A busy machine is no wrong byte: it spoils the figures, which the reader must know. */
static void print_agreement(const struct agreement *a)
{
	double spread = fmax(a->spread, SELF_TEST_FLOOR);
	const char *care = "";

	if (a->problem[0]) {
		printf("self-test: FAILED: %s\n", a->problem);
		return;
	}
	if (a->difference > spread)
		care = ": THE MACHINE IS TOO BUSY, do not trust the figures below";
	else if (a->spread >= SELF_TEST_BUSY)
		care = "; the machine is busy, so take care";
	printf("self-test: two copies of dtconv are %.1f %% apart, %s their spread of %.1f %%%s\n",
	       100 * a->difference, a->difference > spread ? "more than" : "within",
	       100 * spread, care);
}

static void record_copies(struct session *s, const struct bench_case *c,
			  const struct agreement *a)
{
	static const char *const names[] = { "dtconv", "dtconv#2" };

	for (int i = 0; i < 2; i++) {
		struct result r = { .layout = "selftest",
				    .op = "pack",
				    .bytes = c->bytes,
				    .count = c->count,
				    .expr = session_expr(c->type),
				    .ns = a->copies[i].ns,
				    .ns_p10 = a->copies[i].ns_p10,
				    .ns_p90 = a->copies[i].ns_p90,
				    .rounds = a->copies[i].rounds };

		snprintf(r.engine, sizeof(r.engine), "%s", names[i]);
		snprintf(r.check, sizeof(r.check), "%s",
			 a->problem[0] ? a->problem : "ok");
		session_record(s, &r);
	}
}

void session_self_test(struct session *s)
{
	static const char text[] = "vector(32768, 1, 2, double)";
	double budget = fmin(s->options->seconds * 0.02, 1) * 1e9;
	struct agreement a;
	struct bench_case c;
	char why[WHY_ROOM];

	if (bench_case_parse(s->context, text, 1, &c, why, sizeof(why))) {
		printf("self-test: %s\n", why);
		return;
	}
	for (int try = 0; try < SELF_TEST_TRIES; try++) {
		time_copies(s, &c, budget, &a);
		if (!a.problem[0] && a.spread < SELF_TEST_BUSY)
			break;
	}
	record_copies(s, &c, &a);
	print_agreement(&a);
	bench_case_release(&c);
}

/* ---- setting up ---------------------------------------------------------------------- */

/* Results of a run that was interrupted, and the file to go on with. */
static int open_json(struct session *s)
{
	const struct bench_options *o = s->options;
	long length = 0;

	if (!o->json)
		return 0;
	if (o->resume && results_read(&s->results, o->json, &length) && errno != ENOENT)
		goto failed;
	/* a line that was being written when the run ended is dropped */
	if (o->resume && !access(o->json, F_OK) && truncate(o->json, length))
		goto failed;
	s->json = fopen(o->json, o->resume ? "a" : "w");
	if (!s->json)
		goto failed;
	machine_write(s->json, s);
	return 0;
failed:
	fprintf(stderr, "dtconv bench: --json %s: %s\n", o->json, strerror(errno));
	return -1;
}

static struct session *new_session(const struct bench_options *options)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct session){ .options = options, .layouts = options->layouts };
	else
		fprintf(stderr, "dtconv bench: no memory\n");
	return s;
}

/*
 * Made before this thread stays on its processor, or all threads would stay there. In mode
 * threads the rows' own context has one, to compare with.
 */
static int create_contexts(struct session *s)
{
	const struct bench_options *options = s->options;
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.flags = options->gpu ? 0 : DTCONV_CONTEXT_HOST_MEMORY,
						.threads = options->threads };
	bool compares = options->mode == BENCH_MODE_THREADS;
	int status = dtconv_context_create(&params, compares ? &s->threads_context
							     : &s->context);

	params.threads = 1;
	if (!status && compares)
		status = dtconv_context_create(&params, &s->context);
	return status;
}

static int open_session(struct session *s)
{
	const struct bench_options *options = s->options;
	int status;

	s->progress = isatty(STDERR_FILENO);
	s->deadline = bench_now() + options->seconds * 1e9;
	s->memory_limit = machine_memory() / 2;
	status = create_contexts(s);
	if (status) {
		fprintf(stderr, "dtconv bench: %s\n", dtconv_strerror(status));
		return -1;
	}
	if (arena_create(&s->arena, s->memory_limit)) {
		fprintf(stderr, "dtconv bench: mapping %zu bytes of shared memory: %s\n",
			s->memory_limit, strerror(errno));
		return -1;
	}
	s->arena.behind = options->behind;
	return 0;
}

static void close_session(struct session *s)
{
	for (size_t i = 0; i < s->engine_count; i++)
		engine_destroy(&s->engines[i]);
	if (s->json)
		fclose(s->json);
	results_free(&s->results);
	free(s->rows);
	arena_destroy(&s->arena);
	dtconv_context_destroy(s->threads_context);
	dtconv_context_destroy(s->context);
	gpu_session_close(s);
}

/* ---- the rows ------------------------------------------------------------------------ */

/* Whether an earlier run has done this case with all engines and operations of this one. */
static bool is_done(const struct session *s, const struct bench_case *c)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		for (size_t i = 0; s->options->ops[op] && i < s->engine_count; i++) {
			const struct engine *e = &s->engines[i];

			if (e->absent || (!strcmp(e->name, "hand") && !c->hand.pack))
				continue;
			if (!results_find(&s->results, c->name, c->bytes,
					  bench_op_name((enum bench_op)op), e->name))
				return false;
		}
	}
	return true;
}

static void do_row(struct session *s, const struct row_key *key)
{
	double share = session_share(s);
	char why[WHY_ROOM];
	struct bench_case c;
	char *expr = NULL;

	session_progress(s, key->name);
	if (session_make_case(s, key, &c, why, sizeof(why))) {
		session_record_failure(s, key, why);
	} else if (!s->options->resume || !is_done(s, &c)) {
		expr = session_expr(c.type);
		session_do_case(s, &c, expr ? expr : "", share);
	}
	free(expr);
	bench_case_release(&c);
}

void session_do_rows(struct session *s)
{
	for (size_t i = 0; i < s->row_count; i++) {
		s->rows_left = s->row_count - i;
		do_row(s, &s->rows[i]);
	}
	session_progress_end(s);
}

static void run_layouts(struct session *s)
{
	char machine[512];

	machine_text(machine, sizeof(machine));
	session_self_test(s);
	session_do_rows(s);
	/* peers tell their versions when they are started, so they come now */
	session_print_engines(s);
	printf("\n");
	table_print(stdout, &s->results);
	if (s->options->plot && plot_write(s->options->plot, &s->results, machine)) {
		fprintf(stderr, "dtconv bench: --plot %s: %s\n", s->options->plot,
			strerror(errno));
	}
	table_summary(stdout, &s->results);
}

static void run_mode(struct session *s)
{
	switch (s->options->mode) {
	case BENCH_MODE_LAYOUTS:
		run_layouts(s);
		break;
	case BENCH_MODE_SMALL:
		mode_small(s);
		break;
	case BENCH_MODE_COMMIT:
		mode_commit(s);
		break;
	case BENCH_MODE_FRAG:
		mode_frag(s);
		break;
	case BENCH_MODE_SEEK:
		mode_seek(s);
		break;
	case BENCH_MODE_TYPED:
		mode_typed(s);
		break;
	case BENCH_MODE_THREADS:
		mode_threads(s);
		break;
	}
}

/* Rows are needed by the main table only; the modes know their own. */
static int choose_rows(struct session *s)
{
	if (s->options->mode != BENCH_MODE_LAYOUTS)
		return 0;
	if (session_add_rows(s)) {
		fprintf(stderr, "dtconv bench: no memory for the list of rows\n");
		return 1;
	}
	if (!s->row_count) {
		fprintf(stderr,
			"dtconv bench: --layouts %s: no layout has such a name at such a "
			"size; --list shows all\n",
			s->options->layouts ? s->options->layouts : "(all)");
		return 2;
	}
	return 0;
}

/* The modes that compare parts of dtconv alone choose theirs themselves. */
static int choose_engines(struct session *s)
{
	enum bench_mode mode = s->options->mode;

	if (mode != BENCH_MODE_LAYOUTS && mode != BENCH_MODE_SMALL)
		return 0;
	session_add_engines(s);
	if (s->engine_count)
		return 0;
	fprintf(stderr,
		"dtconv bench: --engines %s: no engine has such a name (dtconv, memcpy, hand, "
		"openmpi, mpich)\n",
		s->options->engines);
	return 2;
}

/* A plot that cannot be written is told before the work, not after. */
static int check_plot(const struct session *s)
{
	FILE *file;

	if (!s->options->plot)
		return 0;
	file = fopen(s->options->plot, "a");
	if (file)
		return fclose(file);
	fprintf(stderr, "dtconv bench: --plot %s: %s\n", s->options->plot,
		strerror(errno));
	return -1;
}

/* Other rows, other engines; and driver threads must not be held on one processor. */
static int run_gpu(struct session *s)
{
	char machine[512];
	int status;

	if (open_json(s) || check_plot(s))
		return 2;
	machine_text(machine, sizeof(machine));
	printf("%s\n", machine);
	status = gpu_session_run(s);
	return status ? status : table_failures(&s->results) ? 1 : 0;
}

static int run(struct session *s)
{
	char machine[512];
	int status;

	if (open_session(s))
		return 1;
	if (s->options->gpu)
		return run_gpu(s);
	status = choose_rows(s);
	if (status)
		return status;
	bench_time_processor(s->options->processor_time);
	status = choose_engines(s);
	if (status)
		return status;
	if (open_json(s) || check_plot(s))
		return 2;
	machine_pin();
	machine_text(machine, sizeof(machine));
	printf("%s\n", machine);
	run_mode(s);
	return table_failures(&s->results) ? 1 : 0;
}

int bench_session_run(const struct bench_options *options)
{
	struct session *s = new_session(options);
	int status = s ? run(s) : 1;

	if (s)
		close_session(s);
	free(s);
	return status;
}

/* Rows of a size have about that many bytes. */
static bool is_of_sizes(const struct result *r, unsigned sizes)
{
	for (unsigned bit = 1; bit && bit <= sizes; bit <<= 1) {
		size_t bytes = sizes & bit ? bench_size_bytes((enum bench_size)bit) : 0;

		if (bytes && r->bytes > bytes / 4 * 3 && r->bytes < bytes / 2 * 3)
			return true;
	}
	return !sizes;
}

static void keep_chosen(struct results *rs, const struct bench_options *options)
{
	size_t kept = 0;

	for (size_t i = 0; i < rs->count; i++) {
		struct result *r = &rs->list[i];

		if (bench_matches(options->layouts, r->layout) &&
		    is_of_sizes(r, options->sizes))
			rs->list[kept++] = *r;
		else
			free(r->expr);
	}
	rs->count = kept;
}

int bench_session_draw(const struct bench_options *options)
{
	struct results results = { 0 };
	const char *path = options->plot;
	char whose[512];
	long length;
	int failed = results_read(&results, options->from, &length);

	keep_chosen(&results, options);
	if (!failed && !results.count) {
		fprintf(stderr,
			"dtconv bench: --from %s: there are no such results in it\n",
			options->from);
		return 2;
	}
	if (failed) {
		fprintf(stderr, "dtconv bench: --from %s: %s\n", options->from,
			strerror(errno));
		return 2;
	}
	results_read_head(options->from, options->gpu ? "device" : "machine", whose,
			  sizeof(whose));
	failed = options->gpu ? gpu_plot_write(path, &results, whose)
			      : plot_write(path, &results, whose);
	if (failed)
		fprintf(stderr, "dtconv bench: --plot %s: %s\n", path, strerror(errno));
	results_free(&results);
	return failed ? 2 : 0;
}

int bench_session_list(const struct bench_options *options)
{
	struct session *s = new_session(options);
	int status;

	if (s && options->gpu) {
		status = gpu_session_list(s);
		free(s);
		return status;
	}
	status = s ? choose_rows(s) : 1;
	for (size_t i = 0; !status && i < s->row_count; i++) {
		size_t bytes = s->rows[i].layout ? bench_size_bytes(s->rows[i].size) : 0;

		if (bytes)
			printf("%-18s about %zu bytes\n", s->rows[i].name, bytes);
		else
			printf("%s\n", s->rows[i].name);
	}
	if (s)
		free(s->rows);
	free(s);
	return status;
}
