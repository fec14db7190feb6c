/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class periodic: a short list of runs, again and again, in loops. A block's threads first write
 * down where each unit of a period lies; after that a period is as good as a block.
 */
#ifndef DTC_KERNELS_GPU_PERIODIC_CU_H
#define DTC_KERNELS_GPU_PERIODIC_CU_H

/* The run that holds byte @offset of the packed period. */
DTC_GPU_FN uint32_t dtc_gpu_run_of(const struct dtc_gpu_periodic_params *p, uint32_t offset)
{
	uint32_t low = 0;
	uint32_t n = p->run_count;

	while (n > 1) {
		uint32_t half = n / 2;

		low += p->runs[low + half].packed <= offset ? half : 0;
		n -= half;
	}
	return low;
}

/* Shared memory: a displacement for each unit; where units are bytes, the ends of their runs too. */
DTC_GPU_FN uint16_t *dtc_gpu_period_ends(const struct dtc_gpu_periodic_params *p, void *shared)
{
	return (uint16_t *)((int32_t *)shared + p->period);
}

DTC_GPU_FN void dtc_gpu_periodic_map(const struct dtc_gpu_periodic_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	int32_t *map = (int32_t *)shared;
	uint32_t word = p->nest.word;
	uint32_t units = p->period / word;

	for (uint32_t i = at.thread; i < units; i += DTC_GPU_BLOCK) {
		uint32_t run = dtc_gpu_run_of(p, i * word);
		uint32_t end = run + 1 < p->run_count ? p->runs[run + 1].packed : p->period;

		map[i] = p->runs[run].disp + (int32_t)(i * word - p->runs[run].packed);
		if (word == 1)
			dtc_gpu_period_ends(p, shared)[i] = (uint16_t)end;
	}
}

DTC_GPU_FN void dtc_gpu_periodic_move(const struct dtc_gpu_periodic_params *p, void *shared,
				      uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	dtc_gpu_plain_levels(&source.levels);
	source.levels.form = DTC_GPU_MAPPED;
	source.levels.map = (const int32_t *)shared;
	if (word > 1) {
		dtc_gpu_move_words(&p->nest, &source.levels, word, at.block, at.thread,
				   direction);
		return;
	}
	stretch.packed = p->nest.packed;
	stretch.begin = p->nest.begin;
	stretch.end = p->nest.end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, at.block);
	source.by = DTC_GPU_BY_PERIOD;
	source.nest = &p->nest;
	source.ends = dtc_gpu_period_ends(p, shared);
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, at.thread, direction);
}

#define DTC_GPU_PERIODIC(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_periodic_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                      \
	{                                                                               \
		dtc_gpu_periodic_move(p, shared, word, at, direction);                  \
	}

DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
