/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHA-256 (FIPS 180-4), to name files by their content. Not optimised: inputs are a few
 * kilobytes.
 */
#ifndef DTC_SHA256_H
#define DTC_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define DTC_SHA256_BYTES 32

struct dtc_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64];
};

void dtc_sha256_begin(struct dtc_sha256 *sum);
void dtc_sha256_add(struct dtc_sha256 *sum, const void *data, size_t bytes);
void dtc_sha256_end(struct dtc_sha256 *sum, unsigned char digest[DTC_SHA256_BYTES]);

#endif
