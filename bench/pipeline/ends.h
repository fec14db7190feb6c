/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory at both ends of a message, with guard bytes around it, and the judge of what has arrived: the oracle
 * walks the typemap, and every byte between the elements has to be what it was.
 */
#ifndef BENCH_PIPELINE_ENDS_H
#define BENCH_PIPELINE_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness/engine.h"
#include "bench/layouts/layout.h"

struct oracle;

/* What memory is for. */
enum end_role { END_FROM, END_TO, END_PACKED, END_OTHER_PACKED, END_ROLES };

/* Where memory comes from: of the host, or of a device with pinned memory for what is packed. */
struct end_memory {
	const char *place; /* "host" or "device" */
	/* At least so many bytes for a role, valid until the next call for it; NULL: none. */
	unsigned char *(*get)(void *arg, enum end_role role, size_t bytes);
	bool (*copy)(void *arg, void *to, const void *from, size_t bytes);
	void *arg;
};

/* Memory of the host. */
struct end_host {
	unsigned char *memory[END_ROLES];
	size_t bytes[END_ROLES];
};
struct end_memory end_host_memory(struct end_host *host);
void end_host_close(struct end_host *host);

struct ends {
	const struct end_memory *memory;
	size_t bytes; /* of the packed stream */
	size_t region_bytes, user_at;
	unsigned char *from, *to;             /* regions; users begin at @user_at */
	unsigned char *packed, *other_packed; /* the stream, twice */
	unsigned char *mirror;                /* a region in host memory */
	unsigned char *expected, *before,
		*stream; /* of the source; of the target before */
	struct oracle *oracle;
	uint64_t seed;
};

/* Returns 0, or a status; to be closed in either event. */
int ends_open(struct ends *ends, const struct end_memory *memory,
	      const struct bench_case *c, uint64_t seed);
void ends_close(struct ends *ends);

/* Fill all memory: what was moved before is gone. @other_packed gets the stream that @from holds. */
int ends_fill(struct ends *ends);

/*
 * After a move: the first @unpacked bytes of the stream have to be in the target, and nothing else there has changed;
 * the first @packed bytes have to be in packed memory; the source has not changed. On failure the sentence is in
 * @engine's problem.
 */
int ends_judge(struct ends *ends, struct engine *engine, size_t unpacked, size_t packed);

/* The same of a copy of so many contiguous bytes from @from to @to. */
int ends_judge_raw(struct ends *ends, struct engine *engine);

#endif
