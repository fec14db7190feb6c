/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of runs: gathers and scatters of blocks at listed displacements.
 */
#ifndef DTC_KERNELS_CPU_TABLE_H
#define DTC_KERNELS_CPU_TABLE_H

#include "base/base.h"
#include "base/checked.h"
#include "block.h"
#include "datatype/program.h"
#include "kernels.h"
#include "stream.h"

/*
 * Prefetching the first line of a block pays if the blocks come from beyond the second-level
 * cache; otherwise it costs a third of the speed. A small number of blocks, however far apart,
 * is usually still in the cache from the last call. One-word blocks keep the last-level cache
 * busy without prefetching, loads more than stores.
 */
#define PREFETCH_ENTRIES 16
#define PREFETCH_AHEAD             1024 /* in bytes, for longer blocks */
#define PREFETCH_LINES             4    /* of a block; the hardware prefetches the rest */
#define PREFETCH_SPAN (1 << 20)
#define PREFETCH_SPAN_WORDS_PACK (3 << 23)
#define PREFETCH_SPAN_WORDS_UNPACK (1 << 23)
#define PREFETCH_LEAST ((1 << 19) / DTC_CACHE_LINE)

/*
 * The columns of the table, kept in registers: after stores through char pointers, the compiler
 * would reload the table's header for every block.
 */
struct columns {
	const int32_t *narrow;
	const int64_t *wide;
	unsigned shift;
	uint64_t last;
	uintptr_t user; /* an address: displacements may be absolute */
	bool prefetch;
};

/* Prefetch blocks of tables that move more bytes than this. */
static uint64_t prefetch_span(const struct dtc_entries *entries)
{
	bool words = entries->table->uniform && entries->table->uniform <= 8;

	if (!words)
		return PREFETCH_SPAN;
	return entries->direction == DTC_PACK ? PREFETCH_SPAN_WORDS_PACK
					      : PREFETCH_SPAN_WORDS_UNPACK;
}

DTC_INLINE struct columns columns_of(const struct dtc_entries *entries)
{
	const struct dtc_table *table = entries->table;

	return (struct columns){.narrow = (const int32_t *)(table + 1),
				.wide = (const int64_t *)(table + 1),
				.shift = table->disp_shift,
				.last = table->count - 1,
				.user = (uintptr_t)entries->user,
				.prefetch = table->span > prefetch_span(entries) &&
					    table->count >= PREFETCH_LEAST};
}

DTC_INLINE char *address(const struct columns *columns, bool wide, uint64_t entry)
{
	uint64_t scaled = wide ? (uint64_t)columns->wide[entry]
			       : (uint64_t)columns->narrow[entry];

	return (char *)(columns->user + (uintptr_t)(scaled << columns->shift));
}

/* What to prefetch: so many bytes, at least a line, of the block so many entries ahead. */
struct lead {
	uint64_t entries;
	size_t bytes;
};

static const struct lead short_lead = { PREFETCH_ENTRIES, DTC_CACHE_LINE };

/*
 * Prefetch fewer entries ahead if blocks are long. The division is expensive, so do this for
 * long tables only.
 */
static struct lead lead_of(const struct dtc_table *table)
{
	uint64_t mean = dtc_table_prefix(table, table->count) / table->count;

	return (struct lead){
		DTC_MIN(PREFETCH_AHEAD / (mean + 1) + 1, (uint64_t)PREFETCH_ENTRIES),
		(size_t)DTC_MIN(mean, PREFETCH_LINES * (uint64_t)DTC_CACHE_LINE)
	};
}

/* Prefetching never faults, so it may run beyond the table's end. */
DTC_INLINE void prefetch(const struct columns *columns, struct lead lead, bool wide,
			 uint64_t entry, bool unpack)
{
	uint64_t ahead = entry + lead.entries;
	const char *block =
		address(columns, wide, ahead < columns->last ? ahead : columns->last);
	size_t at = 0;

	do {
		if (unpack)
			__builtin_prefetch(block + at, 1);
		else
			__builtin_prefetch(block + at, 0);
		at += DTC_CACHE_LINE;
	} while (at < lead.bytes);
}

DTC_INLINE void move(char *packed, char *user, size_t bytes, bool unpack)
{
	if (unpack)
		dtc_copy_block(user, packed, bytes);
	else
		dtc_copy_block(packed, user, bytes);
}

/*
 * Words by gather and scatter instructions. Measured on an Intel Xeon with AVX-512 BF16
 * (doc/performance.md): gathers take 0.75 to 0.9 of the time of single loads, unless the words come from
 * memory; scatters 0.9 of that of single stores, unless the words are few. AMD CPUs are faster with
 * single words. So are older Intel CPUs, whose microcode delays gathers.
 */
#define GATHER_SPAN   (UINT64_C(4) << 20)
#define SCATTER_LEAST 512

#if defined(__AVX512F__)
#include <immintrin.h>

static bool gathers_well(const struct dtc_entries *entries)
{
	return entries->table->span <= GATHER_SPAN && !__builtin_cpu_is("amd") &&
	       __builtin_cpu_supports("avx512bf16");
}

/* The next line of packed words of 4 or 8 bytes, which are also what displacements count in. */
DTC_INLINE void gather_line(char *packed, const int32_t *list, const void *user,
			    size_t bytes)
{
	__m512i words;

	if (bytes == 8)
		words = _mm512_i32gather_epi64(_mm256_loadu_si256((const void *)list),
					       user, 8);
	else
		words = _mm512_i32gather_epi32(_mm512_loadu_si512(list), user, 4);
	_mm512_storeu_si512(packed, words);
}

DTC_INLINE void scatter_line(const char *packed, const int32_t *list, void *user)
{
	_mm512_i32scatter_epi64(user, _mm256_loadu_si256((const void *)list),
				_mm512_loadu_si512(packed), 8);
}

/* Move the next @count entries, whose displacements are in @list, in lines. Returns the number moved. */
DTC_INLINE uint64_t move_lines(const struct dtc_entries *entries, const int32_t *list,
			       uint64_t count, char *packed, size_t bytes, bool unpack)
{
	const uint64_t line = DTC_CACHE_LINE / bytes;
	uint64_t left = count;

	if (!gathers_well(entries) || (unpack && (bytes != 8 || count < SCATTER_LEAST)))
		return 0;
	for (; left >= line; left -= line, list += line, packed += DTC_CACHE_LINE) {
		if (unpack)
			scatter_line(packed, list, entries->user);
		else
			gather_line(packed, list, entries->user, bytes);
	}
	return count - left;
}

/*
 * Doubles from memory are packed in lines, and prefetched from further ahead than blocks are. On AMD CPUs only if they
 * are far from each other: their hardware prefetches sorted lists as well.
 */
#define FAR_WORDS_AHEAD 64

/* @ahead is the word so many entries behind @word. */
static bool needs_prefetching(const char *word, const char *ahead)
{
	return !__builtin_cpu_is("amd") ||
	       dtc_magnitude(ahead - word) > FAR_WORDS_AHEAD * DTC_CACHE_LINE;
}

DTC_INLINE void prefetch_far_doubles(const struct columns *columns, uint64_t entry)
{
	if (!needs_prefetching(address(columns, false, entry),
			       address(columns, false, entry + FAR_WORDS_AHEAD)))
		return;
#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		__builtin_prefetch(address(columns, false, entry + FAR_WORDS_AHEAD + i));
}

DTC_INLINE __m512i line_of_doubles(const struct columns *columns, uint64_t entry)
{
	long long words[8];

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		memcpy(&words[i], address(columns, false, entry + i), 8);
	return _mm512_set_epi64(words[7], words[6], words[5], words[4], words[3],
				words[2], words[1], words[0]);
}

/* @stream is a constant. */
DTC_INLINE uint64_t pack_far_lines(const struct columns *columns, uint64_t first,
				   uint64_t count, char *packed, bool stream)
{
	uint64_t moved = 0;

	for (; count - moved >= 8; moved += 8, packed += DTC_CACHE_LINE) {
		if (count - moved >= FAR_WORDS_AHEAD + 8)
			prefetch_far_doubles(columns, first + moved);
		const __m512i line = line_of_doubles(columns, first + moved);

		if (stream)
			_mm512_stream_si512((void *)packed, line);
		else
			_mm512_storeu_si512(packed, line);
	}
	return moved;
}

/* Pack doubles up to the last line; those in front of the first line that is written past the caches, singly. */
DTC_INLINE uint64_t pack_far_doubles(const struct dtc_entries *entries,
				     const struct columns *columns)
{
	char *packed = entries->packed;
	const bool stream = dtc_passes_caches(entries->stream) &&
			    (uintptr_t)packed % 8 == 0;
	const uint64_t before = stream ? (0 - (uintptr_t)packed) % DTC_CACHE_LINE / 8 : 0;
	const uint64_t single = DTC_MIN(before, entries->count);
	const uint64_t first = entries->first + single;

	for (uint64_t i = entries->first; i < first; i++, packed += 8)
		memcpy(packed, address(columns, false, i), 8);
	return single + (stream ? pack_far_lines(columns, first, entries->count - single,
						 packed, true)
				: pack_far_lines(columns, first, entries->count - single,
						 packed, false));
}
#else
DTC_INLINE uint64_t move_lines(const struct dtc_entries *entries, const int32_t *list,
			       uint64_t count, char *packed, size_t bytes, bool unpack)
{
	(void)entries, (void)list, (void)count, (void)packed, (void)bytes, (void)unpack;
	return 0;
}

DTC_INLINE uint64_t pack_far_doubles(const struct dtc_entries *entries,
				     const struct columns *columns)
{
	(void)entries, (void)columns;
	return 0;
}
#endif

/* Whether entries are words that displacements count in. The arguments are constants, if so. */
#define ARE_WORDS(bytes, shift)                                        \
	(__builtin_constant_p(bytes) && __builtin_constant_p(shift) && \
	 ((bytes) == 4 || (bytes) == 8) && (bytes) == (size_t)1 << (shift))

/* @bytes is a constant if blocks are short. */
DTC_INLINE void move_equal_scaled(const struct dtc_entries *entries, size_t bytes, unsigned shift,
				  bool wide, bool unpack)
{
	struct columns columns = columns_of(entries);
	uint64_t end = entries->first + entries->count;
	char *packed = entries->packed;
	uint64_t i = entries->first;

	columns.shift = shift;
	const struct lead lead = (bytes && bytes <= DTC_CACHE_LINE) || !columns.prefetch
					 ? short_lead
					 : lead_of(entries->table);

	if (ARE_WORDS(bytes, shift) && bytes == 8 && !wide && !unpack &&
	    columns.prefetch) {
		const uint64_t moved = pack_far_doubles(entries, &columns);

		i += moved;
		packed += moved * 8;
	}
	for (; columns.prefetch && i < end; i++, packed += bytes) {
		prefetch(&columns, lead, wide, i, unpack);
		move(packed, address(&columns, wide, i), bytes, unpack);
	}
	if (ARE_WORDS(bytes, shift) && !wide) {
		uint64_t moved = move_lines(entries, columns.narrow + i, end - i, packed,
					    bytes, unpack);

		i += moved;
		packed += moved * bytes;
	}
#pragma GCC unroll 4
	for (; i < end; i++, packed += bytes)
		move(packed, address(&columns, wide, i), bytes, unpack);
}

/*
 * Displacements usually count in the element's alignment. If @bytes is a constant, so is that
 * unit, and the addressing mode does the scaling.
 */
DTC_INLINE void move_equal(const struct dtc_entries *entries, size_t bytes, bool wide, bool unpack)
{
	unsigned natural = bytes ? (unsigned)__builtin_ctzll(bytes) : 0;

	if (entries->table->disp_shift == natural && natural <= 3)
		move_equal_scaled(entries, bytes, natural, wide, unpack);
	else
		move_equal_scaled(entries, bytes, entries->table->disp_shift, wide, unpack);
}

/* The number of bytes in the entries before @entry; the column is in registers. */
DTC_INLINE uint64_t bytes_before(const char *prefixes, bool wide, unsigned shift, uint64_t entry)
{
	uint64_t scaled = wide ? ((const uint64_t *)(const void *)prefixes)[entry]
			       : ((const uint32_t *)(const void *)prefixes)[entry];

	return scaled << shift;
}

DTC_INLINE void move_unlike_scaled(const struct dtc_entries *entries, bool wide, bool wide_prefixes,
				   bool unpack)
{
	const struct columns columns = columns_of(entries);
	const struct lead lead = columns.prefetch ? lead_of(entries->table) : short_lead;
	const char *prefixes = (const char *)entries->table + entries->table->prefix_offset;
	const unsigned shift = entries->table->prefix_shift;
	const uint64_t end = entries->first + entries->count;
	char *packed = entries->packed;
	uint64_t start = bytes_before(prefixes, wide_prefixes, shift, entries->first);

	for (uint64_t i = entries->first; i < end; i++) {
		uint64_t next = bytes_before(prefixes, wide_prefixes, shift, i + 1);
		size_t bytes = (size_t)(next - start);

		if (columns.prefetch)
			prefetch(&columns, lead, wide, i, unpack);
		move(packed, address(&columns, wide, i), bytes, unpack);
		packed += bytes;
		start = next;
	}
}

DTC_INLINE void move_unlike(const struct dtc_entries *entries, bool wide, bool unpack)
{
	if (entries->table->prefix_wide)
		move_unlike_scaled(entries, wide, true, unpack);
	else
		move_unlike_scaled(entries, wide, false, unpack);
}

/* Copy runs of at least this average length with non-temporal stores. */
#define STREAM_ENTRY_BYTES 1024

static bool is_worth_streaming_table(const struct dtc_entries *entries)
{
	const struct dtc_table *table = entries->table;

	return dtc_passes_caches(entries->stream) &&
	       dtc_table_prefix(table, table->count) / table->count >= STREAM_ENTRY_BYTES;
}

static char *user_of(const struct dtc_entries *entries, uint64_t entry)
{
	return (char *)((uintptr_t)entries->user +
			(uintptr_t)dtc_table_disp(entries->table, entry));
}

static void stream_entries(const struct dtc_entries *entries)
{
	const struct dtc_table *table = entries->table;
	const uint64_t end = entries->first + entries->count;
	char *packed = entries->packed;

	for (uint64_t i = entries->first; i < end; i++) {
		size_t bytes = (size_t)(dtc_table_prefix(table, i + 1) -
					dtc_table_prefix(table, i));
		char *user = user_of(entries, i);

		if (entries->direction == DTC_UNPACK)
			dtc_stream_run(user, packed, bytes, packed + bytes);
		else
			dtc_stream_run(packed, user, bytes,
				       user_of(entries,
					       DTC_MIN(i + 1, table->count - 1)));
		packed += bytes;
	}
}

DTC_INLINE void move_entries(const struct dtc_entries *entries, bool wide, bool unpack)
{
	size_t bytes = (size_t)entries->table->uniform;

	switch (bytes) {
	case 0:
		move_unlike(entries, wide, unpack);
		break;
	case 1:
		move_equal(entries, 1, wide, unpack);
		break;
	case 2:
		move_equal(entries, 2, wide, unpack);
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
		move_equal(entries, bytes, wide, unpack);
	}
}

static void pack_narrow(const struct dtc_entries *entries)
{
	move_entries(entries, false, false);
}

static void pack_wide(const struct dtc_entries *entries)
{
	move_entries(entries, true, false);
}

static void unpack_narrow(const struct dtc_entries *entries)
{
	move_entries(entries, false, true);
}

static void unpack_wide(const struct dtc_entries *entries)
{
	move_entries(entries, true, true);
}

static void dtc_move_table(const struct dtc_entries *entries)
{
	bool wide = entries->table->disp_wide;

	if (is_worth_streaming_table(entries))
		stream_entries(entries);
	else if (entries->direction == DTC_PACK)
		(wide ? pack_wide : pack_narrow)(entries);
	else
		(wide ? unpack_wide : unpack_narrow)(entries);
}

#endif
