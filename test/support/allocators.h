/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocators for contexts under test that count what the library holds, or refuse it.
 */
#ifndef TEST_SUPPORT_ALLOCATORS_H
#define TEST_SUPPORT_ALLOCATORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <dtconv/context.h>

struct block_count {
	atomic_size_t live;  /* allocated and not freed */
	atomic_size_t calls; /* of both functions */
};

/* malloc and free, counted; for several threads. */
struct dtconv_allocator allocator_of_blocks(struct block_count *count);

struct byte_count {
	size_t live; /* allocated and not freed */
	size_t peak; /* the most that live has been; may be reset */
};

/* The same with bytes; for one thread. */
struct dtconv_allocator allocator_of_bytes(struct byte_count *count);

struct ration {
	atomic_long left; /* allocations until one is refused; negative: none is */
	bool for_ever;    /* and all after it */
	atomic_size_t live, refused;
};

/* The same, which refuses; for several threads. */
struct dtconv_allocator allocator_of_rations(struct ration *ration);

#endif
