/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C (Castagnoli; RFC 3720 appendix B.4) of bytes, and the arithmetic that shifts a
 * checksum along a stream. In polynomials the lowest power is the highest bit.
 */
#ifndef DTC_KERNELS_CRC32C_H
#define DTC_KERNELS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The remainder of @crc followed by the bytes, without the inversions before and after:
 * it is linear in both.
 */
uint32_t dtc_crc32c(uint32_t crc, const unsigned char *data, size_t bytes);

/* The same, always by tables: for CPUs without the instruction, and for tests. */
uint32_t dtc_crc32c_portable(uint32_t crc, const unsigned char *data, size_t bytes);

/* @crc times x to the power of 8 x @bytes. */
uint32_t dtc_crc32c_forward(uint32_t crc, uint64_t bytes);

/* @crc divided by x to the power of 8 x @bytes. */
uint32_t dtc_crc32c_back(uint32_t crc, uint64_t bytes);

/* x to the power of 2 to the power of @log. */
uint32_t dtc_crc32c_power(uint32_t log);

#endif
