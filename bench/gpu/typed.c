/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The speed of converting and combining numbers on a device while moving them, beside the same
 * layout unconverted and the device's copy of as many bytes. Results are compared with those of
 * the host's engine.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/run.h"

static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };

/* A repeated instance. With @op, only unpacking is measured. */
static const struct stream {
	const char *name;
	const char *expr;
	const char *representation;
	enum dtconv_op op;
	double of_copy, of_untyped; /* target relative to that engine's speed; 0: none */
	unsigned flags;
} rows[] = {
#define DENSE_SWAP 0.6, 0
#define DENSE_SUM  0.5, 0
/* A copy moves each byte twice, an operation three times. */
#define SWAP        0, 0.8
#define SUM         0, 0.53
#define VEC8(type)  "resized(" type ",0,16)"
#define VEC64(type) "resized(contiguous(8," type "),0,128)"
#define RECORD      "struct([1,1,2],[0,8,16],[int,double,float])"
#define TWO_OF_48   "resized(struct([3,2],[0,20],[float,float]),0,48)"
	{ "swap_double", "double", "external32", DTCONV_OP_REPLACE, DENSE_SWAP, 0 },
	{ "swap_int", "int", "external32", DTCONV_OP_REPLACE, DENSE_SWAP, 0 },
	{ "swap_float16", "float16", "external32", DTCONV_OP_REPLACE, DENSE_SWAP, 0 },
	{ "swap_vec8", VEC8("double"), "s390x", DTCONV_OP_REPLACE, SWAP, 0 },
	{ "swap_vec64", VEC64("double"), "external32", DTCONV_OP_REPLACE, SWAP, 0 },
	{ "swap_20of48", TWO_OF_48, "external32", DTCONV_OP_REPLACE, SWAP, 0 },
	{ "swap_struct", RECORD, "s390x", DTCONV_OP_REPLACE, SWAP, 0 },
	{ "swap_8of17", "resized(double,0,17)", "external32", DTCONV_OP_REPLACE, SWAP,
	  0 },
	{ "sum_int32", "int32", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_int64", "int64", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_float", "float", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_double", "double", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_float16", "float16", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_bfloat16", "bfloat16", "native", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "prod_complex", "c_double_complex", "native", DTCONV_OP_PROD, DENSE_SUM, 0 },
	{ "prod_float", "float", "native", DTCONV_OP_PROD, DENSE_SUM, 0 },
	{ "max_int8", "int8", "native", DTCONV_OP_MAX, DENSE_SUM, 0 },
	{ "max_double", "double", "native", DTCONV_OP_MAX, DENSE_SUM, 0 },
	{ "band_int32", "int32", "native", DTCONV_OP_BAND, DENSE_SUM, 0 },
	{ "minloc_2int", "2int", "native", DTCONV_OP_MINLOC, DENSE_SUM, 0 },
	{ "minloc_double", "double_int", "native", DTCONV_OP_MINLOC, SUM, 0 },
	{ "sum_swap", "double", "external32", DTCONV_OP_SUM, DENSE_SUM, 0 },
	{ "sum_vec8", VEC8("double"), "native", DTCONV_OP_SUM, SUM, 0 },
	{ "sum_vec64", VEC64("double"), "native", DTCONV_OP_SUM, SUM, 0 },
	{ "sum_20of48", TWO_OF_48, "native", DTCONV_OP_SUM, SUM, 0 },
	{ "sum_struct", RECORD, "native", DTCONV_OP_SUM, SUM, 0 },
	{ "sum_8of17", "resized(double,0,17)", "native", DTCONV_OP_SUM, SUM, 0 },
	{ "crc_double", "double", "native", DTCONV_OP_REPLACE, 0, 0,
	  DTCONV_CONVERTOR_CRC32C },
	{ "crc_vec8", VEC8("double"), "native", DTCONV_OP_REPLACE, 0, 0,
	  DTCONV_CONVERTOR_CRC32C },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* ---- verification ---------------------------------------------------------------------- */

/* No layout has a stride that is a multiple of it. */
#define PATTERN_BYTES 1000003

/* Bytes that are moderate numbers in every format and byte order, never a NaN. */
static void fill(unsigned char *memory, size_t bytes)
{
	uint64_t state = 1;

	for (size_t i = 0; i < bytes && i < PATTERN_BYTES; i++) {
		if (i % 16 == 0)
			bench_random(&state);
		memory[i] = (unsigned char)(0x30 | (state >> i % 16 * 4 & 15));
	}
	for (size_t i = PATTERN_BYTES; i < bytes; i += PATTERN_BYTES)
		memcpy(memory + i, memory,
		       bytes - i < PATTERN_BYTES ? bytes - i : PATTERN_BYTES);
}

/* Host memory for verification: the arena's user bytes and packed bytes, twice. */
struct judgement {
	unsigned char *user, *packed;           /* the engine's input, then its output */
	unsigned char *host_user, *host_packed; /* the same of the host's engine */
	size_t user_bytes, packed_bytes, origin;
};

static bool judgement_open(struct judgement *j, const struct arena *a)
{
	*j = (struct judgement){ .user_bytes = a->region_bytes,
				 .packed_bytes = a->packed_bytes,
				 .origin = a->user - a->region };
	j->user = malloc(2 * (j->user_bytes + j->packed_bytes));
	if (!j->user)
		return false;
	j->packed = j->user + j->user_bytes;
	j->host_user = j->packed + j->packed_bytes;
	j->host_packed = j->host_user + j->user_bytes;
	fill(j->user, j->user_bytes + j->packed_bytes);
	memcpy(j->host_user, j->user, j->user_bytes + j->packed_bytes);
	return true;
}

static int move_on_host(const struct engine *e, const struct way *w, enum bench_op op,
			const struct judgement *j)
{
	struct dtconv_convertor_params params = *w->params;
	unsigned char *user = j->host_user + j->origin;

	params.user_memory = DTCONV_MEMORY_HOST;
	params.packed_memory = DTCONV_MEMORY_HOST;
	if (op == BENCH_PACK)
		return dtconv_pack_with(e->c->type, e->c->count, user, j->host_packed,
					j->packed_bytes, &params, NULL);
	return dtconv_unpack_with(e->c->type, e->c->count, user, j->host_packed,
				  j->packed_bytes, &params, NULL);
}

static bool move_on_device(struct engine *e, struct way *w, enum bench_op op,
			   const struct judgement *j)
{
	unsigned char *region = w->user - j->origin;

	return gpu_copy(w->gpu, region, j->user, j->user_bytes) &&
	       gpu_copy(w->gpu, w->packed, j->packed, j->packed_bytes) &&
	       !w->ops->once(e, w, op) &&
	       gpu_copy(w->gpu, j->user, region, j->user_bytes) &&
	       gpu_copy(w->gpu, j->packed, w->packed, j->packed_bytes);
}

/* The first move since the convertor was configured. */
static bool has_right_sum(const struct way *w, enum bench_op op,
			  const struct judgement *j)
{
	uint32_t crc;

	return !(w->params->flags & DTCONV_CONVERTOR_CRC32C) ||
	       (!dtconv_convertor_crc32c(w->convertors[op], &crc) &&
		crc == dtconv_crc32c(0, j->host_packed, j->packed_bytes));
}

static int compare(struct engine *e, const struct way *w, enum bench_op op,
		   const struct judgement *j)
{
	size_t bytes = j->user_bytes + j->packed_bytes, at = 0;

	if (!has_right_sum(w, op, j)) {
		engine_problem(e, "the checksum differs from the host's");
		return -1;
	}
	if (!memcmp(j->user, j->host_user, bytes))
		return 0;
	while (j->user[at] == j->host_user[at])
		at++;
	engine_problem(e, "byte %zu of %zu differs from the host's", at, bytes);
	return -1;
}

static int judge(struct engine *e, struct way *w, enum bench_op op)
{
	struct judgement j;
	int failed;

	if (!judgement_open(&j, e->arena)) {
		engine_problem(e, "cannot allocate a buffer to compare with the host");
		return -1;
	}
	failed = way_problem(e, e->context, move_on_host(e, w, op, &j));
	if (!failed && !move_on_device(e, w, op, &j)) {
		if (!e->problem[0])
			engine_problem(e, "%s", w->gpu->problem);
		failed = -1;
	}
	if (!failed)
		failed = compare(e, w, op, &j);
	free(j.user);
	return failed;
}

/* Unconverted bytes have been verified in the question of layouts. */
static int trust(struct engine *e, struct way *w, enum bench_op op)
{
	(void)e, (void)w, (void)op;
	return 0;
}

/* ---- the table ------------------------------------------------------------------------- */

static double ratio(const struct results *rs, const struct result *r, const char *other)
{
	double theirs = result_speed(find_result(rs, r, r->op, other));

	return theirs > 0 ? result_speed(find_result(rs, r, r->op, "dtconv")) / theirs
			  : 0;
}

static const struct stream *row_of(const struct result *r)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, r->layout))
			return &rows[i];
	return &rows[0];
}

static void print_typed(const struct results *rs, size_t from)
{
	printf("\n%-14s %10s %-6s %9s %8s %6s %10s %6s\n", "typed", "bytes", "op", "GB/s",
	       "x copy", "aim", "x untyped", "aim");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];
		const struct stream *row = row_of(r);

		if (strcmp(r->engine, "dtconv") != 0 || strcmp(r->clock, "device") != 0)
			continue;
		printf("%-14s %10zu %-6s", r->layout, r->bytes, r->op);
		print_number(result_speed(r), 9, 1);
		print_number(ratio(rs, r, "copy"), 8, 2);
		print_number(row->of_copy, 6, 2);
		print_number(ratio(rs, r, "untyped"), 10, 2);
		print_number(row->of_untyped, 6, 2);
		putchar('\n');
	}
	printf("(device clock; swap: other byte order; crc: with a checksum; the others are operations in unpack,\n"
	       " which move 1.5 x the bytes of a copy; untyped: the same layout without conversion)\n");
}

/* ---- measuring ------------------------------------------------------------------------- */

static size_t packed_bytes_of(struct session *s, const struct stream *row)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = NULL;

	if (!dtconv_type_parse(s->context, row->expr, strlen(row->expr), &type))
		dtconv_type_query(type, &attr);
	dtconv_type_unref(type);
	return attr.size ? attr.size : 1;
}

static void run_row(struct session *s, const struct stream *row, size_t bytes)
{
	struct row_key key = { .expr = row->expr };
	struct bench_case c;
	char why[WHY_ROOM];

	key.expr_count = bytes / packed_bytes_of(s, row);
	snprintf(key.name, sizeof(key.name), "%s", row->name);
	session_progress(s, row->name);
	if (session_make_case(s, &key, &c, why, sizeof(why)))
		session_record_failure(s, &key, why);
	else
		run_case(s, &c, 1u << RUN_DEVICE);
	bench_case_release(&c);
	if (s->rows_left)
		s->rows_left--;
}

static void add(struct session *s, way_maker make, const char *name,
		const struct dtconv_convertor_params *params,
		int (*judge_it)(struct engine *, struct way *, enum bench_op))
{
	struct engine *e = run_add(s, make, name, &on_device);

	if (!e || !e->state)
		return;
	way_of(e)->params = params;
	way_of(e)->judge = judge_it;
}

/* Run the engines of one row. Operations are measured for unpacking only. */
static void ask(struct session *s, const struct stream *row, size_t bytes)
{
	const struct bench_options *kept = s->options;
	struct bench_options options = *kept;
	struct dtconv_representation representation;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &representation,
							.op = row->op,
							.flags = row->flags };
	if (dtconv_representation_find(row->representation, &representation))
		return;
	options.ops[BENCH_PACK] &= row->op == DTCONV_OP_REPLACE;
	s->options = &options;
	add(s, way_started, "dtconv", &params, judge);
	add(s, way_started, "untyped", NULL, trust);
	add(s, way_copy, "copy", NULL, trust);
	run_row(s, row, bytes);
	run_drop_engines(s);
	s->options = kept;
}

void question_typed(struct session *s)
{
	static const enum bench_size order[] = { BENCH_SIZE_1M, BENCH_SIZE_16M,
						 BENCH_SIZE_256M };
	unsigned sizes = s->options->sizes;
	size_t from = s->results.count;

	s->rows_left = ROWS * 3;
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 0; i < ROWS; i++) {
			if ((sizes && !(sizes & order[k])) ||
			    !bench_matches(s->layouts, rows[i].name))
				continue;
			if (bench_now() > s->deadline)
				s->left_out++;
			else
				ask(s, &rows[i], bench_size_bytes(order[k]));
		}
	session_progress_end(s);
	print_typed(&s->results, from);
}
