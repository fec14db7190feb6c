/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results made by hand, and what is printed of them.
 */
#ifndef TEST_BENCH_SAMPLE_H
#define TEST_BENCH_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/result.h"
#include "support/t.h"

/* One more result, right, with a spread of 1 %. */
static inline struct result *sample_add(struct results *rs, const char *layout,
					size_t bytes, const char *op, const char *engine,
					double ns)
{
	struct result r = { .bytes = bytes,
			    .count = 1,
			    .ns = ns,
			    .ns_p10 = ns * 0.995,
			    .ns_p90 = ns * 1.005,
			    .rounds = 101,
			    .check = "ok" };

	snprintf(r.layout, sizeof(r.layout), "%s", layout);
	snprintf(r.op, sizeof(r.op), "%s", op);
	snprintf(r.engine, sizeof(r.engine), "%s", engine);
	ck_assert_int_eq(results_add(rs, &r), 0);
	return &rs->list[rs->count - 1];
}

/* Text that is being printed. */
struct sample_text {
	FILE *file;
	char *text;
	size_t length;
};

static inline struct sample_text *sample_open(struct sample_text *t)
{
	t->file = open_memstream(&t->text, &t->length);
	ck_assert_ptr_nonnull(t->file);
	return t;
}

/* What was printed; the caller frees it. */
static inline char *sample_close(struct sample_text *t)
{
	fclose(t->file);
	return t->text;
}

#endif
