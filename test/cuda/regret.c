/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How well the planner chooses: random layouts, sizes, kinds of memory and directions, every backend
 * that can move them forced and timed, and the planner's choice set against the best. Times are from the call
 * until the host knows. Bytes are test_conformance's business.
 * Fails if the mean or the 99th percentile misses its aim (Q1).
 * usage: regret [CASES [SEED [FILE]]]    (default 2000, 1; it stops after 15 seconds)
 * FILE is given a line for each case: layout, kinds, direction, bytes, and of each backend tried its name,
 * what it was believed to take, and what it took, in microseconds.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "copy_backends/plan.h"
#include "datatype/type.h"
#include "support/choices.h"
#include "support/gpu.h"
#include "support/times.h"

#define CASES      2000
#define MEAN_AIM   1.10
#define P99_AIM    1.5
#define SECONDS    15
#define ROUNDS     5
#define WORST      10
#define CANDIDATES 8

#define MOST_BYTES ((size_t)8 << 20)  /* packed */
#define SPAN_BYTES ((size_t)64 << 20) /* of the user's side */

/* Backends that cost so many times what the best is believed to are taken to be no candidates. */
#define HOPELESS 50

static const enum arena_kind arena_kinds[] = { ARENA_HOST, ARENA_PINNED, ARENA_DEVICE };
static const enum dtconv_memory_kind kinds[] = { DTCONV_MEMORY_HOST, DTCONV_MEMORY_PINNED,
						 DTCONV_MEMORY_DEVICE };

#define KINDS 3

struct bench {
	struct dtconv_context *context;
	struct arena user[KINDS], packed[KINDS];
	struct choices choices;
	FILE *log; /* or NULL */
};

/* One case; what it is about, and how it went. */
struct outcome {
	double regret;
	char text[200];
	const char *chosen, *best;
	double chosen_us, best_us;
	size_t bytes;
	size_t user, packed;
	bool pack;
};

/* ---- layouts --------------------------------------------------------------------------- */

/* From 2^least up to 2^most, each power of two as likely as the next. */
static size_t spread(struct choices *choices, unsigned least, unsigned most)
{
	size_t power = (size_t)1 << (least + choose(choices, most - least));

	return power + choose(choices, power);
}

static void write_vector(struct bench *bench, size_t bytes, char *text, size_t capacity)
{
	size_t unit = (size_t)1 << choose(&bench->choices, 4);
	size_t block = unit * spread(&bench->choices, 0, 12);
	size_t count = bytes / block + 1;

	snprintf(text, capacity, "hvector(%zu, %zu, %zu, byte)", count, block,
		 block + unit * (1 + choose(&bench->choices, 1 + block / unit)));
}

static void write_box(struct bench *bench, size_t bytes, char *text, size_t capacity)
{
	size_t row = spread(&bench->choices, 0, 8),
	       rows = 1 + choose(&bench->choices, 40);
	size_t planes = bytes / 8 / row / rows + 1;

	snprintf(text, capacity,
		 "subarray([%zu,%zu,%zu], [%zu,%zu,%zu], [0,0,0], c, double)", planes,
		 rows + 3, row + 5, planes, rows, row);
}

static void write_transpose(struct bench *bench, size_t bytes, char *text,
			    size_t capacity)
{
	size_t side = 2;

	(void)bench;
	while (side * side * 8 < bytes)
		side++;
	snprintf(text, capacity,
		 "contiguous(%zu, resized(vector(%zu, 1, %zu, double), 0, 8))", side,
		 side, side);
}

static void write_records(struct bench *bench, size_t bytes, char *text, size_t capacity)
{
	size_t first = 1 + choose(&bench->choices, 16),
	       second = 1 + choose(&bench->choices, 16);

	snprintf(
		text, capacity,
		"contiguous(%zu, resized(struct([%zu,%zu], [0,%zu], [byte,byte]), 0, 48))",
		bytes / (first + second) + 1, first, second,
		20 + choose(&bench->choices, 8));
}

static void write_run(struct bench *bench, size_t bytes, char *text, size_t capacity)
{
	(void)bench;
	snprintf(text, capacity, "contiguous(%zu, byte)", bytes);
}

static void write_layout(struct bench *bench, size_t bytes, char *text, size_t capacity)
{
	static void (*const writers[])(
		struct bench * bench, size_t bytes, char *text,
		size_t capacity) = { write_vector,    write_vector,  write_box,
				     write_transpose, write_records, write_run };

	writers[choose(&bench->choices, sizeof(writers) / sizeof(writers[0]))](
		bench, bytes, text, capacity);
}

/* ---- timing ---------------------------------------------------------------------------- */

/* One blocking move by that backend, in microseconds; negative if it is refused. */
static double time_move(const struct bench *bench, const struct outcome *outcome,
			struct dtconv_type *type, const char *backends)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.backends = backends };
	unsigned char *user = bench->user[outcome->user].memory;
	unsigned char *packed = bench->packed[outcome->packed].memory;
	double begin = times_now_us();
	int status = outcome->pack ? dtconv_pack_with(type, 1, user, packed,
						      outcome->bytes, &params, NULL)
				   : dtconv_unpack_with(type, 1, user, packed,
							outcome->bytes, &params, NULL);

	return status ? -1 : times_now_us() - begin;
}

static struct dtc_question question_of(const struct outcome *outcome,
				       const struct dtconv_type *type)
{
	return (struct dtc_question){ .layout = dtc_type_layout(type),
				      .count = 1,
				      .bytes = outcome->bytes,
				      .user_kind = kinds[outcome->user],
				      .packed_kind = kinds[outcome->packed],
				      .direction = outcome->pack ? DTC_PACK
								 : DTC_UNPACK };
}

/* The backends that are worth a try, the planner's choice among them. */
static size_t find_candidates(const struct dtc_question *question, int chosen,
			      int candidates[CANDIDATES])
{
	double most = HOPELESS * dtc_backends[chosen]->estimate(question);
	size_t count = 0;
	const char *reason;

	for (int i = 0; dtc_backends[i] && count < CANDIDATES; i++)
		if (dtc_backends[i]->can(question, &reason) &&
		    dtc_backends[i]->estimate(question) <= most)
			candidates[count++] = i;
	return count;
}

static const char *const kind_names[KINDS] = { "host", "pinned", "device" };

/* The candidates' medians in the order of their numbers. */
static void log_case(const struct bench *bench, const struct outcome *outcome,
		     const struct dtc_question *question, const int *candidates,
		     size_t count, double times[CANDIDATES][ROUNDS])
{
	if (!bench->log)
		return;
	fprintf(bench->log, "%s;%s;%s;%s;%zu;%" PRIu64, outcome->text,
		kind_names[outcome->user], kind_names[outcome->packed],
		outcome->pack ? "pack" : "unpack", outcome->bytes,
		dtc_layout_runs(question->layout));
	for (size_t i = 0; i < count; i++)
		fprintf(bench->log, ";%s;%.2f;%.2f", dtc_backends[candidates[i]]->name,
			dtc_backends[candidates[i]]->estimate(question) / 1e3,
			times[i][ROUNDS / 2]);
	fputc('\n', bench->log);
}

/* All candidates in turn, the first round not counted. False if one is refused. */
static bool time_candidates(const struct bench *bench, struct outcome *outcome,
			    struct dtconv_type *type)
{
	const struct dtc_question question = question_of(outcome, type);
	double times[CANDIDATES][ROUNDS];
	int candidates[CANDIDATES], chosen = dtc_plan_choose_index(&question);
	size_t count = find_candidates(&question, chosen, candidates);

	for (int round = -1; round < ROUNDS; round++)
		for (size_t i = 0; i < count; i++) {
			double us = time_move(bench, outcome, type,
					      dtc_backends[candidates[i]]->name);

			if (us < 0)
				return false;
			if (round >= 0)
				times[i][round] = us;
		}
	outcome->best_us = 1e300;
	for (size_t i = 0; i < count; i++) {
		double us = times_median(times[i], ROUNDS);

		if (us < outcome->best_us) {
			outcome->best_us = us;
			outcome->best = dtc_backends[candidates[i]]->name;
		}
		if (candidates[i] == chosen) {
			outcome->chosen_us = us;
			outcome->chosen = dtc_backends[chosen]->name;
		}
	}
	outcome->regret = outcome->chosen_us / outcome->best_us;
	log_case(bench, outcome, &question, candidates, count, times);
	return true;
}

/* ---- cases ----------------------------------------------------------------------------- */

/* At least one side is the device's; the others the planner has little to choose for. */
static void choose_kinds(struct bench *bench, struct outcome *outcome)
{
	do {
		outcome->user = choose(&bench->choices, KINDS);
		outcome->packed = choose(&bench->choices, KINDS);
	} while (outcome->user != KINDS - 1 && outcome->packed != KINDS - 1);
	outcome->pack = chance(&bench->choices, 2);
}

/* A random case; false if it does not fit. */
static bool run_case(struct bench *bench, struct outcome *outcome)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type;
	bool done = false;

	choose_kinds(bench, outcome);
	write_layout(bench, spread(&bench->choices, 6, 22), outcome->text,
		     sizeof(outcome->text));
	if (dtconv_type_parse(bench->context, outcome->text, strlen(outcome->text),
			      &type))
		return false;
	if (!dtconv_type_commit(type) && !dtconv_type_query(type, &attr) &&
	    attr.size <= MOST_BYTES && (size_t)attr.true_extent <= SPAN_BYTES) {
		outcome->bytes = attr.size;
		done = time_candidates(bench, outcome, type);
	}
	dtconv_type_unref(type);
	return done;
}

static int compare_outcomes(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return (x->regret < y->regret) - (x->regret > y->regret);
}

static void print_worst(const struct outcome *outcome)
{
	printf("%6.2f  %s %zu bytes, %s with %s: %s %.1f us, %s %.1f us: %s\n",
	       outcome->regret, outcome->pack ? "pack" : "unpack", outcome->bytes,
	       kind_names[outcome->user], kind_names[outcome->packed], outcome->chosen,
	       outcome->chosen_us, outcome->best, outcome->best_us, outcome->text);
}

/* Whether both aims are reached. */
static bool report(struct outcome *outcomes, size_t count)
{
	double sum = 0, mean, p99;

	qsort(outcomes, count, sizeof(outcomes[0]), compare_outcomes);
	for (size_t i = 0; i < count; i++)
		sum += outcomes[i].regret;
	for (size_t i = 0; i < WORST && i < count; i++)
		print_worst(&outcomes[i]);
	mean = count ? sum / (double)count : 0;
	p99 = count ? outcomes[count / 100].regret : 0;
	printf("regret of %zu cases: mean %.3f, p99 %.2f, worst %.2f\n", count, mean, p99,
	       count ? outcomes[0].regret : 0);
	if (mean > MEAN_AIM || p99 > P99_AIM)
		printf("missed: the aims are %.2f and %.2f\n", MEAN_AIM, P99_AIM);
	return count && mean <= MEAN_AIM && p99 <= P99_AIM;
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : CASES, count = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct outcome *outcomes = calloc(most + 1, sizeof(*outcomes));
	struct bench bench = { .log = argc > 3 ? fopen(argv[3], "w") : NULL };

	choices_from_seed(&bench.choices, seed);
	gpu_find();
	gpu_open();
	if (!outcomes || (argc > 3 && !bench.log) ||
	    dtconv_context_create(NULL, &bench.context)) {
		free(outcomes);
		return 2;
	}
	for (size_t i = 0; i < KINDS; i++) {
		arena_open(&bench.user[i], arena_kinds[i], SPAN_BYTES);
		arena_open(&bench.packed[i], arena_kinds[i], MOST_BYTES);
	}
	double end = times_now_us() + SECONDS * 1e6;
	for (size_t tries = 0; tries < 2 * most && count < most && times_now_us() < end;
	     tries++)
		count += run_case(&bench, &outcomes[count]);
	bool reached = report(outcomes, count);
	if (bench.log)
		fclose(bench.log);
	for (size_t i = 0; i < KINDS; i++) {
		arena_close(&bench.user[i]);
		arena_close(&bench.packed[i]);
	}
	dtconv_context_destroy(bench.context);
	free(outcomes);
	return reached ? 0 : 1;
}
