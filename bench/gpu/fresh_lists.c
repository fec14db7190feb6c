/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists drawn before anything is timed, the memory they pick from, and the judge, which copies block by block.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/fresh.h"
#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

/* So many that no cache of the host holds them all, and at least a few. */
#define LIST_BYTES ((size_t)16 << 20)
#define MOST_LISTS 256
/* Messages of more take seconds to verify. */
#define SECONDS_BYTES ((size_t)64 << 20)

/* ---- lists ----------------------------------------------------------------------------- */

static int by_displacement(const void *a, const void *b)
{
	const ptrdiff_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The first of a pool that is shuffled on from list to list. */
static void draw(const struct fresh *fresh, uint32_t *pool, uint64_t *state,
		 ptrdiff_t *list)
{
	const size_t planes = fresh->planes ? fresh->planes : 1;
	const size_t blocks = fresh->blocks / planes, among = fresh->pool / planes;

	for (size_t i = 0; i < blocks; i++) {
		size_t other = i + bench_random_below(state, among - i);
		uint32_t chosen = pool[other];

		pool[other] = pool[i];
		pool[i] = chosen;
		for (size_t plane = 0; plane < planes; plane++)
			list[plane * blocks + i] =
				(ptrdiff_t)((plane * among + chosen) * fresh->block);
	}
	if (fresh->sorted)
		qsort(list, fresh->blocks, sizeof(*list), by_displacement);
}

static bool draw_lists(struct fresh *fresh, uint64_t seed)
{
	size_t count = LIST_BYTES / (fresh->blocks * sizeof(*fresh->lists));
	uint32_t *pool = malloc(fresh->pool * sizeof(*pool));

	fresh->list_count = count < MOST_LISTS ? count : MOST_LISTS;
	fresh->lists = malloc(fresh->list_count * fresh->blocks * sizeof(*fresh->lists));
	for (size_t i = 0; pool && i < fresh->pool; i++)
		pool[i] = (uint32_t)i;
	for (size_t i = 0; pool && fresh->lists && i < fresh->list_count; i++)
		draw(fresh, pool, &seed, fresh->lists + i * fresh->blocks);
	free(pool);
	return pool && fresh->lists;
}

const ptrdiff_t *fresh_next(struct fresh *fresh)
{
	fresh->next = (fresh->next + 1) % fresh->list_count;
	return fresh->lists + fresh->next * fresh->blocks;
}

/* The numbers of the first plane's pages, of all lists. */
static bool put_tables(struct fresh *fresh)
{
	const size_t pages = fresh_pages(fresh);
	const size_t bytes = fresh->list_count * pages * sizeof(int32_t);
	int32_t *numbers = malloc(bytes);

	for (size_t i = 0; numbers && i < fresh->list_count * pages; i++)
		numbers[i] =
			(int32_t)((size_t)fresh
					  ->lists[i / pages * fresh->blocks + i % pages] /
				  fresh->block);
	bool put = numbers && GPU_CALL(fresh->gpu, MemAlloc(&fresh->tables, bytes)) &&
		   gpu_copy(fresh->gpu, (void *)(uintptr_t)fresh->tables, numbers, bytes);
	free(numbers);
	return put;
}

CUdeviceptr fresh_next_table(struct fresh *fresh)
{
	fresh_next(fresh);
	return fresh->tables + fresh->next * fresh_pages(fresh) * sizeof(int32_t);
}

/* ---- memory ---------------------------------------------------------------------------- */

int fresh_open(struct fresh *fresh, struct gpu *gpu, uint64_t seed)
{
	fresh->gpu = gpu;
	fresh->region_bytes = fresh->pool * fresh->block + 2 * ARENA_GUARD;
	if (!draw_lists(fresh, seed))
		return -1;
	fresh->host = malloc(fresh->region_bytes);
	fresh->region = gpu_memory(gpu, PLACE_DEVICE, ROLE_USER, fresh->region_bytes);
	fresh->packed = gpu_memory(gpu, PLACE_DEVICE, ROLE_PACKED,
				   fresh_bytes(fresh) + ARENA_GUARD);
	if (!fresh->host || !fresh->region || !fresh->packed)
		return -1;
	fresh->user = fresh->region + ARENA_GUARD;
	pattern_fill(fresh->host, fresh->region_bytes, seed);
	return fresh->planes && !put_tables(fresh) ? -1 : 0;
}

void fresh_close(struct fresh *fresh)
{
	if (fresh->tables)
		GPU_CALL(fresh->gpu, MemFree(fresh->tables));
	free(fresh->lists);
	free(fresh->host);
	memset(fresh, 0, sizeof(*fresh));
}

/* ---- judging --------------------------------------------------------------------------- */

/* Both buffers as they must be after a message, one behind the other. */
struct judgement {
	unsigned char *user, *packed;
	size_t user_bytes, packed_bytes;
};

static bool judgement_open(struct judgement *j, const struct fresh *fresh)
{
	j->user_bytes = fresh->region_bytes;
	j->packed_bytes = fresh_bytes(fresh) + ARENA_GUARD;
	j->user = malloc(j->user_bytes + j->packed_bytes);
	if (!j->user)
		return false;
	j->packed = j->user + j->user_bytes;
	memcpy(j->user, fresh->host, j->user_bytes);
	pattern_fill(j->packed, j->packed_bytes, 7);
	return true;
}

static bool put(const struct fresh *fresh, const struct judgement *j)
{
	return gpu_copy(fresh->gpu, fresh->region, j->user, j->user_bytes) &&
	       gpu_copy(fresh->gpu, fresh->packed, j->packed, j->packed_bytes);
}

static void move(const struct fresh *fresh, const struct judgement *j,
		 const ptrdiff_t *list, enum bench_op op)
{
	for (size_t i = 0; i < fresh->blocks; i++) {
		unsigned char *user = j->user + ARENA_GUARD + list[i];
		unsigned char *packed = j->packed + i * fresh->block;

		if (op == BENCH_PACK)
			memcpy(packed, user, fresh->block);
		else
			memcpy(user, packed, fresh->block);
	}
}

static bool is_same(struct gpu *gpu, const unsigned char *device,
		    const unsigned char *expected, unsigned char *room, size_t bytes)
{
	return gpu_copy(gpu, room, device, bytes) && !memcmp(room, expected, bytes);
}

static int compare(const struct fresh *fresh, struct engine *e, const struct judgement *j)
{
	size_t most = j->user_bytes > j->packed_bytes ? j->user_bytes : j->packed_bytes;
	unsigned char *room = malloc(most);
	int failed = -1;

	if (!room)
		engine_problem(e, "no memory to compare in");
	else if (!is_same(fresh->gpu, fresh->packed, j->packed, room, j->packed_bytes))
		engine_problem(e, "wrong bytes in the packed stream or behind it");
	else if (!is_same(fresh->gpu, fresh->region, j->user, room, j->user_bytes))
		engine_problem(e, "wrong bytes in the user's memory or its gaps");
	else
		failed = 0;
	free(room);
	return failed;
}

static int verify_once(struct fresh *fresh, struct engine *e, enum bench_op op)
{
	struct judgement j;
	int failed = -1;
	double ns;

	if (!judgement_open(&j, fresh)) {
		engine_problem(e, "no memory to compare in");
		return -1;
	}
	if (!put(fresh, &j)) {
		engine_problem(e, "%s", fresh->gpu->problem);
	} else {
		move(fresh, &j,
		     fresh->lists + (fresh->next + 1) % fresh->list_count * fresh->blocks,
		     op);
		failed = engine_run(e, op, 0, 1, &ns) || compare(fresh, e, &j) ? -1 : 0;
	}
	free(j.user);
	return failed;
}

int fresh_verify(struct fresh *fresh, struct engine *e, enum bench_op op)
{
	int failed = 0, messages = fresh_bytes(fresh) > SECONDS_BYTES ? 1 : 2;

	for (int message = 0; message < messages && !failed; message++)
		failed = verify_once(fresh, e, op);
	return failed;
}
