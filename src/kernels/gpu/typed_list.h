/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of the list of all GPU kernels: those that convert, combine and sum up. Most programs need none of
 * them, so they are an image of their own, which the first job that needs one loads.
 */
DTC_GPU_ENTRY1(numbers_pack, dtc_gpu_numbers_params, dtc_gpu_numbers_pack_phase)
DTC_GPU_ENTRY1(numbers_unpack, dtc_gpu_numbers_params, dtc_gpu_numbers_unpack_phase)
DTC_GPU_ENTRY2(period_pack, dtc_gpu_period_params, dtc_gpu_period_map,
	       dtc_gpu_period_pack_phase)
DTC_GPU_ENTRY2(period_unpack, dtc_gpu_period_params, dtc_gpu_period_map,
	       dtc_gpu_period_unpack_phase)
DTC_GPU_ENTRY2(cells_pack, dtc_gpu_cells_params, dtc_gpu_cells_map,
	       dtc_gpu_cells_pack_phase)
DTC_GPU_ENTRY2(cells_unpack, dtc_gpu_cells_params, dtc_gpu_cells_map,
	       dtc_gpu_cells_unpack_phase)
DTC_GPU_ENTRY3(crc_sum, dtc_gpu_crc_params, dtc_gpu_crc_tables, dtc_gpu_crc_pieces,
	       dtc_gpu_crc_join)
DTC_GPU_ENTRY1(units_pack, dtc_gpu_units_params, dtc_gpu_units_pack_phase)
DTC_GPU_ENTRY1(units_unpack, dtc_gpu_units_params, dtc_gpu_units_unpack_phase)
DTC_GPU_ENTRY1(couples_unpack, dtc_gpu_units_params, dtc_gpu_couples_unpack_phase)
DTC_GPU_ENTRY1(word_couples_unpack, dtc_gpu_units_params, dtc_gpu_word_couples_phase)
DTC_GPU_ENTRY2(records_unpack, dtc_gpu_cells_params, dtc_gpu_records_stage,
	       dtc_gpu_records_combine)
