/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines: dtconv, memcpy, the hand loop, and peers in processes of their own. All execute
 * the same requests on the same memory.
 */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct bench_case;
struct dtconv_context;
struct dtconv_type;
struct engine;

/* The direction of a move. */
enum bench_op { BENCH_PACK, BENCH_UNPACK };
const char *bench_op_name(enum bench_op op);

struct engine_ops {
	/* Prepare for a row. Returns 0, or -1 with an error text in engine->problem. */
	int (*prepare)(struct engine *engine, const struct bench_case *c,
		       const struct arena *arena);
	/* Make `warm` calls, then time `calls` more together. Returns as prepare. */
	int (*run)(struct engine *engine, enum bench_op op, size_t warm, size_t calls,
		   double *ns);
	/* Finish a row. Not called if prepare failed. May be NULL. */
	void (*release)(struct engine *engine);
	/* NULL: nothing to do. */
	void (*destroy)(struct engine *engine);
};

#define ENGINE_NAME_ROOM    32
#define ENGINE_PROBLEM_ROOM 200

struct engine {
	char name[ENGINE_NAME_ROOM];
	char version[80]; /* the version that a peer reports */
	const struct engine_ops *ops;
	const struct bench_case *c; /* of the row in work */
	const struct arena *arena;
	void *state;
	bool absent; /* unavailable on this machine; the reason is in problem */
	bool raw;    /* copies `bytes` contiguous bytes for any type: memcpy */
	bool bound;  /* only touches the layout's cache lines: bench/harness/lines.h */
	struct dtconv_context *context; /* used instead of the case's type; or NULL */
	size_t fragment;                /* fragment length, if the stream is cut */
	double prepare_ns;              /* of a peer: time to build and commit the type */
	char problem[ENGINE_PROBLEM_ROOM]; /* empty: none */
};

void engine_problem(struct engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* An engine with a name and its operations; for the functions below. */
void engine_set_up(struct engine *engine, const char *name, const struct engine_ops *ops);
/* Make the engine absent if this CPU lacks instructions that bench/hand was compiled for. */
void engine_needs_hand(struct engine *engine);

/* Engines of this process. */
void engine_dtconv(struct engine *engine, const char *name);
void engine_memcpy(struct engine *engine);
void engine_hand(struct engine *engine);
/* dtconv through a convertor that is bound again for each call. */
void engine_convertor(struct engine *engine, const char *name);
/* dtconv in fragments of so many bytes through one convertor. */
void engine_fragments(struct engine *engine, const char *name, size_t fragment);

/* Create and commit a copy of a type in another context. @made may be set even on failure. */
int engine_make_again(const struct dtconv_type *type, struct dtconv_context *context,
		      struct dtconv_type **made);

/* dtconv with the case's type made again in another context, which has threads. */
void engine_threads(struct engine *engine, const char *name,
		    struct dtconv_context *context);

/*
 * A program that speaks bench/peers/protocol.h. It is started at the first prepare, and ended
 * if an answer takes longer than the timeout.
 */
void engine_peer(struct engine *engine, const char *name, const char *program,
		 int timeout_s);

int engine_prepare(struct engine *engine, const struct bench_case *c,
		   const struct arena *arena);
int engine_run(struct engine *engine, enum bench_op op, size_t warm, size_t calls,
	       double *ns);
void engine_release(struct engine *engine);
void engine_destroy(struct engine *engine);

/* Nanoseconds of the monotonic clock. */
double bench_now(void);

/*
 * Nanoseconds of the clock for engines: the monotonic one, or this thread's CPU time, which
 * excludes other processes.
 */
double bench_clock(void);
void bench_time_processor(bool processor);
bool bench_times_processor(void);

#endif
