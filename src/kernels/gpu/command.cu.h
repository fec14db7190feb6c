/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a command from the doorbell. The lanes of a warp read the first words, two cells each;
 * then all threads read the rest.
 */
#ifndef DTC_KERNELS_GPU_COMMAND_CU_H
#define DTC_KERNELS_GPU_COMMAND_CU_H

#include "kernels/gpu/resident.h"

/* Two cells. Lane 0 reads the cancel word and the first cell. */
struct dtc_gpu_look {
	uint64_t first, second;
};

DTC_GPU_FN struct dtc_gpu_look dtc_gpu_look_at(uint64_t bell, uint32_t lane)
{
	struct dtc_gpu_look look;

	dtc_gpu_peek16(bell + 16 * (uint64_t)lane, &look.first, &look.second);
	return look;
}

DTC_GPU_FN int dtc_gpu_is_of(uint64_t cell, uint32_t number)
{
	return (uint32_t)(cell >> 32) == number;
}

/*
 * Whether all of the first words have arrived. Bit n of @even stands for word 2n, bit n of @odd
 * for word 2n - 1.
 */
DTC_GPU_FN int dtc_gpu_has_first(uint32_t even, uint32_t odd, uint32_t words)
{
	uint32_t first = words < DTC_GPU_FIRST_WORDS ? words : DTC_GPU_FIRST_WORDS;
	uint32_t even_needed = (uint32_t)(((uint64_t)1 << (first + 1) / 2) - 1);
	uint32_t odd_needed = (uint32_t)((((uint64_t)1 << first / 2) - 1) << 1);

	return (even & even_needed) == even_needed && (odd & odd_needed) == odd_needed;
}

DTC_GPU_FN void dtc_gpu_keep_look(const struct dtc_gpu_look *look, uint32_t lane,
				  uint32_t *words)
{
	if (lane)
		words[2 * lane - 1] = (uint32_t)look->first;
	words[2 * lane] = (uint32_t)look->second;
}

/* Wait for and read one thread's share of the other words. */
DTC_GPU_FN void dtc_gpu_take_rest(uint64_t bell, uint32_t number, uint32_t count,
				  uint32_t thread, uint32_t *words)
{
	for (uint32_t i = DTC_GPU_FIRST_WORDS + thread; i < count; i += DTC_GPU_BLOCK) {
		uint64_t cell;

		do
			cell = dtc_gpu_load8(bell + 8 + 8 * (uint64_t)i);
		while (!dtc_gpu_is_of(cell, number));
		words[i] = (uint32_t)cell;
	}
}

/* Whether to exit, if there is no command. */
DTC_GPU_FN int dtc_gpu_is_over(const struct dtc_gpu_resident_params *p, uint64_t born,
			       uint64_t since, uint64_t now)
{
	return now - since > p->idle_ns || now - born > p->life_ns;
}

/* Publish the end of the kernel: its last store. */
DTC_GPU_FN void dtc_gpu_leave(uint64_t bell, uint32_t number)
{
	dtc_gpu_fence_system();
	dtc_gpu_store_flag(bell + DTC_GPU_OFFSET(struct dtc_gpu_bell, left), number);
}

#endif
