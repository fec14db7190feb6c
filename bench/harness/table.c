/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table for people. All ratios are of speeds, dtconv's over the other's: above 1, dtconv
 * is the faster.
 */
#include "config.h"

#include "bench/harness/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The self-test's rows are told in its own line. */
#define SELF_TEST "selftest"

bool engine_is_own(const char *name)
{
	return !strncmp(name, "dtconv", 6) || !strcmp(name, "memcpy") ||
	       !strcmp(name, "hand");
}

double row_ratio(const struct result *dtconv, const struct result *other)
{
	if (!result_ok(dtconv) || !result_ok(other) || dtconv->ns <= 0)
		return 0;
	return other->ns / dtconv->ns;
}

bool row_first(const struct results *rs, size_t index)
{
	const struct result *r = &rs->list[index];

	if (!strcmp(r->layout, SELF_TEST))
		return false;
	for (size_t i = 0; i < index; i++)
		if (rs->list[i].bytes == r->bytes &&
		    !strcmp(rs->list[i].layout, r->layout))
			return false;
	return true;
}

struct row row_collect(const struct results *rs, const struct result *any, const char *op)
{
	struct row row = { 0 };

	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (r->bytes != any->bytes || strcmp(r->op, op) ||
		    strcmp(r->layout, any->layout))
			continue;
		if (!strcmp(r->engine, "dtconv"))
			row.dtconv = r;
		else if (!strcmp(r->engine, "memcpy"))
			row.memcpy_ = r;
		else if (!strcmp(r->engine, "hand"))
			row.hand = r;
		else if (!engine_is_own(r->engine) && result_ok(r) &&
			 (!row.peer || r->ns < row.peer->ns))
			row.peer = r;
	}
	return row;
}

/* ---- the rows ------------------------------------------------------------------------ */

static void print_speed(FILE *file, const struct result *r)
{
	if (result_ok(r) && r->ns > 0)
		fprintf(file, " %7.2f", (double)r->bytes / r->ns);
	else
		fprintf(file, " %7s", r ? "failed" : "-");
}

static void print_ratio(FILE *file, double ratio)
{
	if (ratio > 0)
		fprintf(file, " %6.2f", ratio);
	else
		fprintf(file, " %6s", "-");
}

static void print_peer(FILE *file, const struct row *row)
{
	print_ratio(file, row_ratio(row->dtconv, row->peer));
	fprintf(file, " %-8.8s", row->peer ? row->peer->engine : "-");
}

/* The last column: nothing follows, so nothing is filled up. */
static void print_last_peer(FILE *file, const struct row *row)
{
	print_ratio(file, row_ratio(row->dtconv, row->peer));
	fprintf(file, " %.8s\n", row->peer ? row->peer->engine : "-");
}

static void print_row(FILE *file, const struct results *rs, const struct result *any)
{
	struct row pack = row_collect(rs, any, "pack");
	struct row unpack = row_collect(rs, any, "unpack");

	fprintf(file, "%-16s %10zu", any->layout, any->bytes);
	print_speed(file, pack.dtconv);
	print_speed(file, unpack.dtconv);
	fputc(' ', file);
	print_ratio(file, row_ratio(pack.dtconv, pack.memcpy_));
	print_ratio(file, row_ratio(unpack.dtconv, unpack.memcpy_));
	fputc(' ', file);
	print_ratio(file, row_ratio(pack.dtconv, pack.hand));
	print_ratio(file, row_ratio(unpack.dtconv, unpack.hand));
	fputc(' ', file);
	print_peer(file, &pack);
	print_last_peer(file, &unpack);
}

void table_print(FILE *file, const struct results *rs)
{
	fputs("                                dtconv GB/s       x memcpy    x hand loop"
	      "     x best peer\n"
	      "layout                bytes    pack  unpack    pack unpack    pack unpack"
	      "    pack            unpack\n",
	      file);
	for (size_t i = 0; i < rs->count; i++)
		if (row_first(rs, i))
			print_row(file, rs, &rs->list[i]);
	fputs("(x: dtconv's speed over the other's, above 1 dtconv is faster)\n\n", file);
}

/* ---- the summary --------------------------------------------------------------------- */

enum rival { RIVAL_MEMCPY, RIVAL_HAND, RIVAL_PEER };

static double rival_ratio(const struct row *row, enum rival rival)
{
	switch (rival) {
	case RIVAL_MEMCPY:
		return row_ratio(row->dtconv, row->memcpy_);
	case RIVAL_HAND:
		return row_ratio(row->dtconv, row->hand);
	case RIVAL_PEER:
		return row_ratio(row->dtconv, row->peer);
	}
	return 0;
}

/* Geometric mean over the rows that have both engines. */
static double mean_ratio(const struct results *rs, enum rival rival, const char *op,
			 size_t *rows)
{
	double logs = 0;

	*rows = 0;
	for (size_t i = 0; i < rs->count; i++) {
		struct row row;
		double ratio;

		if (!row_first(rs, i))
			continue;
		row = row_collect(rs, &rs->list[i], op);
		ratio = rival_ratio(&row, rival);
		if (ratio > 0) {
			logs += log(ratio);
			(*rows)++;
		}
	}
	return *rows ? exp(logs / (double)*rows) : 0;
}

static void print_mean(FILE *file, const struct results *rs, enum rival rival,
		       const char *name)
{
	size_t packs, unpacks;
	double pack = mean_ratio(rs, rival, "pack", &packs);
	double unpack = mean_ratio(rs, rival, "unpack", &unpacks);

	if (packs + unpacks)
		fprintf(file, " %s %.2f / %.2f (%zu)", name, pack, unpack,
			packs + unpacks);
}

struct worst {
	const struct result *result;
	const struct result *peer;
	double ratio;
};

static int by_ratio(const void *a, const void *b)
{
	double x = ((const struct worst *)a)->ratio;
	double y = ((const struct worst *)b)->ratio;

	return (x > y) - (x < y);
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

static void print_worst(FILE *file, const struct results *rs)
{
	struct worst *all = calloc(2 * rs->count + 1, sizeof(*all));
	size_t count = all ? collect_ratios(rs, all) : 0;

	if (count) {
		qsort(all, count, sizeof(*all), by_ratio);
		fputs("worst rows against the best peer:", file);
	}
	for (size_t i = 0; i < count && i < 5; i++)
		fprintf(file, "%s %s %zu B %s %.2f (%s)", i ? "," : "",
			all[i].result->layout, all[i].result->bytes, all[i].result->op,
			all[i].ratio, all[i].peer->engine);
	if (count)
		fputc('\n', file);
	free(all);
}

size_t table_failures(const struct results *rs)
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
		size_t k = strcmp(rs->list[i].layout, SELF_TEST) ? 0 : i + 1;

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

void table_verdict(FILE *file, const struct results *rs)
{
	size_t failures = table_failures(rs);

	print_failures(file, rs);
	if (failures)
		fprintf(file, "%zu of %zu results FAILED\n", failures, rs->count);
	else
		fprintf(file, "all %zu rows verified\n", count_rows(rs));
}

void table_summary(FILE *file, const struct results *rs)
{
	print_worst(file, rs);
	fputs("dtconv's speed, pack / unpack, geometric mean (rows):", file);
	print_mean(file, rs, RIVAL_MEMCPY, "x memcpy");
	print_mean(file, rs, RIVAL_HAND, " x hand loop");
	print_mean(file, rs, RIVAL_PEER, " x best peer");
	fputc('\n', file);
	table_verdict(file, rs);
}

/* ---- ns a call ----------------------------------------------------------------------- */

#define MOST_COLUMNS 16

/* Engines in the order in which they first occur. */
static size_t columns_of(const struct results *rs, const char **names)
{
	size_t count = 0;

	for (size_t i = 0; i < rs->count; i++) {
		size_t k = 0;

		while (k < count && strcmp(names[k], rs->list[i].engine))
			k++;
		if (k == count && count < MOST_COLUMNS)
			names[count++] = rs->list[i].engine;
	}
	return count;
}

static void print_calls(FILE *file, const struct results *rs, const struct result *any,
			const char *op, const char *const *names, size_t count)
{
	fprintf(file, "%-16s %8zu %-6s", any->layout, any->bytes, op);
	for (size_t k = 0; k < count; k++) {
		const struct result *r =
			results_find(rs, any->layout, any->bytes, op, names[k]);

		if (result_ok(r))
			fprintf(file, " %16.1f", r->ns);
		else
			fprintf(file, " %16s", r ? "failed" : "-");
	}
	fputc('\n', file);
}

void table_calls_print(FILE *file, const struct results *rs)
{
	const char *names[MOST_COLUMNS];
	size_t count = columns_of(rs, names);

	fprintf(file, "%-16s %8s %-6s", "layout", "bytes", "op");
	for (size_t k = 0; k < count; k++)
		fprintf(file, " %16.16s", names[k]);
	fputc('\n', file);
	for (size_t i = 0; i < rs->count; i++) {
		if (!row_first(rs, i))
			continue;
		print_calls(file, rs, &rs->list[i], "pack", names, count);
		print_calls(file, rs, &rs->list[i], "unpack", names, count);
	}
	table_verdict(file, rs);
}
