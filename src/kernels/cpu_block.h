/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying one block. Two words that overlap inside the block cover every length between their
 * sizes, so that no short length needs a loop or a call; all of a block of up to 64 bytes is loaded
 * before any of it is stored. What is compiled for wider registers has wider words.
 */
#ifndef DTC_KERNELS_CPU_BLOCK_H
#define DTC_KERNELS_CPU_BLOCK_H

#include <stdint.h>
#include <string.h>

#define DTC_INLINE static inline __attribute__((always_inline))

/* Bytes in a register, at any address. */
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

/* Blocks longer than this many words are the C library's, which knows the machine. */
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

/* 33 to 64 bytes. */
DTC_INLINE void dtc_copy_33_to_64(char *to, const char *from, size_t bytes)
{
#if defined(__AVX__)
	if (bytes > 48) {
		DTC_COPY_ENDS(dtc_32_bytes);
		return;
	}
	/* A short last word: words that cross a cache line are dear. */
	dtc_32_bytes head = *(const dtc_32_bytes *)from;
	if (__builtin_constant_p(bytes) && bytes <= 40) {
		dtc_8_bytes short_tail = *(const dtc_8_bytes *)(from + bytes - 8);

		*(dtc_32_bytes *)to = head;
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

/* More than a word: words in a row, the last one overlapping. */
DTC_INLINE void dtc_copy_words(char *to, const char *from, size_t bytes)
{
	size_t last = bytes - sizeof(dtc_word);
	dtc_word tail = *(const dtc_word *)(from + last);

	for (size_t at = 0; at < last; at += sizeof(dtc_word))
		dtc_copy_word(to + at, from + at);
	*(dtc_word *)(to + last) = tail;
}

/*
 * Any number of bytes. Where it is a constant all the questions are answered by the compiler;
 * where it is not they are few and cheap.
 */
DTC_INLINE void dtc_copy_block(char *to, const char *from, size_t bytes)
{
	if (bytes > DTC_BLOCK_WORDS * sizeof(dtc_word))
		memcpy(to, from, bytes);
	else if (bytes > 64)
		dtc_copy_words(to, from, bytes);
	else if (bytes == sizeof(dtc_word))
		dtc_copy_word(to, from);
	else if (bytes > 32)
		dtc_copy_33_to_64(to, from, bytes);
	else if (bytes > 16)
		DTC_COPY_ENDS(dtc_16_bytes);
	else if (bytes == 16)
		*(dtc_16_bytes *)to = *(const dtc_16_bytes *)from;
	else if (bytes > 8)
		DTC_COPY_ENDS(dtc_8_bytes);
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

#endif
