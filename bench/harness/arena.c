/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory and the bytes in it. Only offsets are used, because every process maps it
 * elsewhere.
 */
#include "config.h"

#include "bench/harness/arena.h"

#include "bench/layouts/layout.h"
#include "bench/peers/shared_map.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE 64u

/*
 * Where in its page a buffer starts. With equal page offsets, stores to one buffer would alias
 * loads from another (the CPU compares 12 address bits), and the fastest loops would suffer
 * most.
 */
#define PACKED_SHIFT (17 * LINE)
#define FLAT_SHIFT   (37 * LINE)

int arena_create(struct arena *arena, size_t map_bytes)
{
	void *map;

	memset(arena, 0, sizeof(*arena));
	arena->behind = ARENA_ANYWHERE;
	arena->fd = memfd_create("dtconv-bench", MFD_CLOEXEC);
	if (arena->fd < 0)
		return -1;
	if (ftruncate(arena->fd, (off_t)map_bytes) < 0)
		goto close_fd;
	map = shared_map(arena->fd, map_bytes);
	if (map == MAP_FAILED)
		goto close_fd;
	arena->map = map;
	arena->map_bytes = map_bytes;
	return 0;
close_fd:
	close(arena->fd);
	return -1;
}

void arena_destroy(struct arena *arena)
{
	if (!arena->map)
		return;
	munmap(arena->map, arena->map_bytes);
	close(arena->fd);
	memset(arena, 0, sizeof(*arena));
}

static size_t pages(size_t bytes)
{
	return (bytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
}

/* The user's part: data below displacement 0, rounded to a line, and above. */
static size_t below_bytes(const struct bench_case *c)
{
	return (c->below + LINE - 1) / LINE * LINE;
}

static size_t region_bytes(const struct bench_case *c)
{
	return pages(2 * ARENA_GUARD + below_bytes(c) + c->arena_bytes);
}

size_t arena_bytes_for(const struct bench_case *c)
{
	/* Packed memory may begin anywhere in its page. */
	return pages(ARENA_PAGE + c->bytes + ARENA_GUARD) +
	       pages(FLAT_SHIFT + c->bytes) + region_bytes(c);
}

void arena_place(struct arena *arena, const struct bench_case *c)
{
	size_t flat_page;

	arena->packed = PACKED_SHIFT;
	if (arena->behind != ARENA_ANYWHERE)
		arena->packed = (below_bytes(c) + arena->behind) % ARENA_PAGE;
	flat_page = pages(arena->packed + c->bytes + ARENA_GUARD);
	arena->packed_bytes = c->bytes;
	arena->flat = flat_page + FLAT_SHIFT;
	arena->region = flat_page + pages(FLAT_SHIFT + c->bytes);
	arena->region_bytes = region_bytes(c);
	arena->user = arena->region + ARENA_GUARD + below_bytes(c);
}

static inline uint64_t pattern_word(uint64_t index, uint64_t seed)
{
	uint64_t w = (index + seed) * 0x9e3779b97f4a7c15u;

	return w ^ (w >> 29);
}

void pattern_fill(void *memory, size_t bytes, uint64_t seed)
{
	uint64_t *words = memory;
	size_t whole = bytes / sizeof(*words);

	for (size_t i = 0; i < whole; i++)
		words[i] = pattern_word(i, seed);
	if (bytes % sizeof(*words)) {
		uint64_t last = pattern_word(whole, seed);

		memcpy(words + whole, &last, bytes % sizeof(*words));
	}
}

void pattern_restore(void *memory, size_t at, size_t bytes, uint64_t seed)
{
	unsigned char *out = memory;

	for (size_t i = at; i < at + bytes; i++)
		out[i] = (unsigned char)(pattern_word(i / 8, seed) >> 8 * (i % 8));
}

/* Compare words a block at a time, so that the loop has no branch inside. */
#define CHECK_WORDS 512

static ptrdiff_t first_difference(const unsigned char *bytes, size_t count, size_t index,
				  uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word = pattern_word(index + i / 8, seed);

		if (bytes[i] != (unsigned char)(word >> 8 * (i % 8)))
			return (ptrdiff_t)(index * 8 + i);
	}
	return -1;
}

ptrdiff_t pattern_check(const void *memory, size_t bytes, uint64_t seed)
{
	const uint64_t *words = memory;
	size_t whole = bytes / sizeof(*words);
	size_t done = 0;

	while (done < whole) {
		size_t n = whole - done < CHECK_WORDS ? whole - done : CHECK_WORDS;
		uint64_t difference = 0;

		for (size_t i = 0; i < n; i++)
			difference |= words[done + i] ^ pattern_word(done + i, seed);
		if (difference)
			break;
		done += n;
	}
	return first_difference((const unsigned char *)(words + done),
				bytes - done * sizeof(*words) < CHECK_WORDS * 8
					? bytes - done * sizeof(*words)
					: CHECK_WORDS * 8,
				done, seed);
}
