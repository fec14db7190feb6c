/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choices for random tests, taken either from a seed or from given bytes (a fuzzer's input), so
 * that one generator serves both.
 */
#ifndef TEST_SUPPORT_CHOICES_H
#define TEST_SUPPORT_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct choices {
	const uint8_t *bytes; /* NULL: pseudo-random from state */
	size_t left;
	uint64_t state;
};

void choices_from_seed(struct choices *choices, uint64_t seed);
void choices_from_bytes(struct choices *choices, const uint8_t *bytes, size_t count);

/* Bytes have run out: every further choice is 0. Never true of a seed. */
bool choices_spent(const struct choices *choices);

/* A number below limit, which is at least 1. */
size_t choose(struct choices *choices, size_t limit);

/* A number in first..last. */
ptrdiff_t choose_between(struct choices *choices, ptrdiff_t first, ptrdiff_t last);

/* True once in n times. */
bool chance(struct choices *choices, size_t n);

/* Mix 64 bits: neighbouring seeds give unrelated values. */
uint64_t choices_mix(uint64_t value);

#endif
