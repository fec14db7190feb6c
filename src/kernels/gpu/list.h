/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of all GPU kernels: identifier, parameters, and the phases between barriers. The
 * entry points, their names and the shim's table are generated from it. Here stand those that move
 * bytes; typed_list.h has the others, which are an image of their own.
 *
 * DTC_GPU_ENTRY1(NAME, parameters, phase)
 * DTC_GPU_ENTRY2(NAME, parameters, phase, phase)
 * DTC_GPU_ENTRY3(NAME, parameters, phase, phase, phase)
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
DTC_GPU_ENTRY1(copy_rows_16, dtc_gpu_copy_params, dtc_gpu_copy_rows_16_phase)
DTC_GPU_ENTRY1(copy_rows_8, dtc_gpu_copy_params, dtc_gpu_copy_rows_8_phase)
DTC_GPU_ENTRY1(copy_rows_4, dtc_gpu_copy_params, dtc_gpu_copy_rows_4_phase)
DTC_GPU_ENTRY1(copy_rows_2, dtc_gpu_copy_params, dtc_gpu_copy_rows_2_phase)
DTC_GPU_ENTRY1(copy_rows_1, dtc_gpu_copy_params, dtc_gpu_copy_rows_1_phase)
DTC_GPU_ENTRY1(copy_units_16, dtc_gpu_copy_params, dtc_gpu_copy_units_16_phase)
DTC_GPU_ENTRY1(copy_units_8, dtc_gpu_copy_params, dtc_gpu_copy_units_8_phase)
DTC_GPU_ENTRY1(copy_units_4, dtc_gpu_copy_params, dtc_gpu_copy_units_4_phase)
DTC_GPU_ENTRY1(copy_units_2, dtc_gpu_copy_params, dtc_gpu_copy_units_2_phase)
DTC_GPU_ENTRY1(copy_units_1, dtc_gpu_copy_params, dtc_gpu_copy_units_1_phase)
DTC_GPU_ENTRY1(copy_shifted_16, dtc_gpu_copy_params, dtc_gpu_copy_shifted_16_phase)
DTC_GPU_ENTRY1(copy_shifted_4, dtc_gpu_copy_params, dtc_gpu_copy_shifted_4_phase)
DTC_GPU_ENTRY2(periodic_pack_16, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_pack_16_phase)
DTC_GPU_ENTRY2(periodic_pack_8, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_pack_8_phase)
DTC_GPU_ENTRY2(periodic_pack_4, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_pack_4_phase)
DTC_GPU_ENTRY2(periodic_pack_1, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_pack_1_phase)
DTC_GPU_ENTRY2(periodic_unpack_16, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_unpack_16_phase)
DTC_GPU_ENTRY2(periodic_unpack_8, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_unpack_8_phase)
DTC_GPU_ENTRY2(periodic_unpack_4, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_unpack_4_phase)
DTC_GPU_ENTRY2(periodic_unpack_1, dtc_gpu_periodic_params, dtc_gpu_periodic_map,
	       dtc_gpu_periodic_unpack_1_phase)
DTC_GPU_ENTRY3(staged_pack, dtc_gpu_staged_params, dtc_gpu_staged_pack_load,
	       dtc_gpu_staged_pack_map, dtc_gpu_staged_pack_store)
DTC_GPU_ENTRY2(staged_unpack, dtc_gpu_staged_params, dtc_gpu_staged_unpack_load,
	       dtc_gpu_staged_unpack_store)
DTC_GPU_ENTRY1(table_pack_16, dtc_gpu_table_params, dtc_gpu_table_pack_16_phase)
DTC_GPU_ENTRY1(table_pack_8, dtc_gpu_table_params, dtc_gpu_table_pack_8_phase)
DTC_GPU_ENTRY1(table_pack_4, dtc_gpu_table_params, dtc_gpu_table_pack_4_phase)
DTC_GPU_ENTRY1(table_pack_1, dtc_gpu_table_params, dtc_gpu_table_pack_1_phase)
DTC_GPU_ENTRY1(table_unpack_16, dtc_gpu_table_params, dtc_gpu_table_unpack_16_phase)
DTC_GPU_ENTRY1(table_unpack_8, dtc_gpu_table_params, dtc_gpu_table_unpack_8_phase)
DTC_GPU_ENTRY1(table_unpack_4, dtc_gpu_table_params, dtc_gpu_table_unpack_4_phase)
DTC_GPU_ENTRY1(table_unpack_1, dtc_gpu_table_params, dtc_gpu_table_unpack_1_phase)
DTC_GPU_ENTRY3(indexed_pack_16, dtc_gpu_indexed_params, dtc_gpu_indexed_list_16,
	       dtc_gpu_indexed_hold_16, dtc_gpu_indexed_pack_16_phase)
DTC_GPU_ENTRY3(indexed_pack_8, dtc_gpu_indexed_params, dtc_gpu_indexed_list_8,
	       dtc_gpu_indexed_hold_8, dtc_gpu_indexed_pack_8_phase)
DTC_GPU_ENTRY3(indexed_pack_4, dtc_gpu_indexed_params, dtc_gpu_indexed_list_4,
	       dtc_gpu_indexed_hold_4, dtc_gpu_indexed_pack_4_phase)
DTC_GPU_ENTRY3(indexed_pack_1, dtc_gpu_indexed_params, dtc_gpu_indexed_list_1,
	       dtc_gpu_indexed_hold_1, dtc_gpu_indexed_pack_1_phase)
DTC_GPU_ENTRY3(indexed_unpack_16, dtc_gpu_indexed_params, dtc_gpu_indexed_list_16,
	       dtc_gpu_indexed_hold_16, dtc_gpu_indexed_unpack_16_phase)
DTC_GPU_ENTRY3(indexed_unpack_8, dtc_gpu_indexed_params, dtc_gpu_indexed_list_8,
	       dtc_gpu_indexed_hold_8, dtc_gpu_indexed_unpack_8_phase)
DTC_GPU_ENTRY3(indexed_unpack_4, dtc_gpu_indexed_params, dtc_gpu_indexed_list_4,
	       dtc_gpu_indexed_hold_4, dtc_gpu_indexed_unpack_4_phase)
DTC_GPU_ENTRY3(indexed_unpack_1, dtc_gpu_indexed_params, dtc_gpu_indexed_list_1,
	       dtc_gpu_indexed_hold_1, dtc_gpu_indexed_unpack_1_phase)
DTC_GPU_ENTRY2(transposing_pack_16, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_pack_16_load, dtc_gpu_transposing_pack_16_store)
DTC_GPU_ENTRY2(transposing_pack_8, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_pack_8_load, dtc_gpu_transposing_pack_8_store)
DTC_GPU_ENTRY2(transposing_pack_4, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_pack_4_load, dtc_gpu_transposing_pack_4_store)
DTC_GPU_ENTRY2(transposing_pack_2, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_pack_2_load, dtc_gpu_transposing_pack_2_store)
DTC_GPU_ENTRY2(transposing_pack_1, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_pack_1_load, dtc_gpu_transposing_pack_1_store)
DTC_GPU_ENTRY2(transposing_unpack_16, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_unpack_16_load, dtc_gpu_transposing_unpack_16_store)
DTC_GPU_ENTRY2(transposing_unpack_8, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_unpack_8_load, dtc_gpu_transposing_unpack_8_store)
DTC_GPU_ENTRY2(transposing_unpack_4, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_unpack_4_load, dtc_gpu_transposing_unpack_4_store)
DTC_GPU_ENTRY2(transposing_unpack_2, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_unpack_2_load, dtc_gpu_transposing_unpack_2_store)
DTC_GPU_ENTRY2(transposing_unpack_1, dtc_gpu_transpose_params,
	       dtc_gpu_transposing_unpack_1_load, dtc_gpu_transposing_unpack_1_store)
DTC_GPU_ENTRY1(mapped_pack_16, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_16_phase)
DTC_GPU_ENTRY1(mapped_pack_8, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_8_phase)
DTC_GPU_ENTRY1(mapped_pack_4, dtc_gpu_mapped_params, dtc_gpu_mapped_pack_4_phase)
DTC_GPU_ENTRY1(mapped_unpack_16, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_16_phase)
DTC_GPU_ENTRY1(mapped_unpack_8, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_8_phase)
DTC_GPU_ENTRY1(mapped_unpack_4, dtc_gpu_mapped_params, dtc_gpu_mapped_unpack_4_phase)
DTC_GPU_ENTRY1(sorted_unpack_16, dtc_gpu_mapped_params, dtc_gpu_sorted_unpack_16_phase)
DTC_GPU_ENTRY1(sorted_unpack_8, dtc_gpu_mapped_params, dtc_gpu_sorted_unpack_8_phase)
DTC_GPU_ENTRY1(sorted_unpack_4, dtc_gpu_mapped_params, dtc_gpu_sorted_unpack_4_phase)
DTC_GPU_ENTRY1(pages, dtc_gpu_pages_params, dtc_gpu_pages_phase)
DTC_GPU_ENTRY1(page_words, dtc_gpu_page_words_params, dtc_gpu_page_words_phase)
DTC_GPU_ENTRY1(general_pack, dtc_gpu_general_params, dtc_gpu_general_pack_phase)
DTC_GPU_ENTRY1(general_unpack, dtc_gpu_general_params, dtc_gpu_general_unpack_phase)
DTC_GPU_ENTRY3(many_pack, dtc_gpu_many_params, dtc_gpu_many_find, dtc_gpu_many_fetch,
	       dtc_gpu_many_pack_phase)
DTC_GPU_ENTRY3(many_unpack, dtc_gpu_many_params, dtc_gpu_many_find, dtc_gpu_many_fetch,
	       dtc_gpu_many_unpack_phase)
DTC_GPU_ENTRY3(many_copies, dtc_gpu_copies_params, dtc_gpu_copies_find,
	       dtc_gpu_copies_fetch, dtc_gpu_copies_phase)
#ifndef DTC_GPU_MOVING
#include "kernels/gpu/typed_list.h"
#endif
