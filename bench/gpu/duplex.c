/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that sends and receives: a pack of device memory into pinned memory, or a peer's, and an unpack out of it, at
 * once and one after the other. Each direction has a stream of its own in the library, so both should be busy. Between two
 * devices also by both of them, each in a stream of its own.
 */
#include "config.h"

#include "bench/gpu/plain.h"
#include "bench/gpu/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/arena.h"

/* ---- the ways ---------------------------------------------------------------------------- */

static void release(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		dtconv_convertor_destroy(w->convertors[op]);
		w->convertors[op] = NULL;
	}
}

/* How the two operations are ordered, and by whom they are done. */
enum mode {
	IN_TURN,
	AT_ONCE,
	APART /* at once, each by the device whose memory it reads */
};

/* Memory of two devices has to be asked whose it is. */
static struct dtconv_convertor_params params_for(const struct way *w, enum bench_op op,
						 enum mode mode)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	const enum gpu_place read = op == BENCH_PACK ? w->user_place : w->packed_place;

	if (mode == APART) {
		params.flags = DTCONV_CONVERTOR_STREAM;
		params.stream = gpu_at(w->gpu, read)->stream;
	}
	if (w->packed_place == PLACE_PINNED) {
		params.user_memory = DTCONV_MEMORY_DEVICE;
		params.packed_memory = DTCONV_MEMORY_PINNED;
	}
	return params;
}

/* Of the row's operation in the row's memory, and of the other one in memory of its own. */
static int create(struct engine *e, struct way *w, enum bench_op op, enum mode mode,
		  unsigned char *user)
{
	const struct dtconv_convertor_params params = params_for(w, op, mode);
	const struct bench_case *c = e->c;
	struct dtconv_convertor **convertor = &w->convertors[op];
	int status = op == BENCH_PACK ? dtconv_convertor_create_pack(c->type, c->count,
								     user, convertor)
				      : dtconv_convertor_create_unpack(c->type, c->count,
								       user, convertor);

	return status ? status : dtconv_convertor_configure(*convertor, &params);
}

static int start(struct engine *e, struct way *w, enum bench_op op, unsigned char *packed,
		 struct dtconv_flight *flight)
{
	return dtconv_flight_start(w->convertors[op], flight, 0, packed, e->c->bytes);
}

/* The other operation's memory: the same layout, and as many packed bytes. */
static bool other_memory(const struct engine *e, const struct way *w,
			 unsigned char **user, unsigned char **packed)
{
	const struct arena *a = e->arena;
	unsigned char *region =
		gpu_memory(w->gpu, w->user_place, ROLE_OTHER_USER, a->region_bytes);

	*packed = gpu_memory(w->gpu, w->packed_place, ROLE_OTHER_PACKED, a->packed_bytes);
	*user = region ? region + (a->user - a->region) : NULL;
	return region && *packed;
}

/* Convertors are bound for each operation, because the row's memory is the one of its operation. */
static int begin(struct engine *e, struct way *w, enum bench_op op, enum mode mode,
		 unsigned char **packed)
{
	enum bench_op other = op == BENCH_PACK ? BENCH_UNPACK : BENCH_PACK;
	unsigned char *user;
	int status;

	if (!other_memory(e, w, &user, packed)) {
		engine_problem(e, "%s", w->gpu->problem);
		return -1;
	}
	release(w);
	status = create(e, w, op, mode, w->user);
	if (!status)
		status = create(e, w, other, mode, user);
	return way_problem(e, e->context, status);
}

static int both(struct engine *e, struct way *w, enum bench_op op, enum mode mode)
{
	enum bench_op other = op == BENCH_PACK ? BENCH_UNPACK : BENCH_PACK;
	struct dtconv_flight flights[2];
	unsigned char *packed;

	if (begin(e, w, op, mode, &packed))
		return -1;
	int status = start(e, w, op, w->packed, &flights[0]);
	int ended = 0;
	if (!status && mode == IN_TURN)
		status = dtconv_flight_wait(&flights[0], NULL);
	if (!status) {
		status = start(e, w, other, packed, &flights[1]);
		ended = status ? 0 : dtconv_flight_wait(&flights[1], NULL);
		if (mode != IN_TURN) {
			int first = dtconv_flight_wait(&flights[0], NULL);

			ended = ended ? ended : first;
		}
	}
	return way_problem(e, e->context, status ? status : ended);
}

static int at_once(struct engine *e, struct way *w, enum bench_op op)
{
	return both(e, w, op, AT_ONCE);
}

static int apart(struct engine *e, struct way *w, enum bench_op op)
{
	return both(e, w, op, APART);
}

static int in_turn(struct engine *e, struct way *w, enum bench_op op)
{
	return both(e, w, op, IN_TURN);
}

static void way_at_once(struct engine *e, const char *name, struct gpu *gpu,
			const struct route *r)
{
	static const struct way_ops ops = { .once = at_once, .release = release };

	way_new(e, name, gpu, &ops, r);
}

static void way_in_turn(struct engine *e, const char *name, struct gpu *gpu,
			const struct route *r)
{
	static const struct way_ops ops = { .once = in_turn, .release = release };

	way_new(e, name, gpu, &ops, r);
}

static void way_apart(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *r)
{
	static const struct way_ops ops = { .once = apart, .release = release };

	way_new(e, name, gpu, &ops, r);
}

/* ---- copies both ways ---------------------------------------------------------------------- */

static bool queue_bytes(struct gpu *by, const void *to, const void *from, size_t bytes)
{
	return GPU_CALL(by, MemcpyAsync(gpu_address(to), gpu_address(from), bytes,
					by->stream));
}

static bool is_done(struct gpu *by)
{
	return GPU_CALL(by, StreamSynchronize(by->stream));
}

/* Each by the device whose memory it reads. The row's operation comes first. */
static int copy_both(struct engine *e, struct way *w, enum bench_op op)
{
	const size_t bytes = e->c->bytes;
	struct gpu *own = w->by, *theirs = own->first == own ? own->other : own->first;
	bool packs = op == BENCH_PACK;
	unsigned char *user, *packed;

	if (!other_memory(e, w, &user, &packed)) {
		engine_problem(e, "%s", w->gpu->problem);
		return -1;
	}
	if ((packs ? queue_bytes(own, w->packed, w->flat, bytes) &&
			     queue_bytes(theirs, user, packed, bytes)
		   : queue_bytes(theirs, w->flat, w->packed, bytes) &&
			     queue_bytes(own, packed, user, bytes)) &&
	    is_done(own) && is_done(theirs))
		return 0;
	plain_refused(e, own->problem[0] ? own : theirs);
	return -1;
}

static void way_copy_both(struct engine *e, const char *name, struct gpu *gpu,
			  const struct route *r)
{
	static const struct way_ops ops = { .once = copy_both };

	way_new(e, name, gpu, &ops, r);
	e->raw = true;
}

/* ---- plain kernels both ways ----------------------------------------------------------------- */

/* One for each operation, on the device whose memory it reads. */
struct plain_pair {
	struct engine kernels[2];
};

static void release_plain(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
		engine_release(&w->pair->kernels[op]);
}

static int prepare_plain(struct engine *e, struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		struct engine *kernel = &w->pair->kernels[op];

		if (!engine_prepare(kernel, e->c, e->arena))
			continue;
		engine_problem(e, "%s", kernel->problem);
		if (op == BENCH_UNPACK)
			engine_release(&w->pair->kernels[BENCH_PACK]);
		return -1;
	}
	return 0;
}

/* The kernel, and another one that stores the flag. */
static bool queue_plain(struct engine *e, struct engine *kernel, enum bench_op op,
			uint64_t flag)
{
	struct way *w = way_of(kernel);

	if (!w->ops->queue(kernel, w, op))
		return gpu_store_flag(w->by, flag) || plain_refused(e, w->by);
	engine_problem(e, "%s", kernel->problem);
	return false;
}

/* The row's operation comes first. */
static int plain_both(struct engine *e, struct way *w, enum bench_op op)
{
	enum bench_op other = op == BENCH_PACK ? BENCH_UNPACK : BENCH_PACK;
	struct engine *kernels = w->pair->kernels;
	struct way *first = way_of(&kernels[op]), *second = way_of(&kernels[other]);
	const uint64_t flags[] = { *first->by->flag + 1, *second->by->flag + 1 };

	first->user = w->user;
	first->packed = w->packed;
	if (!other_memory(e, w, &second->user, &second->packed)) {
		plain_refused(e, w->gpu);
		return -1;
	}
	if (!queue_plain(e, &kernels[op], op, flags[0]) ||
	    !queue_plain(e, &kernels[other], other, flags[1]))
		return -1;
	gpu_wait_flag(first->by, flags[0]);
	gpu_wait_flag(second->by, flags[1]);
	return 0;
}

static void end_plain(struct way *w)
{
	if (!w->pair)
		return;
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
		engine_destroy(&w->pair->kernels[op]);
	free(w->pair);
}

static bool set_up_plain(struct engine *kernel, struct gpu *gpu, const struct route *r,
			 enum gpu_place read)
{
	way_roof(kernel, "plain", gpu, r);
	if (kernel->absent)
		return false;
	way_of(kernel)->by = gpu_at(gpu, read);
	return way_of(kernel)->by;
}

static void way_plain_both(struct engine *e, const char *name, struct gpu *gpu,
			   const struct route *r)
{
	static const struct way_ops ops = { .prepare = prepare_plain,
					    .once = plain_both,
					    .release = release_plain,
					    .end = end_plain };
	struct way *w = way_new(e, name, gpu, &ops, r);

	if (!w)
		return;
	plain_need_compiler(e);
	w->pair = calloc(1, sizeof(*w->pair));
	if (w->pair && set_up_plain(&w->pair->kernels[BENCH_PACK], gpu, r, r->user) &&
	    set_up_plain(&w->pair->kernels[BENCH_UNPACK], gpu, r, r->packed))
		return;
	e->absent = true;
	engine_problem(e, "%s", gpu->problem[0] ? gpu->problem : "no memory");
}

/* ---- the question ------------------------------------------------------------------------ */

static double us_of(const struct results *rs, size_t from, const char *op,
		    const char *engine)
{
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (!strcmp(r->op, op) && !strcmp(r->engine, engine) && result_ok(r))
			return r->ns / 1e3;
	}
	return 0;
}

static void print_name(const struct results *rs, size_t from, const char *op)
{
	printf("%-10s %10zu %-6s", rs->list[from].layout, rs->list[from].bytes, op);
}

static void print_row(const struct results *rs, size_t from, const char *op)
{
	double turns = us_of(rs, from, op, "dtconv-turns");
	double together = us_of(rs, from, op, "dtconv-duplex");

	if (from == rs->count)
		return;
	print_name(rs, from, op);
	print_number(turns, 11, 1);
	print_number(together, 11, 1);
	print_number(together > 0 ? turns / together : 0, 8, 2);
	putchar('\n');
}

static void run_row(struct session *s, const char *layout, size_t bytes)
{
	static const struct route route = { PLACE_DEVICE, PLACE_PINNED, 0 };
	size_t from = s->results.count;

	run_add(s, way_in_turn, "dtconv-turns", &route);
	run_add(s, way_at_once, "dtconv-duplex", &route);
	run_layout(s, run_find_layout(layout), bytes, 1u << RUN_WALL);
	run_drop_engines(s);
	print_row(&s->results, from, "pack");
	print_row(&s->results, from, "unpack");
}

void question_duplex(struct session *s)
{
	static const char *const layouts[] = { "contig", "vec64" };
	static const enum bench_size order[] = { BENCH_SIZE_1M, BENCH_SIZE_16M,
						 BENCH_SIZE_64M };
	unsigned sizes = s->options->sizes;

	s->rows_left = 6;
	printf("\n%-10s %10s %-6s %11s %10s %7s\n", "duplex, us", "bytes", "first",
	       "in turn", "at once", "ratio");
	for (size_t i = 0; i < 6; i++)
		if (bench_matches(s->layouts, layouts[i / 3]) &&
		    (!sizes || sizes & order[i % 3]))
			run_row(s, layouts[i / 3], bench_size_bytes(order[i % 3]));
	printf("(a pack into pinned memory and an unpack from it; aim from 16 MiB on: at "
	       "once 1.6 x as fast)\n");
}

/* ---- the same between two devices ---------------------------------------------------------- */

static void print_peers(const struct results *rs, size_t from, const char *op,
			const char *packed)
{
	double together = us_of(rs, from, op, "dtconv-duplex");
	double turns = us_of(rs, from, op, "dtconv-turns");
	double apart = us_of(rs, from, op, "dtconv-apart");
	double copies = us_of(rs, from, op, "copy-duplex");
	double plain = us_of(rs, from, op, "plain-duplex");

	if (from == rs->count)
		return;
	print_name(rs, from, op);
	printf(" %-7s", packed);
	print_number(turns, 9, 1);
	print_number(together, 9, 1);
	print_number(apart, 9, 1);
	print_number(copies, 9, 1);
	print_number(plain, 9, 1);
	print_number(together > 0 ? copies / together : 0, 8, 2);
	print_number(apart > 0 ? copies / apart : 0, 8, 2);
	printf("   0.95\n");
}

static void run_peers(struct session *s, const char *layout, size_t bytes,
		      const struct route *route)
{
	size_t from = s->results.count;

	run_add(s, way_in_turn, "dtconv-turns", route);
	run_add(s, way_at_once, "dtconv-duplex", route);
	run_add(s, way_apart, "dtconv-apart", route);
	struct engine *copies = run_add(s, way_copy_both, "copy-duplex", route);
	if (copies && !copies->absent && route->user == PLACE_PEER)
		way_of(copies)->by = gpu_other(s->gpu);
	run_add(s, way_plain_both, "plain-duplex", route);
	run_layout(s, run_find_layout(layout), bytes, 1u << RUN_WALL);
	run_drop_engines(s);
	print_peers(&s->results, from, "pack", gpu_place_name(route->packed));
	print_peers(&s->results, from, "unpack", gpu_place_name(route->packed));
}

void duplex_between_devices(struct session *s, const size_t *sizes)
{
	static const char *const layouts[] = { "contig", "vec64" };
	static const struct route routes[] = { { PLACE_DEVICE, PLACE_PEER, 0 },
					       { PLACE_PEER, PLACE_DEVICE, 0 } };

	s->rows_left = 2 * 2 * 3;
	printf("\n%-10s %10s %-6s %-7s %9s %9s %9s %9s %9s %7s %7s   aim N1\n",
	       "peer, us", "bytes", "first", "packed", "in turn", "at once", "apart",
	       "copies", "plain", "x once", "x apart");
	for (; *sizes; sizes++)
		for (size_t i = 0; i < 4; i++)
			if (bench_matches(s->layouts, layouts[i / 2]))
				run_peers(s, layouts[i / 2], *sizes, &routes[i % 2]);
	printf("(a pack into the peer and an unpack from it; at once: by the device of the user's memory; apart: each by the\n"
	       " device that it reads; copies: peer copies both ways at once; plain: plain kernels, each by the device that it\n"
	       " reads; last, the speed of both over the copies')\n");
}
