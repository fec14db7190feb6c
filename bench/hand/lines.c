/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory traffic of a layout and nothing else. Packing loads one word of each cache line that
 * holds data, in the order of addresses, and stores as many bytes as the stream has. Unpacking
 * loads one word of each line of the stream, and stores one byte into each line, or the whole line
 * if all of it is data. Any engine does at least this.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LINE ((size_t)HAND_LINE)

/* So many lines ahead is prefetched. */
#define AHEAD ((size_t)16)

typedef uint64_t whole_line __attribute__((vector_size(64), aligned(1), may_alias));
typedef uint64_t word __attribute__((may_alias));

/* One function for each way, in which the flags are constants. */
#define INLINE static inline __attribute__((always_inline))

/* The packed side: a share of its lines is due for each line of the user's side. */
struct stream {
	char *line;
	uint64_t due, share; /* lines, 32 bits of them behind the point */
	uint64_t done, lines;
	uint64_t sum;
};

/*
 * Few instructions, because the window of those in flight limits the loads in flight; and opaque,
 * because the compiler would make gathers of the loads.
 */
INLINE uint64_t add_word(uint64_t sum, const char *line)
{
#if defined(__x86_64__)
	__asm__ volatile("add %1, %0"
			 : "+r"(sum)
			 : "m"(*(const word *)(const void *)line));
	return sum;
#else
	return sum + *(const volatile word *)(const volatile void *)line;
#endif
}

/* The word is opaque, so that the compiler cannot call memset. */
INLINE uint64_t filling(void)
{
	uint64_t value = HAND_LINE_BYTE * UINT64_C(0x0101010101010101);

	__asm__("" : "+r"(value));
	return value;
}

INLINE void store_line(char *to, uint64_t value, bool past)
{
	const whole_line line = {
		value, value, value, value, value, value, value, value
	};

#if defined(__x86_64__) && defined(__AVX512F__)
	if (past) {
		_mm512_stream_si512((void *)to, (__m512i)line);
		return;
	}
#elif defined(__x86_64__)
	for (size_t i = 0; past && i < LINE / 16; i++)
		_mm_stream_si128((__m128i *)(void *)to + i,
				 _mm_set1_epi64x((long long)value));
	if (past)
		return;
#else
	(void)past;
#endif
	*(whole_line *)to = line;
}

INLINE void end_stores(bool past)
{
#if defined(__x86_64__)
	if (past)
		_mm_sfence();
#else
	(void)past;
#endif
}

INLINE struct stream stream_of(const struct hand_lines *lines, char *packed)
{
	size_t before = (size_t)(0 - (uintptr_t)packed) % LINE;
	struct stream s = { .line = packed + before };

	if (before < lines->packed_bytes)
		s.lines = (lines->packed_bytes - before) / LINE;
	s.share = (s.lines << 32) / (lines->line_count ? lines->line_count : 1);
	return s;
}

/* The packed side's part of `lines` lines of the user's. */
INLINE void keep_up(struct stream *s, size_t lines, uint64_t value, bool unpack,
		    bool past)
{
	s->due += lines * s->share;
	for (; s->done < s->due >> 32; s->done++, s->line += LINE) {
		if (unpack)
			s->sum = add_word(s->sum, s->line);
		else
			store_line(s->line, value, past);
	}
}

INLINE void touch(struct stream *s, char *line, bool whole, uint64_t value, bool unpack,
		  bool past)
{
	if (!unpack)
		s->sum = add_word(s->sum, line);
	else if (whole)
		store_line(line, value, past);
	else
		*(volatile char *)line = HAND_LINE_BYTE;
}

/* The distance from a line to the one to be prefetched with it, in the same list entry; or 0. */
INLINE size_t distance_of(struct hand_line_group group, size_t repeats_left, bool fetched)
{
	const size_t count = group.count, skip = group.skip;
	size_t ahead = fetched && count ? (AHEAD + count - 1) / count : 0;

	return repeats_left > ahead ? ahead * (skip + count) * LINE : 0;
}

INLINE void fetch(const char *line, bool unpack)
{
	if (unpack)
		__builtin_prefetch(line, 1);
	else
		__builtin_prefetch(line, 0);
}

INLINE void touch_group(struct stream *s, char *line, struct hand_line_group group,
			size_t distance, uint64_t value, bool unpack, bool past)
{
	const bool fetched = distance && !(unpack && past && group.whole);

#pragma GCC unroll 8
	for (size_t i = 0; i < group.count; i++) {
		touch(s, line + i * LINE, group.whole, value, unpack, past);
		if (fetched)
			fetch(line + distance + i * LINE, unpack);
	}
	keep_up(s, group.count, value, unpack, past);
}

INLINE void touch_all(struct stream *s, const struct hand_lines *lines, char *user,
		      uint64_t value, bool unpack, bool fetched, bool past)
{
	for (size_t i = 0; i < lines->group_count; i++) {
		const struct hand_line_group group = lines->groups[i];

		for (size_t k = group.repeats; k; k--) {
			user += group.skip * LINE;
			touch_group(s, user, group, distance_of(group, k, fetched), value,
				    unpack, past);
			user += group.count * LINE;
		}
	}
}

/* ---- all ------------------------------------------------------------------------------ */

INLINE uint64_t move_lines(const struct hand_lines *lines, char *user, char *packed,
			   bool unpack, bool fetched, bool past)
{
	const uint64_t value = filling();
	struct stream s = stream_of(lines, packed);
	size_t before = (size_t)(s.line - packed);
	size_t after = lines->packed_bytes - before - (size_t)s.lines * LINE;

	if (before > lines->packed_bytes) {
		before = lines->packed_bytes;
		after = 0;
	}
	if (!unpack)
		memset(packed, HAND_LINE_BYTE, before);
	touch_all(&s, lines, user, value, unpack, fetched, past);
	s.due = s.lines << 32;
	keep_up(&s, 0, value, unpack, past);
	if (!unpack)
		memset(packed + lines->packed_bytes - after, HAND_LINE_BYTE, after);
	end_stores(past);
	return s.sum;
}

uint64_t hand_pack_lines(const struct hand_lines *lines, const void *user, void *packed)
{
	char *from = (char *)(uintptr_t)user;

	switch (lines->way) {
	case HAND_LINES_PLAIN:
		return move_lines(lines, from, packed, false, false, false);
	case HAND_LINES_FETCHED:
		return move_lines(lines, from, packed, false, true, false);
	case HAND_LINES_PAST:
		return move_lines(lines, from, packed, false, false, true);
	default:
		return move_lines(lines, from, packed, false, true, true);
	}
}

uint64_t hand_unpack_lines(const struct hand_lines *lines, void *user, const void *packed)
{
	char *from = (char *)(uintptr_t)packed;

	switch (lines->way) {
	case HAND_LINES_PLAIN:
		return move_lines(lines, user, from, true, false, false);
	case HAND_LINES_FETCHED:
		return move_lines(lines, user, from, true, true, false);
	case HAND_LINES_PAST:
		return move_lines(lines, user, from, true, false, true);
	default:
		return move_lines(lines, user, from, true, true, true);
	}
}
