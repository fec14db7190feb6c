/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table for people. All ratios are speeds of dtconv over those of another engine: above 1,
 * dtconv is faster.
 */
#include "config.h"

#include "bench/harness/table.h"

#include <string.h>

#include "bench/harness/columns.h"
#include "bench/harness/lines.h"
#include "bench/harness/selftest.h"

bool engine_is_lines(const char *name)
{
	return !strncmp(name, ENGINE_LINES, strlen(ENGINE_LINES));
}

bool engine_is_own(const char *name)
{
	return !strncmp(name, "dtconv", 6) || !strcmp(name, "memcpy") ||
	       !strcmp(name, "hand") || engine_is_lines(name);
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

	if (!strcmp(r->layout, SELFTEST_LAYOUT))
		return false;
	for (size_t i = 0; i < index; i++)
		if (rs->list[i].bytes == r->bytes &&
		    !strcmp(rs->list[i].layout, r->layout))
			return false;
	return true;
}

static const struct result *faster(const struct result *best, const struct result *r)
{
	return result_ok(r) && (!best || r->ns < best->ns) ? r : best;
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
		else if (engine_is_lines(r->engine))
			row.lines = faster(row.lines, r);
		else if (!engine_is_own(r->engine))
			row.peer = faster(row.peer, r);
	}
	return row;
}

/* ---- the rows ------------------------------------------------------------------------ */

enum group {
	GROUP_BYTES,
	GROUP_SPEED,
	GROUP_MEMCPY,
	GROUP_HAND,
	GROUP_LINES,
	GROUP_PACK,
	GROUP_PACK_NAME,
	GROUP_UNPACK,
	GROUP_UNPACK_NAME,
	GROUPS
};

#define RATIOS "    pack unpack"

/* The minimum of a line is a name and dtconv's own speed. */
static const struct column_group groups[GROUPS] = {
	[GROUP_BYTES] = { 3, 11, { "", "      bytes" }, "bytes" },
	[GROUP_SPEED] = { 0, 16, { "     dtconv GB/s", "    pack  unpack" }, NULL },
	[GROUP_MEMCPY] = { 4, 15, { "       x memcpy", RATIOS }, "x memcpy" },
	[GROUP_HAND] = { 1, 15, { "    x hand loop", RATIOS }, "x hand loop" },
	[GROUP_LINES] = { 6, 15, { "    x its bound", RATIOS }, "x its bound" },
	[GROUP_PACK] = { 2, 8, { "    x best peer", "    pack" }, "x best peer" },
	[GROUP_PACK_NAME] = { 5, 9, { "", "" }, "the peers' names" },
	[GROUP_UNPACK] = { 2, 7, { "", " unpack" }, NULL },
	[GROUP_UNPACK_NAME] = { 5, 9, { "", "" }, NULL },
};

static unsigned groups_of_engine(const char *name)
{
	if (!strcmp(name, "memcpy"))
		return 1u << GROUP_MEMCPY;
	if (!strcmp(name, "hand"))
		return 1u << GROUP_HAND;
	if (engine_is_lines(name))
		return 1u << GROUP_LINES;
	if (engine_is_own(name))
		return 0;
	return 1u << GROUP_PACK | 1u << GROUP_PACK_NAME | 1u << GROUP_UNPACK |
	       1u << GROUP_UNPACK_NAME;
}

/* The groups whose engines did not run. */
static unsigned find_empty(const struct results *rs)
{
	unsigned full = 1u << GROUP_BYTES | 1u << GROUP_SPEED;

	for (size_t i = 0; i < rs->count; i++)
		full |= groups_of_engine(rs->list[i].engine);
	return ~full;
}

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

static void print_ratios(FILE *file, double pack, double unpack)
{
	fputc(' ', file);
	print_ratio(file, pack);
	print_ratio(file, unpack);
}

static void print_peers(FILE *file, const struct columns *c, const struct row *pack,
			const struct row *unpack)
{
	fputc(' ', file);
	print_ratio(file, row_ratio(pack->dtconv, pack->peer));
	if (columns_show(c, GROUP_PACK_NAME))
		fprintf(file, " %-8.8s", pack->peer ? pack->peer->engine : "-");
	print_ratio(file, row_ratio(unpack->dtconv, unpack->peer));
	/* no padding after the last column */
	if (columns_show(c, GROUP_UNPACK_NAME))
		fprintf(file, " %.8s", unpack->peer ? unpack->peer->engine : "-");
}

static void print_row(FILE *file, const struct columns *c, const struct results *rs,
		      const struct result *any)
{
	struct row pack = row_collect(rs, any, "pack");
	struct row unpack = row_collect(rs, any, "unpack");

	columns_print_name(file, c, any->layout, "");
	if (columns_show(c, GROUP_BYTES))
		fprintf(file, " %10zu", any->bytes);
	if (columns_show(c, GROUP_SPEED)) {
		print_speed(file, pack.dtconv);
		print_speed(file, unpack.dtconv);
	}
	if (columns_show(c, GROUP_MEMCPY))
		print_ratios(file, row_ratio(pack.dtconv, pack.memcpy_),
			     row_ratio(unpack.dtconv, unpack.memcpy_));
	if (columns_show(c, GROUP_HAND))
		print_ratios(file, row_ratio(pack.dtconv, pack.hand),
			     row_ratio(unpack.dtconv, unpack.hand));
	if (columns_show(c, GROUP_LINES))
		print_ratios(file, row_ratio(pack.dtconv, pack.lines),
			     row_ratio(unpack.dtconv, unpack.lines));
	if (columns_show(c, GROUP_PACK))
		print_peers(file, c, &pack, &unpack);
	fputc('\n', file);
}

void table_print(FILE *file, const struct results *rs, size_t limit)
{
	unsigned empty = find_empty(rs);
	/* without --bound there is no such column */
	struct columns c = columns_choose(groups, GROUPS, limit, empty,
					  empty & 1u << GROUP_LINES, rs);

	columns_print_head(file, &c, "", "layout");
	for (size_t i = 0; i < rs->count; i++)
		if (row_first(rs, i))
			print_row(file, &c, rs, &rs->list[i]);
	columns_print_text(
		file, "(x: dtconv's speed over the other's, above 1 dtconv is faster)",
		limit);
	columns_print_dropped(file, &c);
	fputc('\n', file);
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

/* The columns of a table of calls: as wide as names are, or as a line has room for. */
struct calls {
	const char *names[MOST_COLUMNS];
	size_t count;
	int width;
};

#define CALLS_WIDTH  16
#define CALLS_NARROW 7
#define CALLS_LABEL  32 /* layout, bytes, operation */

static struct calls choose_calls(const struct results *rs, size_t limit)
{
	struct calls c = { .width = CALLS_WIDTH };
	size_t room = limit > CALLS_LABEL ? limit - CALLS_LABEL : 0;

	c.count = columns_of(rs, c.names);
	while (limit && c.width > CALLS_NARROW && c.count * (size_t)(c.width + 1) > room)
		c.width--;
	if (limit && c.count * (CALLS_NARROW + 1) > room)
		c.count = room / (CALLS_NARROW + 1);
	return c;
}

static void print_calls(FILE *file, const struct results *rs, const struct result *any,
			const char *op, const struct calls *c)
{
	fprintf(file, "%-16s %8zu %-6s", any->layout, any->bytes, op);
	for (size_t k = 0; k < c->count; k++) {
		const struct result *r =
			results_find(rs, any->layout, any->bytes, op, c->names[k]);

		if (result_ok(r))
			fprintf(file, " %*.1f", c->width, r->ns);
		else
			fprintf(file, " %*s", c->width, r ? "failed" : "-");
	}
	fputc('\n', file);
}

void table_calls_print(FILE *file, const struct results *rs, size_t limit)
{
	struct calls c = choose_calls(rs, limit);

	fprintf(file, "%-16s %8s %-6s", "layout", "bytes", "op");
	for (size_t k = 0; k < c.count; k++)
		fprintf(file, " %*.*s", c.width, c.width, c.names[k]);
	fputc('\n', file);
	for (size_t i = 0; i < rs->count; i++) {
		if (!row_first(rs, i))
			continue;
		print_calls(file, rs, &rs->list[i], "pack", &c);
		print_calls(file, rs, &rs->list[i], "unpack", &c);
	}
	summary_checks(file, rs);
}
