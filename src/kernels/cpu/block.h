/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying one block. Two overlapping words cover every length between their sizes, so short
 * lengths need no loop or call. A block of up to 64 bytes is loaded completely before any of it
 * is stored. Words are as wide as the registers that the file is compiled for.
 */
#ifndef DTC_KERNELS_CPU_BLOCK_H
#define DTC_KERNELS_CPU_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "generation.h"
#include "kernels.h"

#define DTC_INLINE static inline __attribute__((always_inline))

/* Types of register width, for any address. */
typedef uint64_t dtc_64_bytes __attribute__((vector_size(64), aligned(1), may_alias));
typedef uint64_t dtc_32_bytes __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t dtc_16_bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t dtc_8_bytes __attribute__((aligned(1), may_alias));
typedef uint32_t dtc_4_bytes __attribute__((aligned(1), may_alias));
typedef uint16_t dtc_2_bytes __attribute__((aligned(1), may_alias));

/* The widest word of the instruction set. */
#if defined(__AVX512F__)
typedef dtc_64_bytes dtc_word;
#elif defined(__AVX__)
typedef dtc_32_bytes dtc_word;
#else
typedef dtc_16_bytes dtc_word;
#endif

/* Copy longer blocks, in words, by a function call. */
#define DTC_BLOCK_WORDS 8

DTC_INLINE void dtc_copy_word(char *to, const char *from)
{
	*(dtc_word *)to = *(const dtc_word *)from;
}

/* The first and the last word of the block. */
#define DTC_COPY_ENDS(type)                                                                \
	do {                                                                               \
		type head = *(const type *)from;                                           \
		type tail = *(const type *)(from + bytes - sizeof(type));                  \
		*(type *)to = head;                                                        \
		*(type *)(to + bytes - sizeof(type)) = tail;                               \
	} while (0)

/*
 * A first and a shorter last word, because a shorter one crosses fewer cache lines. Only for
 * constant lengths: it would be one more branch for others.
 */
#define DTC_COPY_SHORT_END(type, short_type)                                      \
	do {                                                                      \
		type head = *(const type *)from;                                  \
		short_type tail =                                                 \
			*(const short_type *)(from + bytes - sizeof(short_type)); \
		*(type *)to = head;                                               \
		*(short_type *)(to + bytes - sizeof(short_type)) = tail;          \
	} while (0)

DTC_INLINE void dtc_copy_17_to_32(char *to, const char *from, size_t bytes)
{
	if (__builtin_constant_p(bytes) && bytes <= 24)
		DTC_COPY_SHORT_END(dtc_16_bytes, dtc_8_bytes);
	else
		DTC_COPY_ENDS(dtc_16_bytes);
}

DTC_INLINE void dtc_copy_9_to_15(char *to, const char *from, size_t bytes)
{
	if (__builtin_constant_p(bytes) && bytes <= 12)
		DTC_COPY_SHORT_END(dtc_8_bytes, dtc_4_bytes);
	else
		DTC_COPY_ENDS(dtc_8_bytes);
}

/* 33 to 64 bytes. */
DTC_INLINE void dtc_copy_33_to_64(char *to, const char *from, size_t bytes)
{
#if defined(__AVX__)
	if (bytes > 48) {
		DTC_COPY_ENDS(dtc_32_bytes);
		return;
	}
	/*
	 * A short last word. Words that cross a cache line are expensive. On Intel CPUs, so are
	 * lines that are not stored in order, and compilers reorder them.
	 */
	dtc_32_bytes head = *(const dtc_32_bytes *)from;
	if (__builtin_constant_p(bytes) && bytes <= 40) {
		dtc_8_bytes short_tail = *(const dtc_8_bytes *)(from + bytes - 8);

		*(dtc_32_bytes *)to = head;
		__asm__ volatile("" ::: "memory");
		*(dtc_8_bytes *)(to + bytes - 8) = short_tail;
		return;
	}
	dtc_16_bytes tail = *(const dtc_16_bytes *)(from + bytes - 16);

	*(dtc_32_bytes *)to = head;
	*(dtc_16_bytes *)(to + bytes - 16) = tail;
#else
	size_t third = bytes > 48 ? 32 : bytes - 16;
	dtc_16_bytes first = *(const dtc_16_bytes *)from;
	dtc_16_bytes second = *(const dtc_16_bytes *)(from + 16);
	dtc_16_bytes middle = *(const dtc_16_bytes *)(from + third);
	dtc_16_bytes last = *(const dtc_16_bytes *)(from + bytes - 16);

	*(dtc_16_bytes *)to = first;
	*(dtc_16_bytes *)(to + 16) = second;
	*(dtc_16_bytes *)(to + third) = middle;
	*(dtc_16_bytes *)(to + bytes - 16) = last;
#endif
}

/* More than one word: consecutive words, of which the last one overlaps. */
DTC_INLINE void dtc_copy_words(char *to, const char *from, size_t bytes)
{
	size_t last = bytes - sizeof(dtc_word);
	dtc_word tail = *(const dtc_word *)(from + last);

	for (size_t at = 0; at < last; at += sizeof(dtc_word))
		dtc_copy_word(to + at, from + at);
	*(dtc_word *)(to + last) = tail;
}

/* Advance by four words; all are loaded before the first is stored. */
#define MOVE_FOUR(word, to, to_stride, from, from_stride)                                  \
	do {                                                                               \
		word a = *(const word *)(from);                                            \
		word b = *(const word *)((from) + (from_stride));                          \
		word c = *(const word *)((from) + 2 * (from_stride));                      \
		word d = *(const word *)((from) + 3 * (from_stride));                      \
                                                                                           \
		*(word *)(to) = a;                                                         \
		*(word *)((to) + (to_stride)) = b;                                         \
		*(word *)((to) + 2 * (to_stride)) = c;                                     \
		*(word *)((to) + 3 * (to_stride)) = d;                                     \
	} while (0)

#if defined(__AVX__)
/*
 * From this length on, memcpy is as fast. The first limit is for sides with the same offset in
 * a cache line, and for CPUs that do not split lines; the second is for all offsets.
 */
#define LONGER_BLOCK  (UINT64_C(32) << 10)
#define LONGEST_BLOCK (UINT64_C(1) << 20)

/* Copies all but the ends in aligned words of the target. */
#define DEFINE_COPY_ALIGNED(name, type)                                  \
	DTC_INLINE void name(char *to, const char *from, size_t bytes)   \
	{                                                                \
		const size_t word = sizeof(type);                        \
		const size_t last = bytes - word;                        \
		const type head = *(const type *)from;                   \
		const type tail = *(const type *)(from + last);          \
		size_t at = word - (uintptr_t)to % word;                 \
                                                                         \
		for (; at + 4 * word <= last; at += 4 * word)            \
			MOVE_FOUR(type, to + at, word, from + at, word); \
		for (; at < last; at += word)                            \
			*(type *)(to + at) = *(const type *)(from + at); \
		*(type *)to = head;                                      \
		*(type *)(to + last) = tail;                             \
	}

DEFINE_COPY_ALIGNED(copy_half_lines, dtc_32_bytes)
#if defined(__AVX512F__)
DEFINE_COPY_ALIGNED(copy_lines, dtc_64_bytes)
#endif

/*
 * More than DTC_BLOCK_WORDS words. The C library uses rep movsb for these. On AMD CPUs that split
 * lines it moves single bytes if the target's offset in its page is 1 to 15 bytes greater than the
 * source's (doc/performance.md). There half lines are as fast as whole lines, and lose less
 * when a load follows a store to the same offset of another page. On other CPUs whole lines are
 * faster.
 */
static DTC_NOINLINE void dtc_copy_long(char *to, const char *from, size_t bytes)
{
	const bool alike = ((uintptr_t)to - (uintptr_t)from) % DTC_CACHE_LINE == 0;
	const bool splits = dtc_splits_lines();

	if (bytes >= (alike || !splits ? LONGER_BLOCK : LONGEST_BLOCK))
		memcpy(to, from, bytes);
#if defined(__AVX512F__)
	else if (!splits)
		copy_lines(to, from, bytes);
#endif
	else
		copy_half_lines(to, from, bytes);
}
#else
/* The C library uses wider words. */
DTC_INLINE void dtc_copy_long(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

/*
 * Copy any number of bytes. If it is a constant, the compiler removes all branches; otherwise
 * they are few and cheap.
 */
DTC_INLINE void dtc_copy_block(char *to, const char *from, size_t bytes)
{
	if (bytes > DTC_BLOCK_WORDS * sizeof(dtc_word))
		dtc_copy_long(to, from, bytes);
	else if (bytes > 64)
		dtc_copy_words(to, from, bytes);
	else if (bytes == sizeof(dtc_word))
		dtc_copy_word(to, from);
	else if (bytes > 32)
		dtc_copy_33_to_64(to, from, bytes);
	else if (bytes > 16)
		dtc_copy_17_to_32(to, from, bytes);
	else if (bytes == 16)
		*(dtc_16_bytes *)to = *(const dtc_16_bytes *)from;
	else if (bytes > 8)
		dtc_copy_9_to_15(to, from, bytes);
	else if (bytes == 8)
		*(dtc_8_bytes *)to = *(const dtc_8_bytes *)from;
	else if (bytes > 4)
		DTC_COPY_ENDS(dtc_4_bytes);
	else if (bytes == 4)
		*(dtc_4_bytes *)to = *(const dtc_4_bytes *)from;
	else if (bytes >= 2)
		DTC_COPY_ENDS(dtc_2_bytes);
	else if (bytes)
		*to = *from;
}

/*
 * Copy a single block. 5 to 8 words: four from its start and four from its end, without a loop.
 */
DTC_INLINE void dtc_copy_alone(char *to, const char *from, size_t bytes)
{
	const size_t word = sizeof(dtc_word);
	const size_t half = DTC_BLOCK_WORDS / 2 * word;

	if (bytes <= half || bytes > 2 * half) {
		dtc_copy_block(to, from, bytes);
		return;
	}
	MOVE_FOUR(dtc_word, to, word, from, word);
	MOVE_FOUR(dtc_word, to + bytes - half, word, from + bytes - half, word);
}

#endif
