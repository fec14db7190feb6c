/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA program: every entry of gpu_list.h as a kernel.
 */
#include "kernels/gpu_device.h"

#include "kernels/gpu_classes.cu.h"

#define DTC_GPU_AT()                                \
	struct dtc_gpu_at at;                       \
	extern __shared__ uint4 dtc_gpu_shared[];   \
	at.thread = threadIdx.x;                    \
	at.block = blockIdx.x;                      \
	at.blocks = gridDim.x

#define DTC_GPU_END()                               \
	if (p.done.flag) {                          \
		__syncthreads();                    \
		dtc_gpu_finish(&p.done, at);        \
	}

/* Enough blocks at once to keep the memory busy; @resident is what the registers must leave room for. */
#define DTC_GPU_KERNEL(name, params, resident)                               \
	extern "C" __global__ void __launch_bounds__(DTC_GPU_BLOCK, resident) \
		dtc_gpu_##name(const __grid_constant__ struct params p)

/* Blocks at once of kernels with three phases, by their parameters. */
#define DTC_GPU_RESIDENT_dtc_gpu_indexed_params 4
#define DTC_GPU_RESIDENT_dtc_gpu_many_params    3
#define DTC_GPU_RESIDENT_dtc_gpu_crc_params     3
#define DTC_GPU_RESIDENT_dtc_gpu_cells_params   4

#define DTC_GPU_ENTRY1(name, params, a)             \
	DTC_GPU_KERNEL(name, params, 4)             \
	{                                           \
		DTC_GPU_AT();                       \
		a(&p, dtc_gpu_shared, at);          \
		DTC_GPU_END();                      \
	}

#define DTC_GPU_ENTRY2(name, params, a, b)          \
	DTC_GPU_KERNEL(name, params, 3)             \
	{                                           \
		DTC_GPU_AT();                       \
		a(&p, dtc_gpu_shared, at);          \
		__syncthreads();                    \
		b(&p, dtc_gpu_shared, at);          \
		DTC_GPU_END();                      \
	}

#define DTC_GPU_ENTRY3(name, params, a, b, c)                   \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT_##params) \
	{                                                       \
		DTC_GPU_AT();                                   \
		a(&p, dtc_gpu_shared, at);                      \
		__syncthreads();                                \
		b(&p, dtc_gpu_shared, at);                      \
		__syncthreads();                                \
		c(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_END();                                  \
	}

#include "kernels/gpu_list.h"
