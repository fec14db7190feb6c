/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first row of a run: two copies of dtconv, timed against each other. selftest.c judges the
 * result.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/columns.h"
#include "bench/harness/rounds.h"
#include "bench/harness/selftest.h"
#include "bench/harness/session.h"

/* Retries, because a busy machine may become idle. */
#define TRIES 3

static struct result result_of(const struct bench_case *c, const struct engine *e,
			       const struct timing *t)
{
	struct result r = { .layout = SELFTEST_LAYOUT,
			    .op = "pack",
			    .bytes = c->bytes,
			    .count = c->count,
			    .ns = t->ns,
			    .ns_p10 = t->ns_p10,
			    .ns_p90 = t->ns_p90,
			    .rounds = t->rounds };

	snprintf(r.engine, sizeof(r.engine), "%s", e->name);
	snprintf(r.check, sizeof(r.check), "%s", e->problem[0] ? e->problem : "ok");
	return r;
}

/* Verify and time two copies of dtconv on one case. */
static void time_copies(struct session *s, struct bench_case *c, double budget_ns,
			struct result results[2])
{
	struct engine engines[2];
	struct engine *both[2] = { &engines[0], &engines[1] };
	struct timing timings[2] = { { .ns = 0 } };
	struct verify v;
	bool right = true;

	engine_dtconv(both[0], SELFTEST_ONE);
	engine_dtconv(both[1], SELFTEST_TWO);
	arena_place(&s->arena, c);
	if (verify_create(&v, &s->arena, c, s->options->seed)) {
		engine_problem(both[0], "cannot allocate the oracle");
	} else {
		for (int i = 0; i < 2; i++)
			right = !engine_prepare(both[i], c, &s->arena) &&
				!verify_engine(&v, both[i], BENCH_PACK) && right;
		if (right)
			rounds_time(both, 2, BENCH_PACK, budget_ns, s->options->seed,
				    timings);
		verify_destroy(&v);
	}
	for (int i = 0; i < 2; i++)
		results[i] = result_of(c, both[i], &timings[i]);
}

static void report(struct session *s, const struct selftest *test)
{
	char text[500], line[520];

	selftest_format(test, text, sizeof(text));
	snprintf(line, sizeof(line), "self-test: %s", text);
	columns_print_text(stdout, line, s->options->columns);
	if (s->json) {
		selftest_write(s->json, test);
		fflush(s->json);
	}
}

void session_self_test(struct session *s)
{
	static const char text[] = "vector(32768, 1, 2, double)";
	double budget = fmin(s->options->seconds * 0.02, 1) * 1e9;
	struct result copies[2] = { { .bytes = 0 } };
	struct selftest test;
	struct bench_case c;
	char why[WHY_ROOM];
	int tries = 0;

	if (bench_case_parse(s->context, text, 1, &c, why, sizeof(why))) {
		printf("self-test: %s\n", why);
		return;
	}
	do {
		time_copies(s, &c, budget, copies);
		test = selftest_judge(&copies[0], &copies[1]);
	} while (test.verdict == SELFTEST_INCONCLUSIVE && ++tries < TRIES);
	for (int i = 0; i < 2; i++) {
		copies[i].expr = session_expr(c.type);
		session_record(s, &copies[i]);
	}
	report(s, &test);
	bench_case_release(&c);
}
