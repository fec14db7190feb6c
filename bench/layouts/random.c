/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers and index lists, the same on every machine for the same seed.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64: one word of state, good enough for lists. */
uint64_t bench_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The high half of the product of 64 random bits and the limit, by 32-bit words. */
size_t bench_random_below(uint64_t *state, size_t limit)
{
	uint64_t bits = bench_random(state);
	uint64_t high = bits >> 32, low = (uint32_t)bits;
	uint64_t limit_high = (uint64_t)limit >> 32, limit_low = (uint32_t)limit;
	uint64_t middle = high * limit_low + (low * limit_low >> 32);
	uint64_t carry = low * limit_high + (uint32_t)middle;

	return (size_t)(high * limit_high + (middle >> 32) + (carry >> 32));
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t *bench_random_list(struct bench_build *b, size_t count, size_t limit,
			    bool sorted)
{
	uint32_t *all = build_alloc(b, limit, sizeof(*all));
	uint64_t state = b->seed;

	if (!all)
		return NULL;
	for (size_t i = 0; i < limit; i++)
		all[i] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		size_t other = i + bench_random_below(&state, limit - i);
		uint32_t chosen = all[other];

		all[other] = all[i];
		all[i] = chosen;
	}
	if (sorted)
		qsort(all, count, sizeof(*all), ascending);
	return all;
}
