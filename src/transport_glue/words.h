/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 64-bit words that packets, headers and handles consist of: little-endian, at any alignment.
 */
#ifndef DTC_WORDS_H
#define DTC_WORDS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void dtc_word_put(void *bytes, size_t word, uint64_t value)
{
	value = htole64(value);
	memcpy((char *)bytes + 8 * word, &value, sizeof(value));
}

static inline uint64_t dtc_word_take(const void *bytes, size_t word)
{
	uint64_t value;

	memcpy(&value, (const char *)bytes + 8 * word, sizeof(value));
	return le64toh(value);
}

#endif
