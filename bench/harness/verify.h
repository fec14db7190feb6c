/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether an engine moves the right bytes, and only those, judged by the oracle.
 */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness/engine.h"

struct oracle;

/* What is expected of one row. */
struct verify {
	struct oracle *oracle;
	struct arena *arena;
	unsigned char *expected; /* the stream of the arena as it is filled */
	bool overlapping;        /* elements share bytes: unpack has no one answer */
	uint64_t seed;
};

/* Fill the row's memory and work out what is expected. Returns 0 or a status. */
int verify_create(struct verify *verify, struct arena *arena, const struct bench_case *c,
		  uint64_t seed);
void verify_destroy(struct verify *verify);

/*
 * Let a prepared engine do one operation on poisoned memory and judge it. On failure the
 * sentence is in engine->problem. Leaves the arena as verify_create filled it, and the stream
 * in packed memory.
 */
int verify_engine(struct verify *verify, struct engine *engine, enum bench_op op);

#endif
