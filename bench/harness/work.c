/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row of a run: create the type, verify, time, record.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/oracle.h"
#include "bench/harness/rounds.h"
#include "bench/harness/session.h"

/* Text forms longer than this are cut: an index list may have millions of numbers. */
#define LONGEST_EXPR 2000
/* Standard error may be a terminal of unknown width. */
#define NARROW_TERMINAL 80

char *session_expr(const struct dtconv_type *type)
{
	char *text = malloc(LONGEST_EXPR + 4);
	size_t length = 0;
	int status;

	if (!text)
		return NULL;
	status = dtconv_type_format(type, text, LONGEST_EXPR + 1, &length);
	if (status == DTCONV_ERR_TRUNCATE)
		strcpy(text + LONGEST_EXPR, "...");
	else if (status)
		text[0] = '\0';
	return text;
}

double session_share(const struct session *s)
{
	double left = s->deadline - bench_now();

	return left > 0 && s->rows_left ? left / (double)s->rows_left : 0;
}

void session_progress(const struct session *s, const char *what)
{
	double left = (s->deadline - bench_now()) / 1e9;
	size_t columns = s->options->columns ? s->options->columns : NARROW_TERMINAL;
	char line[128];

	if (!s->progress)
		return;
	snprintf(line, sizeof(line), "[%zu/%zu] %s, about %.0f s left",
		 s->row_count - s->rows_left, s->row_count, what, left > 0 ? left : 0);
	/* a wrapped line could not be erased */
	fprintf(stderr, "\r\033[K%.*s", (int)(columns - 1), line);
}

void session_progress_end(const struct session *s)
{
	if (s->progress)
		fputs("\r\033[K", stderr);
}

int session_make_case(struct session *s, const struct row_key *key, struct bench_case *c,
		      char *why, size_t room)
{
	size_t bytes;
	int status;

	if (key->expr)
		status = bench_case_parse(s->context, key->expr, key->expr_count, c, why,
					  room);
	else
		status = bench_case_make(s->context, s->options->seed, key->layout,
					 key->variant, key->size, c, why, room);
	memcpy(c->name, key->name, sizeof(c->name));
	if (status)
		return -1;
	bytes = arena_bytes_for(c);
	if (!c->bytes)
		snprintf(why, room, "the type has no data to move");
	else if (bytes > s->memory_limit || c->arena_bytes > s->memory_limit)
		snprintf(why, room,
			 "needs %.1f GiB, more than half of the machine's memory",
			 (double)bytes / (double)(1 << 30));
	else
		return 0;
	return -1;
}

/* ---- results ------------------------------------------------------------------------- */

void session_record(struct session *s, const struct result *result)
{
	if (s->json) {
		result_write(s->json, result);
		fflush(s->json);
	}
	if (results_add(&s->results, result))
		free(result->expr);
}

static struct result new_result(const struct bench_case *c, enum bench_op op,
				const char *expr, const struct engine *e)
{
	struct result r = { .bytes = c->bytes, .count = c->count, .expr = strdup(expr) };

	memcpy(r.layout, c->name, sizeof(r.layout));
	memcpy(r.engine, e->name, sizeof(r.engine));
	snprintf(r.op, sizeof(r.op), "%s", bench_op_name(op));
	snprintf(r.check, sizeof(r.check), "%s", e->problem[0] ? e->problem : "ok");
	return r;
}

static void record(struct session *s, const struct bench_case *c, enum bench_op op,
		   const char *expr, const struct engine *e, const struct timing *timing)
{
	struct result r = new_result(c, op, expr, e);

	if (timing) {
		r.ns = timing->ns;
		r.ns_p10 = timing->ns_p10;
		r.ns_p90 = timing->ns_p90;
		r.rounds = timing->rounds;
	}
	session_record(s, &r);
}

void session_record_failure(struct session *s, const struct row_key *key, const char *why)
{
	struct result r = { .count = key->expr_count,
			    .expr = strdup(key->expr ? key->expr : ""),
			    .engine = "dtconv" };

	memcpy(r.layout, key->name, sizeof(r.layout));
	snprintf(r.check, sizeof(r.check), "%.*s", ENGINE_PROBLEM_ROOM - 1, why);
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		struct result copy = r;

		if (!s->options->ops[op])
			continue;
		copy.expr = strdup(r.expr ? r.expr : "");
		snprintf(copy.op, sizeof(copy.op), "%s",
			 bench_op_name((enum bench_op)op));
		session_record(s, &copy);
	}
	free(r.expr);
}

/* ---- one operation ------------------------------------------------------------------- */

/* The engines of the current row. */
struct field {
	struct engine *engines[MOST_ENGINES];
	size_t count;
};

static void time_field(struct session *s, const struct bench_case *c, enum bench_op op,
		       const char *expr, const struct field *field, double budget_ns)
{
	struct timing timings[MOST_ENGINES];

	if (!field->count)
		return;
	rounds_time(field->engines, field->count, op, budget_ns, s->options->seed,
		    timings);
	for (size_t i = 0; i < field->count; i++)
		record(s, c, op, expr, field->engines[i], &timings[i]);
}

/*
 * Verify all engines, then time those that passed; record the others with the reason. Engines
 * that only touch lines have rounds of their own behind the others', because some of them leave
 * the row's memory outside of the caches.
 */
static void do_operation(struct session *s, struct verify *v, const struct bench_case *c,
			 enum bench_op op, const char *expr, const struct field *field,
			 double budget_ns)
{
	struct field good = { .count = 0 }, bound = { .count = 0 };

	for (size_t i = 0; i < field->count; i++) {
		struct engine *e = field->engines[i];

		e->problem[0] = '\0';
		struct field *passed = e->bound ? &bound : &good;

		if (verify_engine(v, e, op))
			record(s, c, op, expr, e, NULL);
		else
			passed->engines[passed->count++] = e;
	}
	double each_ns = budget_ns / (double)(good.count + bound.count);
	time_field(s, c, op, expr, &good, each_ns * (double)good.count);
	time_field(s, c, op, expr, &bound, each_ns * (double)bound.count);
}

/* Engines that can do the row. A missing hand loop is not a failure. */
static void prepare_all(struct session *s, const struct bench_case *c, const char *expr,
			struct field *field)
{
	for (size_t i = 0; i < s->engine_count; i++) {
		struct engine *e = &s->engines[i];

		if (e->absent || (!strcmp(e->name, "hand") && !c->hand.pack))
			continue;
		if (!engine_prepare(e, c, &s->arena)) {
			field->engines[field->count++] = e;
			continue;
		}
		for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
			if (s->options->ops[op])
				record(s, c, (enum bench_op)op, expr, e, NULL);
	}
}

void session_do_case(struct session *s, struct bench_case *c, const char *expr,
		     double share_ns)
{
	double end = bench_now() + share_ns;
	struct field field = { .count = 0 };
	struct engine nobody = { .name = "dtconv" };
	struct verify v;
	int left = s->options->ops[BENCH_PACK] + s->options->ops[BENCH_UNPACK];

	arena_place(&s->arena, c);
	if (verify_create(&v, &s->arena, c, s->options->seed)) {
		engine_problem(&nobody, "cannot allocate the oracle");
		record(s, c, BENCH_PACK, expr, &nobody, NULL);
		return;
	}
	prepare_all(s, c, expr, &field);
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		double budget = (end - bench_now()) / left;

		if (!s->options->ops[op])
			continue;
		do_operation(s, &v, c, (enum bench_op)op, expr, &field, budget);
		left--;
	}
	for (size_t i = 0; i < field.count; i++)
		engine_release(field.engines[i]);
	verify_destroy(&v);
}

/* ---- all rows ------------------------------------------------------------------------ */

/* Whether an earlier run has covered this case with all engines and operations of this one. */
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
