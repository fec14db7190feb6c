/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that an engine moves the right bytes, and only those, against the oracle.
 */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness/engine.h"

struct oracle;

/* The expected results of one row. */
struct verify {
	struct oracle *oracle;
	struct arena *arena;
	unsigned char *expected; /* the packed stream of the filled arena */
	bool overlapping;        /* elements overlap: unpack has no unique result */
	uint64_t seed;
};

/* Fill the row's memory and compute what is expected. Returns 0 or a status. */
int verify_create(struct verify *verify, struct arena *arena, const struct bench_case *c,
		  uint64_t seed);
void verify_destroy(struct verify *verify);

/*
 * Run one operation of a prepared engine on poisoned memory and judge it. On failure an error
 * text is in engine->problem. Afterwards the arena is as verify_create filled it, and the
 * stream is in packed memory.
 */
int verify_engine(struct verify *verify, struct engine *engine, enum bench_op op);

#endif
