/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many copies between layouts in one launch: the copies of a batch. Each tile belongs to one part, which the
 * threads of a block search together.
 */
#ifndef DTC_KERNELS_GPU_MANY_COPIES_CU_H
#define DTC_KERNELS_GPU_MANY_COPIES_CU_H

struct dtc_gpu_copies_shared {
	struct dtc_gpu_copy_part part;
	uint32_t number;
	uint32_t reserved;
};

DTC_GPU_FN uint32_t dtc_gpu_copies_first_tile(const struct dtc_gpu_copies_params *p,
					      uint32_t part)
{
	if (!p->parts)
		return p->inline_parts[part].first_tile;
	return dtc_gpu_load4(p->parts +
			     (uint64_t)part * sizeof(struct dtc_gpu_copy_part));
}

/* Find the part that owns this block's tile. */
DTC_GPU_FN void dtc_gpu_copies_find(const struct dtc_gpu_copies_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	struct dtc_gpu_copies_shared *s = (struct dtc_gpu_copies_shared *)shared;

	for (uint32_t i = at.thread; i < p->part_count; i += DTC_GPU_BLOCK)
		if (dtc_gpu_copies_first_tile(p, i) <= at.block &&
		    (i + 1 == p->part_count ||
		     dtc_gpu_copies_first_tile(p, i + 1) > at.block))
			s->number = i;
}

DTC_GPU_FN void dtc_gpu_copies_fetch(const struct dtc_gpu_copies_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	struct dtc_gpu_copies_shared *s = (struct dtc_gpu_copies_shared *)shared;
	uint64_t *to = (uint64_t *)&s->part + at.thread;

	if (at.thread >= sizeof(struct dtc_gpu_copy_part) / 8)
		return;
	if (p->parts)
		*to = dtc_gpu_load8(p->parts +
				    (uint64_t)s->number *
					    sizeof(struct dtc_gpu_copy_part) +
				    8 * (uint64_t)at.thread);
	else
		*to = ((const uint64_t *)&p->inline_parts[s->number])[at.thread];
}

#define DTC_GPU_COPY_PART(word)                                            \
	dtc_gpu_copy_tile(&part->source, &part->target, part->units, word, \
			  DTC_GPU_COPY_WORDS, at.block - part->first_tile, at.thread)

DTC_GPU_FN void dtc_gpu_copies_phase(const struct dtc_gpu_copies_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	const struct dtc_gpu_copy_part *part =
		&((const struct dtc_gpu_copies_shared *)shared)->part;

	(void)p;
	if (part->word == 16)
		DTC_GPU_COPY_PART(16);
	else if (part->word == 8)
		DTC_GPU_COPY_PART(8);
	else if (part->word == 4)
		DTC_GPU_COPY_PART(4);
	else if (part->word == 2)
		DTC_GPU_COPY_PART(2);
	else
		DTC_GPU_COPY_PART(1);
}

#endif
