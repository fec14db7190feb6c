/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans checksums of packed bytes in device memory, and computes the constants of their
 * arithmetic.
 */
#include "config.h"

#include "checksum.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "kernels/numbers/crc32c.h"

_Static_assert(sizeof(struct dtc_gpu_crc_params) <= DTC_GPU_PARAMS_BYTES, "too long");

/* Polynomials have the lowest power in the highest bit, as in crc32c.c. */
const struct dtc_gpu_crc_constants dtc_gpu_crc_constants = {
	.bits = {
		0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b,
		0xaba65fe7, 0x52a0c93f, 0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5,
		0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743, 0x13a29877, 0x274530ee,
		0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9,
		0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede,
		0x417b1dbc, 0x82f63b78,
	},
	.rows = {
		{ 0x3b340629, 0x76680c52, 0xecd018a4, 0xdc4c47b9, 0xbd74f983, 0x7f0585f7,
		  0xfe0b0bee, 0xf9fa612d },
		{ 0xf618b4ab, 0xe9dd1fa7, 0xd65649bf, 0xa940e58f, 0x576dbdef, 0xaedb7bde,
		  0x585a814d, 0xb0b5029a },
		{ 0x648673c5, 0xc90ce78a, 0x97f5b9e5, 0x2a07053b, 0x540e0a76, 0xa81c14ec,
		  0x55d45f29, 0xaba8be52 },
		{ 0x52bd0a55, 0xa57a14aa, 0x4f185fa5, 0x9e30bf4a, 0x398d0865, 0x731a10ca,
		  0xe6342194, 0xc98435d9 },
	},
	.threads = {
		0x629069c6, 0x654f84e7, 0xee2a2d56, 0x631bb273, 0x24d84074, 0xb469724f,
		0x8e9906a7, 0x74c360a4, 0xe744dcb2, 0x67db2c4a, 0x9030a49c, 0x88e56f72,
		0x18e4a304, 0xb8fdb1e7, 0xb82be955, 0x80000000,
	},
	.groups = {
		0x9714afd1, 0xba8dd573, 0x456ea1c5, 0x43eefc9f, 0x8a898a05, 0x8778fbde,
		0xce2c905d, 0x28461564, 0xefcf4f49, 0x481bee08, 0x8eeafe04, 0x35d73a62,
		0x5f60970f, 0x0d65762a, 0xe4172b16, 0x80000000,
	},
};

/* log2 of the exponent of x that shifts past so many bytes, a power of two. */
#define LOG_BITS(bytes) ((uint32_t)__builtin_ctzll(bytes) + 3)

int dtc_gpu_plan_checksum(const struct dtc_gpu_checksum_job *job,
			  struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_crc_params *params = &launch->params.crc;
	uint64_t begin = job->packed & ~UINT64_C(15);
	uint64_t end = (job->packed + job->bytes + 15) & ~UINT64_C(15);
	uint64_t tiles = dtc_divide_up(end - begin, DTC_GPU_CRC_TILE);
	uint64_t each = 1;

	memset(launch, 0, sizeof(*launch));
	while (dtc_divide_up(tiles, each) > UINT64_C(1) << DTC_GPU_CRC_BLOCKS_LOG)
		each *= 2;
	if (!job->bytes || each > UINT32_MAX)
		return DTCONV_ERR_UNSUPPORTED;
	launch->class = DTC_GPU_CLASS_TYPED;
	launch->kernel = DTC_GPU_crc_sum;
	launch->grid = (uint32_t)dtc_divide_up(tiles, each);
	launch->bytes = job->bytes;
	launch->word = 16;
	launch->shared_bytes = DTC_GPU_CRC_SHARED_BYTES;
	launch->params_bytes = sizeof(*params);
	params->begin = begin;
	params->skipped = launch->grid * each * DTC_GPU_CRC_TILE - (end - begin);
	params->tiles = (uint32_t)each;
	params->head = (uint32_t)(job->packed - begin);
	params->tail = (uint32_t)(end - job->packed - job->bytes);
	params->counter = job->counter;
	params->result = job->result;
	params->constants = dtc_gpu_crc_constants;
	for (uint32_t i = 0; i < DTC_GPU_CRC_BLOCKS_LOG; i++)
		params->blocks[i] =
			dtc_crc32c_power(LOG_BITS(each * DTC_GPU_CRC_TILE) + i);
	return 0;
}

uint32_t dtc_gpu_checksum_of(uint64_t packed, uint64_t bytes, uint32_t result)
{
	return dtc_crc32c_back(result, -(packed + bytes) & 15);
}
