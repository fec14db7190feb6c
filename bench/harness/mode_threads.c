/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gain by threads: the classic layouts moved by one thread, and by as many as requested.
 */
#include "config.h"

#include "bench/harness/modes.h"

#include <math.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/session.h"
#include "bench/harness/table.h"

#define ALONE    "dtconv"
#define TOGETHER "dtconv-threads"

/* Ratios of one size, or of all. */
struct means {
	double logs;
	size_t rows;
	size_t slower; /* by more than the spread of both */
};

static bool is_slower(const struct result *alone, const struct result *together)
{
	return together->ns > alone->ns && together->ns_p10 > alone->ns_p90;
}

static void print_row(const struct results *rs, const struct result *any, const char *op,
		      struct means *means)
{
	const struct result *alone = results_find(rs, any->layout, any->bytes, op, ALONE);
	const struct result *together =
		results_find(rs, any->layout, any->bytes, op, TOGETHER);
	double ratio = row_ratio(together, alone);
	bool slower;

	if (ratio <= 0)
		return;
	slower = is_slower(alone, together);
	printf("%-18s %10zu %-6s %9.2f %9.2f %9.2f%s\n", any->layout, any->bytes, op,
	       (double)any->bytes / alone->ns, (double)any->bytes / together->ns, ratio,
	       slower ? "  slower" : "");
	means->logs += log(ratio);
	means->rows++;
	means->slower += slower;
}

static void print_table(const struct session *s, unsigned size)
{
	static const char *const ops[] = { "pack", "unpack" };
	const struct results *rs = &s->results;
	size_t nominal = bench_size_bytes((enum bench_size)size);
	struct means means = { .rows = 0 };

	for (size_t i = 0; i < rs->count; i++) {
		const struct result *any = &rs->list[i];

		if (!row_first(rs, i) || any->bytes > nominal + nominal / 2 ||
		    any->bytes < nominal / 2)
			continue;
		for (size_t k = 0; k < 2; k++)
			print_row(rs, any, ops[k], &means);
	}
	if (means.rows)
		printf("about %zu bytes: geometric mean %.2f of %zu rows, %zu slower beyond "
		       "their spread\n\n",
		       nominal, exp(means.logs / (double)means.rows), means.rows,
		       means.slower);
}

static void add_engines(struct session *s)
{
	struct engine *e;

	if ((e = session_new_engine(s, ALONE)))
		engine_dtconv(e, ALONE);
	if ((e = session_new_engine(s, TOGETHER)))
		engine_threads(e, TOGETHER, s->threads_context);
}

void mode_threads(struct session *s)
{
	unsigned sizes = s->options->sizes;

	if (!sizes)
		sizes = BENCH_SIZE_256K | BENCH_SIZE_4M | BENCH_SIZE_64M;
	add_engines(s);
	if (session_add_table(s, bench_layouts_classic, sizes))
		return;
	session_do_rows(s);
	printf("\n%-18s %10s %-6s %9s %9s %9s\n", "layout", "bytes", "op", "1 thread",
	       "threads", "ratio");
	for (unsigned size = 1; size <= sizes; size <<= 1)
		if (sizes & size && bench_size_bytes((enum bench_size)size))
			print_table(s, size);
	printf("(GB/s; at most %zu threads; ratio: their speed over that of one)\n",
	       s->options->threads);
	summary_checks(stdout, &s->results);
}
