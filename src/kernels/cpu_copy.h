/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying one block. Two words that overlap inside the block cover every length between their
 * sizes, so that no length needs a loop or a call; all of a block is loaded before any of it
 * is stored.
 */
#ifndef DTC_KERNELS_CPU_COPY_H
#define DTC_KERNELS_CPU_COPY_H

#include <stdint.h>
#include <string.h>

#define DTC_INLINE static inline __attribute__((always_inline))

/* Sixteen bytes in a register, at any address. */
typedef uint64_t dtc_16_bytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t dtc_8_bytes __attribute__((aligned(1), may_alias));
typedef uint32_t dtc_4_bytes __attribute__((aligned(1), may_alias));
typedef uint16_t dtc_2_bytes __attribute__((aligned(1), may_alias));

/* The first and the last word of the block. */
#define DTC_COPY_ENDS(type)                                                                \
	do {                                                                               \
		type head = *(const type *)from;                                           \
		type tail = *(const type *)(from + bytes - sizeof(type));                  \
		*(type *)to = head;                                                        \
		*(type *)(to + bytes - sizeof(type)) = tail;                               \
	} while (0)

/* 33 to 64 bytes: three or four words, the last one overlapping. */
DTC_INLINE void dtc_copy_33_to_64(char *to, const char *from, size_t bytes)
{
	dtc_16_bytes first = *(const dtc_16_bytes *)from;
	dtc_16_bytes second = *(const dtc_16_bytes *)(from + 16);
	dtc_16_bytes third = *(const dtc_16_bytes *)(from + (bytes > 48 ? 32 : bytes - 16));
	dtc_16_bytes last = *(const dtc_16_bytes *)(from + bytes - 16);

	*(dtc_16_bytes *)to = first;
	*(dtc_16_bytes *)(to + 16) = second;
	*(dtc_16_bytes *)(to + (bytes > 48 ? 32 : bytes - 16)) = third;
	*(dtc_16_bytes *)(to + bytes - 16) = last;
}

/*
 * Any number of bytes. Where it is a constant all the questions are answered by the compiler;
 * where it is not they are few and cheap.
 */
DTC_INLINE void dtc_copy_block(char *to, const char *from, size_t bytes)
{
	if (bytes > 64)
		memcpy(to, from, bytes);
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
