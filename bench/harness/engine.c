/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines of this process. A call is one whole pack or unpack of the row, including the
 * argument checks.
 */
#include "config.h"

#include "bench/harness/engine.h"

#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* The clock for engines; set once, before the first of them runs. */
static clockid_t engine_clock = CLOCK_MONOTONIC;

void bench_time_processor(bool processor)
{
	engine_clock = processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

bool bench_times_processor(void)
{
	return engine_clock == CLOCK_THREAD_CPUTIME_ID;
}

double bench_clock(void)
{
	return read_clock(engine_clock);
}

const char *bench_op_name(enum bench_op op)
{
	return op == BENCH_PACK ? "pack" : "unpack";
}

void engine_problem(struct engine *engine, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(engine->problem, sizeof(engine->problem), format, arguments);
	va_end(arguments);
}

int engine_prepare(struct engine *e, const struct bench_case *c,
		   const struct arena *arena)
{
	if (!e->absent)
		e->problem[0] = '\0';
	e->c = c;
	e->arena = arena;
	if (e->absent)
		return -1;
	return e->ops->prepare(e, c, arena);
}

int engine_run(struct engine *e, enum bench_op op, size_t warm, size_t calls, double *ns)
{
	return e->ops->run(e, op, warm, calls, ns);
}

void engine_release(struct engine *e)
{
	if (e->ops->release)
		e->ops->release(e);
}

void engine_destroy(struct engine *e)
{
	if (e->ops && e->ops->destroy)
		e->ops->destroy(e);
}

void engine_set_up(struct engine *e, const char *name, const struct engine_ops *ops)
{
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->ops = ops;
}

/* ---- dtconv, one-shot calls ---------------------------------------------------------- */

static int dtconv_set_up(struct engine *e, const struct bench_case *c,
			 const struct arena *arena)
{
	(void)e, (void)c, (void)arena;
	return 0;
}

static int dtconv_calls(const struct engine *e, enum bench_op op, size_t calls,
			size_t *moved)
{
	const struct bench_case *c = e->c;
	struct dtconv_type *type = e->state ? e->state : c->type;
	void *user = arena_user(e->arena);
	void *packed = arena_packed(e->arena);
	int status = 0;

	for (size_t i = 0; i < calls && !status; i++) {
		if (op == BENCH_PACK)
			status = dtconv_pack(type, c->count, user, packed, c->bytes,
					     moved);
		else
			status = dtconv_unpack(type, c->count, user, packed, c->bytes,
					       moved);
	}
	return status;
}

/* Makes @calls calls. @moved: the bytes of the last one. */
typedef int (*calls_fn)(const struct engine *e, enum bench_op op, size_t calls,
			size_t *moved);

static int time_calls(struct engine *e, calls_fn make_calls, const char *prefix,
		      enum bench_op op, size_t warm, size_t calls, double *ns)
{
	size_t moved = e->c->bytes;
	int status = make_calls(e, op, warm, &moved);
	double start = bench_clock();

	if (!status)
		status = make_calls(e, op, calls, &moved);
	*ns = bench_clock() - start;
	if (status)
		engine_problem(e, "%s%s failed: %s", prefix, bench_op_name(op),
			       dtconv_strerror(status));
	else if (moved != e->c->bytes)
		engine_problem(e, "%s%s moved %zu of %zu bytes", prefix,
			       bench_op_name(op), moved, e->c->bytes);
	else
		return 0;
	return -1;
}

static int dtconv_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		      double *ns)
{
	return time_calls(e, dtconv_calls, "dtconv_", op, warm, calls, ns);
}

void engine_dtconv(struct engine *e, const char *name)
{
	static const struct engine_ops ops = { .prepare = dtconv_set_up,
					       .run = dtconv_run };

	engine_set_up(e, name, &ops);
}

/* ---- dtconv with threads ------------------------------------------------------------- */

int engine_make_again(const struct dtconv_type *type, struct dtconv_context *context,
		      struct dtconv_type **made)
{
	size_t bytes = 0;
	int status = dtconv_type_serialise(type, NULL, 0, &bytes);
	void *form = malloc(bytes);

	if (status == DTCONV_ERR_TRUNCATE)
		status = form ? dtconv_type_serialise(type, form, bytes, &bytes)
			      : DTCONV_ERR_NOMEM;
	if (!status)
		status = dtconv_type_deserialise(context, form, bytes, made);
	free(form);
	return status ? status : dtconv_type_commit(*made);
}

static int threads_prepare(struct engine *e, const struct bench_case *c,
			   const struct arena *arena)
{
	struct dtconv_type *type = NULL;
	int status = engine_make_again(c->type, e->context, &type);

	(void)arena;
	if (status) {
		dtconv_type_unref(type);
		engine_problem(e,
			       "creating the type in a context with threads failed: %s",
			       dtconv_strerror(status));
		return -1;
	}
	e->state = type;
	return 0;
}

static void threads_release(struct engine *e)
{
	dtconv_type_unref(e->state);
	e->state = NULL;
}

void engine_threads(struct engine *e, const char *name, struct dtconv_context *context)
{
	static const struct engine_ops ops = { .prepare = threads_prepare,
					       .run = dtconv_run,
					       .release = threads_release };

	engine_set_up(e, name, &ops);
	e->context = context;
}

/* ---- dtconv, a convertor bound again and again, or in fragments ---------------------- */

/* The memory kind is declared once, so dtconv never queries it. */
static int configure(struct dtconv_convertor *convertor)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.user_memory = DTCONV_MEMORY_HOST,
							.packed_memory = DTCONV_MEMORY_HOST };

	return dtconv_convertor_configure(convertor, &params);
}

static int convertor_prepare(struct engine *e, const struct bench_case *c,
			     const struct arena *arena)
{
	struct dtconv_convertor *convertor = NULL;
	int status = dtconv_convertor_create_pack(c->type, c->count, arena_user(arena),
						  &convertor);

	if (!status)
		status = configure(convertor);
	if (status) {
		engine_problem(e, "creating a convertor failed: %s",
			       dtconv_strerror(status));
		dtconv_convertor_destroy(convertor);
		return -1;
	}
	e->state = convertor;
	return 0;
}

static void convertor_release(struct engine *e)
{
	dtconv_convertor_destroy(e->state);
	e->state = NULL;
}

static inline int rebind(struct dtconv_convertor *convertor, const struct bench_case *c,
			 enum bench_op op, void *user)
{
	return op == BENCH_PACK
		       ? dtconv_convertor_rebind_pack(convertor, c->type, c->count, user)
		       : dtconv_convertor_rebind_unpack(convertor, c->type, c->count,
							user);
}

static inline int move(struct dtconv_convertor *convertor, enum bench_op op, void *packed,
		       size_t bytes, size_t *moved)
{
	return op == BENCH_PACK
		       ? dtconv_convertor_pack(convertor, packed, bytes, moved)
		       : dtconv_convertor_unpack(convertor, packed, bytes, moved);
}

/* Bound again for each stream. */
static int rebound_calls(const struct engine *e, enum bench_op op, size_t calls,
			 size_t *moved)
{
	const struct bench_case *c = e->c;
	struct dtconv_convertor *convertor = e->state;
	void *user = arena_user(e->arena);
	void *packed = arena_packed(e->arena);
	int status = 0;

	for (size_t i = 0; i < calls && !status; i++) {
		status = rebind(convertor, c, op, user);
		if (!status)
			status = move(convertor, op, packed, c->bytes, moved);
	}
	return status;
}

static int convertor_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
			 double *ns)
{
	return time_calls(e, rebound_calls, "dtconv_convertor_", op, warm, calls, ns);
}

void engine_convertor(struct engine *e, const char *name)
{
	static const struct engine_ops ops = { .prepare = convertor_prepare,
					       .run = convertor_run,
					       .release = convertor_release };

	engine_set_up(e, name, &ops);
}

/* A whole stream, in fragments. */
static int move_in_fragments(const struct engine *e, enum bench_op op, size_t *moved)
{
	unsigned char *packed = arena_packed(e->arena);
	int status = rebind(e->state, e->c, op, arena_user(e->arena));

	*moved = 0;
	while (!status && *moved < e->c->bytes) {
		size_t left = e->c->bytes - *moved;
		size_t bytes = left < e->fragment ? left : e->fragment;
		size_t some = 0;

		status = move(e->state, op, packed + *moved, bytes, &some);
		if (!status && some != bytes)
			status = DTCONV_ERR_TRUNCATE;
		*moved += some;
	}
	return status;
}

static int fragments_calls(const struct engine *e, enum bench_op op, size_t calls,
			   size_t *moved)
{
	int status = 0;

	for (size_t i = 0; i < calls && !status; i++)
		status = move_in_fragments(e, op, moved);
	return status;
}

static int fragments_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
			 double *ns)
{
	return time_calls(e, fragments_calls, "dtconv_convertor_", op, warm, calls, ns);
}

void engine_fragments(struct engine *e, const char *name, size_t fragment)
{
	static const struct engine_ops ops = { .prepare = convertor_prepare,
					       .run = fragments_run,
					       .release = convertor_release };

	engine_set_up(e, name, &ops);
	e->fragment = fragment;
}

/* ---- memcpy of the same bytes -------------------------------------------------------- */

static int memcpy_prepare(struct engine *e, const struct bench_case *c,
			  const struct arena *arena)
{
	(void)e;
	pattern_fill(arena_flat(arena), c->bytes, c->bytes);
	return 0;
}

/* Call through a volatile pointer, so that the compiler cannot remove a call. */
static void *(*volatile copy)(void *restrict, const void *restrict, size_t) = memcpy;

static int memcpy_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		      double *ns)
{
	void *packed = arena_packed(e->arena);
	void *flat = arena_flat(e->arena);
	void *to = op == BENCH_PACK ? packed : flat;
	const void *from = op == BENCH_PACK ? flat : packed;
	double start = 0;

	for (size_t i = 0; i < warm + calls; i++) {
		if (i == warm)
			start = bench_clock();
		copy(to, from, e->c->bytes);
	}
	*ns = bench_clock() - start;
	return 0;
}

void engine_memcpy(struct engine *e)
{
	static const struct engine_ops ops = { .prepare = memcpy_prepare,
					       .run = memcpy_run };

	engine_set_up(e, "memcpy", &ops);
	e->raw = true;
}

/* ---- the hand loop ------------------------------------------------------------------- */

static int hand_prepare(struct engine *e, const struct bench_case *c,
			const struct arena *arena)
{
	(void)arena;
	if (c->hand.pack)
		return 0;
	engine_problem(e, "no hand loop for this layout");
	return -1;
}

static void hand_once(const struct hand_loop *hand, enum bench_op op, unsigned char *user,
		      unsigned char *packed)
{
	user += hand->first_byte;
	for (size_t i = 0; i < hand->instances; i++) {
		if (op == BENCH_PACK)
			hand->pack(hand->shape, user, packed);
		else
			hand->unpack(hand->shape, user, packed);
		user += hand->instance_bytes;
		packed += hand->packed_bytes;
	}
}

static int hand_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		    double *ns)
{
	unsigned char *user = arena_user(e->arena);
	unsigned char *packed = arena_packed(e->arena);
	double start = 0;

	for (size_t i = 0; i < warm + calls; i++) {
		if (i == warm)
			start = bench_clock();
		hand_once(&e->c->hand, op, user, packed);
	}
	*ns = bench_clock() - start;
	return 0;
}

/* The loops were compiled for the CPU of the build machine. */
static bool processor_can(unsigned needs)
{
#if defined(__x86_64__)
	if (needs & HAND_NEEDS_AVX2 && !__builtin_cpu_supports("avx2"))
		return false;
	if (needs & HAND_NEEDS_AVX512 && !__builtin_cpu_supports("avx512f"))
		return false;
#endif
	(void)needs;
	return true;
}

void engine_needs_hand(struct engine *e)
{
	if (processor_can(hand_needs()))
		return;
	e->absent = true;
	engine_problem(e, "compiled for instructions that this CPU lacks");
}

void engine_hand(struct engine *e)
{
	static const struct engine_ops ops = { .prepare = hand_prepare, .run = hand_run };

	engine_set_up(e, "hand", &ops);
	engine_needs_hand(e);
}
