/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a box, copied into the ghost cells of another box without packing: 26 copies one by one, as one batch, as
 * one pair of types, and by the best plain kernel for each. On one device, or between boxes of two devices, both ways at
 * once.
 */
#include "config.h"

#include <stdlib.h>

#include "bench/gpu/layout_copy.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/run.h"

#define PIECES 26
#define GHOST  2
#define OP     "copies"

/* All pieces from one box to the other. */
struct halo_way {
	struct layout_copy whole; /* all pieces: their memory, the oracle and the judge */
	struct layout_copy parts[PIECES]; /* each piece in the memory of the whole */
	struct fused *kernels[PIECES];
	struct dtconv_batch *batch;
	struct dtconv_copier *copier;
};

struct copy_halo {
	const char *name;
	size_t side; /* cells of a box along each axis */
	int ways;    /* 1: into the other box; 2: and back, at once */
	struct halo_way way[2];
};

/* ---- layouts --------------------------------------------------------------------------- */

/*
 * One axis of a piece: ghost cells before (0), the inside (1), ghost cells behind (2). What comes from the other box, the
 * neighbour on that side, is as long, and next to its ghost cells on the opposite side.
 */
static void extent_of(size_t side, size_t place, bool is_source, size_t *start,
		      size_t *length)
{
	*length = place == 1 ? side - 2 * GHOST : GHOST;
	if (place == 1)
		*start = GHOST;
	else if (is_source)
		*start = place == 0 ? side - 2 * GHOST : GHOST;
	else
		*start = place == 0 ? 0 : side - GHOST;
}

static struct dtconv_type *make_piece(struct bench_build *b, size_t side, size_t number,
				      bool is_source)
{
	size_t sizes[] = { side, side, side }, box[3], starts[3];
	size_t place = number < PIECES / 2 ? number : number + 1;

	for (size_t axis = 0; axis < 3; axis++, place /= 3)
		extent_of(side, place % 3, is_source, &starts[axis], &box[axis]);
	return build_subarray(b, 3, sizes, box, starts, build_named(b, DTCONV_DOUBLE));
}

static int finish(struct bench_build *b, struct bench_case *c, size_t side,
		  struct dtconv_type *type)
{
	int status = build_once(b, c, type, 1, side * side * side * sizeof(double));

	return status ? status : bench_case_finish(c);
}

static int make_whole(struct bench_build *b, struct bench_case *c, size_t side,
		      bool is_source)
{
	struct dtconv_type *members[PIECES];
	ptrdiff_t zeros[PIECES] = { 0 };

	for (size_t i = 0; i < PIECES; i++)
		members[i] = make_piece(b, side, i, is_source);
	return finish(b, c, side, build_struct(b, PIECES, zeros, members));
}

static int make_cases(struct bench_build *b, struct halo_way *way, size_t side)
{
	int status = make_whole(b, &way->whole.source.c, side, true);

	if (!status)
		status = make_whole(b, &way->whole.target.c, side, false);
	for (size_t i = 0; i < PIECES && !status; i++) {
		struct layout_copy *part = &way->parts[i];

		status = finish(b, &part->source.c, side, make_piece(b, side, i, true));
		if (!status)
			status = finish(b, &part->target.c, side,
					make_piece(b, side, i, false));
	}
	return status;
}

static void place_parts(struct halo_way *way)
{
	for (size_t i = 0; i < PIECES; i++) {
		struct layout_copy *part = &way->parts[i];

		part->gpu = way->whole.gpu;
		part->by = way->whole.by;
		part->to = way->whole.to;
		part->bytes = part->source.c.bytes;
		layout_copy_share(&part->source, &way->whole.source);
		layout_copy_share(&part->target, &way->whole.target);
	}
}

static int open_halo(struct session *s, struct copy_halo *halo, char *why)
{
	struct bench_build build = { .context = s->context, .seed = s->options->seed };
	struct halo_way *way = halo->way;
	int status = 0;

	for (int i = 0; i < halo->ways && !status; i++)
		status = make_cases(&build, &way[i], halo->side);
	if (status) {
		snprintf(why, WHY_ROOM, "%s", dtconv_strerror(status));
		return status;
	}
	way[0].whole.target.place = halo->ways == 2 ? PLACE_PEER : PLACE_DEVICE;
	status = layout_copy_open(&way[0].whole, s->gpu, s->options->seed, why, WHY_ROOM);
	if (!status && halo->ways == 2)
		status = layout_copy_open_back(&way[0].whole, &way[1].whole, why,
					       WHY_ROOM);
	for (int i = 0; i < halo->ways && !status; i++)
		place_parts(&way[i]);
	return status;
}

static void close_halo(struct copy_halo *halo)
{
	for (int i = halo->ways; i-- > 0;) {
		struct halo_way *way = &halo->way[i];

		for (size_t k = 0; k < PIECES; k++) {
			bench_case_release(&way->parts[k].source.c);
			bench_case_release(&way->parts[k].target.c);
		}
		layout_copy_close(&way->whole);
	}
}

/* ---- one call a piece ------------------------------------------------------------------ */

static int copy_each(struct engine *e, struct way *w, enum bench_op op)
{
	const struct copy_halo *halo = w->faces;
	int status = 0;

	(void)op;
	for (size_t i = 0; i < PIECES * (size_t)halo->ways && !status; i++) {
		const struct layout_copy *part = &halo->way[i / PIECES].parts[i % PIECES];
		const struct copy_side *source = &part->source, *target = &part->target;

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

/* ---- batches --------------------------------------------------------------------------- */

static void release_batches(struct way *w)
{
	for (int i = 0; i < 2; i++) {
		dtconv_batch_destroy(w->faces->way[i].batch);
		w->faces->way[i].batch = NULL;
	}
}

static int add_pieces(struct dtconv_batch *batch, const struct halo_way *way)
{
	int status = 0;

	for (size_t i = 0; i < PIECES && !status; i++) {
		const struct copy_side *source = &way->parts[i].source,
				       *target = &way->parts[i].target;
		const struct dtconv_batch_copy copy = { .struct_size = sizeof(copy),
							.source_type = source->c.type,
							.source_count = 1,
							.source = copy_zero(source),
							.target_type = target->c.type,
							.target_count = 1,
							.target = copy_zero(target) };

		status = dtconv_batch_add_copy(batch, &copy, NULL);
	}
	return status;
}

/* The pieces of all ways in the first batch, or each way in its own. */
static int prepare_batches(struct engine *e, struct way *w, bool is_one)
{
	struct copy_halo *halo = w->faces;
	int status = 0;

	for (int i = 0; i < halo->ways && !status; i++) {
		struct dtconv_batch **batch = &halo->way[is_one ? 0 : i].batch;

		if (!*batch)
			status = dtconv_batch_create(e->context, NULL, 0, NULL, batch);
		if (!status)
			status = add_pieces(*batch, &halo->way[i]);
	}
	if (status)
		release_batches(w);
	return way_problem(e, e->context, status);
}

static int prepare_batch(struct engine *e, struct way *w)
{
	return prepare_batches(e, w, true);
}

static int prepare_batch_a_way(struct engine *e, struct way *w)
{
	return prepare_batches(e, w, false);
}

/* All are started before the first is awaited. */
static int copy_batches(struct engine *e, struct way *w, enum bench_op op)
{
	struct halo_way *way = w->faces->way;
	int started = 0, status = 0;

	(void)op;
	for (; started < 2 && way[started].batch && !status; started++)
		status = dtconv_batch_start(way[started].batch, NULL, NULL);
	for (int i = 0; i < started && !status; i++)
		status = dtconv_batch_wait(way[i].batch, NULL);
	return way_problem(e, e->context, status);
}

static void way_batch(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_batch,
					    .once = copy_batches,
					    .release = release_batches };

	way_new(e, name, gpu, &ops, route);
}

static void way_batch_a_way(struct engine *e, const char *name, struct gpu *gpu,
			    const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_batch_a_way,
					    .once = copy_batches,
					    .release = release_batches };

	way_new(e, name, gpu, &ops, route);
}

/* ---- one pair of types a way ----------------------------------------------------------- */

static void release_copiers(struct way *w)
{
	for (int i = 0; i < w->faces->ways; i++) {
		dtconv_copier_destroy(w->faces->way[i].copier);
		w->faces->way[i].copier = NULL;
	}
}

static int prepare_copiers(struct engine *e, struct way *w)
{
	int status = 0;

	for (int i = 0; i < w->faces->ways && !status; i++) {
		struct halo_way *way = &w->faces->way[i];
		const struct copy_side *source = &way->whole.source,
				       *target = &way->whole.target;

		status = dtconv_copier_create(source->c.type, 1, copy_zero(source),
					      target->c.type, 1, copy_zero(target), NULL,
					      &way->copier);
	}
	if (status)
		release_copiers(w);
	return way_problem(e, e->context, status);
}

static int copy_started(struct engine *e, struct way *w, enum bench_op op)
{
	struct copy_halo *halo = w->faces;
	int status = 0;

	(void)op;
	for (int i = 0; i < halo->ways && !status; i++)
		status = dtconv_copier_start(halo->way[i].copier, NULL, NULL);
	for (int i = 0; i < halo->ways && !status; i++)
		status = dtconv_copier_wait(halo->way[i].copier, NULL);
	return way_problem(e, e->context, status);
}

static void way_copiers(struct engine *e, const char *name, struct gpu *gpu,
			const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_copiers,
					    .once = copy_started,
					    .release = release_copiers };

	way_new(e, name, gpu, &ops, route);
}

/* ---- plain kernels --------------------------------------------------------------------- */

static void release_plain(struct way *w)
{
	for (size_t i = 0; i < PIECES * (size_t)w->faces->ways; i++) {
		struct fused **kernel = &w->faces->way[i / PIECES].kernels[i % PIECES];

		fused_close(*kernel);
		*kernel = NULL;
	}
}

static int prepare_plain(struct engine *e, struct way *w)
{
	for (size_t i = 0; i < PIECES * (size_t)w->faces->ways; i++) {
		struct halo_way *way = &w->faces->way[i / PIECES];
		struct fused **kernel = &way->kernels[i % PIECES];

		*kernel = fused_open(e, &way->parts[i % PIECES]);
		if (*kernel)
			continue;
		release_plain(w);
		return -1;
	}
	return 0;
}

static bool queue_pieces(const struct copy_halo *halo)
{
	bool queued = true;

	for (size_t i = 0; i < PIECES && queued; i++)
		for (int k = 0; k < halo->ways && queued; k++)
			queued = fused_queue(halo->way[k].kernels[i]);
	return queued;
}

/* All are queued, in a stream of each device, before the first is awaited. */
static int copy_plain(struct engine *e, struct way *w, enum bench_op op)
{
	const struct copy_halo *halo = w->faces;
	struct gpu *first = halo->way[0].whole.by, *second = halo->way[0].whole.to;
	const uint64_t value = *second->flag + 1;
	bool queued = queue_pieces(halo) &&
		      (halo->ways == 1 || gpu_store_flag(second, value));

	(void)op;
	if (plain_await(e, queued || first->problem[0] ? first : second, queued))
		return -1;
	if (halo->ways == 2)
		gpu_wait_flag(second, value);
	return 0;
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

/* ---- the table ------------------------------------------------------------------------- */

struct contestant {
	const char *name, *title;
	way_maker make;
};

static void print_row(const struct results *rs, size_t from, const struct copy_halo *halo,
		      const struct contestant *contestants)
{
	if (from == rs->count)
		return;
	printf("\n%d%-20s %10s", halo->ways * PIECES, " copies, us", "bytes");
	for (const struct contestant *c = contestants; c->name; c++)
		printf(" %12s", c->title);
	printf("\n%-22s %10zu", halo->name, rs->list[from].bytes);
	for (const struct contestant *c = contestants; c->name; c++) {
		const struct result *r = find_result(rs, &rs->list[from], OP, c->name);

		print_number(r ? r->ns / 1e3 : 0, 12, 1);
	}
	printf("\n(the halo of a box of %zu^3 doubles, %d cells deep, into the ghost cells of another box%s; plain: the best\n"
	       " kernel for each piece, all queued before the first is awaited)\n",
	       halo->side, GHOST,
	       halo->ways == 2 ? ", on two devices, both ways at once" : "");
}

/* ---- the rows -------------------------------------------------------------------------- */

static void measure(struct session *s, struct copy_halo *halo,
		    const struct contestant *contestants)
{
	const struct route route = { PLACE_DEVICE, halo->way[0].whole.target.place, 0 };

	for (const struct contestant *c = contestants; c->name; c++) {
		struct engine *e = run_add(s, c->make, c->name, &route);

		if (e && e->state)
			way_of(e)->faces = halo;
	}
	layout_copy_measure(s, halo->name, OP, &halo->way[0].whole);
	print_absent(s);
	run_drop_engines(s);
}

static void run(struct session *s, struct copy_halo *halo,
		const struct contestant *contestants)
{
	const size_t from = s->results.count;
	char why[WHY_ROOM] = "";

	if (bench_now() > s->deadline) {
		s->left_out++;
		return;
	}
	session_progress(s, halo->name);
	bool opened = !open_halo(s, halo, why);
	if (opened)
		measure(s, halo, contestants);
	session_progress_end(s);
	if (!opened)
		printf("%s: %s\n", halo->name, why);
	close_halo(halo);
	s->gpu->problem[0] = '\0';
	print_row(&s->results, from, halo, contestants);
}

/* A box has too many pieces for the stack. */
static void run_boxes(struct session *s, const struct copy_halo *boxes,
		      const struct contestant *contestants)
{
	struct copy_halo *halo = malloc(sizeof(*halo));

	if (!halo) {
		printf("%s: no memory\n", boxes->name);
		return;
	}
	*halo = *boxes;
	run(s, halo, contestants);
	free(halo);
}

void copy_halo_run(struct session *s)
{
	static const struct copy_halo boxes = { .name = COPY_HALO_NAME,
						.side = 128,
						.ways = 1 };
	static const struct contestant contestants[] = {
		{ "dtconv-each", "one by one", way_each },
		{ "dtconv-batch", "batch", way_batch },
		{ "dtconv", "one type", way_copying },
		{ "plain-each", "plain", way_plain },
		{ 0 },
	};

	run_boxes(s, &boxes, contestants);
}

void link_halo_run(struct session *s)
{
	static const struct copy_halo boxes = { .name = LINK_HALO_NAME,
						.side = 256,
						.ways = 2 };
	static const struct contestant contestants[] = {
		{ "dtconv-each", "one by one", way_each },
		{ "dtconv-batch", "batch", way_batch },
		{ "dtconv-batches", "batch a way", way_batch_a_way },
		{ "dtconv", "type a way", way_copiers },
		{ "plain-each", "plain", way_plain },
		{ 0 },
	};

	run_boxes(s, &boxes, contestants);
}
