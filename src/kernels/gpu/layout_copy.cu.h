/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class copy: from one layout to another. Both sides have the same packed stream, and a thread owns
 * words of it: it finds where each word is read and where it is stored. Nothing is packed.
 */
#ifndef DTC_KERNELS_GPU_LAYOUT_COPY_CU_H
#define DTC_KERNELS_GPU_LAYOUT_COPY_CU_H

/* The words of a thread on one side. */
struct dtc_gpu_copy_words {
	uint64_t address[4];
	uint32_t index[4]; /* in level 0 */
};

/* A word's displacement in units of words, where level 0 is mapped. */
DTC_GPU_FN uint64_t dtc_gpu_mapped_word(const struct dtc_gpu_copy_side *side,
					uint32_t index, uint32_t word)
{
	int32_t units = (int32_t)dtc_gpu_load4(side->disps + 4 * (uint64_t)index);

	return (uint64_t)((int64_t)units * (int64_t)word);
}

/* From the addresses of blocks to those of words, of which @left exist. */
DTC_GPU_FN void dtc_gpu_enter_blocks(const struct dtc_gpu_copy_side *side, uint32_t word,
				     uint32_t words, uint32_t left,
				     struct dtc_gpu_copy_words *at)
{
	if (side->form == DTC_GPU_MAPPED) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				at->address[k] +=
					dtc_gpu_mapped_word(side, at->index[k], word);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			at->address[k] += (uint64_t)at->index[k] * word;
	}
}

/* At most two loops, and unit numbers of 32 bits. */
DTC_GPU_FN void dtc_gpu_find_copy_rows(const struct dtc_gpu_copy_side *side,
				       uint32_t word, uint32_t words, uint32_t unit,
				       uint32_t left, struct dtc_gpu_copy_words *at)
{
	unit += (uint32_t)side->first;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		struct dtc_gpu_row_unit row =
			dtc_gpu_find_row_unit(&side->nest, unit + k * DTC_GPU_BLOCK);

		at->address[k] = row.block;
		at->index[k] = row.index;
	}
	dtc_gpu_enter_blocks(side, word, words, left, at);
}

/* Any loops, and tables of equal blocks. */
DTC_GPU_FN void dtc_gpu_find_copy_units(const struct dtc_gpu_copy_side *side,
					uint32_t word, uint32_t words, uint64_t first,
					uint32_t thread, uint32_t left,
					struct dtc_gpu_copy_words *at)
{
	const int form = side->form == DTC_GPU_LISTED ? DTC_GPU_LISTED : DTC_GPU_PLAIN;
	struct dtc_gpu_start start;
	struct dtc_gpu_place place[4];
	uint32_t ahead[4];

	dtc_gpu_split(&side->nest, side->first + first, form, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(&side->nest, &start, form, words, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		at->address[k] = place[k].address;
		at->index[k] = place[k].index;
		if (form == DTC_GPU_LISTED)
			at->address[k] += dtc_gpu_listed_disp(
				side->disps, side->wide, side->shift, place[k].entry);
	}
	dtc_gpu_enter_blocks(side, word, words, left, at);
}

/* All words are loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_copy_all(const struct dtc_gpu_copy_words *source,
				 const struct dtc_gpu_copy_words *target, uint32_t word,
				 uint32_t words, uint32_t left)
{
	struct dtc_gpu_bytes16 value[4];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(source->address[k], word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_store_word(target->address[k], word, &value[k]);
}

/* So many words a thread, a constant. */
DTC_GPU_FN void dtc_gpu_copy_some_rows(const struct dtc_gpu_copy_params *p, uint32_t word,
				       uint32_t words, struct dtc_gpu_at at)
{
	uint32_t units = (uint32_t)p->units;
	uint32_t unit = at.block * (words * DTC_GPU_BLOCK) + at.thread;
	uint32_t left = units > unit ? units - unit : 0;
	struct dtc_gpu_copy_words source, target;

	dtc_gpu_find_copy_rows(&p->source, word, words, unit, left, &source);
	dtc_gpu_find_copy_rows(&p->target, word, words, unit, left, &target);
	dtc_gpu_copy_all(&source, &target, word, words, left);
}

/* Tile @tile of a copy of @units words. */
DTC_GPU_FN void dtc_gpu_copy_tile(const struct dtc_gpu_copy_side *from,
				  const struct dtc_gpu_copy_side *to, uint64_t units,
				  uint32_t word, uint32_t words, uint32_t tile,
				  uint32_t thread)
{
	uint64_t first = (uint64_t)tile * (words * DTC_GPU_BLOCK);
	uint32_t left = dtc_gpu_words_left(first + thread, units);
	struct dtc_gpu_copy_words source, target;

	if (!left)
		return;
	dtc_gpu_find_copy_units(from, word, words, first, thread, left, &source);
	dtc_gpu_find_copy_units(to, word, words, first, thread, left, &target);
	dtc_gpu_copy_all(&source, &target, word, words, left);
}

DTC_GPU_FN void dtc_gpu_copy_some_units(const struct dtc_gpu_copy_params *p,
					uint32_t word, uint32_t words,
					struct dtc_gpu_at at)
{
	dtc_gpu_copy_tile(&p->source, &p->target, p->units, word, words, at.block,
			  at.thread);
}

#define DTC_GPU_COPY(name, move, word)                                          \
	DTC_GPU_FN void name(const struct dtc_gpu_copy_params *p, void *shared, \
			     struct dtc_gpu_at at)                              \
	{                                                                       \
		(void)shared;                                                   \
		if (DTC_GPU_COPY_FEW(word) == DTC_GPU_COPY_WORDS ||             \
		    p->words == DTC_GPU_COPY_WORDS)                             \
			move(p, word, DTC_GPU_COPY_WORDS, at);                  \
		else                                                            \
			move(p, word, DTC_GPU_COPY_FEW(word), at);              \
	}

DTC_GPU_COPY(dtc_gpu_copy_rows_16_phase, dtc_gpu_copy_some_rows, 16)
DTC_GPU_COPY(dtc_gpu_copy_rows_8_phase, dtc_gpu_copy_some_rows, 8)
DTC_GPU_COPY(dtc_gpu_copy_rows_4_phase, dtc_gpu_copy_some_rows, 4)
DTC_GPU_COPY(dtc_gpu_copy_rows_2_phase, dtc_gpu_copy_some_rows, 2)
DTC_GPU_COPY(dtc_gpu_copy_rows_1_phase, dtc_gpu_copy_some_rows, 1)
DTC_GPU_COPY(dtc_gpu_copy_units_16_phase, dtc_gpu_copy_some_units, 16)
DTC_GPU_COPY(dtc_gpu_copy_units_8_phase, dtc_gpu_copy_some_units, 8)
DTC_GPU_COPY(dtc_gpu_copy_units_4_phase, dtc_gpu_copy_some_units, 4)
DTC_GPU_COPY(dtc_gpu_copy_units_2_phase, dtc_gpu_copy_some_units, 2)
DTC_GPU_COPY(dtc_gpu_copy_units_1_phase, dtc_gpu_copy_some_units, 1)

/* ---- equal blocks, aligned differently ---------------------------------------------------------- */

/* At most 4 bytes, shifted down to the first one, from the aligned words that have them. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_gather4(uint64_t address, uint32_t bytes)
{
	uint32_t offset = (uint32_t)address & 3;
	uint64_t line = address - offset;
	uint32_t low = dtc_gpu_load4(line);
	uint32_t high = offset + bytes > 4 ? dtc_gpu_load4(line + 4) : 0;
	struct dtc_gpu_bytes16 value = { { dtc_gpu_funnel(low, high, 8 * offset), 0, 0,
					   0 } };

	return value;
}

/*
 * Level 0 counts the aligned words that a block of the target may touch, and both sides have as many blocks. A thread
 * stores such a word, or as much of it as the block has; some blocks touch one less.
 */
DTC_GPU_FN void dtc_gpu_copy_shifted(const struct dtc_gpu_copy_params *p, uint32_t word,
				     struct dtc_gpu_at at)
{
	const struct dtc_gpu_nest *nest = &p->target.nest;
	uint32_t unit = at.block * DTC_GPU_BLOCK + at.thread;

	if (unit >= (uint32_t)p->units)
		return;
	uint32_t row = dtc_gpu_divide(unit, nest->dims[0].magic, nest->shift[0]);
	uint32_t index = unit - row * nest->dims[0].count;
	uint64_t source =
		dtc_gpu_find_row(&p->source.nest, (uint32_t)p->source.first + row);
	uint64_t target = dtc_gpu_find_row(nest, (uint32_t)p->target.first + row);
	uint32_t before = (uint32_t)target & (word - 1);
	uint32_t begin = index ? index * word - before : 0;
	uint32_t end = (index + 1) * word - before;

	end = end < p->block ? end : p->block;
	if (begin >= end)
		return;
	dtc_gpu_scatter_most(target + begin,
			     word == 4 ? dtc_gpu_gather4(source + begin, end - begin)
				       : dtc_gpu_gather(source + begin, end - begin),
			     end - begin, word);
}

#define DTC_GPU_SHIFTED(name, word)                                             \
	DTC_GPU_FN void name(const struct dtc_gpu_copy_params *p, void *shared, \
			     struct dtc_gpu_at at)                              \
	{                                                                       \
		(void)shared;                                                   \
		dtc_gpu_copy_shifted(p, word, at);                              \
	}

DTC_GPU_SHIFTED(dtc_gpu_copy_shifted_16_phase, 16)
DTC_GPU_SHIFTED(dtc_gpu_copy_shifted_4_phase, 4)

#endif
