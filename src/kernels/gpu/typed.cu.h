/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class typed: numbers are converted and combined on their way. Numbers of one kind in a nest are
 * moved by words where both sides are aligned to them. Other kinds, lengths and alignments are moved by
 * cells, in a nest or in periods that are all alike. What is left goes number by number, each looked
 * for in the stream's nodes and by a walk through the program. No two threads store to one number.
 */
#ifndef DTC_KERNELS_GPU_TYPED_CU_H
#define DTC_KERNELS_GPU_TYPED_CU_H

/* ---- words of numbers ------------------------------------------------------------------------ */

/* The words have one size in a launch: which one, a branch decides that all threads take. */
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

/* A tile of words; @direction is a constant, and so is what is particular about the levels. */
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
 * Bytes of a word in the other order, by digits that name them: the lower four for the first half of 8
 * bytes, the upper four for the second one. Words of 16 bytes are two such; bit 3 exchanges them.
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

/* Word @place, a byte of the packed period, as the user has it: longer numbers' words change places. */
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

/* Shared memory: where every word of a period is, and what becomes of it if it is turned. */
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

/* A tile of words that are turned; @word and @direction are constants. */
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

/* ---- single numbers, anywhere ------------------------------------------------------------------ */

/* @bytes is a power of two; numbers that are not aligned to it cost more. */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_load_number(uint64_t address,
							  uint32_t bytes)
{
	struct dtc_gpu_bytes16 value = { { 0, 0, 0, 0 } };

	if ((uint32_t)address & (bytes - 1))
		return dtc_gpu_gather(address, bytes);
	dtc_gpu_load_word(address, bytes, &value);
	return value;
}

DTC_GPU_CALLED void dtc_gpu_store_number(uint64_t address, uint32_t bytes,
					 struct dtc_gpu_bytes16 value)
{
	if ((uint32_t)address & (bytes - 1))
		dtc_gpu_scatter(address, value, bytes);
	else
		dtc_gpu_store_word(address, bytes, &value);
}

/* ---- conversion ---------------------------------------------------------------------------------- */

/* An integer of @from bytes, 8 at most, as one of @to; returns whether it fits. */
DTC_GPU_FN int dtc_gpu_resize(struct dtc_gpu_bytes16 *value, uint32_t from, uint32_t to,
			      int is_signed)
{
	uint32_t unused = 64 - 8 * from, lost = 64 - 8 * to;
	uint64_t up = dtc_gpu_pair(value->w) << unused;
	uint64_t number = is_signed ? (uint64_t)((int64_t)up >> unused) : up >> unused;
	uint64_t cut = number << lost;

	dtc_gpu_set_pair(value->w, number);
	return (is_signed ? (uint64_t)((int64_t)cut >> lost) : cut >> lost) == number;
}

/* From memory to the stream; @fits is cleared if it does not. */
DTC_GPU_FN void dtc_gpu_encode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

/* ---- cells ------------------------------------------------------------------------------------------- */

/* As dtc_gpu_encode_number and dtc_gpu_decode_number, of at most 8 bytes. */
DTC_GPU_FN void dtc_gpu_encode_cell(const struct dtc_gpu_number *number,
				    struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap_short(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_cell(const struct dtc_gpu_number *number,
				    struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap_short(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

/* The aligned words that hold a cell. Fetched first, looked at later: loads overlap. */
struct dtc_gpu_loose {
	uint64_t low, high;
	uint32_t offset; /* of the first byte */
};

DTC_GPU_FN void dtc_gpu_fetch_loose(uint64_t address, uint32_t bytes,
				    struct dtc_gpu_loose *loose)
{
	loose->offset = (uint32_t)address & 7;
	loose->low = dtc_gpu_load8(address - loose->offset);
	loose->high = 0;
	if (loose->offset + bytes > 8)
		loose->high = dtc_gpu_load8(address - loose->offset + 8);
}

/* Behind the cell is anything. */
DTC_GPU_FN uint64_t dtc_gpu_loose_bits(const struct dtc_gpu_loose *loose)
{
	uint32_t bits = 8 * loose->offset;

	return bits ? loose->low >> bits | loose->high << (64 - bits) : loose->low;
}

DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_loose_value(const struct dtc_gpu_loose *loose)
{
	uint64_t all = dtc_gpu_loose_bits(loose);
	struct dtc_gpu_bytes16 value = { { (uint32_t)all, (uint32_t)(all >> 32), 0, 0 } };

	return value;
}

DTC_GPU_FN void dtc_gpu_store_cell(uint64_t address, uint32_t bytes, uint64_t value)
{
	if (bytes == 8)
		dtc_gpu_store8(address, (uint32_t)value, (uint32_t)(value >> 32));
	else if (bytes == 4)
		dtc_gpu_store4(address, (uint32_t)value);
	else if (bytes == 2)
		dtc_gpu_store2(address, (uint32_t)value);
	else
		dtc_gpu_store1(address, (uint32_t)value);
}

/* Aligned, or in two aligned halves, or as it comes. */
DTC_GPU_FN void dtc_gpu_store_loose(uint64_t address, uint32_t bytes,
				    const struct dtc_gpu_bytes16 *value)
{
	uint64_t bits = dtc_gpu_pair(value->w);
	uint32_t odd = (uint32_t)address & (bytes - 1);

	if (!odd) {
		dtc_gpu_store_cell(address, bytes, bits);
	} else if (2 * odd == bytes) {
		dtc_gpu_store_cell(address, odd, bits);
		dtc_gpu_store_cell(address + odd, odd, bits >> (8 * odd));
	} else {
		dtc_gpu_scatter_most(address, *value, bytes, DTC_GPU_CELL_BYTES);
	}
}

/* The row that holds cell @number of a period. */
DTC_GPU_FN uint32_t dtc_gpu_row_of(const struct dtc_gpu_cells_params *p, uint32_t number)
{
	uint32_t low = 0;
	uint32_t n = p->row_count;

	while (n > 1) {
		uint32_t half = n / 2;

		low += p->rows[low + half].first <= number ? half : 0;
		n -= half;
	}
	return low;
}

DTC_GPU_FN struct dtc_gpu_cell dtc_gpu_cell_of(const struct dtc_gpu_cells_params *p,
					       uint32_t number)
{
	struct dtc_gpu_cell cell = p->rows[dtc_gpu_row_of(p, number)];
	uint32_t ahead = number - cell.first;

	cell.disp += (int32_t)(ahead * cell.number.native_bytes);
	cell.wire = (uint16_t)(cell.wire + ahead * cell.number.wire_bytes);
	return cell;
}

/* Shared memory: every cell of a period. */
DTC_GPU_FN void dtc_gpu_cells_map(const struct dtc_gpu_cells_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	struct dtc_gpu_cell *map = (struct dtc_gpu_cell *)shared;

	if (!p->row_count)
		return;
	for (uint32_t i = at.thread; i < p->nest.dims[0].count; i += DTC_GPU_BLOCK)
		map[i] = dtc_gpu_cell_of(p, i);
}

/* A cell and both its addresses. */
struct dtc_gpu_cell_at {
	uint64_t user;
	uint64_t packed;
	struct dtc_gpu_number number;
};

/* Cell @position, at a place of the nest; @periods are before the tile's. */
DTC_GPU_FN void dtc_gpu_find_cell(const struct dtc_gpu_cells_params *p,
				  const struct dtc_gpu_cell *map, uint64_t position,
				  uint64_t periods, const struct dtc_gpu_place *place,
				  struct dtc_gpu_cell_at *found)
{
	if (p->row_count) {
		struct dtc_gpu_cell cell = map[place->index];

		found->number = cell.number;
		found->user = place->address + (uint64_t)(int64_t)cell.disp;
		found->packed = p->nest.packed +
				(periods + place->carried) * p->wire_bytes + cell.wire;
	} else {
		found->number = p->rows[0].number;
		found->user = place->address +
			      (uint64_t)place->index * p->rows[0].number.native_bytes;
		found->packed = p->nest.packed + position * p->wire_bytes;
	}
}

DTC_GPU_FN void dtc_gpu_report_fault(uint64_t fault, uint64_t value, int fits)
{
	if (!fits && fault)
		dtc_gpu_release(fault, value);
}

DTC_GPU_FN void dtc_gpu_pack_cells(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_cell_at cell[], uint64_t left)
{
	struct dtc_gpu_loose user[DTC_GPU_THREAD_CELLS];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		dtc_gpu_fetch_loose(cell[k].user, cell[k].number.native_bytes, &user[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			struct dtc_gpu_bytes16 value = dtc_gpu_loose_value(&user[k]);
			int fits = 1;

			dtc_gpu_encode_cell(&cell[k].number, &value, &fits);
			if (fits)
				dtc_gpu_store_loose(cell[k].packed,
						    cell[k].number.wire_bytes, &value);
			dtc_gpu_report_fault(p->fault, p->done.value, fits);
		}
}

DTC_GPU_FN void dtc_gpu_unpack_cells(const struct dtc_gpu_cells_params *p,
				     const struct dtc_gpu_cell_at cell[], uint64_t left)
{
	struct dtc_gpu_loose packed[DTC_GPU_THREAD_CELLS], user[DTC_GPU_THREAD_CELLS];
	uint32_t combination = p->combination;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		dtc_gpu_fetch_loose(cell[k].packed, cell[k].number.wire_bytes,
				    &packed[k]);
		if (combination != DTC_GPU_REPLACE)
			dtc_gpu_fetch_loose(cell[k].user, cell[k].number.native_bytes,
					    &user[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			struct dtc_gpu_bytes16 value = dtc_gpu_loose_value(&packed[k]);
			int fits = 1;

			dtc_gpu_decode_cell(&cell[k].number, &value, &fits);
			if (combination != DTC_GPU_REPLACE)
				dtc_gpu_set_pair(value.w,
						 dtc_gpu_combine_short(
							 combination, cell[k].number.kind,
							 dtc_gpu_pair(value.w),
							 dtc_gpu_loose_bits(&user[k])));
			if (fits)
				dtc_gpu_store_loose(cell[k].user,
						    cell[k].number.native_bytes, &value);
			dtc_gpu_report_fault(p->fault, p->done.value, fits);
		}
}

/* A tile of cells; @direction is a constant. Behind the last cell a thread looks at its first again. */
DTC_GPU_FN void dtc_gpu_move_cells(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_cell *map, struct dtc_gpu_at at,
				   int direction)
{
	const struct dtc_gpu_nest *nest = &p->nest;
	uint64_t first =
		nest->begin + (uint64_t)at.block * (DTC_GPU_THREAD_CELLS * DTC_GPU_BLOCK);
	uint64_t left = nest->end > first + at.thread ? nest->end - first - at.thread : 0;
	struct dtc_gpu_cell_at cell[DTC_GPU_THREAD_CELLS];
	struct dtc_gpu_place place[8];
	struct dtc_gpu_start start;
	uint32_t ahead[8];

	if (!left)
		return;
	dtc_gpu_split(nest, first, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	}
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, DTC_GPU_THREAD_CELLS, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		dtc_gpu_find_cell(p, map, first + ahead[k], start.carried, &place[k],
				  &cell[k]);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_cells(p, cell, left);
	else
		dtc_gpu_unpack_cells(p, cell, left);
}

DTC_GPU_FN void dtc_gpu_cells_pack_phase(const struct dtc_gpu_cells_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_cells(p, (const struct dtc_gpu_cell *)shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_cells_unpack_phase(const struct dtc_gpu_cells_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_cells(p, (const struct dtc_gpu_cell *)shared, at, DTC_GPU_UNPACK);
}

/* ---- looking for units ----------------------------------------------------------------------------- */

struct dtc_gpu_unit {
	uint64_t native; /* positions */
	uint64_t wire;
	const struct dtc_gpu_number *number;
};

DTC_GPU_FN void dtc_gpu_find_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  struct dtc_gpu_unit *unit)
{
	const struct dtc_gpu_node *node = p->nodes;

	unit->native = 0;
	unit->wire = 0;
	for (;;) {
		while (position >= node->units_before + node->units)
			node += node->body + 1;
		position -= node->units_before;
		uint64_t trip = node->trip_units == 1
					? position
					: dtc_gpu_quotient(position, node->trip_units);

		unit->native += node->native_before + trip * node->native_bytes;
		unit->wire += node->wire_before + trip * node->wire_bytes;
		if (!node->body)
			break;
		position -= trip * node->trip_units;
		node++;
	}
	unit->number = &node->number;
}

DTC_GPU_FN void dtc_gpu_move_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  int direction)
{
	struct dtc_gpu_unit unit;
	struct dtc_gpu_bytes16 value;
	int fits = 1;

	dtc_gpu_find_unit(p, position, &unit);
	const struct dtc_gpu_number *number = unit.number;
	uint64_t user = dtc_gpu_walk_to(&p->walk, unit.native).address;
	uint64_t packed = p->packed + unit.wire;
	if (direction == DTC_GPU_PACK) {
		value = dtc_gpu_load_number(user, number->native_bytes);
		dtc_gpu_encode_number(number, &value, &fits);
		if (fits)
			dtc_gpu_store_number(packed, number->wire_bytes, value);
	} else {
		value = dtc_gpu_load_number(packed, number->wire_bytes);
		dtc_gpu_decode_number(number, &value, &fits);
		if (p->combination != DTC_GPU_REPLACE)
			value = dtc_gpu_combine(
				p->combination, number->kind, value,
				dtc_gpu_load_number(user, number->native_bytes));
		if (fits)
			dtc_gpu_store_number(user, number->native_bytes, value);
	}
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
}

/* A thread's units of a tile. */
DTC_GPU_FN void dtc_gpu_move_units(const struct dtc_gpu_units_params *p,
				   struct dtc_gpu_at at, int direction)
{
	uint64_t unit = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK) +
			at.thread;

	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS && unit < p->end;
	     k++, unit += DTC_GPU_BLOCK)
		dtc_gpu_move_unit(p, unit, direction);
}

DTC_GPU_FN void dtc_gpu_units_pack_phase(const struct dtc_gpu_units_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_units_unpack_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_UNPACK);
}

/* ---- couples --------------------------------------------------------------------------------------- */

/* A value and the index behind it, as they are in memory. */
struct dtc_gpu_couple {
	struct dtc_gpu_bytes16 value, index;
};

/* Equal values: the lower index wins. */
DTC_GPU_FN int dtc_gpu_couple_wins(const struct dtc_gpu_units_params *p,
				   const struct dtc_gpu_couple *a,
				   const struct dtc_gpu_couple *b)
{
	uint32_t kind = p->nodes[0].number.kind;
	int less = dtc_gpu_is_less(kind, a->value, b->value);
	int greater = dtc_gpu_is_less(kind, b->value, a->value);

	if (less || greater)
		return p->combination == DTC_GPU_MINLOC ? less : greater;
	return dtc_gpu_is_number(kind, &a->value) && dtc_gpu_is_number(kind, &b->value) &&
	       dtc_gpu_is_less(p->nodes[1].number.kind, a->index, b->index);
}

/* Where a couple lies, on both sides and in both parts. */
struct dtc_gpu_couple_at {
	uint64_t user, user_index;
	uint64_t packed, packed_index;
};

/* Two at a time: as many loads as registers hold. */
#define DTC_GPU_COUPLES 2u

/* Behind each other in a nest. */
DTC_GPU_FN void dtc_gpu_locate_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, const uint32_t ahead[],
				       struct dtc_gpu_couple_at found[])
{
	struct dtc_gpu_place place[DTC_GPU_COUPLES];
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_COUPLES, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].user =
			place[k].address +
			(uint64_t)place[k].index * (uint32_t)p->nodes[0].native_bytes;
		found[k].user_index = found[k].user + p->nodes[0].number.native_bytes;
	}
}

DTC_GPU_FN void dtc_gpu_walk_to_couple(const struct dtc_gpu_units_params *p,
				       uint64_t unit, struct dtc_gpu_couple_at *found)
{
	uint64_t native = unit * p->nodes[0].native_bytes;

	found->user = dtc_gpu_walk_to(&p->walk, native).address;
	found->user_index =
		dtc_gpu_walk_to(&p->walk, native + p->nodes[0].number.native_bytes)
			.address;
}

/* The couples that are @ahead of the @first. */
DTC_GPU_FN void dtc_gpu_find_couples(const struct dtc_gpu_units_params *p, uint64_t first,
				     const uint32_t ahead[],
				     struct dtc_gpu_couple_at found[])
{
	if (p->nest.dim_count) {
		dtc_gpu_locate_couples(p, first, ahead, found);
	} else {
		DTC_GPU_NO_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
			struct dtc_gpu_couple_at at;

			dtc_gpu_walk_to_couple(p, first + (k ? ahead[1] : ahead[0]), &at);
			found[0] = k ? found[0] : at;
			found[1] = k ? at : found[1];
		}
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].packed = p->packed + (first + ahead[k]) * p->nodes[0].wire_bytes;
		found[k].packed_index = found[k].packed + p->nodes[0].number.wire_bytes;
	}
}

/* Both parts of a couple, fetched first and looked at later. */
struct dtc_gpu_loose_couple {
	struct dtc_gpu_loose value, index;
};

DTC_GPU_FN void dtc_gpu_fetch_couple(uint64_t value, uint32_t value_bytes, uint64_t index,
				     uint32_t index_bytes,
				     struct dtc_gpu_loose_couple *loose)
{
	dtc_gpu_fetch_loose(value, value_bytes, &loose->value);
	dtc_gpu_fetch_loose(index, index_bytes, &loose->index);
}

DTC_GPU_FN void dtc_gpu_couple_value(const struct dtc_gpu_loose_couple *loose,
				     struct dtc_gpu_couple *couple)
{
	couple->value = dtc_gpu_loose_value(&loose->value);
	couple->index = dtc_gpu_loose_value(&loose->index);
}

/* Whether what has arrived is to be stored; it becomes native. */
DTC_GPU_FN int dtc_gpu_decide_couple(const struct dtc_gpu_units_params *p,
				     struct dtc_gpu_couple *arrived,
				     const struct dtc_gpu_couple *there)
{
	int fits = 1;

	dtc_gpu_decode_number(&p->nodes[0].number, &arrived->value, &fits);
	dtc_gpu_decode_number(&p->nodes[1].number, &arrived->index, &fits);
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
	return fits && dtc_gpu_couple_wins(p, arrived, there);
}

DTC_GPU_FN void dtc_gpu_unpack_couple(const struct dtc_gpu_units_params *p,
				      const struct dtc_gpu_couple_at *at,
				      const struct dtc_gpu_loose_couple *arrived,
				      const struct dtc_gpu_loose_couple *there)
{
	struct dtc_gpu_couple incoming, target;

	dtc_gpu_couple_value(arrived, &incoming);
	dtc_gpu_couple_value(there, &target);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_loose(at->user, p->nodes[0].number.native_bytes, &incoming.value);
	dtc_gpu_store_loose(at->user_index, p->nodes[1].number.native_bytes,
			    &incoming.index);
}

/* Numbers of 16 bytes. */
DTC_GPU_FN void dtc_gpu_unpack_long_couple(const struct dtc_gpu_units_params *p,
					   const struct dtc_gpu_couple_at *at)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_couple incoming, target;

	incoming.value = dtc_gpu_load_number(at->packed, value->wire_bytes);
	incoming.index = dtc_gpu_load_number(at->packed_index, index->wire_bytes);
	target.value = dtc_gpu_load_number(at->user, value->native_bytes);
	target.index = dtc_gpu_load_number(at->user_index, index->native_bytes);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_number(at->user, value->native_bytes, incoming.value);
	dtc_gpu_store_number(at->user_index, index->native_bytes, incoming.index);
}

DTC_GPU_FN void dtc_gpu_unpack_short_couples(const struct dtc_gpu_units_params *p,
					     const struct dtc_gpu_couple_at at[],
					     uint64_t left)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_loose_couple arrived[DTC_GPU_COUPLES], there[DTC_GPU_COUPLES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		dtc_gpu_fetch_couple(at[k].packed, value->wire_bytes, at[k].packed_index,
				     index->wire_bytes, &arrived[k]);
		dtc_gpu_fetch_couple(at[k].user, value->native_bytes, at[k].user_index,
				     index->native_bytes, &there[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_couple(p, &at[k], &arrived[k], &there[k]);
}

/* A thread's next couples, from the tile's @first on. */
DTC_GPU_FN void dtc_gpu_unpack_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, uint32_t thread)
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	struct dtc_gpu_couple_at at[DTC_GPU_COUPLES];
	uint32_t ahead[DTC_GPU_COUPLES];

	if (!left)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_find_couples(p, first, ahead, at);
	if (p->couple_form != DTC_GPU_COUPLES_LONG) {
		dtc_gpu_unpack_short_couples(p, at, left);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_long_couple(p, &at[k]);
}

/* ---- couples of words ------------------------------------------------------------------------------- */

/* A couple's numbers, of 4 or 8 bytes each. */
struct dtc_gpu_word_couple {
	uint64_t value, index;
};

/* Whether one word of @word bytes is the couple. */
DTC_GPU_FN int dtc_gpu_is_one_word(const struct dtc_gpu_units_params *p, uint32_t word)
{
	return word == 8 && p->nodes[0].native_bytes == 8;
}

DTC_GPU_FN uint64_t dtc_gpu_load_part(uint64_t address, uint32_t bytes, uint32_t word)
{
	if (bytes == 4)
		return dtc_gpu_load4(address);
	if (word == 8)
		return dtc_gpu_load8(address);
	return (uint64_t)dtc_gpu_load4(address + 4) << 32 | dtc_gpu_load4(address);
}

DTC_GPU_FN void dtc_gpu_store_part(uint64_t address, uint32_t bytes, uint32_t word,
				   uint64_t part)
{
	if (bytes == 4) {
		dtc_gpu_store4(address, (uint32_t)part);
	} else if (word == 8) {
		dtc_gpu_store8(address, (uint32_t)part, (uint32_t)(part >> 32));
	} else {
		dtc_gpu_store4(address, (uint32_t)part);
		dtc_gpu_store4(address + 4, (uint32_t)(part >> 32));
	}
}

/* What is behind a value of 4 bytes is aligned to 4. */
DTC_GPU_FN uint32_t dtc_gpu_index_word(uint32_t value_bytes, uint32_t word)
{
	return value_bytes == 4 ? 4 : word;
}

DTC_GPU_FN void dtc_gpu_load_couple(const struct dtc_gpu_units_params *p,
				    uint64_t address, uint32_t word,
				    struct dtc_gpu_word_couple *couple)
{
	uint32_t bytes = p->nodes[0].number.native_bytes;

	if (dtc_gpu_is_one_word(p, word)) {
		uint64_t both = dtc_gpu_load8(address);

		couple->value = (uint32_t)both;
		couple->index = both >> 32;
		return;
	}
	couple->value = dtc_gpu_load_part(address, bytes, word);
	couple->index = dtc_gpu_load_part(address + bytes,
					  p->nodes[1].number.native_bytes,
					  dtc_gpu_index_word(bytes, word));
}

DTC_GPU_FN void dtc_gpu_store_couple(const struct dtc_gpu_units_params *p,
				     uint64_t address, uint32_t word,
				     const struct dtc_gpu_word_couple *couple)
{
	uint32_t bytes = p->nodes[0].number.native_bytes;

	if (dtc_gpu_is_one_word(p, word)) {
		dtc_gpu_store8(address, (uint32_t)couple->value, (uint32_t)couple->index);
		return;
	}
	dtc_gpu_store_part(address, bytes, word, couple->value);
	dtc_gpu_store_part(address + bytes, p->nodes[1].number.native_bytes,
			   dtc_gpu_index_word(bytes, word), couple->index);
}

DTC_GPU_FN uint64_t dtc_gpu_swapped(uint64_t part, uint32_t swap)
{
	struct dtc_gpu_bytes16 value = { { (uint32_t)part, (uint32_t)(part >> 32), 0,
					   0 } };

	dtc_gpu_swap_short(&value, swap);
	return dtc_gpu_pair(value.w);
}

/* Whether @arrived, which becomes native, is to be stored: of equal values the lower index is. */
DTC_GPU_FN int dtc_gpu_word_couple_wins(uint32_t combination,
					const struct dtc_gpu_number *value,
					const struct dtc_gpu_number *index,
					struct dtc_gpu_word_couple *arrived,
					const struct dtc_gpu_word_couple *there)
{
	arrived->value = dtc_gpu_swapped(arrived->value, value->swap);
	arrived->index = dtc_gpu_swapped(arrived->index, index->swap);
	uint32_t order = dtc_gpu_order(value->kind, arrived->value, there->value);
	if (order == DTC_GPU_EQUAL)
		return dtc_gpu_order(index->kind, arrived->index, there->index) ==
		       DTC_GPU_LESS;
	return order == (combination == DTC_GPU_MINLOC ? DTC_GPU_LESS : DTC_GPU_GREATER);
}

/* All of a thread's couples of a tile, under way at once. */
DTC_GPU_FN void dtc_gpu_unpack_word_couples(const struct dtc_gpu_units_params *p,
					    uint64_t first, uint32_t thread)
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	uint32_t bytes = (uint32_t)p->nodes[0].native_bytes;
	struct dtc_gpu_word_couple arrived[DTC_GPU_UNITS], there[DTC_GPU_UNITS];
	struct dtc_gpu_place place[DTC_GPU_UNITS];
	uint32_t ahead[DTC_GPU_UNITS];
	uint64_t user[DTC_GPU_UNITS];
	struct dtc_gpu_start start;

	if (!left)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_UNITS, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++) {
		user[k] = place[k].address + (uint64_t)place[k].index * bytes;
		dtc_gpu_load_couple(p, p->packed + (first + ahead[k]) * bytes,
				    p->couple_words[1], &arrived[k]);
		dtc_gpu_load_couple(p, user[k], p->couple_words[0], &there[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		if (k * DTC_GPU_BLOCK < left &&
		    dtc_gpu_word_couple_wins(p->combination, &p->nodes[0].number,
					     &p->nodes[1].number, &arrived[k], &there[k]))
			dtc_gpu_store_couple(p, user[k], p->couple_words[0], &arrived[k]);
}

/* Each of the two phases of couples has its own forms. */
DTC_GPU_FN void dtc_gpu_word_couples_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);

	(void)shared;
	if (p->couple_form == DTC_GPU_COUPLES_WORDS)
		dtc_gpu_unpack_word_couples(p, first, at.thread);
}

DTC_GPU_FN void dtc_gpu_couples_unpack_phase(const struct dtc_gpu_units_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	const uint32_t step = DTC_GPU_COUPLES * DTC_GPU_BLOCK;
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);

	(void)shared;
	if (p->couple_form == DTC_GPU_COUPLES_WORDS)
		return;
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k += DTC_GPU_COUPLES, first += step)
		dtc_gpu_unpack_couples(p, first, at.thread);
}

#endif
