/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An entry of list.h as a kernel: its phases with barriers between them, and how many of its blocks are to be resident.
 */
#ifndef DTC_KERNELS_GPU_ENTRY_CU_H
#define DTC_KERNELS_GPU_ENTRY_CU_H

/* A specialised kernel uses the shape's numbers instead of its parameters; both are equal. */
#ifdef DTC_GPU_SHAPE
#define DTC_GPU_PARAMS given
#define DTC_GPU_TAKE()  \
	auto p = given; \
	DTC_GPU_SHAPE
#else
#define DTC_GPU_PARAMS p
#define DTC_GPU_TAKE()
#endif

#define DTC_GPU_AT()                              \
	DTC_GPU_TAKE()                            \
	struct dtc_gpu_at at;                     \
	extern __shared__ uint4 dtc_gpu_shared[]; \
	at.thread = threadIdx.x;                  \
	at.block = blockIdx.x;                    \
	at.blocks = gridDim.x

#define DTC_GPU_END()                        \
	if (p.done.flag) {                   \
		__syncthreads();             \
		dtc_gpu_finish(&p.done, at); \
	}

/*
 * Enough blocks in flight to keep the memory busy. @resident limits the registers per thread.
 */
#define DTC_GPU_KERNEL(name, params, resident)                                \
	extern "C" __global__ void __launch_bounds__(DTC_GPU_BLOCK, resident) \
		dtc_gpu_##name(const __grid_constant__ struct params DTC_GPU_PARAMS)

/* Resident blocks of kernels with one phase or with three, by their parameters. */
#define DTC_GPU_RESIDENT_dtc_gpu_strided_params    4
#define DTC_GPU_RESIDENT_dtc_gpu_rows_params       6
#define DTC_GPU_RESIDENT_dtc_gpu_mapped_params     8
#define DTC_GPU_RESIDENT_dtc_gpu_copy_params       5
#define DTC_GPU_RESIDENT_dtc_gpu_copies_params     3
#define DTC_GPU_RESIDENT_dtc_gpu_table_params      4
#define DTC_GPU_RESIDENT_dtc_gpu_pages_params      4
#define DTC_GPU_RESIDENT_dtc_gpu_page_words_params 8
#define DTC_GPU_RESIDENT_dtc_gpu_general_params    4
#define DTC_GPU_RESIDENT_dtc_gpu_numbers_params    4
#define DTC_GPU_RESIDENT_dtc_gpu_units_params      4
#define DTC_GPU_RESIDENT_dtc_gpu_indexed_params    4
#define DTC_GPU_RESIDENT_dtc_gpu_many_params       3
#define DTC_GPU_RESIDENT_dtc_gpu_crc_params        3
#define DTC_GPU_RESIDENT_dtc_gpu_staged_params     6

/* The same of kernels with two phases. */
#define DTC_GPU_RESIDENT2_dtc_gpu_periodic_params  3
#define DTC_GPU_RESIDENT2_dtc_gpu_staged_params    6
#define DTC_GPU_RESIDENT2_dtc_gpu_transpose_params 3
#define DTC_GPU_RESIDENT2_dtc_gpu_period_params    3
#define DTC_GPU_RESIDENT2_dtc_gpu_cells_params     3

/* Where their threads meet between phases. Words of a table of unlike runs are each warp's own. */
#define DTC_GPU_MEET_dtc_gpu_many_params   __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_copies_params __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_crc_params    __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_staged_params __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_indexed_params \
	do {                                \
		if (p.nest.word > 1)        \
			__syncwarp();       \
		else                        \
			__syncthreads();    \
	} while (0)

#define DTC_GPU_ENTRY1(name, params, a)                         \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT_##params) \
	{                                                       \
		DTC_GPU_AT();                                   \
		a(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_END();                                  \
	}

#define DTC_GPU_ENTRY2(name, params, a, b)                       \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT2_##params) \
	{                                                        \
		DTC_GPU_AT();                                    \
		a(&p, dtc_gpu_shared, at);                       \
		__syncthreads();                                 \
		b(&p, dtc_gpu_shared, at);                       \
		DTC_GPU_END();                                   \
	}

#define DTC_GPU_ENTRY3(name, params, a, b, c)                   \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT_##params) \
	{                                                       \
		DTC_GPU_AT();                                   \
		a(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_MEET_##params;                          \
		b(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_MEET_##params;                          \
		c(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_END();                                  \
	}

#endif
