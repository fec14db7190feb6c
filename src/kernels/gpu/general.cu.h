/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class general: any program and any stretch of its stream, at the cost of a walk for each run.
 */
#ifndef DTC_KERNELS_GPU_GENERAL_CU_H
#define DTC_KERNELS_GPU_GENERAL_CU_H

DTC_GPU_FN void dtc_gpu_move_walk(const struct dtc_gpu_walk *walk, uint32_t number,
				  uint32_t thread, int direction)
{
	struct dtc_gpu_stretch stretch;
	struct dtc_gpu_source source;

	stretch.packed = walk->packed;
	stretch.begin = walk->begin;
	stretch.end = walk->end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, number);
	source.by = DTC_GPU_BY_WALK;
	source.walk = walk;
	dtc_gpu_begin_source(&source, tile.position);
	/* Not inlined per piece, because a walk is long code. */
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		struct dtc_gpu_piece piece = dtc_gpu_piece_at(&tile, thread + k * DTC_GPU_BLOCK);

		if (direction == DTC_GPU_PACK)
			dtc_gpu_pack_runs(&source, &piece);
		else
			dtc_gpu_unpack_piece(&source, &piece,
					     dtc_gpu_gather(piece.packed, piece.bytes));
	}
}

DTC_GPU_FN void dtc_gpu_general_pack_phase(const struct dtc_gpu_general_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_walk(&p->walk, at.block, at.thread, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_general_unpack_phase(const struct dtc_gpu_general_params *p, void *shared,
				       struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_walk(&p->walk, at.block, at.thread, DTC_GPU_UNPACK);
}

#endif
