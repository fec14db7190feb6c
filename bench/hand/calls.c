/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks by calls of memcpy. They are in a file of their own, so that the compiler cannot
 * replace a known length by words.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <string.h>

void hand_gather_by_calls(const struct hand_blocks *blocks, size_t length,
			  const void *restrict arena, void *restrict packed)
{
	const char *in = arena;
	char *out = packed;

	for (size_t i = 0; i < blocks->count; i++)
		memcpy(out + i * length, in + i * blocks->pitch, length);
}
