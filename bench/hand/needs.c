/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instruction sets that the compiler could use for the hand loops. A CPU that lacks one
 * skips the loops instead of crashing.
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
