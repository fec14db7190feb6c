/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of runs: gathers and scatters of blocks at listed displacements.
 */
#include "config.h"

#include "cpu.h"

#include <stdbool.h>

#include "cpu_copy.h"
#include "datatype/program.h"

#define INLINE static inline __attribute__((always_inline))

/* How far ahead of its use a block's first line is fetched, in entries. */
#define PREFETCH_ENTRIES 16

struct entries {
	const struct dtc_table *table;
	uint64_t first, count;
	char *packed;
	uintptr_t user; /* an address: displacements may be absolute */
};

INLINE int64_t disp_of(const struct dtc_table *table, bool wide, uint64_t entry)
{
	const void *column = table + 1;
	int64_t scaled = wide ? ((const int64_t *)column)[entry]
			      : ((const int32_t *)column)[entry];

	return (int64_t)((uint64_t)scaled << table->disp_shift);
}

INLINE char *address(const struct entries *entries, bool wide, uint64_t entry)
{
	return (char *)(entries->user + (uintptr_t)disp_of(entries->table, wide, entry));
}

/* The line will be needed soon; prefetching never faults. */
INLINE void prefetch(const struct entries *entries, bool wide, uint64_t entry, bool unpack)
{
	uint64_t last = entries->table->count - 1;
	uint64_t ahead = entry + PREFETCH_ENTRIES;
	const char *line = address(entries, wide, ahead < last ? ahead : last);

	if (unpack)
		__builtin_prefetch(line, 1);
	else
		__builtin_prefetch(line, 0);
}

INLINE void move(char *packed, char *user, size_t bytes, bool unpack)
{
	if (unpack)
		memcpy(user, packed, bytes);
	else
		memcpy(packed, user, bytes);
}

/* @bytes is a constant wherever this is inlined. */
INLINE void move_equal(const struct entries *entries, size_t bytes, bool wide, bool unpack)
{
	char *packed = entries->packed;

	for (uint64_t i = entries->first; i < entries->first + entries->count; i++) {
		prefetch(entries, wide, i, unpack);
		move(packed, address(entries, wide, i), bytes, unpack);
		packed += bytes;
	}
}

INLINE void move_equal_long(const struct entries *entries, size_t bytes, bool wide, bool unpack)
{
	char *packed = entries->packed;

	for (uint64_t i = entries->first; i < entries->first + entries->count; i++) {
		char *user = address(entries, wide, i);

		prefetch(entries, wide, i, unpack);
		if (unpack)
			dtc_copy_short(user, packed, bytes);
		else
			dtc_copy_short(packed, user, bytes);
		packed += bytes;
	}
}

INLINE void move_unlike(const struct entries *entries, bool wide, bool unpack)
{
	const struct dtc_table *table = entries->table;
	char *packed = entries->packed;
	uint64_t start = dtc_table_prefix(table, entries->first);

	for (uint64_t i = entries->first; i < entries->first + entries->count; i++) {
		uint64_t end = dtc_table_prefix(table, i + 1);
		size_t bytes = (size_t)(end - start);
		char *user = address(entries, wide, i);

		prefetch(entries, wide, i, unpack);
		if (unpack)
			dtc_copy_short(user, packed, bytes);
		else
			dtc_copy_short(packed, user, bytes);
		packed += bytes;
		start = end;
	}
}

INLINE void move_entries(const struct entries *entries, bool wide, bool unpack)
{
	size_t bytes = (size_t)entries->table->uniform;

	switch (bytes) {
	case 0:
		move_unlike(entries, wide, unpack);
		break;
	case 4:
		move_equal(entries, 4, wide, unpack);
		break;
	case 8:
		move_equal(entries, 8, wide, unpack);
		break;
	case 12:
		move_equal(entries, 12, wide, unpack);
		break;
	case 16:
		move_equal(entries, 16, wide, unpack);
		break;
	case 24:
		move_equal(entries, 24, wide, unpack);
		break;
	case 32:
		move_equal(entries, 32, wide, unpack);
		break;
	default:
		move_equal_long(entries, bytes, wide, unpack);
	}
}

static void pack_narrow(const struct entries *entries)
{
	move_entries(entries, false, false);
}

static void pack_wide(const struct entries *entries)
{
	move_entries(entries, true, false);
}

static void unpack_narrow(const struct entries *entries)
{
	move_entries(entries, false, true);
}

static void unpack_wide(const struct entries *entries)
{
	move_entries(entries, true, true);
}

void dtc_cpu_table(const struct dtc_table *table, uint64_t first, uint64_t count, char *packed,
		   char *user, enum dtc_direction direction)
{
	const struct entries entries = {table, first, count, packed, (uintptr_t)user};

	if (direction == DTC_PACK)
		(table->disp_wide ? pack_wide : pack_narrow)(&entries);
	else
		(table->disp_wide ? unpack_wide : unpack_narrow)(&entries);
}
