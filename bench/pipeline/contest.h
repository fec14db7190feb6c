/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row of the pipeline bench with what it needs, and its contestants: the flow, and the copies that it consists of,
 * called directly.
 */
#ifndef BENCH_PIPELINE_CONTEST_H
#define BENCH_PIPELINE_CONTEST_H

#include "bench/harness/engine.h"
#include "bench/pipeline/ends.h"
#include "bench/pipeline/exchange.h"

enum contest_kind {
	CONTEST_MESSAGE, /* through fragments, from one end to the other */
	CONTEST_SMALL,   /* the same in one fragment: the time that the flow adds */
	CONTEST_DUPLEX,  /* a send and a receive */
	CONTEST_LISTS    /* a list of blocks that is new with every message */
};

/* Copies of fragments by the convertors directly use so many in turn, as a send does by default. */
#define CONTEST_RING 4

struct contest {
	struct dtconv_context *context;
	const struct bench_case *c;
	enum contest_kind kind;
	bool on_device;
	size_t fragment; /* bytes; that of the flow */
	struct ends ends;
	struct dtconv_convertor *packs, *unpacks;         /* of the flow */
	struct dtconv_convertor *packs_too, *unpacks_too; /* of the copies */
	struct exchange exchange;
	unsigned char *ring; /* host rows only */
};

/* Prepare a row; @fragment 0: as the context plans. Returns 0 or a status; to be closed in either event. */
int contest_open(struct contest *contest, struct dtconv_context *context,
		 const struct bench_case *c, enum contest_kind kind,
		 const struct end_memory *memory, size_t fragment, uint64_t seed);
int contest_close(struct contest *contest);

/* A contestant is an engine whose state is one of these. */
struct contestant {
	const char *name;
	/* One turn. Returns 0 or a status. */
	int (*once)(struct contest *contest);
	/* After a turn: of the stream, how much has to be in the target and in packed memory. */
	size_t (*unpacked)(const struct contest *contest);
	size_t (*packed)(const struct contest *contest);
	bool is_raw; /* it copies contiguous bytes instead */
};

/* Those of a kind of row, ending with a NULL name. */
const struct contestant *contest_field(const struct contest *contest);

/* Make an engine of a contestant. @allocations counts those of the context while it runs; or NULL. */
struct contest_turns {
	struct contest *contest;
	const struct contestant *contestant;
	const size_t *allocations;
	size_t allocated; /* in turns that were timed */
};
void contest_engine(struct engine *engine, struct contest_turns *turns);

/* Fill the memory, take one turn, and judge it. Returns 0, or -1 with a sentence in the engine's problem. */
int contest_verify(struct engine *engine);

#endif
