/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The special modes that only have other layouts or other engines: small messages, and a large
 * one in fragments.
 */
#include "config.h"

#include "bench/harness/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/session.h"
#include "bench/harness/table.h"

#define FRAGMENT     ((size_t)64 << 10)
#define WHOLE        "dtconv"
#define IN_FRAGMENTS "dtconv-frag"

static void add_engine(struct session *s, const char *name,
		       void (*set_up)(struct engine *, const char *))
{
	struct engine *e = session_new_engine(s, name);

	if (e)
		set_up(e, name);
}

/* ---- small --------------------------------------------------------------------------- */

void mode_small(struct session *s)
{
	add_engine(s, "dtconv-convertor", engine_convertor);
	if (session_add_table(s, bench_layouts_small, BENCH_SIZE_APP))
		return;
	/* their sizes name them */
	for (size_t i = 0; i < s->row_count; i++)
		snprintf(s->rows[i].name, sizeof(s->rows[i].name), "%s",
			 s->rows[i].layout->name);
	session_do_rows(s);
	session_print_engines(s);
	printf("\nns per call (dtconv: one-shot; dtconv-convertor: one convertor, rebound for "
	       "each call, with host memory as hint)\n");
	table_calls_print(stdout, &s->results, s->options->columns);
}

/* ---- fragments ----------------------------------------------------------------------- */

static void set_up_fragments(struct engine *e, const char *name)
{
	engine_fragments(e, name, FRAGMENT);
}

static const char frag_layouts[] = "vec8,vec64,vec4k,vec8_count,lower_tri,gather8_sorted,"
				   "struct_mixed,hindexed_1_64,struct_of_vec";

static double print_frag_row(const struct results *rs, const struct result *any,
			     const char *op)
{
	const struct result *whole = results_find(rs, any->layout, any->bytes, op, WHOLE);
	const struct result *cut =
		results_find(rs, any->layout, any->bytes, op, IN_FRAGMENTS);
	double ratio = row_ratio(cut, whole);

	if (ratio > 0)
		printf("%-16s %10zu %-6s %9.2f %9.2f %9.3f\n", any->layout, any->bytes,
		       op, (double)any->bytes / whole->ns, (double)any->bytes / cut->ns,
		       ratio);
	return ratio;
}

static void print_frag(const struct results *rs)
{
	static const char *const ops[] = { "pack", "unpack" };
	double logs = 0;
	size_t rows = 0;

	printf("\n%-16s %10s %-6s %9s %9s %9s\n", "layout", "bytes", "op", "whole", "cut",
	       "cut/whole");
	for (size_t i = 0; i < rs->count; i++) {
		for (size_t k = 0; k < 2 && row_first(rs, i); k++) {
			double ratio = print_frag_row(rs, &rs->list[i], ops[k]);

			logs += ratio > 0 ? log(ratio) : 0;
			rows += ratio > 0;
		}
	}
	if (rows)
		printf("(GB/s; in fragments of %zu bytes; geometric mean %.3f of %zu rows)\n",
		       FRAGMENT, exp(logs / (double)rows), rows);
}

void mode_frag(struct session *s)
{
	unsigned sizes = s->options->sizes ? s->options->sizes : BENCH_SIZE_64M;

	if (!s->options->layouts)
		s->layouts = frag_layouts;
	add_engine(s, WHOLE, engine_dtconv);
	add_engine(s, IN_FRAGMENTS, set_up_fragments);
	if (session_add_table(s, bench_layouts_applications, sizes) ||
	    session_add_table(s, bench_layouts_classic, sizes))
		return;
	session_do_rows(s);
	print_frag(&s->results);
	summary_checks(stdout, &s->results);
}
