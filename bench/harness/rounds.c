/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interleaved rounds in random order: a disturbance of the machine affects all engines alike.
 */
#include "config.h"

#include "bench/harness/rounds.h"

#include "bench/layouts/layout.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENGINES  20
#define FEWEST_ROUNDS 5
#define MOST_ROUNDS   101
/*
 * Minimum duration of a measurement, compared to which a clock reading and a peer's wake-up are
 * short.
 */
#define SHORTEST_BATCH 50e3
#define LONGEST_BATCH  2e6
#define MOST_CALLS     100000
/* Before a shorter call, a warm-up call reloads what the other engines evicted. */
#define WARM_BELOW 200e3
/* The same for engines that only touch lines, because some of those write past the caches. */
#define WARM_BELOW_BOUND 4e6

struct contestant {
	struct engine *engine;
	double call_ns; /* first estimate */
	size_t calls;
	size_t warm;
	size_t rounds;
	double values[MOST_ROUNDS];
	int failed;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which the fraction `q` of the sorted values lies. */
static double quantile(const double *sorted, size_t count, double q)
{
	double place = q * (double)(count - 1);
	size_t below = (size_t)place;
	double part = place - (double)below;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

void timing_sum_up(struct timing *timing, double *values, size_t count)
{
	if (!count)
		return;
	qsort(values, count, sizeof(*values), by_value);
	timing->ns = quantile(values, count, 0.5);
	timing->ns_p10 = quantile(values, count, 0.1);
	timing->ns_p90 = quantile(values, count, 0.9);
	timing->rounds = count;
}

/*
 * Estimate the duration of a call: one call, then as many as give a reliable figure. The
 * verification has warmed the caches.
 */
static void estimate(struct contestant *c, enum bench_op op)
{
	size_t calls = 1;
	double ns = 0;

	c->failed = engine_run(c->engine, op, 0, calls, &ns);
	while (!c->failed && ns < SHORTEST_BATCH && calls < MOST_CALLS) {
		calls *= ns < SHORTEST_BATCH / 16 ? 16 : 2;
		c->failed = engine_run(c->engine, op, 0, calls, &ns);
	}
	c->call_ns = ns / (double)calls;
}

/* The calls of a round, so that the engines share the budget over about MOST_ROUNDS rounds. */
static void plan(struct contestant *c, double batch_ns)
{
	double calls = batch_ns / c->call_ns;

	c->calls = calls > MOST_CALLS ? MOST_CALLS : calls < 1 ? 1 : (size_t)calls;
	c->warm = c->call_ns < (c->engine->bound ? WARM_BELOW_BOUND : WARM_BELOW);
}

static void measure(struct contestant *c, enum bench_op op)
{
	double ns;

	if (c->failed)
		return;
	c->failed = engine_run(c->engine, op, c->warm, c->calls, &ns);
	if (!c->failed)
		c->values[c->rounds++] = ns / (double)c->calls;
}

static void shuffle(size_t *order, size_t count, uint64_t *state)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = bench_random_below(state, i);
		size_t last = order[i - 1];

		order[i - 1] = order[other];
		order[other] = last;
	}
}

static double batch_for(const struct contestant *all, size_t count, double budget_ns)
{
	double batch = budget_ns / (double)(count * MOST_ROUNDS);
	double longest = 0;

	for (size_t i = 0; i < count; i++)
		if (!all[i].failed && all[i].call_ns > longest)
			longest = all[i].call_ns;
	if (batch < longest && longest < LONGEST_BATCH)
		batch = longest;
	return batch < SHORTEST_BATCH  ? SHORTEST_BATCH
	       : batch > LONGEST_BATCH ? LONGEST_BATCH
				       : batch;
}

static void all_rounds(struct contestant *all, size_t count, enum bench_op op,
		       double budget_ns, uint64_t seed)
{
	double end = bench_now() + budget_ns;
	size_t order[MOST_ENGINES];

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t round = 0; round < MOST_ROUNDS; round++) {
		if (round >= FEWEST_ROUNDS && bench_now() > end)
			break;
		shuffle(order, count, &seed);
		for (size_t i = 0; i < count; i++)
			measure(&all[order[i]], op);
	}
}

void rounds_time(struct engine *const *engines, size_t count, enum bench_op op,
		 double budget_ns, uint64_t seed, struct timing *timings)
{
	struct contestant *all = calloc(count, sizeof(*all));
	double batch;

	memset(timings, 0, count * sizeof(*timings));
	for (size_t i = 0; i < count && !all; i++)
		engine_problem(engines[i], "cannot allocate the timings");
	if (!all)
		return;
	for (size_t i = 0; i < count; i++) {
		all[i].engine = engines[i];
		estimate(&all[i], op);
	}
	batch = batch_for(all, count, budget_ns);
	for (size_t i = 0; i < count; i++)
		if (!all[i].failed)
			plan(&all[i], batch);
	all_rounds(all, count, op, budget_ns, seed);
	for (size_t i = 0; i < count; i++) {
		if (all[i].failed)
			continue;
		timing_sum_up(&timings[i], all[i].values, all[i].rounds);
		timings[i].calls = all[i].calls;
	}
	free(all);
}
