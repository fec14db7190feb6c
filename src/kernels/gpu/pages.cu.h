/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: the tables of page numbers are in memory that the device accesses, or among the parameters, and numbers
 * out of range are found here. One kernel packs, unpacks, and copies from one list to another, at every alignment. Where
 * rows are aligned, threads move whole words of 16 bytes. Other pieces are aligned on the side that is stored to, cut where a
 * row of either side ends, and shifted.
 */
#ifndef DTC_KERNELS_GPU_PAGES_CU_H
#define DTC_KERNELS_GPU_PAGES_CU_H

/* Cut the lowest digit off a number of any size. */
DTC_GPU_FN uint32_t dtc_gpu_cut_digit(const struct dtc_gpu_digit *digit, uint64_t *number)
{
	uint64_t higher = dtc_gpu_divide64(*number, digit->by.magic, digit->by.shift,
					   digit->by.one);
	uint32_t lowest = (uint32_t)(*number - higher * digit->count);

	*number = higher;
	return lowest;
}

/* Carry into the next digit what @lowest has too much, as long as it is below 2^31. */
DTC_GPU_FN uint32_t dtc_gpu_carry(const struct dtc_gpu_digit *digit, uint32_t *lowest)
{
	uint32_t higher = dtc_gpu_divide(*lowest, digit->magic, digit->shift);

	*lowest -= higher * digit->count;
	return higher;
}

/* ---- places -------------------------------------------------------------------------------------- */

/* Of a block: its first unit, and how many the rest of that unit's plane has, below 2^31. */
struct dtc_gpu_page_start {
	uint64_t word;
	uint32_t part;
	uint32_t layer;
	uint32_t left;
};

/* A unit: its plane, and its distance from the start, or, in a later plane, from that plane's begin. */
struct dtc_gpu_page_unit {
	uint32_t ahead;
	uint32_t part;
	uint32_t layer;
	uint32_t later; /* in a later plane */
};

DTC_GPU_FN struct dtc_gpu_page_start dtc_gpu_page_start_at(
	const struct dtc_gpu_pages_params *p, uint64_t number)
{
	struct dtc_gpu_page_start start;
	uint64_t plane = dtc_gpu_divide64(number, p->planes.by.magic, p->planes.by.shift,
					  p->planes.by.one);
	uint64_t left;

	start.word = number - plane * p->plane_words;
	left = p->plane_words - start.word;
	start.left = left > 0x7fffffffu ? 0x7fffffffu : (uint32_t)left;
	start.part = dtc_gpu_cut_digit(&p->parts, &plane);
	start.layer = (uint32_t)plane;
	return start;
}

DTC_GPU_FN struct dtc_gpu_page_unit dtc_gpu_page_unit_ahead(
	const struct dtc_gpu_pages_params *p, const struct dtc_gpu_page_start *start,
	uint32_t ahead)
{
	struct dtc_gpu_page_unit unit = { ahead, start->part, start->layer, 0 };

	if (ahead >= start->left) {
		unit.later = 1;
		unit.ahead = ahead - start->left;
		unit.part += 1 + dtc_gpu_carry(&p->planes, &unit.ahead);
		unit.layer += dtc_gpu_carry(&p->parts, &unit.part);
	}
	return unit;
}

/* Negative numbers are large ones without a sign. */
DTC_GPU_FN uint64_t dtc_gpu_page_number(const struct dtc_gpu_pages_params *p,
					const struct dtc_gpu_page_side *side,
					uint64_t entry)
{
	if (side->form == DTC_GPU_PAGES_GIVEN)
		return p->numbers[(uint32_t)entry + side->given];
	return side->form == DTC_GPU_PAGES_64 ? dtc_gpu_load8(side->table + entry * 8)
					      : dtc_gpu_load4(side->table + entry * 4);
}

DTC_GPU_FN uint64_t dtc_gpu_page_row(const struct dtc_gpu_page_side *side,
				     const struct dtc_gpu_page_unit *unit,
				     uint64_t number, uint32_t row)
{
	return side->memory + number * side->stride +
	       unit->layer * (uint64_t)side->layer_stride +
	       unit->part * (uint64_t)side->part_stride + row * side->row_stride;
}

DTC_GPU_FN void dtc_gpu_report_entry(const struct dtc_gpu_page_side *side, uint64_t entry)
{
	if (side->fault)
		dtc_gpu_lower(side->fault, entry + side->bias);
}

/* ---- aligned rows -------------------------------------------------------------------------------- */

/* A word of a list: @index of @row of page @entry, in the unit's plane. */
struct dtc_gpu_page_word {
	struct dtc_gpu_page_unit unit;
	uint32_t entry;
	uint32_t row;
	uint32_t index;
};

DTC_GPU_FN struct dtc_gpu_page_word dtc_gpu_page_word_at(
	const struct dtc_gpu_page_side *side, uint64_t number)
{
	struct dtc_gpu_page_word word;

	word.index = dtc_gpu_cut_digit(&side->words, &number);
	word.row = dtc_gpu_cut_digit(&side->rows, &number);
	word.entry = (uint32_t)number;
	return word;
}

DTC_GPU_FN struct dtc_gpu_page_word dtc_gpu_page_word_ahead(
	const struct dtc_gpu_pages_params *p, const struct dtc_gpu_page_side *side,
	const struct dtc_gpu_page_start *start, struct dtc_gpu_page_word word,
	uint32_t ahead)
{
	word.unit = dtc_gpu_page_unit_ahead(p, start, ahead);
	if (word.unit.later)
		word.index = word.row = word.entry = 0;
	word.index += word.unit.ahead;
	word.row += dtc_gpu_carry(&side->words, &word.index);
	word.entry += dtc_gpu_carry(&side->rows, &word.row);
	return word;
}

/* The numbers of the words that a thread moves. All are loaded before the first is used; what they are is tested once. */
DTC_GPU_FN void dtc_gpu_page_numbers(const struct dtc_gpu_pages_params *p,
				     const struct dtc_gpu_page_side *side,
				     const struct dtc_gpu_page_word word[],
				     uint32_t thread, uint32_t live, uint64_t number[])
{
	if (side->form == DTC_GPU_PAGES_GIVEN) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
			if (thread + k * DTC_GPU_BLOCK < live)
				number[k] = p->numbers[word[k].entry + side->given];
	} else if (side->form == DTC_GPU_PAGES_64) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
			if (thread + k * DTC_GPU_BLOCK < live)
				number[k] = dtc_gpu_load8(side->table +
							  word[k].entry * (uint64_t)8);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
			if (thread + k * DTC_GPU_BLOCK < live)
				number[k] = dtc_gpu_load4(side->table +
							  word[k].entry * (uint64_t)4);
	}
}

/*
 * Where a thread's words are if all those of the block are in the page of its first one, @begin: all threads need one number.
 * Unchanged if that page does not exist.
 */
DTC_GPU_FN void dtc_gpu_words_of_page(const struct dtc_gpu_pages_params *p,
				      const struct dtc_gpu_page_side *side,
				      const struct dtc_gpu_page_start *start,
				      struct dtc_gpu_page_word begin, uint32_t thread,
				      uint32_t live, int first, uint64_t place[])
{
	uint64_t number = dtc_gpu_page_number(p, side, begin.entry), low;

	if (number >= side->limit) {
		if (!thread && (first || !(begin.index | begin.row)))
			dtc_gpu_report_entry(side, begin.entry);
		return;
	}
	begin.unit = dtc_gpu_page_unit_ahead(p, start, 0);
	low = dtc_gpu_page_row(side, &begin.unit, number, begin.row);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++) {
		uint32_t index = begin.index + thread + k * DTC_GPU_BLOCK;
		uint32_t row = dtc_gpu_carry(&side->words, &index);

		if (thread + k * DTC_GPU_BLOCK < live)
			place[k] = low + row * side->row_stride +
				   (uint64_t)index * DTC_GPU_PIECE;
	}
}

/*
 * Where a thread's words are on a side that is a list; unchanged where there is none or its page does not exist. The thread
 * that moves a page's first word reports that, or the first one of the stretch. All numbers are loaded before the first is
 * used. @live: units from the start on that are moved.
 */
DTC_GPU_FN void dtc_gpu_listed_words(const struct dtc_gpu_pages_params *p,
				     const struct dtc_gpu_page_side *side,
				     const struct dtc_gpu_page_start *start,
				     uint32_t thread, uint32_t live, int first,
				     uint64_t place[])
{
	struct dtc_gpu_page_word begin = dtc_gpu_page_word_at(side, start->word);
	struct dtc_gpu_page_word word[DTC_GPU_PAGE_PIECES];
	uint64_t number[DTC_GPU_PAGE_PIECES];
	uint32_t bad = ~0u;

	if (live <= start->left &&
	    begin.index + live <=
		    (uint64_t)(side->rows.count - begin.row) * side->words.count) {
		dtc_gpu_words_of_page(p, side, start, begin, thread, live, first, place);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
		word[k] = dtc_gpu_page_word_ahead(p, side, start, begin,
						  thread + k * DTC_GPU_BLOCK);
	dtc_gpu_page_numbers(p, side, word, thread, live, number);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		if (ahead >= live)
			continue;
		if (number[k] < side->limit)
			place[k] = dtc_gpu_page_row(side, &word[k].unit, number[k],
						    word[k].row) +
				   (uint64_t)word[k].index * DTC_GPU_PIECE;
		else if ((!(word[k].index | word[k].row) || (first && !ahead)) &&
			 word[k].entry < bad)
			bad = word[k].entry;
	}
	if (bad != ~0u)
		dtc_gpu_report_entry(side, bad);
}

/*
 * A thread's whole words: planes are whole words, or there is one. All loads are in flight before the first store. The
 * places of both sides are found by the same code, which keeps the kernel short.
 */
DTC_GPU_FN void dtc_gpu_move_page_words(const struct dtc_gpu_pages_params *p,
					const struct dtc_gpu_page_start *start,
					uint64_t number, uint32_t thread)
{
	uint64_t from[DTC_GPU_PAGE_PIECES], to[DTC_GPU_PAGE_PIECES] = { 0 };
	struct dtc_gpu_bytes16 value[DTC_GPU_PAGE_PIECES];
	uint32_t live = p->each * DTC_GPU_BLOCK;

	if (p->last - number < live)
		live = (uint32_t)(p->last - number);
	DTC_GPU_NO_UNROLL
	for (uint32_t s = 0; s < 2; s++) {
		const struct dtc_gpu_page_side *side = &p->sides[s];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++) {
			from[k] = to[k];
			to[k] = side->form ? 0
					   : side->memory + (number + thread +
							     k * DTC_GPU_BLOCK) *
								    DTC_GPU_PIECE;
		}
		if (side->form)
			dtc_gpu_listed_words(p, side, start, thread, live,
					     number == p->first, to);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
		if (from[k] && to[k])
			dtc_gpu_load16(from[k], &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
		if (from[k] && to[k])
			dtc_gpu_store16(to[k], &value[k]);
}

/* ---- any rows ------------------------------------------------------------------------------------ */

/*
 * The run that begins at byte @position of the stream: its address, 0 if its page does not exist. @bytes are reduced to
 * those of the run.
 */
DTC_GPU_FN uint64_t dtc_gpu_page_run(const struct dtc_gpu_pages_params *p,
				     const struct dtc_gpu_page_side *side,
				     const struct dtc_gpu_page_unit *unit, uint64_t plane,
				     uint64_t position, uint64_t *bytes)
{
	uint64_t at = position - plane, entry, number;
	uint32_t row;

	if (side->form == DTC_GPU_PAGES_PACKED)
		return side->memory + position;
	entry = dtc_gpu_divide64(at, side->by_row.magic, side->by_row.shift,
				 side->by_row.one);
	at -= entry * side->row_bytes;
	row = dtc_gpu_cut_digit(&side->rows, &entry);
	if (*bytes > side->row_bytes - at)
		*bytes = side->row_bytes - at;
	number = dtc_gpu_page_number(p, side, entry);
	if (number < side->limit)
		return dtc_gpu_page_row(side, unit, number, row) + at;
	if (position == p->begin || !(at | row))
		dtc_gpu_report_entry(side, entry);
	return 0;
}

/*
 * The unit's piece: pieces end at aligned addresses of the side that is stored to, if its strides are aligned. They are
 * cut where a row of either side ends, and at such addresses.
 */
DTC_GPU_FN void dtc_gpu_move_page_piece(const struct dtc_gpu_pages_params *p,
					const struct dtc_gpu_page_unit *unit,
					uint64_t word)
{
	uint64_t plane =
		((uint64_t)unit->layer * p->parts.count + unit->part) * p->plane_bytes;
	uint64_t shift = p->sides[1].memory + (p->sides[1].form ? 0 : plane);
	uint64_t high = plane + word * DTC_GPU_PIECE + DTC_GPU_PIECE -
			(shift & (DTC_GPU_PIECE - 1));
	uint64_t low = word ? high - DTC_GPU_PIECE : plane;

	low = low < p->begin ? p->begin : low;
	high = high > plane + p->plane_bytes ? plane + p->plane_bytes : high;
	high = high > p->end ? p->end : high;
	while (low < high) {
		uint64_t bytes = high - low, from = 0, to = 0;

		DTC_GPU_NO_UNROLL
		for (uint32_t s = 0; s < 2; s++) {
			from = to;
			to = dtc_gpu_page_run(p, &p->sides[s], unit, plane, low, &bytes);
		}
		if (bytes > DTC_GPU_PIECE - (to & (DTC_GPU_PIECE - 1)))
			bytes = DTC_GPU_PIECE - (to & (DTC_GPU_PIECE - 1));
		if (from && to)
			dtc_gpu_scatter(to, dtc_gpu_gather(from, (uint32_t)bytes),
					(uint32_t)bytes);
		low += bytes;
	}
}

DTC_GPU_FN void dtc_gpu_move_page_pieces(const struct dtc_gpu_pages_params *p,
					 const struct dtc_gpu_page_start *start,
					 uint64_t number, uint32_t thread)
{
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < p->each; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		if (number + ahead >= p->last)
			return;
		struct dtc_gpu_page_unit unit = dtc_gpu_page_unit_ahead(p, start, ahead);
		dtc_gpu_move_page_piece(p, &unit,
					(unit.later ? 0 : start->word) + unit.ahead);
	}
}

DTC_GPU_FN void dtc_gpu_pages_phase(const struct dtc_gpu_pages_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	uint64_t number = p->first + (uint64_t)at.block * (p->each * DTC_GPU_BLOCK);
	struct dtc_gpu_page_start start = dtc_gpu_page_start_at(p, number);

	(void)shared;
	if (p->aligned && !(p->ragged && (!at.block || at.block + 1 == at.blocks)))
		dtc_gpu_move_page_words(p, &start, number, at.thread);
	else
		dtc_gpu_move_page_pieces(p, &start, number, at.thread);
}

/* ---- an aligned word a thread --------------------------------------------------------------------- */

/* A word of a side, by numbers of 32 bits. */
struct dtc_gpu_page_spot {
	uint32_t entry;
	uint32_t row;
	uint32_t index;
	uint64_t number; /* of the page */
};

/* Word @ahead of a plane. Its page's number is loaded, and not looked at. */
DTC_GPU_FN struct dtc_gpu_page_spot dtc_gpu_page_spot_at(
	const struct dtc_gpu_pages_params *p, const struct dtc_gpu_page_side *side,
	uint32_t ahead)
{
	struct dtc_gpu_page_spot spot = { 0, 0, ahead, 0 };

	if (!side->form)
		return spot;
	spot.row = dtc_gpu_carry(&side->words, &spot.index);
	spot.entry = dtc_gpu_carry(&side->rows, &spot.row);
	spot.number = dtc_gpu_page_number(p, side, spot.entry);
	return spot;
}

/* Word @number of the stream; 0 if its page does not exist. */
DTC_GPU_FN uint64_t dtc_gpu_page_spot_place(const struct dtc_gpu_pages_params *p,
					    const struct dtc_gpu_page_side *side,
					    const struct dtc_gpu_page_unit *unit,
					    const struct dtc_gpu_page_spot *spot,
					    uint32_t number)
{
	if (!side->form)
		return side->memory + (uint64_t)number * DTC_GPU_PIECE;
	if (spot->number < side->limit)
		return dtc_gpu_page_row(side, unit, spot->number, spot->row) +
		       (uint64_t)spot->index * DTC_GPU_PIECE;
	if (!(spot->index | spot->row) || number == p->first)
		dtc_gpu_report_entry(side, spot->entry);
	return 0;
}

/* Both sides' numbers are loaded before the first is used. */
DTC_GPU_FN void dtc_gpu_page_words_phase(const struct dtc_gpu_pages_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	uint32_t number = (uint32_t)p->first + at.block * DTC_GPU_BLOCK + at.thread;
	struct dtc_gpu_page_unit unit = { number, 0, 0, 0 };
	struct dtc_gpu_page_spot spot[2];
	struct dtc_gpu_bytes16 value;
	uint64_t from, to;

	(void)shared;
	if (number >= p->last)
		return;
	unit.part = dtc_gpu_carry(&p->planes, &unit.ahead);
	unit.layer = dtc_gpu_carry(&p->parts, &unit.part);
	DTC_GPU_UNROLL
	for (uint32_t s = 0; s < 2; s++)
		spot[s] = dtc_gpu_page_spot_at(p, &p->sides[s], unit.ahead);
	from = dtc_gpu_page_spot_place(p, &p->sides[0], &unit, &spot[0], number);
	to = dtc_gpu_page_spot_place(p, &p->sides[1], &unit, &spot[1], number);
	if (!from || !to)
		return;
	dtc_gpu_load16(from, &value);
	dtc_gpu_store16(to, &value);
}

#endif
