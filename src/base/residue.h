/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic modulo the Mersenne prime 2^61 - 1, for polynomial hashes. Arguments and results
 * are below the prime.
 */
#ifndef DTC_RESIDUE_H
#define DTC_RESIDUE_H

#include <stdint.h>

#define DTC_RESIDUE_PRIME ((UINT64_C(1) << 61) - 1)

static inline uint64_t dtc_residue_plus(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum >= DTC_RESIDUE_PRIME ? sum - DTC_RESIDUE_PRIME : sum;
}

static inline uint64_t dtc_residue_times(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum =
		(uint64_t)(product & DTC_RESIDUE_PRIME) + (uint64_t)(product >> 61);
#else
	/*
	 * Multiply 32-bit halves modulo 2^61 - 1, where 2^61 is 1: a_high * b_high has the
	 * weight 2^64 = 8, and middle is split at bit 29.
	 */
	uint64_t a_high = a >> 32, a_low = (uint32_t)a;
	uint64_t b_high = b >> 32, b_low = (uint32_t)b;
	uint64_t middle = a_high * b_low + a_low * b_high;
	uint64_t low = a_low * b_low;
	uint64_t sum = (a_high * b_high << 3) + (middle >> 29) +
		       ((middle & 0x1fffffff) << 32) + (low >> 61) +
		       (low & DTC_RESIDUE_PRIME);

	sum = (sum >> 61) + (sum & DTC_RESIDUE_PRIME);
#endif
	return sum >= DTC_RESIDUE_PRIME ? sum - DTC_RESIDUE_PRIME : sum;
}

/* The residue of any displacement. */
static inline uint64_t dtc_residue_of(int64_t value)
{
	if (value >= 0)
		return (uint64_t)value % DTC_RESIDUE_PRIME;
	uint64_t magnitude = (0 - (uint64_t)value) % DTC_RESIDUE_PRIME;

	return magnitude ? DTC_RESIDUE_PRIME - magnitude : 0;
}

#endif
