/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of list.h that the resident kernel runs; all others are always launched. Each one
 * adds a second or more to the build.
 */
DTC_GPU_ENTRY1(strided_pack_16, dtc_gpu_strided_params, dtc_gpu_strided_pack_16_phase)
DTC_GPU_ENTRY1(strided_pack_8, dtc_gpu_strided_params, dtc_gpu_strided_pack_8_phase)
DTC_GPU_ENTRY1(strided_pack_4, dtc_gpu_strided_params, dtc_gpu_strided_pack_4_phase)
DTC_GPU_ENTRY1(strided_pack_1, dtc_gpu_strided_params, dtc_gpu_strided_pack_1_phase)
DTC_GPU_ENTRY1(strided_unpack_16, dtc_gpu_strided_params, dtc_gpu_strided_unpack_16_phase)
DTC_GPU_ENTRY1(strided_unpack_8, dtc_gpu_strided_params, dtc_gpu_strided_unpack_8_phase)
DTC_GPU_ENTRY1(strided_unpack_4, dtc_gpu_strided_params, dtc_gpu_strided_unpack_4_phase)
DTC_GPU_ENTRY1(strided_unpack_1, dtc_gpu_strided_params, dtc_gpu_strided_unpack_1_phase)
DTC_GPU_ENTRY1(rows_pack_16, dtc_gpu_rows_params, dtc_gpu_rows_pack_16_phase)
DTC_GPU_ENTRY1(rows_pack_8, dtc_gpu_rows_params, dtc_gpu_rows_pack_8_phase)
DTC_GPU_ENTRY1(rows_pack_4, dtc_gpu_rows_params, dtc_gpu_rows_pack_4_phase)
DTC_GPU_ENTRY1(rows_unpack_16, dtc_gpu_rows_params, dtc_gpu_rows_unpack_16_phase)
DTC_GPU_ENTRY1(rows_unpack_8, dtc_gpu_rows_params, dtc_gpu_rows_unpack_8_phase)
DTC_GPU_ENTRY1(rows_unpack_4, dtc_gpu_rows_params, dtc_gpu_rows_unpack_4_phase)
DTC_GPU_ENTRY1(rows_unpack_2, dtc_gpu_rows_params, dtc_gpu_rows_unpack_2_phase)
DTC_GPU_ENTRY1(rows_unpack_1, dtc_gpu_rows_params, dtc_gpu_rows_unpack_1_phase)
DTC_GPU_ENTRY1(mapped_pack_16, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_16_phase)
DTC_GPU_ENTRY1(mapped_pack_8, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_8_phase)
DTC_GPU_ENTRY1(mapped_pack_4, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_4_phase)
DTC_GPU_ENTRY1(mapped_unpack_16, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_16_phase)
DTC_GPU_ENTRY1(mapped_unpack_8, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_8_phase)
DTC_GPU_ENTRY1(mapped_unpack_4, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_4_phase)
DTC_GPU_ENTRY1(general_pack, dtc_gpu_general_params, dtc_gpu_general_pack_phase)
DTC_GPU_ENTRY1(general_unpack, dtc_gpu_general_params, dtc_gpu_general_unpack_phase)
DTC_GPU_ENTRY3(many_pack, dtc_gpu_many_params, dtc_gpu_many_find, dtc_gpu_many_fetch,
	       dtc_gpu_many_pack_phase)
DTC_GPU_ENTRY3(many_unpack, dtc_gpu_many_params, dtc_gpu_many_find, dtc_gpu_many_fetch,
	       dtc_gpu_many_unpack_phase)
