/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class mapped: the place of each word of a period is read from a map, in packed order or, to unpack, in the
 * order of the user's addresses. Little code and few registers, as in rows.cu.h.
 */
#ifndef DTC_KERNELS_GPU_MAPPED_CU_H
#define DTC_KERNELS_GPU_MAPPED_CU_H

/*
 * A thread's first word, by the first period or, in long streams, by that in which its block begins; what follows
 * takes 32 bits.
 */
struct dtc_gpu_mapped_start {
	uint64_t first; /* position of that period's first word */
	uint64_t user;  /* address of its displacement 0 */
	uint32_t ahead; /* of @first */
};

DTC_GPU_FN struct dtc_gpu_mapped_start dtc_gpu_start_mapped(
	const struct dtc_gpu_mapped_params *p, uint64_t position, uint32_t thread)
{
	struct dtc_gpu_mapped_start start = { 0, p->user, (uint32_t)position + thread };

	if (p->wide) {
		uint64_t period = dtc_gpu_divide64(position, p->by_count.magic,
						   p->by_count.shift, p->by_count.one);

		start.first = period * p->count;
		start.user += period * (uint64_t)p->stride;
		start.ahead = (uint32_t)(position - start.first) + thread;
	}
	return start;
}

/* Stores to the sectors of these words are about to follow. */
DTC_GPU_FN void dtc_gpu_expect_mapped(const uint64_t user[], uint32_t words,
				      uint32_t left)
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_ask_for(user[k]);
}

/* So many words a thread, a constant, in packed order. All are found and loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_move_mapped_words(const struct dtc_gpu_mapped_params *p,
					  uint32_t word, uint32_t words,
					  struct dtc_gpu_at at, int direction)
{
	uint64_t position = p->begin + (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	struct dtc_gpu_mapped_start start = dtc_gpu_start_mapped(p, position, at.thread);
	uint32_t left = dtc_gpu_words_left(position + at.thread, p->end);
	uint32_t period[8], disp[8];
	uint64_t user[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		uint32_t ahead = start.ahead + k * DTC_GPU_BLOCK;

		period[k] = dtc_gpu_divide(ahead, p->magic, p->shift);
		disp[k] = dtc_gpu_load4(p->map +
					4 * (uint64_t)(ahead - period[k] * p->count));
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		user[k] = start.user +
			  (uint64_t)((int64_t)period[k] * p->stride +
				     (int64_t)(int32_t)disp[k] * (int32_t)word);
	if (direction == DTC_GPU_UNPACK && p->expects)
		dtc_gpu_expect_mapped(user, words, left);
	dtc_gpu_transfer(user, p->packed + (position + at.thread) * word, word, words,
			 left, direction);
}

/*
 * Unpacking in the order of addresses. Where the stretch begins or ends inside a period, the words of
 * that which are outside are passed over.
 */
DTC_GPU_FN void dtc_gpu_move_sorted_words(const struct dtc_gpu_mapped_params *p,
					  uint32_t word, uint32_t words,
					  struct dtc_gpu_at at)
{
	uint64_t position = (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	struct dtc_gpu_mapped_start start = dtc_gpu_start_mapped(p, position, at.thread);
	uint32_t left = dtc_gpu_words_left(position + at.thread, p->positions);
	struct dtc_gpu_bytes16 value[4];
	uint64_t user[4], packed[4];
	uint32_t live[4];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		uint32_t ahead = start.ahead + k * DTC_GPU_BLOCK;
		uint32_t period = dtc_gpu_divide(ahead, p->magic, p->shift);
		uint32_t before = period * p->count;
		uint64_t unit = dtc_gpu_load8(p->map + 8 * (uint64_t)(ahead - before));

		user[k] = start.user +
			  (uint64_t)((int64_t)period * p->stride +
				     (int64_t)(int32_t)(uint32_t)unit * (int32_t)word);
		packed[k] = start.first + (before + (uint32_t)(unit >> 32));
		live[k] = k * DTC_GPU_BLOCK < left && packed[k] >= p->begin &&
			  packed[k] < p->end;
	}
	if (p->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (live[k])
				dtc_gpu_ask_for(user[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (live[k])
			dtc_gpu_load_word(p->packed + packed[k] * word, word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (live[k])
			dtc_gpu_store_word(user[k], word, &value[k]);
}

#define DTC_GPU_MAPPED_KERNEL(name, word, many, direction)                        \
	DTC_GPU_FN void name(const struct dtc_gpu_mapped_params *p, void *shared, \
			     struct dtc_gpu_at at)                                \
	{                                                                         \
		(void)shared;                                                     \
		if (p->words == 1)                                                \
			dtc_gpu_move_mapped_words(p, word, 1, at, direction);     \
		else                                                              \
			dtc_gpu_move_mapped_words(p, word, many, at, direction);  \
	}

DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_16_phase, 16, DTC_GPU_MAPPED_PACKED(16),
		      DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_8_phase, 8, DTC_GPU_MAPPED_PACKED(8),
		      DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_4_phase, 4, DTC_GPU_MAPPED_PACKED(4),
		      DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_16_phase, 16, DTC_GPU_MAPPED_UNPACKED(16),
		      DTC_GPU_UNPACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_8_phase, 8, DTC_GPU_MAPPED_UNPACKED(8),
		      DTC_GPU_UNPACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_4_phase, 4, DTC_GPU_MAPPED_UNPACKED(4),
		      DTC_GPU_UNPACK)

#define DTC_GPU_SORTED_KERNEL(name, word)                                               \
	DTC_GPU_FN void name(const struct dtc_gpu_mapped_params *p, void *shared,       \
			     struct dtc_gpu_at at)                                      \
	{                                                                               \
		(void)shared;                                                           \
		if (p->words == 1)                                                      \
			dtc_gpu_move_sorted_words(p, word, 1, at);                      \
		else                                                                    \
			dtc_gpu_move_sorted_words(p, word, DTC_GPU_MAPPED_SORTED(word), \
						  at);                                  \
	}

DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_16_phase, 16)
DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_8_phase, 8)
DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_4_phase, 4)

#endif
