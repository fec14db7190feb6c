/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes in a device's memory, seen from the host: the launch that computes a
 * remainder, and what the remainder is.
 */
#ifndef DTC_KERNELS_GPU_CHECKSUM_H
#define DTC_KERNELS_GPU_CHECKSUM_H

#include "kernels/launch/launch.h"

extern const struct dtc_gpu_crc_constants dtc_gpu_crc_constants;

struct dtc_gpu_checksum_job {
	uint64_t packed; /* device's address */
	uint64_t bytes;
	uint64_t counter; /* address of two words of 32 bits, 0 between launches */
	uint64_t result; /* address of the 64-bit word that it goes to, before the flag */
};

/* Plan it; DTCONV_ERR_UNSUPPORTED for no bytes. The flag is set afterwards, as for any launch. */
int dtc_gpu_plan_checksum(const struct dtc_gpu_checksum_job *job,
			  struct dtc_gpu_launch *launch);

/* dtc_crc32c(0, ...) of the bytes, from what the launch has answered. */
uint32_t dtc_gpu_checksum_of(uint64_t packed, uint64_t bytes, uint32_t result);

#endif
