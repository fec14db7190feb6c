/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resident kernel: one block that polls host memory for commands, and does what other
 * kernels do when they are launched. It is a program of its own: its inputs change while it
 * runs, so its loads bypass the caches that are not coherent with the host.
 */
#define DTC_GPU_RESIDENT

/* Some functions of the included files are unused here. */
#pragma nv_diag_suppress 177

#include "kernels/gpu/device.h"

#include "kernels/gpu/params.h"

#include "kernels/gpu/bytes.cu.h"
#include "kernels/gpu/nest.cu.h"
#include "kernels/gpu/words.cu.h"
#include "kernels/gpu/walk.cu.h"
#include "kernels/gpu/entries.cu.h"
#include "kernels/gpu/pieces.cu.h"

#include "kernels/gpu/strided.cu.h"
#include "kernels/gpu/rows.cu.h"
#include "kernels/gpu/mapped.cu.h"
#include "kernels/gpu/general.cu.h"
#include "kernels/gpu/many.cu.h"

#include "kernels/gpu/command.cu.h"

enum dtc_gpu_kernel {
#define DTC_GPU_ENTRY1(name, params, a)       DTC_GPU_##name,
#define DTC_GPU_ENTRY2(name, params, a, b)    DTC_GPU_##name,
#define DTC_GPU_ENTRY3(name, params, a, b, c) DTC_GPU_##name,
#include "kernels/gpu/list.h"
	DTC_GPU_KERNELS
};
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

/* The blocks of a launch, one after the other. */
#define DTC_GPU_CASE(name, phases)                                     \
	case DTC_GPU_##name:                                           \
		for (at.block = 0; at.block < at.blocks; at.block++) { \
			phases                                         \
		}                                                      \
		break;
#define DTC_GPU_PHASE(params, a)        a((const struct params *)p, dtc_gpu_shared, at);
#define DTC_GPU_ENTRY1(name, params, a) DTC_GPU_CASE(name, DTC_GPU_PHASE(params, a))
#define DTC_GPU_ENTRY3(name, params, a, b, c)                        \
	DTC_GPU_CASE(name, DTC_GPU_PHASE(params, a) __syncthreads(); \
		     DTC_GPU_PHASE(params, b) __syncthreads();       \
		     DTC_GPU_PHASE(params, c) __syncthreads();)

DTC_GPU_FN void dtc_gpu_move_command(uint32_t kernel, const void *p, struct dtc_gpu_at at)
{
	extern __shared__ uint4 dtc_gpu_shared[];

	switch (kernel) {
#include "kernels/gpu/resident_list.h"
	}
}

/* One warp polls. Returns the number of words of the command; 0: exit. */
DTC_GPU_FN uint32_t dtc_gpu_await(const struct dtc_gpu_resident_params *r,
				  uint32_t number, uint64_t born, uint32_t *words)
{
	const uint32_t all = 0xffffffffu;
	uint64_t since = dtc_gpu_now();

	for (;;) {
		uint64_t now = dtc_gpu_now();
		struct dtc_gpu_look look = dtc_gpu_look_at(r->bell, threadIdx.x);
		uint32_t even = __ballot_sync(all, dtc_gpu_is_of(look.second, number));
		uint32_t odd = __ballot_sync(all, dtc_gpu_is_of(look.first, number));
		uint32_t head = __shfl_sync(all, (uint32_t)look.second, 0);
		uint32_t cancel = __shfl_sync(all, (uint32_t)look.first, 0);
		uint32_t count = DTC_GPU_COMMAND_LENGTH(head);

		if (even & 1) {
			if (!dtc_gpu_has_first(even, odd, count))
				continue;
			dtc_gpu_keep_look(&look, threadIdx.x, words);
			return count;
		}
		/*
		 * Take the decision of one lane, because lanes read the clock at different
		 * times.
		 */
		if (__any_sync(all, cancel || dtc_gpu_is_over(r, born, since, now)))
			return 0;
	}
}

extern "C" __global__ void __launch_bounds__(DTC_GPU_BLOCK, 1)
	dtc_gpu_resident(const __grid_constant__ struct dtc_gpu_resident_params r)
{
	__shared__ __align__(16) uint32_t words[DTC_GPU_COMMAND_WORDS];
	__shared__ uint32_t length;
	const void *params = words + DTC_GPU_COMMAND_HEAD;
	uint64_t born = dtc_gpu_now();
	uint32_t number = r.number;

	for (;; number++) {
		struct dtc_gpu_at at = { threadIdx.x, 0, 1 };

		if (at.thread < 32) {
			uint32_t count = dtc_gpu_await(&r, number, born, words);

			if (at.thread == 0)
				length = count;
		}
		__syncthreads();
		if (!length)
			break;
		dtc_gpu_take_rest(r.bell, number, length, at.thread, words);
		__syncthreads();
		at.blocks = words[1];
		dtc_gpu_move_command(DTC_GPU_COMMAND_KERNEL(words[0]), params, at);
		__syncthreads();
		at.blocks = 1;
		dtc_gpu_finish((const struct dtc_gpu_done *)params, at);
		__syncthreads();
	}
	if (threadIdx.x == 0)
		dtc_gpu_leave(r.bell, number);
}
