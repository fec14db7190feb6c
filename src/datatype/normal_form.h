/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The figures of the normal form, for all that make programs; see normalise.c.
 */
#ifndef DTC_NORMAL_FORM_H
#define DTC_NORMAL_FORM_H

#include <stdbool.h>
#include <stdint.h>

/* Lists of runs up to this long stay single operations; strips up to this long are lists. */
#define DTC_FEW_RUNS 8

/* The largest power of two that tables are scaled by. */
#define DTC_TABLE_SHIFT_MOST 15

/* The power of two that divides all values of which @bits is the union. */
static inline uint8_t dtc_common_shift(uint64_t bits)
{
	return bits ? (uint8_t)__builtin_ctzll(bits | UINT64_C(1) << DTC_TABLE_SHIFT_MOST)
		    : 0;
}

/* Blocks up to this size are moved faster if all have the same length. */
#define DTC_SHORT_BLOCK 64

/*
 * Whether equal blocks stay apart although some touch: unless four, on average, would merge into runs of different
 * lengths. To find the runs takes 15 ns a block more than to leave them; a list of the same length throughout needs no
 * length looked up and none foretold, and is packed as fast or up to six times as fast (blocks of 8 to 64 bytes, half of
 * which touch, Xeon).
 */
static inline bool dtc_stay_apart(uint64_t entries, uint64_t merged)
{
	return entries <= 4 * merged;
}

/* Bytes of a table's column. */
static inline uint64_t dtc_column_bytes(uint64_t values, bool wide)
{
	return (values * (wide ? 8 : 4) + 7) / 8 * 8;
}

#endif
