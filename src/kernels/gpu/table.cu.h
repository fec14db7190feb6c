/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class indexed, equal blocks: a nest whose second level is a table of displacements.
 */
#ifndef DTC_KERNELS_GPU_TABLE_CU_H
#define DTC_KERNELS_GPU_TABLE_CU_H

DTC_GPU_FN void dtc_gpu_table_move(const struct dtc_gpu_table_params *p, uint32_t word,
				   struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	source.levels.form = DTC_GPU_LISTED;
	source.levels.map = 0;
	source.levels.disps = p->disps;
	source.levels.wide = p->wide;
	source.levels.shift = p->shift;
	if (word > 1) {
		dtc_gpu_move_words(&p->nest, &source.levels, word, at.block, at.thread,
				   direction);
		return;
	}
	stretch.packed = p->nest.packed;
	stretch.begin = p->nest.begin;
	stretch.end = p->nest.end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, at.block);
	source.by = DTC_GPU_BY_NEST;
	source.nest = &p->nest;
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, at.thread, direction);
}

#define DTC_GPU_TABLE(name, word, direction)                                           \
	DTC_GPU_FN void name(const struct dtc_gpu_table_params *p, void *shared,       \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		(void)shared;                                                          \
		dtc_gpu_table_move(p, word, at, direction);                            \
	}

DTC_GPU_TABLE(dtc_gpu_table_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
