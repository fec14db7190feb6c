/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays of integers in as few bytes as their values need, so that a type's description
 * stays small beside its program. The caller provides the memory.
 */
#ifndef DTC_INTS_H
#define DTC_INTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Values are stored as they are, or, if @unit is not 0, by what the layout's table keeps of them: the bytes from the
 * first displacement on, shifted.
 */
struct dtc_ints {
	void *values;
	size_t count;
	unsigned
		width; /* bytes a value: 1, 2, 4 or 8; sign-extended; 0: all are @first */
	unsigned shift;
	int64_t unit;
	int64_t first;
};

/* The bytes per value if all values lie between @lowest and @highest. */
static inline unsigned dtc_ints_width(int64_t lowest, int64_t highest)
{
	if (lowest >= INT8_MIN && highest <= INT8_MAX)
		return 1;
	if (lowest >= INT16_MIN && highest <= INT16_MAX)
		return 2;
	if (lowest >= INT32_MIN && highest <= INT32_MAX)
		return 4;
	return 8;
}

/* The same for counts up to @most. Counts from 2^63 on are stored as negative numbers. */
static inline unsigned dtc_ints_width_of_counts(uint64_t most)
{
	return most > INT64_MAX ? 8 : dtc_ints_width(0, (int64_t)most);
}

/* The value that an entry of a table was made of. */
static inline int64_t dtc_ints_of_entry(const struct dtc_ints *ints, int32_t entry)
{
	return ints->first + entry * (INT64_C(1) << ints->shift) / ints->unit;
}

static inline int64_t dtc_ints_get(const struct dtc_ints *ints, size_t i)
{
	if (ints->unit)
		return dtc_ints_of_entry(ints, ((const int32_t *)ints->values)[i]);
	switch (ints->width) {
	case 0:
		return ints->first;
	case 1:
		return ((const int8_t *)ints->values)[i];
	case 2:
		return ((const int16_t *)ints->values)[i];
	case 4:
		return ((const int32_t *)ints->values)[i];
	default:
		return ((const int64_t *)ints->values)[i];
	}
}

/* Store values [first, first + n) of the array. They must fit the width. */
void dtc_ints_store(struct dtc_ints *ints, size_t first, size_t n, const int64_t values[]);

/* Fetch values [first, first + n) of the array. */
void dtc_ints_fetch(const struct dtc_ints *ints, uint64_t first, uint64_t n,
		    int64_t values[]);

#endif
