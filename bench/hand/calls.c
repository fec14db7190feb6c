/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks by calls of memcpy, in a file of its own, so that the compiler cannot inline a known
 * length as words.
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
