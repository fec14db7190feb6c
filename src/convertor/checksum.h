/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC-32C of a packed stream whose bytes move in any order. CRC is linear: the remainders of all
 * ranges, each shifted back to the start of the stream, add up.
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

/* Add @bytes bytes at @position of the stream. */
void dtc_checksum_add(struct dtc_checksum *checksum, uint64_t position, const char *data,
		      size_t bytes);

/* The same for bytes whose remainder, dtc_crc32c from 0, is known. */
void dtc_checksum_add_remainder(struct dtc_checksum *checksum, uint64_t position,
				uint32_t remainder, uint64_t bytes);

/* Add all ranges of another checksum of the stream. */
void dtc_checksum_join(struct dtc_checksum *checksum, const struct dtc_checksum *other);

/* The CRC-32C of the stream so far, if the ranges cover each byte once. */
uint32_t dtc_checksum_value(const struct dtc_checksum *checksum);

#endif
