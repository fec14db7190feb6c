/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks of device memory and the use of their grains. What was given back is free when the oldest job in flight is
 * younger than that.
 */
#include "config.h"

#include "arena.h"

#include "base/context.h"
#include "completion.h"
#include "worker.h"

enum grain_state {
	GRAIN_FREE,
	GRAIN_TAKEN,  /* the first of a piece of memory in use */
	GRAIN_WAITING /* the first of a piece that was given back */
};

/* Of the first grain of a piece; others of the piece are not looked at. */
struct grain {
	uint32_t count; /* of grains in the piece */
	enum grain_state state;
	uint64_t jobs; /* that had been started when the piece was given back */
};

struct dtc_cuda_chunk {
	struct dtc_cuda_chunk *next;
	CUdeviceptr memory;
	uint32_t grain_count;
	uint32_t taken;      /* pieces */
	uint32_t next_grain; /* where the search goes on */
	bool retired;
	struct grain grains[];
};

static struct dtc_cuda_arena *arena_of(const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_arena];
}

/* ---- the feature ----------------------------------------------------------------------- */

static void init_arena(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&arena_of(context)->lock, NULL);
}

static void close_arena(struct dtc_cuda_context *context)
{
	struct dtc_cuda_chunk *chunk = arena_of(context)->chunks;

	for (; chunk; chunk = chunk->next)
		context->cuda->driver.MemFree(chunk->memory);
}

static void forget_arena(struct dtc_cuda_context *context)
{
	struct dtc_cuda_arena *arena = arena_of(context);

	while (arena->chunks) {
		struct dtc_cuda_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		dtc_free(context->cuda->context, chunk);
	}
}

static void free_arena(struct dtc_cuda_context *context)
{
	forget_arena(context);
	pthread_mutex_destroy(&arena_of(context)->lock);
}

const struct dtc_cuda_feature dtc_cuda_arena_feature = {
	.name = "arena",
	.bytes = sizeof(struct dtc_cuda_arena),
	.init = init_arena,
	.close = close_arena,
	.free = free_arena,
	.forget = forget_arena,
};

/* ---- chunks ---------------------------------------------------------------------------- */

/* Runs in the worker: a free waits until the device is idle. */
static void free_chunk(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	context->cuda->driver.MemFree(memory);
}

static CUresult allocate(struct dtc_cuda_context *context, CUdeviceptr *memory,
			 size_t bytes)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->MemAlloc(memory, bytes);
	driver->CtxPopCurrent(&popped);
	return result;
}

static CUresult create_chunk(struct dtc_cuda_context *context, size_t grains,
			     struct dtc_cuda_chunk **created)
{
	struct dtconv_context *owner = context->cuda->context;
	const size_t least = DTC_CUDA_ARENA_CHUNK_BYTES / DTC_CUDA_ARENA_GRAIN_BYTES;
	struct dtc_cuda_chunk *chunk;

	grains = DTC_MAX(grains, least);
	if (grains > UINT32_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	chunk = dtc_alloc_zeroed(owner,
				 sizeof(*chunk) + grains * sizeof(chunk->grains[0]));
	if (!chunk)
		return DTC_CUDA_NO_HOST_MEMORY;
	chunk->grain_count = (uint32_t)grains;
	CUresult result =
		allocate(context, &chunk->memory, grains * DTC_CUDA_ARENA_GRAIN_BYTES);
	if (result)
		dtc_free(owner, chunk);
	else
		*created = chunk;
	return result;
}

static bool is_in(const struct dtc_cuda_chunk *chunk, CUdeviceptr memory)
{
	return memory - chunk->memory <
	       (CUdeviceptr)chunk->grain_count * DTC_CUDA_ARENA_GRAIN_BYTES;
}

static size_t idle_bytes(const struct dtc_cuda_arena *arena)
{
	size_t bytes = 0;

	for (const struct dtc_cuda_chunk *chunk = arena->chunks; chunk;
	     chunk = chunk->next)
		if (!chunk->taken)
			bytes += chunk->grain_count * DTC_CUDA_ARENA_GRAIN_BYTES;
	return bytes;
}

/* The lock is held. Take a chunk out of the arena if it is empty and of no more use. */
static bool unlink_useless(struct dtc_cuda_arena *arena, struct dtc_cuda_chunk *chunk)
{
	struct dtc_cuda_chunk **link = &arena->chunks;

	if (chunk->taken ||
	    (!chunk->retired && idle_bytes(arena) <= DTC_CUDA_ARENA_IDLE_BYTES))
		return false;
	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	return true;
}

static void give_back_chunk(struct dtc_cuda_context *context,
			    struct dtc_cuda_chunk *chunk)
{
	dtc_cuda_worker_give_back(context, free_chunk, chunk->memory);
	dtc_free(context->cuda->context, chunk);
}

/* ---- pieces ---------------------------------------------------------------------------- */

/* A piece that no job in flight can read any more is free. */
static void settle(struct dtc_cuda_chunk *chunk, uint32_t at, uint64_t oldest_job)
{
	struct grain *grain = &chunk->grains[at];

	if (grain->state != GRAIN_WAITING || grain->jobs >= oldest_job)
		return;
	for (uint32_t i = at + grain->count; i > at; i--)
		chunk->grains[i - 1] = (struct grain){ .state = GRAIN_FREE };
}

/* The first of @count free grains in a row between two grains, or the chunk's end. */
static uint32_t search(struct dtc_cuda_chunk *chunk, uint32_t from, uint32_t to,
		       uint32_t count, uint64_t oldest_job)
{
	uint32_t first = from, at = from;

	while (first < to && at < chunk->grain_count && at - first < count) {
		settle(chunk, at, oldest_job);
		if (chunk->grains[at].state == GRAIN_FREE) {
			at++;
			continue;
		}
		at += chunk->grains[at].count;
		first = at;
	}
	return first < to && at - first >= count ? first : chunk->grain_count;
}

static bool take_from(struct dtc_cuda_chunk *chunk, uint32_t count, uint64_t oldest_job,
		      CUdeviceptr *memory)
{
	uint32_t at =
		search(chunk, chunk->next_grain, chunk->grain_count, count, oldest_job);

	if (at == chunk->grain_count)
		at = search(chunk, 0, chunk->next_grain, count, oldest_job);
	if (at == chunk->grain_count)
		return false;
	chunk->grains[at] = (struct grain){ .count = count, .state = GRAIN_TAKEN };
	chunk->next_grain = (at + count) % chunk->grain_count;
	chunk->taken++;
	*memory = chunk->memory + at * DTC_CUDA_ARENA_GRAIN_BYTES;
	return true;
}

static bool take_from_any(struct dtc_cuda_context *context, size_t grains,
			  CUdeviceptr *memory)
{
	struct dtc_cuda_chunk *chunk = arena_of(context)->chunks;
	uint64_t oldest_job = dtc_cuda_flags_oldest_job(context);

	for (; chunk; chunk = chunk->next)
		if (!chunk->retired && grains <= chunk->grain_count &&
		    take_from(chunk, (uint32_t)grains, oldest_job, memory))
			return true;
	return false;
}

CUresult dtc_cuda_arena_take(struct dtc_cuda_context *context, size_t bytes,
			     CUdeviceptr *memory)
{
	struct dtc_cuda_arena *arena = arena_of(context);
	const size_t grains = dtc_divide_up(bytes, DTC_CUDA_ARENA_GRAIN_BYTES);
	struct dtc_cuda_chunk *chunk;

	pthread_mutex_lock(&arena->lock);
	bool found = take_from_any(context, grains, memory);
	pthread_mutex_unlock(&arena->lock);
	if (found)
		return CUDA_SUCCESS;
	CUresult result = create_chunk(context, grains, &chunk);
	if (result)
		return result;
	pthread_mutex_lock(&arena->lock);
	take_from(chunk, (uint32_t)grains, 0, memory);
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	pthread_mutex_unlock(&arena->lock);
	return CUDA_SUCCESS;
}

void dtc_cuda_arena_put(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	struct dtc_cuda_arena *arena = arena_of(context);

	if (!memory)
		return;
	pthread_mutex_lock(&arena->lock);
	struct dtc_cuda_chunk *chunk = arena->chunks;
	while (!is_in(chunk, memory))
		chunk = chunk->next;
	struct grain *grain =
		&chunk->grains[(memory - chunk->memory) / DTC_CUDA_ARENA_GRAIN_BYTES];
	grain->state = GRAIN_WAITING;
	grain->jobs = dtc_cuda_flags_started_jobs(context);
	chunk->taken--;
	bool useless = unlink_useless(arena, chunk);
	pthread_mutex_unlock(&arena->lock);
	if (useless)
		give_back_chunk(context, chunk);
}

void dtc_cuda_arena_retire(struct dtc_cuda_context *context)
{
	struct dtc_cuda_arena *arena = arena_of(context);
	struct dtc_cuda_chunk *chunk, *next, *empty = NULL;

	pthread_mutex_lock(&arena->lock);
	for (chunk = arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		chunk->retired = true;
		if (!unlink_useless(arena, chunk))
			continue;
		chunk->next = empty;
		empty = chunk;
	}
	pthread_mutex_unlock(&arena->lock);
	for (; empty; empty = next) {
		next = empty->next;
		give_back_chunk(context, empty);
	}
}
