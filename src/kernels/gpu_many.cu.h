/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many unlike parts in one launch: a struct of unlike members, or a batch of many types and
 * buffers. Each tile belongs to one part; a block's threads look for it together.
 */
#ifndef DTC_KERNELS_GPU_MANY_CU_H
#define DTC_KERNELS_GPU_MANY_CU_H

struct dtc_gpu_many_shared {
	struct dtc_gpu_part part;
	uint32_t number;
	uint32_t reserved;
};

DTC_GPU_FN uint32_t dtc_gpu_first_tile(const struct dtc_gpu_many_params *p, uint32_t part)
{
	if (!p->parts)
		return p->inline_parts[part].first_tile;
	return dtc_gpu_load4(p->parts + (uint64_t)part * sizeof(struct dtc_gpu_part));
}

/* Find the part of this block's tile; the tile's number among all stays where it is. */
DTC_GPU_FN void dtc_gpu_many_find(const struct dtc_gpu_many_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	struct dtc_gpu_many_shared *s = (struct dtc_gpu_many_shared *)shared;

	for (uint32_t i = at.thread; i < p->part_count; i += DTC_GPU_BLOCK)
		if (dtc_gpu_first_tile(p, i) <= at.block &&
		    (i + 1 == p->part_count || dtc_gpu_first_tile(p, i + 1) > at.block))
			s->number = i;
}

DTC_GPU_FN void dtc_gpu_many_fetch(const struct dtc_gpu_many_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	struct dtc_gpu_many_shared *s = (struct dtc_gpu_many_shared *)shared;
	const uint32_t words = sizeof(struct dtc_gpu_part) / 8;

	if (at.thread >= words)
		return;
	uint64_t *to = (uint64_t *)&s->part + at.thread;
	if (p->parts)
		*to = dtc_gpu_load8(p->parts + (uint64_t)s->number * sizeof(struct dtc_gpu_part) +
				    8 * at.thread);
	else
		*to = ((const uint64_t *)&p->inline_parts[s->number])[at.thread];
}

DTC_GPU_FN void dtc_gpu_many_move(const struct dtc_gpu_part *part, struct dtc_gpu_at at,
				  int direction)
{
	uint32_t number = at.block - part->first_tile;

	if (part->kind == DTC_GPU_PART_WALK)
		dtc_gpu_move_walk(&part->u.walk, number, at.thread, direction);
	else if (part->u.nest.word == 16)
		dtc_gpu_move_nest(&part->u.nest, 16, number, at.thread, direction);
	else if (part->u.nest.word == 8)
		dtc_gpu_move_nest(&part->u.nest, 8, number, at.thread, direction);
	else if (part->u.nest.word == 4)
		dtc_gpu_move_nest(&part->u.nest, 4, number, at.thread, direction);
	else
		dtc_gpu_move_nest(&part->u.nest, 1, number, at.thread, direction);
}

DTC_GPU_FN void dtc_gpu_many_pack_phase(const struct dtc_gpu_many_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	(void)p;
	dtc_gpu_many_move(&((struct dtc_gpu_many_shared *)shared)->part, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_many_unpack_phase(const struct dtc_gpu_many_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	(void)p;
	dtc_gpu_many_move(&((struct dtc_gpu_many_shared *)shared)->part, at, DTC_GPU_UNPACK);
}

#endif
