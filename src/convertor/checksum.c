/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins the CRCs of ranges. A range that continues the previous one needs no joining.
 */
#include "config.h"

#include "checksum.h"

#include <dtconv/convertor.h>

#include "kernels/numbers/crc32c.h"

void dtc_checksum_reset(struct dtc_checksum *checksum)
{
	*checksum = (struct dtc_checksum){ .on = checksum->on };
}

static uint32_t sum_with_range(const struct dtc_checksum *checksum)
{
	return checksum->sum ^ dtc_crc32c_back(checksum->range, checksum->range_end);
}

void dtc_checksum_add(struct dtc_checksum *checksum, uint64_t position, const char *data,
		      size_t bytes)
{
	if (position != checksum->range_end) {
		checksum->sum = sum_with_range(checksum);
		checksum->range = 0;
	}
	checksum->range = dtc_crc32c(checksum->range, (const unsigned char *)data, bytes);
	checksum->range_end = position + bytes;
	checksum->bytes += bytes;
}

void dtc_checksum_add_remainder(struct dtc_checksum *checksum, uint64_t position,
				uint32_t remainder, uint64_t bytes)
{
	checksum->sum ^= dtc_crc32c_back(remainder, position + bytes);
	checksum->bytes += bytes;
}

void dtc_checksum_join(struct dtc_checksum *checksum, const struct dtc_checksum *other)
{
	checksum->sum ^= sum_with_range(other);
	checksum->bytes += other->bytes;
}

/* CRC-32C inverts the register before and after; inverting before equals a prefix of 32 one bits. */
uint32_t dtc_checksum_value(const struct dtc_checksum *checksum)
{
	return ~dtc_crc32c_forward(sum_with_range(checksum) ^ UINT32_MAX,
				   checksum->bytes);
}

uint32_t dtconv_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	return ~dtc_crc32c(~crc, data, bytes);
}
