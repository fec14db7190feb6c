/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum of a packed stream whose bytes move in any order. CRC is linear, so the
 * remainders of all ranges, each divided back to the stream's start, add up.
 */
#ifndef DTC_CHECKSUM_H
#define DTC_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtc_checksum {
	bool on;
	uint64_t bytes; /* in all ranges */
	uint32_t sum;   /* of the finished ranges */
	uint32_t range; /* remainder of the range that still grows */
	uint64_t range_end;
};

/* Forget all ranges. */
void dtc_checksum_reset(struct dtc_checksum *checksum);

/* Take in @bytes bytes that stand at @position of the stream. */
void dtc_checksum_add(struct dtc_checksum *checksum, uint64_t position, const char *data,
		      size_t bytes);

/* The same of bytes whose remainder, dtc_crc32c from 0, is known. */
void dtc_checksum_add_remainder(struct dtc_checksum *checksum, uint64_t position,
				uint32_t remainder, uint64_t bytes);

/* The CRC-32C of the stream's beginning, if the ranges cover it once. */
uint32_t dtc_checksum_value(const struct dtc_checksum *checksum);

#endif
