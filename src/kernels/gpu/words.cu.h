/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests whose words are aligned on both sides. Consecutive threads move consecutive words of
 * the packed stream. All loads of a thread are in flight before its first store.
 */
#ifndef DTC_KERNELS_GPU_WORDS_CU_H
#define DTC_KERNELS_GPU_WORDS_CU_H

/* Replaces a level's multiplication by a stride; see the forms in nest.cu.h. */
struct dtc_gpu_levels {
	int form;
	const int32_t *map; /* DTC_GPU_MAPPED: displacements in shared memory */
	uint64_t disps;     /* DTC_GPU_LISTED */
	uint32_t wide;
	uint32_t shift;
};

DTC_GPU_FN uint64_t dtc_gpu_listed_disp(uint64_t disps, uint32_t wide, uint32_t shift,
					uint64_t entry)
{
	int64_t scaled = wide ? (int64_t)dtc_gpu_load8(disps + 8 * entry)
			      : (int32_t)dtc_gpu_load4(disps + 4 * entry);

	return (uint64_t)scaled << shift;
}

/* The user address of a unit of @unit bytes. */
DTC_GPU_FN uint64_t dtc_gpu_unit_address(const struct dtc_gpu_levels *levels,
					 const struct dtc_gpu_place *place, uint32_t unit)
{
	if (levels->form == DTC_GPU_MAPPED)
		return place->address + (uint64_t)(int64_t)levels->map[place->index];
	uint64_t address = place->address + (uint64_t)place->index * unit;
	if (levels->form == DTC_GPU_LISTED)
		address += dtc_gpu_listed_disp(levels->disps, levels->wide, levels->shift,
					       place->entry);
	return address;
}

/*
 * The displacements of @count entries (a constant), all in flight at once; the width is tested
 * once.
 */
DTC_GPU_FN void dtc_gpu_listed_disps(uint64_t disps, uint32_t wide, uint32_t shift, uint32_t count,
				     const uint64_t entry[], uint64_t disp[])
{
	if (wide) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			disp[k] = dtc_gpu_load8(disps + 8 * entry[k]);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			disp[k] = (uint64_t)(int64_t)(int32_t)dtc_gpu_load4(disps + 4 * entry[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		disp[k] <<= shift;
}

/* The user addresses of @count units (a constant) of @unit bytes. */
DTC_GPU_FN void dtc_gpu_unit_addresses(const struct dtc_gpu_levels *levels, uint32_t count,
				       const struct dtc_gpu_place place[], uint32_t unit,
				       uint64_t address[])
{
	uint64_t entry[8], disp[8];

	if (levels->form != DTC_GPU_LISTED) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			address[k] = dtc_gpu_unit_address(levels, &place[k], unit);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		entry[k] = place[k].entry;
	dtc_gpu_listed_disps(levels->disps, levels->wide, levels->shift, count, entry, disp);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		address[k] = place[k].address + (uint64_t)place[k].index * unit + disp[k];
}

/* How many words there are from @position on, as far as a block can go. */
DTC_GPU_FN uint32_t dtc_gpu_words_left(uint64_t position, uint64_t end)
{
	uint64_t left = end > position ? end - position : 0;

	return left > 0xffffffffu ? 0xffffffffu : (uint32_t)left;
}

/* Bytes of the stretch outside whole words, at either end: threads below 32 move one each. */
DTC_GPU_FN uint64_t dtc_gpu_edge(const struct dtc_gpu_nest *nest, uint32_t word, uint32_t thread,
				 uint32_t *live)
{
	uint64_t mask = word - 1;
	uint64_t up = (nest->begin + mask) & ~mask;
	uint64_t down = nest->end & ~mask;
	uint64_t head_end = up < nest->end ? up : nest->end;
	uint64_t tail = down > head_end ? down : head_end;
	uint64_t position = thread < 16 ? nest->begin + thread : tail + thread - 16;

	*live = thread < 32 && position < (thread < 16 ? head_end : nest->end);
	return position;
}

DTC_GPU_FN void dtc_gpu_move_byte(uint64_t user, uint64_t packed, int direction)
{
	if (direction == DTC_GPU_PACK)
		dtc_gpu_store1(packed, dtc_gpu_load1(user));
	else
		dtc_gpu_store1(user, dtc_gpu_load1(packed));
}

DTC_GPU_FN void dtc_gpu_move_edges(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_levels *levels, uint32_t word,
				   uint32_t thread, int direction)
{
	struct dtc_gpu_start start;
	uint32_t live;
	uint64_t position = dtc_gpu_edge(nest, word, thread, &live);

	if (!live)
		return;
	dtc_gpu_split(nest, position / word, levels->form, &start);
	struct dtc_gpu_place place = dtc_gpu_locate(nest, &start, 0, levels->form);
	dtc_gpu_move_byte(dtc_gpu_unit_address(levels, &place, word) +
				  (position & (word - 1)),
			  nest->packed + position, direction);
}

/*
 * Move @count words (a constant), DTC_GPU_BLOCK words apart on the packed side. @left is the
 * number of units from the first one on. All are loaded before any is stored.
 */
DTC_GPU_FN void dtc_gpu_load_words(const uint64_t user[], uint64_t packed, uint32_t word,
				   uint32_t count, uint64_t left, int direction,
				   struct dtc_gpu_bytes16 value[])
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(direction == DTC_GPU_PACK
						  ? user[k]
						  : packed + k * DTC_GPU_BLOCK * word,
					  word, &value[k]);
}

DTC_GPU_FN void dtc_gpu_transfer(const uint64_t user[], uint64_t packed, uint32_t word,
				 uint32_t count, uint64_t left, int direction)
{
	struct dtc_gpu_bytes16 value[8];

	dtc_gpu_load_words(user, packed, word, count, left, direction, value);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_store_word(direction == DTC_GPU_PACK
						   ? packed + k * DTC_GPU_BLOCK * word
						   : user[k],
					   word, &value[k]);
}

/* Prefetch the sector of a word that will be stored; it is number @index of its block. */
DTC_GPU_FN void dtc_gpu_expect_word(const struct dtc_gpu_nest *nest, uint64_t address,
				    uint32_t index, uint32_t word)
{
	uint64_t low = address - (uint64_t)index * word;

	dtc_gpu_expect(address, low, low + nest->block);
}

/* The same for the unit @ahead of the tile's first, and for those DTC_GPU_BLOCK units apart. */
DTC_GPU_FN void dtc_gpu_transfer_units(const struct dtc_gpu_nest *nest,
				       const struct dtc_gpu_levels *levels,
				       const struct dtc_gpu_start *start, uint32_t ahead,
				       uint64_t packed, uint32_t word, uint32_t count,
				       uint64_t left, int direction)
{
	struct dtc_gpu_place place[8];
	uint64_t user[8];
	uint32_t each[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		each[k] = ahead + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, start, levels->form, count, each, place);
	dtc_gpu_unit_addresses(levels, count, place, word, user);
	if (direction == DTC_GPU_UNPACK && levels->form != DTC_GPU_MAPPED && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect_word(nest, user[k], place[k].index, word);
	}
	dtc_gpu_transfer(user, packed, word, count, left, direction);
}

/* The user stride of DTC_GPU_BLOCK units if it is constant, else 0. */
DTC_GPU_FN uint64_t dtc_gpu_even_step(const struct dtc_gpu_nest *nest, uint32_t word)
{
	uint32_t count = nest->dims[0].count;

	if (nest->dim_count == 1)
		return (uint64_t)(DTC_GPU_BLOCK * word);
	if (nest->dim_count > 2 || count - 1 >= DTC_GPU_BLOCK || (count & (count - 1)))
		return 0;
	return dtc_gpu_divide(DTC_GPU_BLOCK, nest->dims[0].magic, nest->shift[0]) *
	       (uint64_t)nest->dims[1].stride;
}

/* Words of a plain nest with a constant step: a single address for all words of a thread. */
DTC_GPU_FN void dtc_gpu_move_even(const struct dtc_gpu_nest *nest,
				  const struct dtc_gpu_levels *levels,
				  const struct dtc_gpu_start *start, uint32_t thread,
				  uint64_t packed, uint32_t word, uint64_t step, uint64_t left,
				  int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	struct dtc_gpu_place place = dtc_gpu_locate(nest, start, thread, DTC_GPU_PLAIN);
	uint64_t user[8];

	user[0] = dtc_gpu_unit_address(levels, &place, word);
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < words; k++)
		user[k] = user[k - 1] + step;
	if (direction == DTC_GPU_UNPACK && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect_word(nest, user[k], place.index, word);
	}
	dtc_gpu_transfer(user, packed, word, words, left, direction);
}

/*
 * One tile; @word, @direction and the form are constants. On the packed side a thread's words
 * are at constant distances, which needs no registers.
 */
DTC_GPU_FN void dtc_gpu_move_words(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_levels *levels, uint32_t word,
				   uint32_t tile, uint32_t thread, int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	uint64_t first = (nest->begin + word - 1) / word;
	uint64_t last = nest->end / word;
	uint64_t unit = first + (uint64_t)tile * (words * DTC_GPU_BLOCK);
	uint64_t left = last > unit + thread ? last - unit - thread : 0;
	uint64_t packed = nest->packed + (unit + thread) * word;
	struct dtc_gpu_start start;

	if (tile == 0)
		dtc_gpu_move_edges(nest, levels, word, thread, direction);
	if (!left)
		return;
	dtc_gpu_split(nest, unit, levels->form, &start);
	uint64_t step = levels->form == DTC_GPU_PLAIN ? dtc_gpu_even_step(nest, word) : 0;
	if (step)
		dtc_gpu_move_even(nest, levels, &start, thread, packed, word, step, left,
				  direction);
	else
		dtc_gpu_transfer_units(nest, levels, &start, thread, packed, word, words, left,
				       direction);
}

#endif
