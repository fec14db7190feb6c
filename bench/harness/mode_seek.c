/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time in which a convertor seeks to a random byte of the stream.
 */
#include "config.h"

#include "bench/harness/modes.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/rounds.h"
#include "bench/harness/session.h"

#define ROUNDS 51
#define SEEKS  1000 /* a round */

static const struct {
	const char *name;
	const char *expr;
	size_t count;
} seek_types[] = {
	{ "vector", "vector(1000000, 1, 2, double)", 1 },
	{ "depth3",
	  "hvector(16, 1, 1048576, hvector(64, 1, 16384, vector(64, 2, 8, double)))", 4 },
	{ "subarray4", "subarray([16,32,32,32], [8,16,16,16], [1,2,3,4], c, double)", 2 },
	{ "struct_of_vec",
	  "resized(struct([1,1,5], [0,240,424], [vector(8, 2, 4, double), "
	  "vector(16, 1, 3, float), int]), 0, 448)",
	  10000 },
	{ "indexed_of_vec",
	  "indexed([3,1,2,5,1,4,1,1], [0,9,13,21,40,47,60,70], "
	  "resized(vector(9, 1, 3, double), 0, 216))",
	  1000 },
	{ "hindexed_1_64", NULL, 1 },
};

static const struct bench_layout *hindexed_layout(void)
{
	const struct bench_layout *l = bench_layouts_classic;

	while (strcmp(l->name, "hindexed_1_64"))
		l++;
	return l;
}

/* Seek alone, or seek and pack 8 bytes there, because a seek may defer work. */
static int seeks(struct dtconv_convertor *convertor, const size_t *positions, bool pack,
		 double *ns)
{
	double start = bench_clock();
	unsigned char out[8];
	size_t moved;
	int status = 0;

	for (size_t i = 0; i < SEEKS && !status; i++) {
		status = dtconv_convertor_seek(convertor, positions[i]);
		if (pack && !status)
			status = dtconv_convertor_pack(convertor, out, sizeof(out),
						       &moved);
	}
	*ns = (bench_clock() - start) / SEEKS;
	return status;
}

static void record(struct session *s, const struct bench_case *c, const char *op,
		   double *values, size_t count, int status)
{
	struct result r = { .bytes = c->bytes,
			    .count = c->count,
			    .expr = session_expr(c->type),
			    .engine = "dtconv" };
	struct timing timing = { 0 };

	timing_sum_up(&timing, values, count);
	memcpy(r.layout, c->name, sizeof(r.layout));
	snprintf(r.op, sizeof(r.op), "%s", op);
	snprintf(r.check, sizeof(r.check), "%s", status ? dtconv_strerror(status) : "ok");
	r.ns = timing.ns;
	r.ns_p10 = timing.ns_p10;
	r.ns_p90 = timing.ns_p90;
	r.rounds = count;
	session_record(s, &r);
	if (!strcmp(op, "seek"))
		printf("%-18s %12zu %9.0f", c->name, c->bytes, timing.ns);
	else
		printf(" %9.0f%s%s\n", timing.ns, status ? "  FAILED: " : "",
		       status ? dtconv_strerror(status) : "");
}

static void do_case(struct session *s, const struct bench_case *c)
{
	static const char *const ops[] = { "seek", "seek8" };
	struct dtconv_convertor *convertor = NULL;
	uint64_t state = s->options->seed;
	size_t *positions = calloc(SEEKS, sizeof(*positions));
	double values[ROUNDS];
	int status;

	arena_place(&s->arena, c);
	status = positions
			 ? dtconv_convertor_create_pack(c->type, c->count,
							arena_user(&s->arena), &convertor)
			 : DTCONV_ERR_NOMEM;
	for (size_t k = 0; k < 2; k++) {
		size_t count = 0;

		while (count < ROUNDS && !status) {
			for (size_t i = 0; i < SEEKS; i++)
				positions[i] = bench_random_below(&state, c->bytes - 8);
			status = seeks(convertor, positions, k, &values[count]);
			count += !status;
		}
		record(s, c, ops[k], values, count, status);
	}
	dtconv_convertor_destroy(convertor);
	free(positions);
}

void mode_seek(struct session *s)
{
	printf("\n%-18s %12s %9s %9s\n", "type", "packed", "seek ns", "+8 B ns");
	for (size_t i = 0; i < sizeof(seek_types) / sizeof(*seek_types); i++) {
		struct row_key key = { .expr = seek_types[i].expr,
				       .expr_count = seek_types[i].count,
				       .layout = hindexed_layout(),
				       .size = BENCH_SIZE_64M };
		struct bench_case c;
		char why[WHY_ROOM];

		snprintf(key.name, sizeof(key.name), "seek_%s", seek_types[i].name);
		if (session_make_case(s, &key, &c, why, sizeof(why)))
			session_record_failure(s, &key, why);
		else
			do_case(s, &c);
		bench_case_release(&c);
	}
	printf("(medians of %d rounds of %d seeks to random bytes; +8 B: seek and "
	       "pack 8 bytes)\n",
	       ROUNDS, SEEKS);
}
