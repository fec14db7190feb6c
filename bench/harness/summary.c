/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text below the table: the worst rows, geometric means, the checks, and the verdict.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/columns.h"
#include "bench/harness/selftest.h"
#include "bench/harness/table.h"

/* ---- means --------------------------------------------------------------------------- */

/* The fastest peer of each row stands for all of them. */
#define BEST_PEER ""
/* So does the fastest engine of those that only touch cache lines. */
#define BOUND "bound"

static double ratio_to(const struct results *rs, const struct result *any, const char *op,
		       const char *engine)
{
	struct row row = row_collect(rs, any, op);

	if (!*engine)
		return row_ratio(row.dtconv, row.peer);
	if (!strcmp(engine, BOUND))
		return row_ratio(row.dtconv, row.lines);
	return row_ratio(row.dtconv,
			 results_find(rs, any->layout, any->bytes, op, engine));
}

/* Geometric mean over the rows that have both engines. */
static double mean_ratio(const struct results *rs, const char *op, const char *engine,
			 size_t *rows)
{
	double logs = 0;

	*rows = 0;
	for (size_t i = 0; i < rs->count; i++) {
		double ratio;

		if (!row_first(rs, i))
			continue;
		ratio = ratio_to(rs, &rs->list[i], op, engine);
		if (ratio > 0) {
			logs += log(ratio);
			(*rows)++;
		}
	}
	return *rows ? exp(logs / (double)*rows) : 0;
}

static const char *print_mean(FILE *file, const struct results *rs, const char *engine,
			      const char *name, const char *separator)
{
	size_t packs, unpacks;
	double pack = mean_ratio(rs, "pack", engine, &packs);
	double unpack = mean_ratio(rs, "unpack", engine, &unpacks);

	if (!(packs + unpacks))
		return separator;
	fprintf(file, "%s%s %.2f / %.2f (%zu)", separator, name, pack, unpack,
		packs + unpacks);
	return ", ";
}

/* ---- the worst rows ------------------------------------------------------------------ */

#define WORST_SHOWN 5

struct worst {
	const struct result *result;
	const struct result *peer;
	double ratio;
};

/* qsort may be unstable, so rows of equal ratio keep the order of the table explicitly. */
static int by_ratio(const void *a, const void *b)
{
	const struct worst *x = a, *y = b;

	if (x->ratio != y->ratio)
		return x->ratio < y->ratio ? -1 : 1;
	return (x->result > y->result) - (x->result < y->result);
}

static size_t collect_ratios(const struct results *rs, struct worst *all)
{
	static const char *const ops[] = { "pack", "unpack" };
	size_t count = 0;

	for (size_t i = 0; i < rs->count; i++) {
		for (size_t k = 0; k < 2 && row_first(rs, i); k++) {
			struct row row = row_collect(rs, &rs->list[i], ops[k]);
			double ratio = row_ratio(row.dtconv, row.peer);

			if (ratio > 0)
				all[count++] =
					(struct worst){ row.dtconv, row.peer, ratio };
		}
	}
	return count;
}

/* A list of all rows would only repeat the table. */
static void print_worst(FILE *file, const struct results *rs, size_t limit)
{
	struct worst *all = calloc(2 * rs->count + 1, sizeof(*all));
	size_t count = all ? collect_ratios(rs, all) : 0;

	if (count > WORST_SHOWN) {
		qsort(all, count, sizeof(*all), by_ratio);
		columns_print_text(file, "worst rows against the best peer:", limit);
		for (size_t i = 0; i < WORST_SHOWN; i++) {
			char line[160];

			snprintf(line, sizeof(line), "  %s %zu B %s %.2f (%s)",
				 all[i].result->layout, all[i].result->bytes,
				 all[i].result->op, all[i].ratio, all[i].peer->engine);
			columns_print_text(file, line, limit);
		}
	}
	free(all);
}

void summary_print(FILE *file, const struct results *rs, size_t limit)
{
	const char *separator = " ";
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	print_worst(file, rs, limit);
	if (!out)
		return;
	fputs("dtconv's speed, pack / unpack, geometric mean (rows):", out);
	separator = print_mean(out, rs, "memcpy", "x memcpy", separator);
	separator = print_mean(out, rs, "hand", "x hand loop", separator);
	separator = print_mean(out, rs, BOUND, "x bound", separator);
	print_mean(out, rs, BEST_PEER, "x best peer", separator);
	if (!fclose(out))
		columns_print_text(file, text, limit);
	free(text);
}

/* ---- right or wrong ------------------------------------------------------------------ */

size_t summary_failures(const struct results *rs)
{
	size_t failures = 0;

	for (size_t i = 0; i < rs->count; i++)
		failures += !result_ok(&rs->list[i]);
	return failures;
}

/* Rows are layouts times sizes times operations. */
static size_t count_rows(const struct results *rs)
{
	size_t rows = 0;

	for (size_t i = 0; i < rs->count; i++) {
		size_t k = strcmp(rs->list[i].layout, SELFTEST_LAYOUT) ? 0 : i + 1;

		while (k < i && (rs->list[k].bytes != rs->list[i].bytes ||
				 strcmp(rs->list[k].op, rs->list[i].op) ||
				 strcmp(rs->list[k].layout, rs->list[i].layout)))
			k++;
		rows += k == i;
	}
	return rows;
}

static void print_failures(FILE *file, const struct results *rs)
{
	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (!result_ok(r))
			fprintf(file, "FAILED: %s %s %zu bytes, %s: %s\n", r->layout,
				r->op, r->bytes, r->engine, r->check);
	}
}

void summary_checks(FILE *file, const struct results *rs)
{
	size_t failures = summary_failures(rs);

	print_failures(file, rs);
	if (failures)
		fprintf(file, "%zu of %zu results FAILED\n", failures, rs->count);
	else
		fprintf(file, "all %zu rows verified\n", count_rows(rs));
}

/* ---- the verdict --------------------------------------------------------------------- */

#define MOST_RIVALS 16

struct rival {
	const char *engine;
	const char *title;
	double ratio;
	size_t rows;
};

/* Engines by their names in the results; titles are the versions that they report. */
static const char *title_of(const char *name, const struct engine *engines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(engines[i].name, name) && engines[i].version[0])
			return engines[i].version;
	return name;
}

/* Add an engine with its mean unless it is there, or has no row of the operation. */
static size_t add_rival(struct rival *rivals, size_t count, const struct results *rs,
			const char *op, const char *engine, const char *title)
{
	struct rival r = { .engine = engine, .title = title };

	for (size_t i = 0; i < count; i++)
		if (!strcmp(rivals[i].engine, engine))
			return count;
	r.ratio = count < MOST_RIVALS ? mean_ratio(rs, op, engine, &r.rows) : 0;
	if (r.ratio <= 0)
		return count;
	rivals[count] = r;
	return count + 1;
}

static size_t list_rivals(struct rival *rivals, const struct results *rs, const char *op,
			  const struct engine *engines, size_t engine_count)
{
	size_t count = add_rival(rivals, 0, rs, op, "hand", "a hand-written loop");

	for (size_t i = 0; i < rs->count; i++) {
		const char *name = rs->list[i].engine;

		if (!engine_is_own(name))
			count = add_rival(rivals, count, rs, op, name,
					  title_of(name, engines, engine_count));
	}
	if (!count)
		count = add_rival(rivals, 0, rs, op, "memcpy", "memcpy of the same size");
	return count;
}

static void format_rivals(FILE *out, const char *op, const struct rival *rivals,
			  size_t count)
{
	bool equal = true;

	for (size_t i = 1; i < count; i++)
		equal = equal && rivals[i].rows == rivals[0].rows;
	fprintf(out, "dtconv %ss ", op);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s%.2f x as fast as %s",
			!i              ? ""
			: i + 1 < count ? ", "
					: " and ",
			rivals[i].ratio, rivals[i].title);
		if (!equal)
			fprintf(out, " (%zu row%s)", rivals[i].rows,
				rivals[i].rows == 1 ? "" : "s");
	}
	if (!equal)
		fputs(", geometric means", out);
	else if (rivals[0].rows > 1)
		fprintf(out, " (geometric mean of %zu rows)", rivals[0].rows);
}

static void print_op(FILE *file, const char *op, const char *warning,
		     const struct rival *rivals, size_t count, size_t limit)
{
	size_t length;
	char *text;
	FILE *out = count ? open_memstream(&text, &length) : NULL;

	if (!out)
		return;
	fputs(warning, out);
	format_rivals(out, op, rivals, count);
	if (!fclose(out))
		columns_print_text(file, text, limit);
	free(text);
}

void summary_verdict(FILE *file, const struct results *rs, const struct engine *engines,
		     size_t engine_count, size_t limit)
{
	static const char *const ops[] = { "pack", "unpack" };
	struct selftest test = selftest_find(rs);
	char why[400], warning[440] = "";

	selftest_warning(&test, why, sizeof(why));
	if (why[0])
		snprintf(warning, sizeof(warning), "NOT PROVEN, as %s: ", why);
	for (size_t i = 0; i < 2; i++) {
		struct rival rivals[MOST_RIVALS];
		size_t count = list_rivals(rivals, rs, ops[i], engines, engine_count);

		print_op(file, ops[i], warning, rivals, count, limit);
		if (count && warning[0])
			strcpy(warning, "NOT PROVEN: ");
	}
}
