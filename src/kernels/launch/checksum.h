/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes in device memory, on the host: plans the launch that computes a
 * remainder, and interprets its result.
 */
#ifndef DTC_KERNELS_GPU_CHECKSUM_H
#define DTC_KERNELS_GPU_CHECKSUM_H

#include "kernels/launch/launch.h"

extern const struct dtc_gpu_crc_constants dtc_gpu_crc_constants;

struct dtc_gpu_checksum_job {
	uint64_t packed; /* device's address */
	uint64_t bytes;
	uint64_t counter; /* address of two words of 32 bits, 0 between launches */
	uint64_t result;  /* address of the 64-bit result, stored before the flag */
};

/*
 * Plan the launch; DTCONV_ERR_UNSUPPORTED for 0 bytes. The caller sets the flag afterwards, as
 * for any launch.
 */
int dtc_gpu_plan_checksum(const struct dtc_gpu_checksum_job *job,
			  struct dtc_gpu_launch *launch);

/* dtc_crc32c(0, ...) of the bytes, from the result of the launch. */
uint32_t dtc_gpu_checksum_of(uint64_t packed, uint64_t bytes, uint32_t result);

#endif
