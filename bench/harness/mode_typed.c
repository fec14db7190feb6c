/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The speed of converting to and from another representation, of combining with the target, and
 * of checksums, interleaved with a memcpy of as many bytes.
 */
#include "config.h"

#include "bench/harness/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/rounds.h"
#include "bench/harness/session.h"

#define ROUNDS 101

static const struct typed {
	const char *name;
	const char *expr;
	size_t count;
	const char *representation;
	enum dtconv_op op;
	unsigned flags;
} rows[] = {
	{ "ext32_double", "double", 32768, "external32", DTCONV_OP_REPLACE, 0 },
	{ "ext32_vec_double", "vector(32768, 1, 2, double)", 1, "external32",
	  DTCONV_OP_REPLACE, 0 },
	{ "ext32_vec_int", "vector(8192, 8, 16, int)", 1, "external32", DTCONV_OP_REPLACE,
	  0 },
	{ "ext32_long", "long", 32768, "external32", DTCONV_OP_REPLACE, 0 },
	{ "ext32_longdouble", "long_double", 8192, "external32", DTCONV_OP_REPLACE, 0 },
	{ "ext32_struct", "struct([1,1], [0,8], [int,double])", 16384, "external32",
	  DTCONV_OP_REPLACE, 0 },
	{ "sum_double", "double", 32768, "native", DTCONV_OP_SUM, 0 },
	{ "sum_vec_double", "vector(32768, 1, 2, double)", 1, "native", DTCONV_OP_SUM,
	  0 },
	{ "sum_float16", "float16", 131072, "native", DTCONV_OP_SUM, 0 },
	{ "max_int", "int", 65536, "native", DTCONV_OP_MAX, 0 },
	{ "minloc", "double_int", 16384, "native", DTCONV_OP_MINLOC, 0 },
	{ "crc_double", "double", 32768, "native", DTCONV_OP_REPLACE,
	  DTCONV_CONVERTOR_CRC32C },
};

/* The interleaved engines: both directions, and the copy. */
enum turn { TURN_PACK, TURN_UNPACK, TURN_COPY, TURNS };

static const char *const turn_ops[TURNS] = { "pack", "unpack", "copy" };

struct bench_typed {
	struct dtconv_convertor *convertors[2];
	unsigned char *packed, *copy;
	size_t bytes;
};

static int prepare(struct bench_typed *typed, const struct typed *row, struct session *s,
		   const struct bench_case *c)
{
	struct dtconv_representation representation;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &representation,
						  .op = row->op,
						  .flags = row->flags };
	unsigned char *user = arena_user(&s->arena);
	int status = dtconv_representation_find(row->representation, &representation);

	memset(user, 0, c->bytes);
	if (!status)
		status = dtconv_packed_size(c->type, c->count, &representation,
					    &typed->bytes);
	if (!status)
		status = dtconv_convertor_create_pack(c->type, c->count, user,
						      &typed->convertors[TURN_PACK]);
	if (!status)
		status = dtconv_convertor_create_unpack(c->type, c->count, user,
							&typed->convertors[TURN_UNPACK]);
	for (int i = 0; i < 2 && !status; i++)
		status = dtconv_convertor_configure(typed->convertors[i], &params);
	if (status)
		return status;
	typed->packed = calloc(2, typed->bytes);
	typed->copy = typed->packed + typed->bytes;
	return typed->packed ? 0 : DTCONV_ERR_NOMEM;
}

static int take_turn(struct bench_typed *typed, enum turn turn, double *ns)
{
	double start = bench_clock();
	size_t moved = typed->bytes;
	int status = 0;

	if (turn != TURN_COPY)
		dtconv_convertor_seek(typed->convertors[turn], 0);
	if (turn == TURN_PACK)
		status = dtconv_convertor_pack(typed->convertors[turn], typed->packed,
					       typed->bytes, &moved);
	else if (turn == TURN_UNPACK)
		status = dtconv_convertor_unpack(typed->convertors[turn], typed->packed,
						 typed->bytes, &moved);
	else
		memcpy(typed->copy, typed->packed, typed->bytes);
	*ns = bench_clock() - start;
	return status ? status : moved == typed->bytes ? 0 : DTCONV_ERR_TRUNCATE;
}

static double record(struct session *s, const struct bench_case *c, size_t bytes,
		     enum turn turn, double *values, int status)
{
	struct result r = { .bytes = bytes,
			    .count = c->count,
			    .expr = session_expr(c->type),
			    .rounds = ROUNDS };
	struct timing timing = { 0 };

	timing_sum_up(&timing, values, ROUNDS);
	snprintf(r.engine, sizeof(r.engine), "%s",
		 turn == TURN_COPY ? "memcpy" : "dtconv");
	memcpy(r.layout, c->name, sizeof(r.layout));
	snprintf(r.op, sizeof(r.op), "%s", turn_ops[turn]);
	snprintf(r.check, sizeof(r.check), "%s", status ? dtconv_strerror(status) : "ok");
	r.ns = timing.ns;
	r.ns_p10 = timing.ns_p10;
	r.ns_p90 = timing.ns_p90;
	session_record(s, &r);
	return timing.ns;
}

static void do_case(struct session *s, const struct bench_case *c,
		    const struct typed *row)
{
	struct bench_typed typed = { .packed = NULL };
	double values[TURNS][ROUNDS] = { { 0 } }, ns[TURNS];
	int status;

	arena_place(&s->arena, c);
	status = prepare(&typed, row, s, c);
	for (size_t i = 0; i < ROUNDS && !status; i++)
		for (int turn = 0; turn < TURNS && !status; turn++)
			status = take_turn(&typed, (enum turn)turn, &values[turn][i]);
	for (int turn = 0; turn < TURNS; turn++)
		ns[turn] =
			record(s, c, typed.bytes, (enum turn)turn, values[turn], status);
	if (status)
		printf("%-18s FAILED: %s\n", c->name, dtconv_strerror(status));
	else
		printf("%-18s %12zu %9.2f %9.2f %9.2f\n", c->name, typed.bytes,
		       (double)typed.bytes / ns[TURN_PACK],
		       (double)typed.bytes / ns[TURN_UNPACK],
		       (double)typed.bytes / ns[TURN_COPY]);
	dtconv_convertor_destroy(typed.convertors[TURN_PACK]);
	dtconv_convertor_destroy(typed.convertors[TURN_UNPACK]);
	free(typed.packed);
}

void mode_typed(struct session *s)
{
	printf("\n%-18s %12s %9s %9s %9s\n", "stream", "packed", "pack", "unpack",
	       "memcpy");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct row_key key = { .expr = rows[i].expr,
				       .expr_count = rows[i].count,
				       .size = BENCH_SIZE_APP };
		struct bench_case c;
		char why[WHY_ROOM];

		snprintf(key.name, sizeof(key.name), "%s", rows[i].name);
		if (session_make_case(s, &key, &c, why, sizeof(why)))
			session_record_failure(s, &key, why);
		else
			do_case(s, &c, &rows[i]);
		bench_case_release(&c);
	}
	printf("(GB/s of the packed stream, medians of %d rounds; the operation works in unpack)\n",
	       ROUNDS);
}
