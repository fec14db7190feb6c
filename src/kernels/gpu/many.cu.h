/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many unlike parts in one launch: a struct of unlike members, or a batch of many types and
 * buffers. Each tile belongs to one part, which the threads of a block search together.
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
		return p->u.inline_parts[part].first_tile;
	return dtc_gpu_load4(p->parts + (uint64_t)part * sizeof(struct dtc_gpu_part));
}

/* The tile of this block, among those of all parts. */
DTC_GPU_FN uint32_t dtc_gpu_many_tile(const struct dtc_gpu_many_params *p,
				      struct dtc_gpu_at at)
{
	return p->parts ? at.block + p->u.taken.first_tile : at.block;
}

/* Find the part that owns this block's tile. */
DTC_GPU_FN void dtc_gpu_many_find(const struct dtc_gpu_many_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	struct dtc_gpu_many_shared *s = (struct dtc_gpu_many_shared *)shared;
	uint32_t tile = dtc_gpu_many_tile(p, at);

	for (uint32_t i = at.thread; i < p->part_count; i += DTC_GPU_BLOCK)
		if (dtc_gpu_first_tile(p, i) <= tile &&
		    (i + 1 == p->part_count || dtc_gpu_first_tile(p, i + 1) > tile))
			s->number = i;
}

/* Convert a position of all parts to one relative to @packed. */
DTC_GPU_FN uint64_t dtc_gpu_inside(uint64_t position, uint64_t packed)
{
	return position > packed ? position - packed : 0;
}

/*
 * Read word @word of the part at @part in device memory, adjusted to the buffers of this
 * launch.
 */
DTC_GPU_FN uint64_t dtc_gpu_take_word(const struct dtc_gpu_taken *taken, uint64_t part,
				      uint32_t word)
{
	uint64_t value = dtc_gpu_load8(part + 8 * word);
	uint64_t cut;

	if (word == DTC_GPU_WORD_USER)
		return value + taken->user;
	if (word == DTC_GPU_WORD_PACKED)
		return value + taken->packed;
	if (word == DTC_GPU_WORD_BEGIN) {
		cut = dtc_gpu_inside(taken->begin,
				     dtc_gpu_load8(part + 8 * DTC_GPU_WORD_PACKED));
		return value > cut ? value : cut;
	}
	if (word == DTC_GPU_WORD_END && taken->end + 1) {
		cut = dtc_gpu_inside(taken->end,
				     dtc_gpu_load8(part + 8 * DTC_GPU_WORD_PACKED));
		return value < cut ? value : cut;
	}
	return value;
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
		*to = dtc_gpu_take_word(&p->u.taken,
					p->parts + (uint64_t)s->number *
							   sizeof(struct dtc_gpu_part),
					at.thread);
	else
		*to = ((const uint64_t *)&p->u.inline_parts[s->number])[at.thread];
}

DTC_GPU_FN void dtc_gpu_many_move(const struct dtc_gpu_many_params *p, const void *shared,
				  struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_part *part =
		&((const struct dtc_gpu_many_shared *)shared)->part;
	uint32_t number = dtc_gpu_many_tile(p, at) - part->first_tile;

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
	dtc_gpu_many_move(p, shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_many_unpack_phase(const struct dtc_gpu_many_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	dtc_gpu_many_move(p, shared, at, DTC_GPU_UNPACK);
}

#endif
