/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a box, copied into the ghost cells of another box without packing: 26 copies one by one, as one batch, as
 * one pair of types, and by the best plain kernel for each.
 */
#include "config.h"

#include <stdlib.h>

#include "bench/gpu/layout_copy.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/run.h"

#define PIECES 26
#define GHOST  2
#define SIDE   128
#define OP     "copies"

struct copy_halo {
	struct layout_copy whole; /* all pieces: their memory, the oracle and the judge */
	struct layout_copy parts[PIECES]; /* each piece in the memory of the whole */
	struct dtconv_batch *batch;
	struct fused *kernels[PIECES];
};

/* ---- layouts --------------------------------------------------------------------------- */

/*
 * One axis of a piece: ghost cells before (0), the inside (1), ghost cells behind (2). What comes from the other box, the
 * neighbour on that side, is as long, and next to its ghost cells on the opposite side.
 */
static void extent_of(size_t place, bool is_source, size_t *start, size_t *length)
{
	*length = place == 1 ? SIDE - 2 * GHOST : GHOST;
	if (place == 1)
		*start = GHOST;
	else if (is_source)
		*start = place == 0 ? SIDE - 2 * GHOST : GHOST;
	else
		*start = place == 0 ? 0 : SIDE - GHOST;
}

static struct dtconv_type *make_piece(struct bench_build *b, size_t number,
				      bool is_source)
{
	size_t sizes[] = { SIDE, SIDE, SIDE }, box[3], starts[3];
	size_t place = number < PIECES / 2 ? number : number + 1;

	for (size_t axis = 0; axis < 3; axis++, place /= 3)
		extent_of(place % 3, is_source, &starts[axis], &box[axis]);
	return build_subarray(b, 3, sizes, box, starts, build_named(b, DTCONV_DOUBLE));
}

static int finish(struct bench_build *b, struct bench_case *c, struct dtconv_type *type)
{
	int status = build_once(b, c, type, 1, SIDE * SIDE * SIDE * sizeof(double));

	return status ? status : bench_case_finish(c);
}

static int make_whole(struct bench_build *b, struct bench_case *c, bool is_source)
{
	struct dtconv_type *members[PIECES];
	ptrdiff_t zeros[PIECES] = { 0 };

	for (size_t i = 0; i < PIECES; i++)
		members[i] = make_piece(b, i, is_source);
	return finish(b, c, build_struct(b, PIECES, zeros, members));
}

static int make_cases(struct bench_build *b, struct copy_halo *halo)
{
	int status = make_whole(b, &halo->whole.source.c, true);

	if (!status)
		status = make_whole(b, &halo->whole.target.c, false);
	for (size_t i = 0; i < PIECES && !status; i++) {
		struct layout_copy *part = &halo->parts[i];

		status = finish(b, &part->source.c, make_piece(b, i, true));
		if (!status)
			status = finish(b, &part->target.c, make_piece(b, i, false));
	}
	return status;
}

/* Without memory of its own. */
static void place(struct copy_side *side, const struct copy_side *whole)
{
	side->region_bytes = whole->region_bytes;
	side->zero = whole->zero;
	side->device = whole->device;
}

static void place_parts(struct copy_halo *halo)
{
	for (size_t i = 0; i < PIECES; i++) {
		struct layout_copy *part = &halo->parts[i];

		part->gpu = halo->whole.gpu;
		part->by = halo->whole.by;
		part->to = halo->whole.to;
		part->bytes = part->source.c.bytes;
		place(&part->source, &halo->whole.source);
		place(&part->target, &halo->whole.target);
	}
}

static void close_halo(struct copy_halo *halo)
{
	for (size_t i = 0; i < PIECES; i++) {
		bench_case_release(&halo->parts[i].source.c);
		bench_case_release(&halo->parts[i].target.c);
	}
	layout_copy_close(&halo->whole);
}

/* ---- contestants ----------------------------------------------------------------------- */

static int copy_each(struct engine *e, struct way *w, enum bench_op op)
{
	int status = 0;

	(void)op;
	for (size_t i = 0; i < PIECES && !status; i++) {
		const struct copy_side *source = &w->faces->parts[i].source,
				       *target = &w->faces->parts[i].target;

		status = dtconv_copy(source->c.type, 1, copy_zero(source), target->c.type,
				     1, copy_zero(target), NULL);
	}
	return way_problem(e, e->context, status);
}

static void way_each(struct engine *e, const char *name, struct gpu *gpu,
		     const struct route *route)
{
	static const struct way_ops ops = { .once = copy_each };

	way_new(e, name, gpu, &ops, route);
}

static void release_batch(struct way *w)
{
	dtconv_batch_destroy(w->faces->batch);
	w->faces->batch = NULL;
}

static int prepare_batch(struct engine *e, struct way *w)
{
	struct copy_halo *halo = w->faces;
	int status = dtconv_batch_create(e->context, NULL, 0, NULL, &halo->batch);

	for (size_t i = 0; i < PIECES && !status; i++) {
		const struct copy_side *source = &halo->parts[i].source,
				       *target = &halo->parts[i].target;
		const struct dtconv_batch_copy copy = { .struct_size = sizeof(copy),
							.source_type = source->c.type,
							.source_count = 1,
							.source = copy_zero(source),
							.target_type = target->c.type,
							.target_count = 1,
							.target = copy_zero(target) };

		status = dtconv_batch_add_copy(halo->batch, &copy, NULL);
	}
	if (status)
		release_batch(w);
	return way_problem(e, e->context, status);
}

static int copy_batch(struct engine *e, struct way *w, enum bench_op op)
{
	(void)op;
	return way_problem(e, e->context, dtconv_batch_run(w->faces->batch, NULL));
}

static void way_batch(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_batch,
					    .once = copy_batch,
					    .release = release_batch };

	way_new(e, name, gpu, &ops, route);
}

static void release_plain(struct way *w)
{
	for (size_t i = 0; i < PIECES; i++) {
		fused_close(w->faces->kernels[i]);
		w->faces->kernels[i] = NULL;
	}
}

static int prepare_plain(struct engine *e, struct way *w)
{
	struct copy_halo *halo = w->faces;

	for (size_t i = 0; i < PIECES; i++) {
		halo->kernels[i] = fused_open(e, &halo->parts[i]);
		if (halo->kernels[i])
			continue;
		release_plain(w);
		return -1;
	}
	return 0;
}

/* All of them are queued before the first is awaited. */
static int copy_plain(struct engine *e, struct way *w, enum bench_op op)
{
	bool queued = true;

	(void)op;
	for (size_t i = 0; i < PIECES && queued; i++)
		queued = fused_queue(w->faces->kernels[i]);
	return plain_await(e, w->gpu, queued);
}

static void way_plain(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_plain,
					    .once = copy_plain,
					    .release = release_plain };

	way_new(e, name, gpu, &ops, route);
	plain_need_compiler(e);
}

static void add_engine(struct session *s, struct copy_halo *halo, way_maker make,
		       const char *name)
{
	static const struct route on_device = { PLACE_DEVICE, PLACE_DEVICE, 0 };
	struct engine *e = run_add(s, make, name, &on_device);

	if (e && e->state)
		way_of(e)->faces = halo;
}

/* ---- the table ------------------------------------------------------------------------- */

static const char *const contestants[] = { "dtconv-each", "dtconv-batch", "dtconv",
					   "plain-each" };

static void print_row(const struct results *rs, size_t from)
{
	if (from == rs->count)
		return;
	printf("\n%-22s %10s %12s %12s %12s %12s\n", "26 copies, us", "bytes",
	       "one by one", "batch", "one type", "plain");
	printf("%-22s %10zu", COPY_HALO_NAME, rs->list[from].bytes);
	for (size_t k = 0; k < 4; k++) {
		const struct result *r =
			find_result(rs, &rs->list[from], OP, contestants[k]);

		print_number(r ? r->ns / 1e3 : 0, 12, 1);
	}
	printf("\n(the halo of a box of %d^3 doubles, %d cells deep, into the ghost cells of another box; plain: the best kernel\n"
	       " for each piece, all queued in one stream)\n",
	       SIDE, GHOST);
}

static void measure(struct session *s, struct copy_halo *halo)
{
	add_engine(s, halo, way_each, contestants[0]);
	add_engine(s, halo, way_batch, contestants[1]);
	add_engine(s, halo, way_copying, contestants[2]);
	add_engine(s, halo, way_plain, contestants[3]);
	layout_copy_measure(s, COPY_HALO_NAME, OP, &halo->whole);
	print_absent(s);
	run_drop_engines(s);
}

void copy_halo_run(struct session *s)
{
	struct bench_build build = { .context = s->context, .seed = s->options->seed };
	struct copy_halo *halo = calloc(1, sizeof(*halo));
	const size_t from = s->results.count;
	char why[WHY_ROOM] = "no memory";
	int status = -1;

	if (bench_now() > s->deadline) {
		s->left_out++;
		free(halo);
		return;
	}
	session_progress(s, COPY_HALO_NAME);
	if (halo && !make_cases(&build, halo))
		status = layout_copy_open(&halo->whole, s->gpu, s->options->seed, why,
					  sizeof(why));
	if (!status) {
		place_parts(halo);
		measure(s, halo);
	}
	session_progress_end(s);
	if (status)
		printf("%s: %s\n", COPY_HALO_NAME, why);
	if (halo)
		close_halo(halo);
	free(halo);
	s->gpu->problem[0] = '\0';
	print_row(&s->results, from);
}
