/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables with the target of each row, and the bound where there is one.
 */
#include "config.h"

#include "bench/pipeline/report.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------- */

/* Nanoseconds of an engine in the row from @from on; 0: none that is right. */
static double ns_of(const struct results *rs, size_t from, const char *engine)
{
	for (size_t i = from; i < rs->count; i++)
		if (!strcmp(rs->list[i].engine, engine) && result_ok(&rs->list[i]))
			return rs->list[i].ns;
	return 0;
}

static double part(double a, double b)
{
	return a > 0 && b > 0 ? a / b : 0;
}

static void print(double value, int width, int decimals)
{
	if (value > 0)
		printf(" %*.*f", width, decimals, value);
	else
		printf(" %*s", width, "-");
}

static void print_name(const struct results *rs, size_t from)
{
	printf("%-11s %10zu %8zu%c", rs->list[from].layout, rs->list[from].bytes,
	       rs->list[from].fragment, rs->list[from].planned ? '*' : ' ');
}

/* ---- messages through the host ----------------------------------------------------------- */

static double rate(const struct results *rs, size_t from, const char *engine)
{
	return part((double)rs->list[from].bytes, ns_of(rs, from, engine));
}

static void print_host(const struct results *rs, size_t from)
{
	const double flow = ns_of(rs, from, "flow");

	print_name(rs, from);
	print(rate(rs, from, "flow"), 8, 2);
	print(rate(rs, from, "copies"), 8, 2);
	print(rate(rs, from, "memcpy"), 8, 2);
	print(part(ns_of(rs, from, "copies"), flow), 8, 2);
	print(part(ns_of(rs, from, "memcpy"), flow), 8, 2);
	putchar('\n');
}

static void print_small(const struct results *rs, size_t from)
{
	const double flow = ns_of(rs, from, "flow"), copies = ns_of(rs, from, "copies");

	print_name(rs, from);
	print(flow, 8, 0);
	print(copies, 8, 0);
	if (flow > 0 && copies > 0)
		printf(" %8.0f\n", flow - copies);
	else
		printf(" %8s\n", "-");
}

/* ---- a device ---------------------------------------------------------------------------- */

/* The target of the flow relative to its slowest stage. */
static double aim_of(const struct result *r)
{
	if (!r->planned)
		return 0;
	return r->bytes == (size_t)64 << 20   ? 0.95
	       : r->bytes == (size_t)16 << 20 ? 0.9
	       : r->bytes == (size_t)1 << 20  ? 0.55
					      : 0;
}

/*
 * The first fragment is packed and the last one unpacked while nothing else is copied; the others overlap, at the pace
 * of the slowest stage.
 */
static double bound_of(const struct results *rs, size_t from)
{
	const double stages = ns_of(rs, from, "stages");
	const double first = ns_of(rs, from, "stages-first");
	const double pack = ns_of(rs, from, "pack-first");
	const double unpack = ns_of(rs, from, "unpack-first");

	if (stages <= 0 || first <= 0 || pack <= 0 || unpack <= 0)
		return 0;
	return part(stages, pack + unpack + (stages > first ? stages - first : 0));
}

static void print_device(const struct results *rs, size_t from)
{
	const double flow = ns_of(rs, from, "flow"), stages = ns_of(rs, from, "stages");
	const double pack = ns_of(rs, from, "pack"), unpack = ns_of(rs, from, "unpack");
	const double turns = pack > 0 && unpack > 0 ? pack + unpack : 0;

	print_name(rs, from);
	print(rate(rs, from, "flow"), 8, 2);
	print(rate(rs, from, "stages"), 8, 2);
	print(part(stages, flow), 8, 2);
	print(bound_of(rs, from), 6, 2);
	print(aim_of(&rs->list[from]), 5, 2);
	print(part(turns, flow), 8, 2);
	print(part(turns, stages), 6, 2);
	putchar('\n');
}

static void print_duplex(const struct results *rs, size_t from)
{
	const double turns = ns_of(rs, from, "turns"), duplex = ns_of(rs, from, "duplex");

	print_name(rs, from);
	print(turns / 1e3, 10, 1);
	print(duplex / 1e3, 10, 1);
	print(part(turns, duplex), 7, 2);
	putchar('\n');
}

static void print_lists(const struct results *rs, size_t from)
{
	const double alone = ns_of(rs, from, "alone"), beside = ns_of(rs, from, "beside");

	print_name(rs, from);
	print(ns_of(rs, from, "flow") / 1e3, 10, 1);
	print(alone / 1e3, 10, 1);
	print(beside / 1e3, 10, 1);
	print(part(beside, alone), 7, 2);
	putchar('\n');
}

/* ---- tables ------------------------------------------------------------------------------ */

static const struct table {
	const char *op;
	void (*print)(const struct results *results, size_t from);
	const char *columns, *below;
} tables[][2] = {
	[CONTEST_MESSAGE] = { { "message", print_host,
				"    flow   copies   memcpy x copies x memcpy",
				"(GB/s of the message; copies: the same packs and unpacks called directly; "
				"memcpy: into each fragment\n"
				" and out of it; target P4, contig in fragments of 65536: 0.9 x memcpy)" },
			      { "message", print_device,
				"    flow   stages x stages  bound   aim speed-up  limit",
				"(GB/s of the message; stages: a pack and an unpack of all of it at once, so that "
				"both directions of the bus are\n"
				" busy; bound: the first fragment is packed and the last one unpacked alone; "
				"speed-up: over pack, then unpack; P1, P2)" } },
	[CONTEST_SMALL] = { { "message", print_small, "    flow   copies     over",
			      "(ns; over: what the flow adds to the pack and the unpack; target P4: 250, "
			      "and no allocation)" },
			    { NULL, NULL, NULL, NULL } },
	[CONTEST_DUPLEX] = { { NULL, NULL, NULL, NULL },
			     { "duplex", print_duplex, "   in turn    at once   ratio",
			       "(us; a send of device memory and a receive into it; target P3 from 16 MiB on: "
			       "1.6)" } },
	[CONTEST_LISTS] = { { NULL, NULL, NULL, NULL },
			    { "list", print_lists,
			      "     first      alone     beside   ratio",
			      "(us; first: from making the type until the first fragment is emitted, target P5: "
			      "150; a pack of 64 MiB alone\n"
			      " and beside such a message, target P5: 1.1)" } },
};

static const struct table *table_of(const struct pipeline_row *row)
{
	return &tables[row->kind][row->on_device];
}

const char *report_op(enum contest_kind kind)
{
	return tables[kind][0].op ? tables[kind][0].op : tables[kind][1].op;
}

void report_end(const struct pipeline_row *row)
{
	if (row)
		puts(table_of(row)->below);
}

void report_row(const struct pipeline_row *row, const struct pipeline_row *before,
		const struct results *rs, size_t from)
{
	const struct table *table = table_of(row);

	if (from == rs->count)
		return;
	if (!before || table_of(before) != table) {
		report_end(before);
		printf("\n%-11s %10s %8s  %s\n",
		       row->kind == CONTEST_SMALL ? "one fragment"
		       : row->on_device           ? "device"
						  : "host",
		       "bytes", "fragment", table->columns);
	}
	table->print(rs, from);
}
