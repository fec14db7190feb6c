/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists that are new with every message. Types are made, committed and freed for each.
 */
#include "config.h"

#include "bench/pipeline/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/arena.h"

/* ---- a message --------------------------------------------------------------------------- */

static const ptrdiff_t *next_list(struct lists *l)
{
	return l->displacements + l->next++ % LISTS_COUNT * LISTS_BLOCKS;
}

static int create(struct lists *l, const ptrdiff_t *list, struct dtconv_type **type)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_PINNED
	};
	struct exchange *x = &l->exchange;
	int status = dtconv_type_create_hindexed_block(
		LISTS_BLOCKS, l->block, list,
		dtconv_type_predefined(l->context, DTCONV_BYTE), type);

	if (!status)
		status = dtconv_type_commit(*type);
	if (!status)
		status = dtconv_convertor_create_pack(*type, 1, l->from, &x->packs);
	return status ? status : dtconv_convertor_configure(x->packs, &params);
}

static void release(struct lists *l, struct dtconv_type *type)
{
	dtconv_convertor_destroy(l->exchange.packs);
	l->exchange.packs = NULL;
	dtconv_type_unref(type);
}

/* Send one message of a list; @ns: from here until the network has its first fragment. */
static int send(struct lists *l, const ptrdiff_t *list, double *ns)
{
	struct dtconv_type *type = NULL;
	double start = bench_clock();
	int status = create(l, list, &type);

	if (!status) {
		exchange_start_send(&l->exchange);
		status = exchange_finish(&l->exchange);
	}
	*ns = l->exchange.first_ns - start;
	release(l, type);
	return status;
}

/* ---- the copy under way ------------------------------------------------------------------ */

static int start_other(struct lists *l, struct dtconv_flight *flight)
{
	return dtconv_flight_start(l->other, flight, 0, l->packed, LISTS_OTHER);
}

static int alone(struct lists *l, double *ns)
{
	struct dtconv_flight flight;
	double start = bench_clock();
	int status = start_other(l, &flight);

	if (!status)
		status = dtconv_flight_wait(&flight, NULL);
	*ns = bench_clock() - start;
	return status;
}

/* Polled while the message is under way, so that the end of the copy is seen when it comes. */
static int beside(struct lists *l, double *ns)
{
	struct exchange *x = &l->exchange;
	struct dtconv_type *type = NULL;
	struct dtconv_flight flight;
	double start = bench_clock();
	int ended = start_other(l, &flight);

	if (ended)
		return ended;
	int status = create(l, next_list(l), &type);
	if (!status)
		exchange_start_send(x);
	do {
		if (x->open)
			(void)dtconv_engine_progress(x->engine, 0, NULL);
		ended = dtconv_flight_test(&flight, NULL);
	} while (ended == DTCONV_INPROGRESS);
	*ns = bench_clock() - start;
	int sent = exchange_finish(x);
	release(l, type);
	return ended ? ended : status ? status : sent;
}

/* ---- engines ----------------------------------------------------------------------------- */

static int tell(struct engine *e, const struct lists *l, int status)
{
	char text[ENGINE_PROBLEM_ROOM];

	if (!status)
		return 0;
	if (!dtconv_context_error(l->context, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", dtconv_strerror(status));
	engine_problem(e, "%s", text);
	return -1;
}

static int run(struct engine *e, int (*once)(struct lists *, double *), size_t warm,
	       size_t calls, double *ns)
{
	struct lists *l = e->state;
	int status = 0;

	*ns = 0;
	for (size_t i = 0; i < warm + calls && !status; i++) {
		double one = 0;

		status = once(l, &one);
		*ns += i < warm ? 0 : one;
	}
	return tell(e, l, status);
}

static int send_next(struct lists *l, double *ns)
{
	return send(l, next_list(l), ns);
}

static int run_flow(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		    double *ns)
{
	(void)op;
	return run(e, send_next, warm, calls, ns);
}

static int run_alone(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		     double *ns)
{
	(void)op;
	return run(e, alone, warm, calls, ns);
}

static int run_beside(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		      double *ns)
{
	(void)op;
	return run(e, beside, warm, calls, ns);
}

static void set_up(struct engine *e, struct lists *l, const char *name,
		   const struct engine_ops *ops)
{
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->ops = ops;
	e->state = l;
}

void lists_engine_flow(struct engine *e, struct lists *l)
{
	static const struct engine_ops ops = { .run = run_flow };

	set_up(e, l, "flow", &ops);
}

void lists_engine_alone(struct engine *e, struct lists *l)
{
	static const struct engine_ops ops = { .run = run_alone };

	set_up(e, l, "alone", &ops);
}

void lists_engine_beside(struct engine *e, struct lists *l)
{
	static const struct engine_ops ops = { .run = run_beside };

	set_up(e, l, "beside", &ops);
}

/* ---- the judge --------------------------------------------------------------------------- */

static void gather(struct lists *l, const ptrdiff_t *list)
{
	for (size_t i = 0; i < LISTS_BLOCKS; i++)
		memcpy(l->expected + i * l->block, l->host + list[i], l->block);
}

int lists_verify(struct engine *e)
{
	struct lists *l = e->state;
	int status = 0;
	double ns;

	l->exchange.wrong = 0;
	l->exchange.expected = l->expected;
	for (size_t i = 0; i < LISTS_COUNT && !status; i++) {
		const ptrdiff_t *list = next_list(l);

		gather(l, list);
		status = send(l, list, &ns);
	}
	l->exchange.expected = NULL;
	if (status)
		return tell(e, l, status);
	if (!l->exchange.wrong)
		return 0;
	engine_problem(e, "%zu fragments with wrong bytes", l->exchange.wrong);
	return -1;
}

/* ---- lifetime ---------------------------------------------------------------------------- */

/* Blocks of the memory that lists draw from, and its bytes, for the other copy at least. */
#define POOL_BLOCKS ((size_t)2 * LISTS_BLOCKS)

static size_t region_bytes(const struct lists *l)
{
	size_t bytes = POOL_BLOCKS * l->block;

	return bytes < LISTS_OTHER ? LISTS_OTHER : bytes;
}

/* Distinct blocks in random order: the first ones of a shuffled pool. */
static int draw(struct lists *l, uint64_t seed)
{
	size_t *order = malloc(POOL_BLOCKS * sizeof(*order));

	l->displacements =
		malloc((size_t)LISTS_COUNT * LISTS_BLOCKS * sizeof(*l->displacements));
	if (!order || !l->displacements) {
		free(order);
		return DTCONV_ERR_NOMEM;
	}
	for (size_t i = 0; i < POOL_BLOCKS; i++)
		order[i] = i;
	for (size_t i = 0; i < (size_t)LISTS_COUNT * LISTS_BLOCKS; i++) {
		size_t at = i % LISTS_BLOCKS;
		size_t other = at + bench_random_below(&seed, POOL_BLOCKS - at);
		size_t block = order[other];

		order[other] = order[at];
		order[at] = block;
		l->displacements[i] = (ptrdiff_t)(block * l->block);
	}
	free(order);
	return 0;
}

static int find_memory(struct lists *l, uint64_t seed)
{
	const size_t bytes = region_bytes(l);
	const struct end_memory *m = l->memory;

	l->host = malloc(bytes);
	l->expected = malloc(LISTS_BLOCKS * l->block);
	l->from = m->get(m->arg, END_FROM, bytes);
	l->packed = m->get(m->arg, END_PACKED, LISTS_OTHER);
	if (!l->host || !l->expected || !l->from || !l->packed)
		return DTCONV_ERR_NOMEM;
	pattern_fill(l->host, bytes, seed);
	return m->copy(m->arg, l->from, l->host, bytes) ? 0 : DTCONV_ERR_BACKEND;
}

static int create_other(struct lists *l)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_PINNED
	};
	int status = dtconv_type_create_contiguous(
		LISTS_OTHER, dtconv_type_predefined(l->context, DTCONV_BYTE),
		&l->other_type);

	if (!status)
		status = dtconv_type_commit(l->other_type);
	if (!status)
		status = dtconv_convertor_create_pack(l->other_type, 1, l->from,
						      &l->other);
	return status ? status : dtconv_convertor_configure(l->other, &params);
}

int lists_open(struct lists *l, struct dtconv_context *context,
	       const struct end_memory *memory, size_t block, uint64_t seed)
{
	const struct exchange_params params = { .context = context,
						.bytes = LISTS_BLOCKS * block,
						.pool_kind = DTCONV_MEMORY_PINNED };

	*l = (struct lists){ .context = context, .memory = memory, .block = block };
	int status = draw(l, seed);
	if (!status)
		status = find_memory(l, seed);
	if (!status)
		status = create_other(l);
	if (!status)
		status = exchange_open(&l->exchange, &params);
	l->exchange.notes_first = true;
	return status;
}

int lists_close(struct lists *l)
{
	int status = exchange_close(&l->exchange);

	dtconv_convertor_destroy(l->other);
	dtconv_type_unref(l->other_type);
	free(l->displacements);
	free(l->host);
	free(l->expected);
	return status;
}
