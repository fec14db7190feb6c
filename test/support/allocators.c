/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting and refusing allocators. That of bytes stores the size in front of each block.
 */
#include "config.h"

#include "support/allocators.h"

#include <stdlib.h>

/* In front of a block; keeps it aligned for any type. */
#define HEADER 16

static void *alloc_block(void *arg, size_t bytes)
{
	struct block_count *count = arg;
	void *memory = malloc(bytes);

	atomic_fetch_add(&count->calls, 1);
	if (memory)
		atomic_fetch_add(&count->live, 1);
	return memory;
}

static void free_block(void *arg, void *memory)
{
	struct block_count *count = arg;

	atomic_fetch_add(&count->calls, 1);
	atomic_fetch_sub(&count->live, 1);
	free(memory);
}

struct dtconv_allocator allocator_of_blocks(struct block_count *count)
{
	return (struct dtconv_allocator){ alloc_block, free_block, count };
}

static void *alloc_bytes(void *arg, size_t bytes)
{
	struct byte_count *count = arg;
	char *memory = malloc(HEADER + bytes);

	if (!memory)
		return NULL;
	*(size_t *)memory = bytes;
	count->live += bytes;
	count->peak = count->live > count->peak ? count->live : count->peak;
	return memory + HEADER;
}

static void free_bytes(void *arg, void *memory)
{
	struct byte_count *count = arg;
	char *header = (char *)memory - HEADER;

	count->live -= *(size_t *)header;
	free(header);
}

struct dtconv_allocator allocator_of_bytes(struct byte_count *count)
{
	return (struct dtconv_allocator){ alloc_bytes, free_bytes, count };
}

static void *alloc_ration(void *arg, size_t bytes)
{
	struct ration *ration = arg;
	const long left = atomic_fetch_sub(&ration->left, 1);

	if (left == 0 || (left < 0 && ration->for_ever && ration->refused)) {
		atomic_fetch_add(&ration->refused, 1);
		return NULL;
	}
	void *memory = malloc(bytes);
	if (memory)
		atomic_fetch_add(&ration->live, 1);
	return memory;
}

static void free_ration(void *arg, void *memory)
{
	struct ration *ration = arg;

	atomic_fetch_sub(&ration->live, 1);
	free(memory);
}

struct dtconv_allocator allocator_of_rations(struct ration *ration)
{
	return (struct dtconv_allocator){ alloc_ration, free_ration, ration };
}
