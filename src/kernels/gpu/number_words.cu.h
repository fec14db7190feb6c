/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of one kind in a nest or in periods, moved by words if both sides are aligned to
 * them.
 */
#ifndef DTC_KERNELS_GPU_NUMBER_WORDS_CU_H
#define DTC_KERNELS_GPU_NUMBER_WORDS_CU_H

/* ---- words of numbers ------------------------------------------------------------------------ */

/* All words of a launch have one size, so all threads take the same branch. */
DTC_GPU_FN void dtc_gpu_pack_numbers(const struct dtc_gpu_numbers_params *p,
				     const uint64_t user[], uint64_t packed,
				     uint64_t left)
{
	struct dtc_gpu_bytes16 value[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(user[k], word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&value[k], p->number.swap);
			dtc_gpu_store_word(packed + k * DTC_GPU_BLOCK * word, word,
					   &value[k]);
		}
}

DTC_GPU_FN void dtc_gpu_unpack_numbers(const struct dtc_gpu_numbers_params *p,
				       const uint64_t user[], uint64_t packed,
				       uint64_t left)
{
	struct dtc_gpu_bytes16 incoming[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	struct dtc_gpu_bytes16 target[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t combination = p->combination, word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_load_word(packed + k * DTC_GPU_BLOCK * word, word,
					  &incoming[k]);
			if (combination != DTC_GPU_REPLACE)
				dtc_gpu_load_word(user[k], word, &target[k]);
		}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&incoming[k], p->number.swap);
			if (combination != DTC_GPU_REPLACE)
				incoming[k] = dtc_gpu_combine(combination, p->number.kind,
							      incoming[k], target[k]);
			dtc_gpu_store_word(user[k], word, &incoming[k]);
		}
}

/* A tile of words. @direction and the form of the levels are constants. */
DTC_GPU_FN void dtc_gpu_move_numbers(const struct dtc_gpu_numbers_params *p,
				     const struct dtc_gpu_levels *levels,
				     struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_nest *nest = &p->nest;
	uint32_t word = nest->word;
	uint64_t unit = nest->begin / word +
			(uint64_t)at.block * (DTC_GPU_NUMBER_WORDS * DTC_GPU_BLOCK);
	uint64_t last = nest->end / word;
	uint64_t left = last > unit + at.thread ? last - unit - at.thread : 0;
	uint64_t packed = nest->packed + (unit + at.thread) * word;
	struct dtc_gpu_start start;
	struct dtc_gpu_place place[8];
	uint64_t user[8];
	uint32_t ahead[8];

	if (!left)
		return;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, DTC_GPU_NUMBER_WORDS, ahead,
			   place);
	dtc_gpu_unit_addresses(levels, DTC_GPU_NUMBER_WORDS, place, word, user);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_numbers(p, user, packed, left);
	else
		dtc_gpu_unpack_numbers(p, user, packed, left);
}

DTC_GPU_FN void dtc_gpu_move_plain_numbers(const struct dtc_gpu_numbers_params *p,
					   struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	dtc_gpu_move_numbers(p, &levels, at, direction);
}

DTC_GPU_FN void dtc_gpu_numbers_pack_phase(const struct dtc_gpu_numbers_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_plain_numbers(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_numbers_unpack_phase(const struct dtc_gpu_numbers_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_plain_numbers(p, at, DTC_GPU_UNPACK);
}

/* ---- the same words in periods ------------------------------------------------------------------- */

/*
 * Permute the bytes of a word by selector digits: the lower four digits give the first half of
 * 8 bytes, the upper four the second. A word of 16 bytes is two such words; bit 3 swaps them.
 */
DTC_GPU_FN uint32_t dtc_gpu_turn_selector(uint32_t swap)
{
	if (swap < 2)
		return 0x76543210u;
	if (swap == 2)
		return 0x67452301u;
	if (swap == 4)
		return 0x45670123u;
	return swap == 8 ? 0x01234567u : 0x0123456fu;
}

DTC_GPU_FN void dtc_gpu_turn_pair(uint32_t w[2], uint32_t selector)
{
	uint32_t low = w[0], high = w[1];

	w[0] = dtc_gpu_permute(low, high, selector & 0x7777u);
	w[1] = dtc_gpu_permute(low, high, selector >> 16);
}

/* @word is a constant. */
DTC_GPU_FN void dtc_gpu_turn_word(struct dtc_gpu_bytes16 *value, uint32_t word,
				  uint32_t selector)
{
	struct dtc_gpu_bytes16 from = *value;
	uint32_t other = word == 16 && (selector & 8) ? 2 : 0;

	if (word == 4) {
		value->w[0] = dtc_gpu_permute(from.w[0], from.w[0], selector & 0x3333u);
		return;
	}
	value->w[0] = other ? from.w[2] : from.w[0];
	value->w[1] = other ? from.w[3] : from.w[1];
	dtc_gpu_turn_pair(value->w, selector);
	if (word == 8)
		return;
	value->w[2] = other ? from.w[0] : from.w[2];
	value->w[3] = other ? from.w[1] : from.w[3];
	dtc_gpu_turn_pair(value->w + 2, selector);
}

/*
 * Convert word @place of the packed period to the user's order: a number longer than a word
 * also has its words reversed.
 */
DTC_GPU_FN struct dtc_gpu_turned_word dtc_gpu_turned_word_of(
	const struct dtc_gpu_turned_run *run, uint32_t place, uint32_t word)
{
	uint32_t ahead = place - run->packed;
	struct dtc_gpu_turned_word turned;

	if (run->swap > word)
		ahead ^= run->swap - word;
	turned.disp = run->disp + (int32_t)ahead;
	turned.selector = dtc_gpu_turn_selector(run->swap > word ? word : run->swap);
	return turned;
}

/* In shared memory: the address of every word of a period, and its permutation. */
DTC_GPU_FN void dtc_gpu_period_map(const struct dtc_gpu_period_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	uint32_t word = p->numbers.nest.word;

	for (uint32_t i = at.thread; i < p->numbers.nest.dims[0].count;
	     i += DTC_GPU_BLOCK) {
		uint32_t low = 0;
		uint32_t n = p->run_count;

		while (n > 1) {
			uint32_t half = n / 2;

			low += p->runs[low + half].packed <= i * word ? half : 0;
			n -= half;
		}
		if (p->turned)
			((struct dtc_gpu_turned_word *)shared)[i] =
				dtc_gpu_turned_word_of(&p->runs[low], i * word, word);
		else
			((int32_t *)shared)[i] =
				p->runs[low].disp +
				(int32_t)(i * word - p->runs[low].packed);
	}
}

/* As dtc_gpu_transfer. */
DTC_GPU_FN void dtc_gpu_transfer_turned(const uint64_t user[], const uint32_t selector[],
					uint64_t packed, uint32_t word, uint32_t count,
					uint64_t left, int direction)
{
	struct dtc_gpu_bytes16 value[8];

	dtc_gpu_load_words(user, packed, word, count, left, direction, value);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_turn_word(&value[k], word, selector[k]);
			dtc_gpu_store_word(direction == DTC_GPU_PACK
						   ? packed + k * DTC_GPU_BLOCK * word
						   : user[k],
					   word, &value[k]);
		}
}

/* A tile of byte-swapped words. @word and @direction are constants. */
DTC_GPU_FN void dtc_gpu_move_turned(const struct dtc_gpu_nest *nest,
				    const struct dtc_gpu_turned_word *map, uint32_t word,
				    struct dtc_gpu_at at, int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	uint64_t unit = nest->begin / word + (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	uint64_t last = nest->end / word;
	uint64_t left = last > unit + at.thread ? last - unit - at.thread : 0;
	uint64_t packed = nest->packed + (unit + at.thread) * word;
	uint32_t ahead[8], selector[8];
	struct dtc_gpu_place place[8];
	struct dtc_gpu_start start;
	uint64_t user[8];

	if (!left)
		return;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, words, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		struct dtc_gpu_turned_word turned = map[place[k].index];

		user[k] = place[k].address + (uint64_t)(int64_t)turned.disp;
		selector[k] = turned.selector;
	}
	dtc_gpu_transfer_turned(user, selector, packed, word, words, left, direction);
}

DTC_GPU_FN void dtc_gpu_move_period(const struct dtc_gpu_period_params *p,
				    const void *shared, struct dtc_gpu_at at,
				    int direction)
{
	const struct dtc_gpu_turned_word *turned =
		(const struct dtc_gpu_turned_word *)shared;
	const struct dtc_gpu_nest *nest = &p->numbers.nest;
	struct dtc_gpu_levels levels;

	if (p->turned && nest->word == 4) {
		dtc_gpu_move_turned(nest, turned, 4, at, direction);
	} else if (p->turned && nest->word == 8) {
		dtc_gpu_move_turned(nest, turned, 8, at, direction);
	} else if (p->turned) {
		dtc_gpu_move_turned(nest, turned, 16, at, direction);
	} else {
		dtc_gpu_plain_levels(&levels);
		levels.form = DTC_GPU_MAPPED;
		levels.map = (const int32_t *)shared;
		dtc_gpu_move_numbers(&p->numbers, &levels, at, direction);
	}
}

DTC_GPU_FN void dtc_gpu_period_pack_phase(const struct dtc_gpu_period_params *p,
					  void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_period(p, shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_period_unpack_phase(const struct dtc_gpu_period_params *p,
					    void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_period(p, shared, at, DTC_GPU_UNPACK);
}

#endif
