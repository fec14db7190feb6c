/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays of narrow integers. Bulk loads and stores are one simple loop for each width, so that
 * the compiler vectorises them.
 */
#include "config.h"

#include "ints.h"

#define STORE(type)                                                                        \
	do {                                                                               \
		type *to = (type *)ints->values + first;                                   \
		for (size_t i = 0; i < n; i++)                                             \
			to[i] = (type)values[i];                                           \
	} while (0)

#define FETCH(type)                                                    \
	do {                                                           \
		const type *from = (const type *)ints->values + first; \
		for (uint64_t i = 0; i < n; i++)                       \
			values[i] = from[i];                           \
	} while (0)

void dtc_ints_store(struct dtc_ints *ints, size_t first, size_t n, const int64_t values[])
{
	switch (ints->width) {
	case 1:
		STORE(int8_t);
		break;
	case 2:
		STORE(int16_t);
		break;
	case 4:
		STORE(int32_t);
		break;
	default:
		STORE(int64_t);
	}
}

static void fetch_entries(const struct dtc_ints *ints, uint64_t first, uint64_t n,
			  int64_t values[])
{
	const int32_t *entries = (const int32_t *)ints->values + first;

	for (uint64_t i = 0; i < n; i++)
		values[i] = dtc_ints_of_entry(ints, entries[i]);
}

void dtc_ints_fetch(const struct dtc_ints *ints, uint64_t first, uint64_t n,
		    int64_t values[])
{
	if (ints->unit) {
		fetch_entries(ints, first, n, values);
		return;
	}
	switch (ints->width) {
	case 0:
		for (uint64_t i = 0; i < n; i++)
			values[i] = ints->first;
		break;
	case 1:
		FETCH(int8_t);
		break;
	case 2:
		FETCH(int16_t);
		break;
	case 4:
		FETCH(int32_t);
		break;
	default:
		FETCH(int64_t);
	}
}
