/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory as the bench and its peers map it. Each process maps it at a multiple of 2
 * MiB: a CPU may keep neighbouring pages in one TLB entry, but only if their addresses are
 * aligned like the memory behind them, and the place of its mapping must not favour an engine.
 */
#ifndef BENCH_SHARED_MAP_H
#define BENCH_SHARED_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define SHARED_MAP_ALIGNMENT ((size_t)2 << 20)

/* MAP_FAILED with errno if there is no such mapping; the caller unmaps `bytes` of it. */
static inline void *shared_map(int fd, size_t bytes)
{
	size_t pages = (bytes + 4095) & ~(size_t)4095;
	size_t room = pages + SHARED_MAP_ALIGNMENT;
	unsigned char *all = mmap(NULL, room, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return MAP_FAILED;
	size_t before = -(uintptr_t)all & (SHARED_MAP_ALIGNMENT - 1);
	if (before)
		munmap(all, before);
	munmap(all + before + pages, room - before - pages);
	return mmap(all + before, bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
}

#endif
