/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class strided: equal blocks in up to five loops, including contiguous memory.
 */
#ifndef DTC_KERNELS_GPU_STRIDED_CU_H
#define DTC_KERNELS_GPU_STRIDED_CU_H

DTC_GPU_FN void dtc_gpu_plain_levels(struct dtc_gpu_levels *levels)
{
	levels->form = DTC_GPU_PLAIN;
	levels->map = 0;
	levels->disps = 0;
	levels->wide = 0;
	levels->shift = 0;
}

/* A tile of a nest whose sides are not aligned to each other. */
DTC_GPU_FN void dtc_gpu_move_nest_ragged(const struct dtc_gpu_nest *nest, uint32_t number,
					 uint32_t thread, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	if (direction == DTC_GPU_UNPACK) {
		dtc_gpu_unpack_owned(nest, number, thread);
		return;
	}
	stretch.packed = nest->packed;
	stretch.begin = nest->begin;
	stretch.end = nest->end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, number);
	source.by = DTC_GPU_BY_NEST;
	source.nest = nest;
	dtc_gpu_plain_levels(&source.levels);
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, thread, direction);
}

DTC_GPU_FN void dtc_gpu_move_nest(const struct dtc_gpu_nest *nest, uint32_t word,
				  uint32_t number, uint32_t thread, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	if (word > 1)
		dtc_gpu_move_words(nest, &levels, word, number, thread, direction);
	else
		dtc_gpu_move_nest_ragged(nest, number, thread, direction);
}

#define DTC_GPU_STRIDED(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_strided_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		(void)shared;                                                          \
		dtc_gpu_move_nest(&p->nest, word, at.block, at.thread, direction);     \
	}

DTC_GPU_STRIDED(dtc_gpu_strided_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
