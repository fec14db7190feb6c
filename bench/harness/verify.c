/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verifies engines. The arena holds a pattern, including gaps and guards.
 *
 * - A pack has to give the oracle's stream and leave the guard behind packed memory unchanged.
 * - An unpack has to store another stream where the oracle finds it. Then the oracle restores
 *   the first bytes; if the whole arena is not the pattern again, something was stored into a
 *   gap.
 */
#include "config.h"

#include "bench/harness/verify.h"

#include "bench/harness/arena.h"
#include "bench/harness/lines.h"
#include "bench/harness/oracle.h"
#include "bench/layouts/layout.h"

#include <stdlib.h>
#include <string.h>

#define POISON 0xa5

static uint64_t stream_seed(const struct verify *v)
{
	return ~v->seed;
}

static unsigned char *region(const struct verify *v)
{
	return v->arena->map + v->arena->region;
}

/* The stream for unpack: it differs from the arena's bytes everywhere. */
static void fill_stream(const struct verify *v)
{
	pattern_fill(arena_packed(v->arena), v->arena->packed_bytes, stream_seed(v));
}

static void restore(const struct verify *v)
{
	oracle_unpack(v->oracle, arena_user(v->arena), v->expected);
}

/* Elements overlap if an unpacked stream is not packed again unchanged. */
static bool find_overlap(const struct verify *v)
{
	bool overlapping;

	fill_stream(v);
	oracle_unpack(v->oracle, arena_user(v->arena), arena_packed(v->arena));
	overlapping = oracle_compare(v->oracle, arena_user(v->arena),
				     arena_packed(v->arena)) >= 0;
	restore(v);
	return overlapping;
}

int verify_create(struct verify *v, struct arena *arena, const struct bench_case *c,
		  uint64_t seed)
{
	int status;

	*v = (struct verify){ .arena = arena, .seed = seed };
	status = oracle_create(c->type, c->count, &v->oracle);
	if (status)
		return status;
	v->expected = malloc(c->bytes);
	if (!v->expected) {
		verify_destroy(v);
		return DTCONV_ERR_NOMEM;
	}
	pattern_fill(region(v), arena->region_bytes, seed);
	oracle_pack(v->oracle, arena_user(arena), v->expected);
	v->overlapping = !c->disjoint && find_overlap(v);
	return 0;
}

void verify_destroy(struct verify *v)
{
	oracle_destroy(v->oracle);
	free(v->expected);
	*v = (struct verify){ .seed = v->seed };
}

static size_t first_difference(const unsigned char *a, const unsigned char *b,
			       size_t bytes)
{
	size_t i = 0;

	while (i < bytes && a[i] == b[i])
		i++;
	return i;
}

static int verify_pack(struct verify *v, struct engine *e)
{
	unsigned char *packed = arena_packed(v->arena);
	size_t bytes = v->arena->packed_bytes;
	double ns;

	memset(packed, POISON, bytes + ARENA_GUARD);
	if (engine_run(e, BENCH_PACK, 0, 1, &ns))
		return -1;
	if (memcmp(packed, v->expected, bytes) != 0) {
		engine_problem(e, "wrong byte at %zu of %zu packed",
			       first_difference(packed, v->expected, bytes), bytes);
		return -1;
	}
	for (size_t i = bytes; i < bytes + ARENA_GUARD; i++) {
		if (packed[i] != POISON) {
			engine_problem(e, "wrote %zu bytes past the end of packed memory",
				       i - bytes);
			return -1;
		}
	}
	return 0;
}

/* After an unpack: the right bytes in place, the stream and the gaps untouched. */
static int judge_unpack(struct verify *v, struct engine *e)
{
	const unsigned char *packed = arena_packed(v->arena);
	size_t bytes = v->arena->packed_bytes;
	ptrdiff_t at = pattern_check(packed, bytes, stream_seed(v));

	if (at >= 0) {
		engine_problem(e, "changed byte %td of the stream that it only reads",
			       at);
		return -1;
	}
	at = v->overlapping ? -1
			    : oracle_compare(v->oracle, arena_user(v->arena), packed);
	if (at >= 0) {
		engine_problem(e, "wrong byte unpacked from %td of %zu", at, bytes);
		return -1;
	}
	restore(v);
	at = pattern_check(region(v), v->arena->region_bytes, v->seed);
	if (at >= 0) {
		engine_problem(e, "changed a gap byte at displacement %td",
			       (ptrdiff_t)(v->arena->region + (size_t)at) -
				       (ptrdiff_t)v->arena->user);
		return -1;
	}
	return 0;
}

static int verify_unpack(struct verify *v, struct engine *e)
{
	double ns;
	int failed;

	fill_stream(v);
	failed = engine_run(e, BENCH_UNPACK, 0, 1, &ns) || judge_unpack(v, e);
	/* restore the memory, so that a bad engine does not fail the next one */
	if (failed)
		pattern_fill(region(v), v->arena->region_bytes, v->seed);
	return failed ? -1 : 0;
}

/* A raw copy has no layout: afterwards flat and packed memory have to be equal. */
static int verify_raw(struct verify *v, struct engine *e, enum bench_op op)
{
	size_t bytes = v->arena->packed_bytes;
	double ns;

	memset(op == BENCH_PACK ? arena_packed(v->arena) : arena_flat(v->arena), POISON,
	       bytes);
	if (engine_run(e, op, 0, 1, &ns))
		return -1;
	if (memcmp(arena_packed(v->arena), arena_flat(v->arena), bytes) == 0)
		return 0;
	engine_problem(e, "the copy differs");
	return -1;
}

/* ---- engines that only touch the layout's lines --------------------------------------- */

static uint64_t first_words(const struct verify *v, const struct line_masks *m)
{
	uint64_t sum = 0, word;

	for (size_t i = 0; i < m->count; i++) {
		memcpy(&word, region(v) + i * HAND_LINE, sizeof(word));
		sum += m->masks[i] ? word : 0;
	}
	return sum;
}

static ptrdiff_t first_other(const unsigned char *memory, size_t bytes,
			     unsigned char byte)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != byte)
			return (ptrdiff_t)i;
	return -1;
}

/* Packing has to load from each line with data and from no other, and to fill packed memory. */
static int judge_lines_packed(struct verify *v, struct engine *e,
			      const struct line_masks *m)
{
	const unsigned char *packed = arena_packed(v->arena);
	size_t bytes = v->arena->packed_bytes;
	ptrdiff_t at = first_other(packed, bytes, HAND_LINE_BYTE);

	if (engine_lines_sum(e) != first_words(v, m))
		engine_problem(e, "did not load from each of the layout's lines once");
	else if (at >= 0)
		engine_problem(e, "did not store byte %td of %zu packed", at, bytes);
	else if (first_other(packed + bytes, ARENA_GUARD, POISON) >= 0)
		engine_problem(e, "wrote past the end of packed memory");
	else
		return 0;
	return -1;
}

/* The bytes of a line that an unpack stores: all, if all are data, or the first one. */
static size_t stored_bytes(uint64_t mask)
{
	return mask == UINT64_MAX ? HAND_LINE : mask ? 1 : 0;
}

static int judge_lines_unpacked(struct verify *v, struct engine *e,
				const struct line_masks *m)
{
	for (size_t i = 0; i < m->count; i++) {
		unsigned char *line = region(v) + i * HAND_LINE;
		size_t stored = stored_bytes(m->masks[i]);

		if (first_other(line, stored, HAND_LINE_BYTE) >= 0) {
			engine_problem(e, "did not store into line %zu of the arena", i);
			return -1;
		}
		pattern_restore(region(v), i * HAND_LINE, stored, v->seed);
	}
	ptrdiff_t at = pattern_check(region(v), v->arena->region_bytes, v->seed);

	if (at >= 0)
		engine_problem(e, "stored into byte %td of the arena, which it must not",
			       at);
	return at >= 0 ? -1 : 0;
}

static int verify_lines(struct verify *v, struct engine *e, enum bench_op op)
{
	struct line_masks masks;
	double ns;
	int failed = line_masks_create(v->oracle, v->arena, &masks);

	if (failed) {
		engine_problem(e, "no memory for the lines of the layout");
		return -1;
	}
	memset(arena_packed(v->arena), POISON, v->arena->packed_bytes + ARENA_GUARD);
	failed = engine_run(e, op, 0, 1, &ns) ||
		 (op == BENCH_PACK ? judge_lines_packed(v, e, &masks)
				   : judge_lines_unpacked(v, e, &masks));
	pattern_fill(region(v), v->arena->region_bytes, v->seed);
	line_masks_free(&masks);
	return failed ? -1 : 0;
}

int verify_engine(struct verify *v, struct engine *e, enum bench_op op)
{
	if (e->bound)
		return verify_lines(v, e, op);
	if (e->raw)
		return verify_raw(v, e, op);
	return op == BENCH_PACK ? verify_pack(v, e) : verify_unpack(v, e);
}
