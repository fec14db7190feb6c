/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills both ends of a message, and judges the bytes.
 */
#include "config.h"

#include "bench/pipeline/ends.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/arena.h"
#include "bench/harness/oracle.h"

#define LINE  64
#define PAGE  4096
#define GUARD 4096

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* ---- memory of the host ------------------------------------------------------------------ */

static unsigned char *get_host(void *arg, enum end_role role, size_t bytes)
{
	struct end_host *host = arg;

	if (host->bytes[role] >= bytes)
		return host->memory[role];
	free(host->memory[role]);
	host->bytes[role] = 0;
	host->memory[role] = aligned_alloc(PAGE, round_up(bytes, PAGE));
	if (host->memory[role])
		host->bytes[role] = bytes;
	return host->memory[role];
}

static bool copy_host(void *arg, void *to, const void *from, size_t bytes)
{
	(void)arg;
	memcpy(to, from, bytes);
	return true;
}

struct end_memory end_host_memory(struct end_host *host)
{
	return (struct end_memory){
		.place = "host", .get = get_host, .copy = copy_host, .arg = host
	};
}

void end_host_close(struct end_host *host)
{
	for (int role = 0; role < END_ROLES; role++)
		free(host->memory[role]);
	*host = (struct end_host){ .memory = { NULL } };
}

/* ---- both ends --------------------------------------------------------------------------- */

static bool copy(const struct ends *ends, void *to, const void *from, size_t bytes)
{
	return ends->memory->copy(ends->memory->arg, to, from, bytes);
}

static unsigned char *get(const struct ends *ends, enum end_role role, size_t bytes)
{
	return ends->memory->get(ends->memory->arg, role, bytes);
}

int ends_open(struct ends *ends, const struct end_memory *memory,
	      const struct bench_case *c, uint64_t seed)
{
	const size_t below = round_up(c->below, LINE);

	*ends = (struct ends){ .memory = memory,
			       .bytes = c->bytes,
			       .region_bytes =
				       round_up(2 * GUARD + below + c->arena_bytes, PAGE),
			       .user_at = GUARD + below,
			       .seed = seed };
	int status = oracle_create(c->type, c->count, &ends->oracle);
	if (status)
		return status;
	ends->mirror = malloc(ends->region_bytes);
	ends->expected = malloc(3 * c->bytes);
	ends->from = get(ends, END_FROM, ends->region_bytes);
	ends->to = get(ends, END_TO, ends->region_bytes);
	ends->packed = get(ends, END_PACKED, c->bytes);
	ends->other_packed = get(ends, END_OTHER_PACKED, c->bytes);
	if (!ends->mirror || !ends->expected || !ends->from || !ends->to ||
	    !ends->packed || !ends->other_packed)
		return DTCONV_ERR_NOMEM;
	ends->before = ends->expected + c->bytes;
	ends->stream = ends->before + c->bytes;
	return 0;
}

void ends_close(struct ends *ends)
{
	oracle_destroy(ends->oracle);
	free(ends->mirror);
	free(ends->expected);
	ends->oracle = NULL;
	ends->mirror = ends->expected = NULL;
}

int ends_fill(struct ends *ends)
{
	unsigned char *user = ends->mirror + ends->user_at;

	pattern_fill(ends->mirror, ends->region_bytes, ends->seed);
	oracle_pack(ends->oracle, user, ends->expected);
	bool copied = copy(ends, ends->from, ends->mirror, ends->region_bytes) &&
		      copy(ends, ends->other_packed, ends->expected, ends->bytes);
	pattern_fill(ends->mirror, ends->region_bytes, ~ends->seed);
	oracle_pack(ends->oracle, user, ends->before);
	copied = copied && copy(ends, ends->to, ends->mirror, ends->region_bytes) &&
		 copy(ends, ends->packed, ends->before, ends->bytes);
	return copied ? 0 : -1;
}

/* ---- the judge --------------------------------------------------------------------------- */

static int refuse(struct engine *e)
{
	engine_problem(e, "the bytes cannot be copied back to be checked");
	return -1;
}

static int judge_source(struct ends *ends, struct engine *e)
{
	if (!copy(ends, ends->mirror, ends->from, ends->region_bytes))
		return refuse(e);
	ptrdiff_t at = pattern_check(ends->mirror, ends->region_bytes, ends->seed);
	if (at < 0)
		return 0;
	engine_problem(e, "changed byte %td of the memory that it only reads", at);
	return -1;
}

static int judge_packed(struct ends *ends, struct engine *e, size_t packed)
{
	if (!copy(ends, ends->stream, ends->packed, packed))
		return refuse(e);
	for (size_t i = 0; i < packed; i++) {
		if (ends->stream[i] == ends->expected[i])
			continue;
		engine_problem(e, "wrong byte at %zu of %zu packed", i, packed);
		return -1;
	}
	return 0;
}

static int judge_target(struct ends *ends, struct engine *e, size_t unpacked)
{
	unsigned char *user = ends->mirror + ends->user_at;

	memcpy(ends->stream, ends->expected, unpacked);
	memcpy(ends->stream + unpacked, ends->before + unpacked, ends->bytes - unpacked);
	if (!copy(ends, ends->mirror, ends->to, ends->region_bytes))
		return refuse(e);
	ptrdiff_t at = oracle_compare(ends->oracle, user, ends->stream);
	if (at >= 0) {
		engine_problem(e, "wrong byte unpacked from %td of %zu", at, unpacked);
		return -1;
	}
	oracle_unpack(ends->oracle, user, ends->before);
	at = pattern_check(ends->mirror, ends->region_bytes, ~ends->seed);
	if (at < 0)
		return 0;
	engine_problem(e, "changed a gap byte at displacement %td",
		       at - (ptrdiff_t)ends->user_at);
	return -1;
}

int ends_judge(struct ends *ends, struct engine *e, size_t unpacked, size_t packed)
{
	return judge_source(ends, e) || judge_target(ends, e, unpacked) ||
			       judge_packed(ends, e, packed)
		       ? -1
		       : 0;
}

int ends_judge_raw(struct ends *ends, struct engine *e)
{
	if (judge_source(ends, e))
		return -1;
	if (!copy(ends, ends->mirror, ends->to, ends->bytes))
		return refuse(e);
	ptrdiff_t at = pattern_check(ends->mirror, ends->bytes, ends->seed);
	if (at < 0)
		return 0;
	engine_problem(e, "the copy differs at byte %td", at);
	return -1;
}
