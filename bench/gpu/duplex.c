/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that sends and receives: a pack of device memory into pinned memory and an unpack out of it, at once and
 * one after the other. Each direction of the bus has a stream of its own in the library, so both should be busy.
 */
#include "config.h"

#include "bench/gpu/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/arena.h"

static const struct route route = { PLACE_DEVICE, PLACE_PINNED, 0 };

/* ---- the ways ---------------------------------------------------------------------------- */

static void release(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		dtconv_convertor_destroy(w->convertors[op]);
		w->convertors[op] = NULL;
	}
}

/* Of the row's operation in the row's memory, and of the other one in memory of its own. */
static int create(struct engine *e, struct way *w, enum bench_op op, unsigned char *user)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_PINNED
	};
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
		gpu_memory(w->gpu, PLACE_DEVICE, ROLE_OTHER_USER, a->region_bytes);

	*packed = gpu_memory(w->gpu, PLACE_PINNED, ROLE_OTHER_PACKED, a->packed_bytes);
	*user = region ? region + (a->user - a->region) : NULL;
	return region && *packed;
}

/* Convertors are bound for each operation, because the row's memory is the one of its operation. */
static int begin(struct engine *e, struct way *w, enum bench_op op,
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
	status = create(e, w, op, w->user);
	if (!status)
		status = create(e, w, other, user);
	return way_problem(e, e->context, status);
}

static int both(struct engine *e, struct way *w, enum bench_op op, bool at_once)
{
	enum bench_op other = op == BENCH_PACK ? BENCH_UNPACK : BENCH_PACK;
	struct dtconv_flight flights[2];
	unsigned char *packed;

	if (begin(e, w, op, &packed))
		return -1;
	int status = start(e, w, op, w->packed, &flights[0]);
	int ended = 0;
	if (!status && !at_once)
		status = dtconv_flight_wait(&flights[0], NULL);
	if (!status) {
		status = start(e, w, other, packed, &flights[1]);
		ended = status ? 0 : dtconv_flight_wait(&flights[1], NULL);
		if (at_once) {
			int first = dtconv_flight_wait(&flights[0], NULL);

			ended = ended ? ended : first;
		}
	}
	return way_problem(e, e->context, status ? status : ended);
}

static int at_once(struct engine *e, struct way *w, enum bench_op op)
{
	return both(e, w, op, true);
}

static int in_turn(struct engine *e, struct way *w, enum bench_op op)
{
	return both(e, w, op, false);
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

static void print_row(const struct results *rs, size_t from, const char *op)
{
	double turns = us_of(rs, from, op, "dtconv-turns");
	double together = us_of(rs, from, op, "dtconv-duplex");

	if (from == rs->count)
		return;
	printf("%-10s %10zu %-6s", rs->list[from].layout, rs->list[from].bytes, op);
	print_number(turns, 11, 1);
	print_number(together, 11, 1);
	print_number(together > 0 ? turns / together : 0, 8, 2);
	putchar('\n');
}

static void run_row(struct session *s, const char *layout, size_t bytes)
{
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
