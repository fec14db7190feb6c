/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages out of device memory whose list of blocks is new: the time until the network has their first fragment, and
 * whether they hold up a copy that is under way.
 */
#ifndef BENCH_PIPELINE_LISTS_H
#define BENCH_PIPELINE_LISTS_H

#include "bench/harness/engine.h"
#include "bench/pipeline/ends.h"
#include "bench/pipeline/exchange.h"

/* So many blocks in each list. */
#define LISTS_BLOCKS 4096

/* Bytes of the copy that is under way. */
#define LISTS_OTHER ((size_t)64 << 20)

/* Lists that take turns. */
#define LISTS_COUNT 8

struct lists {
	struct dtconv_context *context;
	const struct end_memory *memory;
	size_t block;             /* bytes */
	ptrdiff_t *displacements; /* LISTS_COUNT lists */
	size_t next;
	unsigned char *host;     /* what the device's memory holds */
	unsigned char *expected; /* a packed message */
	unsigned char *from, *packed;
	struct exchange exchange;
	struct dtconv_type *other_type;
	struct dtconv_convertor *other;
};

/* Lists of blocks of so many bytes. Returns 0 or a status; to be closed in either event. */
int lists_open(struct lists *lists, struct dtconv_context *context,
	       const struct end_memory *memory, size_t block, uint64_t seed);
int lists_close(struct lists *lists);

/* Engines. "flow": from making a type until its first fragment is emitted. */
void lists_engine_flow(struct engine *engine, struct lists *lists);
/* The other copy from its start to its end, without a message and with one meanwhile. */
void lists_engine_alone(struct engine *engine, struct lists *lists);
void lists_engine_beside(struct engine *engine, struct lists *lists);

/* Send a message of each list, and compare its fragments. */
int lists_verify(struct engine *engine);

#endif
