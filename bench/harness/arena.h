/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory on which the engines of all processes work: one sparse shared file that every
 * process maps. Each row lays out in it a packed buffer, a flat buffer for memcpy and the
 * user's arena with guard bytes around it.
 */
#ifndef BENCH_ARENA_H
#define BENCH_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct bench_case;

#define ARENA_PAGE ((size_t)4096)
#define ARENA_ANYWHERE SIZE_MAX

/* Offsets into the mapping; `user` is the user's displacement 0. */
struct arena {
	int fd;
	unsigned char *map;
	size_t map_bytes;
	size_t behind;       /* page offset of packed minus user's, or ARENA_ANYWHERE */
	size_t packed;       /* 8-byte aligned */
	size_t packed_bytes; /* the stream */
	size_t flat;         /* as long as the stream */
	size_t region;       /* guard, arena, guard */
	size_t region_bytes;
	size_t user;
};

/*
 * With `behind` ARENA_ANYWHERE. Returns 0, or -1 with errno. Pages are allocated when they are
 * first touched.
 */
int arena_create(struct arena *arena, size_t map_bytes);
void arena_destroy(struct arena *arena);

/* The number of bytes that a row needs; arena_create must have been given as many. */
size_t arena_bytes_for(const struct bench_case *c);
void arena_place(struct arena *arena, const struct bench_case *c);

/* Canary bytes behind the stream, which must not change. */
#define ARENA_GUARD 4096u

static inline unsigned char *arena_user(const struct arena *arena)
{
	return arena->map + arena->user;
}

static inline unsigned char *arena_packed(const struct arena *arena)
{
	return arena->map + arena->packed;
}

static inline unsigned char *arena_flat(const struct arena *arena)
{
	return arena->map + arena->flat;
}

/*
 * Fill memory with bytes that depend on their position, so that a misplaced byte is detected.
 * `memory` is 8-byte aligned. Different seeds give different bytes everywhere except by chance.
 */
void pattern_fill(void *memory, size_t bytes, uint64_t seed);
/* The same for the bytes from `at` on of memory that was filled so. */
void pattern_restore(void *memory, size_t at, size_t bytes, uint64_t seed);
/* The first byte that differs from the pattern; -1 if none does. */
ptrdiff_t pattern_check(const void *memory, size_t bytes, uint64_t seed);

#endif
