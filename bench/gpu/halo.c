/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a box: 26 pieces, one for each neighbour, packed one after another. Measures the
 * cost of all pieces relative to that of one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/run.h"

#define PIECES 26
#define GHOST  2

/* The pieces as types, and the struct of all of them for the oracle. */
struct halo {
	struct dtconv_type *pieces[PIECES];
	size_t bytes[PIECES];
	struct dtconv_convertor *convertors[2][PIECES];
	struct dtconv_batch *batches[2];
};

/* One axis of a piece: the rim before (0), the inside (1), the rim behind (2). */
static void extent_of(size_t n, size_t side, size_t *start, size_t *length)
{
	*start = side == 0 ? 0 : side == 1 ? GHOST : n - GHOST;
	*length = side == 1 ? n - 2 * GHOST : GHOST;
}

static struct dtconv_type *make_piece(struct bench_build *b, size_t n, size_t number)
{
	size_t sizes[] = { n, n, n }, box[3], starts[3];
	size_t place = number < PIECES / 2 ? number : number + 1;

	for (size_t axis = 0; axis < 3; axis++, place /= 3)
		extent_of(n, place % 3, &starts[axis], &box[axis]);
	return build_subarray(b, 3, sizes, box, starts, build_named(b, DTCONV_DOUBLE));
}

static int make_halo(struct bench_build *b, struct halo *halo, size_t n,
		     struct bench_case *c)
{
	struct dtconv_type *members[PIECES];
	ptrdiff_t zeros[PIECES] = { 0 };
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	for (size_t i = 0; i < PIECES; i++) {
		members[i] = make_piece(b, n, i);
		halo->pieces[i] = make_piece(b, n, i);
		if (!b->status)
			b->status = dtconv_type_commit(halo->pieces[i]);
		if (!b->status)
			b->status = dtconv_type_query(halo->pieces[i], &attr);
		halo->bytes[i] = attr.size;
	}
	return build_once(b, c, build_struct(b, PIECES, zeros, members), 1,
			  n * n * n * sizeof(double));
}

static void release_halo(struct halo *halo)
{
	for (size_t i = 0; i < PIECES; i++)
		dtconv_type_unref(halo->pieces[i]);
}

/* ---- engines --------------------------------------------------------------------------- */

static int each_one_shot(struct engine *e, struct way *w, enum bench_op op)
{
	struct halo *halo = w->pieces;
	unsigned char *packed = w->packed;
	int status = 0;

	for (size_t i = 0; i < PIECES && !status; i++) {
		if (op == BENCH_PACK)
			status = dtconv_pack(halo->pieces[i], 1, w->user, packed,
					     halo->bytes[i], NULL);
		else
			status = dtconv_unpack(halo->pieces[i], 1, w->user, packed,
					       halo->bytes[i], NULL);
		packed += halo->bytes[i];
	}
	return way_problem(e, e->context, status);
}

static void release_convertors(struct way *w)
{
	struct halo *halo = w->pieces;

	for (size_t i = 0; i < 2 * PIECES; i++) {
		dtconv_convertor_destroy(halo->convertors[i / PIECES][i % PIECES]);
		halo->convertors[i / PIECES][i % PIECES] = NULL;
	}
}

static int create_convertor(struct halo *halo, const struct way *w, int op, size_t i)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CONVERTOR_STREAM,
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_DEVICE,
		.stream = w->gpu->stream
	};
	struct dtconv_convertor **convertor = &halo->convertors[op][i];
	int status = op == BENCH_PACK
			     ? dtconv_convertor_create_pack(halo->pieces[i], 1, w->user,
							    convertor)
			     : dtconv_convertor_create_unpack(halo->pieces[i], 1, w->user,
							      convertor);

	return status ? status : dtconv_convertor_configure(*convertor, &params);
}

static int prepare_convertors(struct engine *e, struct way *w)
{
	int status = 0;

	for (size_t i = 0; i < 2 * PIECES && !status; i++)
		status = create_convertor(w->pieces, w, (int)(i / PIECES), i % PIECES);
	if (status)
		release_convertors(w);
	return way_problem(e, e->context, status);
}

/* A piece that has the staging buffers gives them back by itself. */
static int start_piece(struct dtconv_convertor *convertor, unsigned char *packed,
		       size_t bytes)
{
	int status;

	do
		status = dtconv_convertor_start(convertor, packed, bytes, NULL, NULL);
	while (status == DTCONV_ERR_AGAIN);
	return status;
}

static int all_started(struct engine *e, struct way *w, enum bench_op op)
{
	struct halo *halo = w->pieces;
	unsigned char *packed = w->packed;
	int status = 0;

	for (size_t i = 0; i < PIECES && !status; i++) {
		struct dtconv_convertor *convertor = halo->convertors[op][i];

		status = dtconv_convertor_seek(convertor, 0);
		if (!status)
			status = start_piece(convertor, packed, halo->bytes[i]);
		packed += halo->bytes[i];
	}
	for (size_t i = 0; i < PIECES && !status; i++)
		status = dtconv_convertor_wait(halo->convertors[op][i], NULL);
	return way_problem(e, e->context, status);
}

static void release_batches(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		dtconv_batch_destroy(w->pieces->batches[op]);
		w->pieces->batches[op] = NULL;
	}
}

static int create_batch(struct engine *e, struct way *w, enum bench_op op)
{
	struct dtconv_batch_entry entries[PIECES];
	struct halo *halo = w->pieces;
	unsigned char *packed = w->packed;

	for (size_t i = 0; i < PIECES; i++) {
		entries[i] = (struct dtconv_batch_entry){
			.type = halo->pieces[i],
			.count = 1,
			.buffer = w->user,
			.packed = packed,
			.bytes = halo->bytes[i],
			.direction = op == BENCH_PACK ? DTCONV_BATCH_PACK
						      : DTCONV_BATCH_UNPACK,
			.user_memory = DTCONV_MEMORY_DEVICE,
			.packed_memory = DTCONV_MEMORY_DEVICE,
		};
		packed += halo->bytes[i];
	}
	return dtconv_batch_create(e->context, entries, PIECES, NULL, &halo->batches[op]);
}

static int prepare_batches(struct engine *e, struct way *w)
{
	int status = create_batch(e, w, BENCH_PACK);

	if (!status)
		status = create_batch(e, w, BENCH_UNPACK);
	if (status)
		release_batches(w);
	return way_problem(e, e->context, status);
}

static int one_batch(struct engine *e, struct way *w, enum bench_op op)
{
	return way_problem(e, e->context, dtconv_batch_run(w->pieces->batches[op], NULL));
}

static void way_batch(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_batches,
					    .once = one_batch,
					    .release = release_batches };

	way_new(e, name, gpu, &ops, route);
}

static void way_each(struct engine *e, const char *name, struct gpu *gpu,
		     const struct route *route)
{
	static const struct way_ops ops = { .once = each_one_shot };

	way_new(e, name, gpu, &ops, route);
}

static void way_all_started(struct engine *e, const char *name, struct gpu *gpu,
			    const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_convertors,
					    .once = all_started,
					    .release = release_convertors };

	way_new(e, name, gpu, &ops, route);
}

/* ---- the question ---------------------------------------------------------------------- */

static void add_engine(struct session *s, struct halo *halo, way_maker make,
		       const char *name)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	struct engine *e = run_add(s, make, name, &on_device);

	if (e && e->state)
		way_of(e)->pieces = halo;
}

static void run_pieces(struct session *s, size_t n)
{
	struct bench_build build = { .context = s->context, .seed = s->options->seed };
	struct halo halo = { .bytes = { 0 } };
	struct bench_case c = { .disjoint = true };

	snprintf(c.name, sizeof(c.name), "halo%zu", n);
	if (make_halo(&build, &halo, n, &c) || bench_case_finish(&c)) {
		printf("%s: %s\n", c.name, dtconv_strerror(build.status));
	} else {
		add_engine(s, &halo, way_dtconv, "dtconv");
		add_engine(s, &halo, way_each, "dtconv-each");
		add_engine(s, &halo, way_all_started, "dtconv-started");
		add_engine(s, &halo, way_batch, "dtconv-batch");
		run_case(s, &c, 1u << RUN_WALL);
		run_drop_engines(s);
	}
	bench_case_release(&c);
	release_halo(&halo);
}

/* The widest piece, across the rows, alone. */
static void run_face(struct session *s, size_t n)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	struct bench_build build = { .context = s->context, .seed = s->options->seed };
	struct bench_case c = { .disjoint = true };

	snprintf(c.name, sizeof(c.name), "face%zu", n);
	/* number 4: inside on the two slower axes, the rim before on the fastest */
	build_once(&build, &c, make_piece(&build, n, 4), 1, n * n * n * sizeof(double));
	if (build.status || bench_case_finish(&c)) {
		printf("%s: %s\n", c.name, dtconv_strerror(build.status));
	} else {
		run_add(s, way_dtconv, "dtconv", &on_device);
		run_case(s, &c, 1u << RUN_WALL);
		run_drop_engines(s);
	}
	bench_case_release(&c);
}

static double us_of(const struct results *rs, const char *layout, size_t n,
		    const char *op, const char *engine)
{
	char name[BENCH_NAME_ROOM];

	snprintf(name, sizeof(name), "%s%zu", layout, n);
	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (!strcmp(r->layout, name) && !strcmp(r->op, op) &&
		    !strcmp(r->engine, engine) && result_ok(r))
			return r->ns / 1e3;
	}
	return 0;
}

static void print_halo(const struct results *rs, size_t n, const char *op)
{
	printf("%4zu^3 %-6s", n, op);
	print_number(us_of(rs, "halo", n, op, "dtconv-each"), 9, 1);
	print_number(us_of(rs, "halo", n, op, "dtconv-started"), 9, 1);
	print_number(us_of(rs, "halo", n, op, "dtconv"), 9, 1);
	print_number(us_of(rs, "halo", n, op, "dtconv-batch"), 9, 1);
	print_number(us_of(rs, "face", n, op, "dtconv"), 9, 1);
	putchar('\n');
}

void question_halo(struct session *s)
{
	static const size_t sides[] = { 64, 128, 256 };

	s->rows_left = 6;
	printf("\n%-13s %9s %9s %9s %9s %9s\n", "halo, us", "26 calls", "started", "one type",
	       "batch", "one face");
	for (size_t i = 0; i < 3 && bench_now() < s->deadline; i++) {
		run_pieces(s, sides[i]);
		run_face(s, sides[i]);
		print_halo(&s->results, sides[i], "pack");
		print_halo(&s->results, sides[i], "unpack");
	}
	printf("(box of doubles, rim of %d; aim B1: a batch 5 x as fast as 26 calls, "
	       "at most 2 x one face)\n",
	       GHOST);
}
