/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the compiler was allowed to use for the hand loops, so that a CPU without it skips them
 * instead of crashing.
 */
#include "config.h"

#include "bench/hand/hand.h"

unsigned hand_needs(void)
{
	unsigned needs = 0;

#ifdef __AVX2__
	needs |= HAND_NEEDS_AVX2;
#endif
#ifdef __AVX512F__
	needs |= HAND_NEEDS_AVX512;
#endif
	return needs;
}
