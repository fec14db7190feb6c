/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: the table of page numbers is in memory that the device accesses, and numbers out of range are found
 * here. One kernel serves both directions and every alignment. Where pages are aligned, threads move whole words of 16
 * bytes. Other pieces are aligned on the side that is stored to, and shifted.
 */
#ifndef DTC_KERNELS_GPU_PAGES_CU_H
#define DTC_KERNELS_GPU_PAGES_CU_H

/* The place of a unit: piece @index of page @entry of a part of a layer. */
struct dtc_gpu_page_unit {
	uint32_t index;
	uint32_t entry;
	uint32_t part;
	uint32_t layer;
};

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

DTC_GPU_FN struct dtc_gpu_page_unit dtc_gpu_page_unit_at(
	const struct dtc_gpu_pages_params *p, uint64_t number)
{
	struct dtc_gpu_page_unit unit;

	unit.index = dtc_gpu_cut_digit(&p->pieces, &number);
	unit.entry = dtc_gpu_cut_digit(&p->entries, &number);
	unit.part = dtc_gpu_cut_digit(&p->parts, &number);
	unit.layer = (uint32_t)number;
	return unit;
}

DTC_GPU_FN struct dtc_gpu_page_unit dtc_gpu_page_unit_ahead(
	const struct dtc_gpu_pages_params *p, struct dtc_gpu_page_unit unit,
	uint32_t ahead)
{
	unit.index += ahead;
	unit.entry += dtc_gpu_carry(&p->pieces, &unit.index);
	unit.part += dtc_gpu_carry(&p->entries, &unit.entry);
	unit.layer += dtc_gpu_carry(&p->parts, &unit.part);
	return unit;
}

/* Where the unit's plane begins in the stream. */
DTC_GPU_FN uint64_t dtc_gpu_plane_position(const struct dtc_gpu_pages_params *p,
					   const struct dtc_gpu_page_unit *unit)
{
	return ((uint64_t)unit->layer * p->parts.count + unit->part) * p->plane_bytes;
}

/* Negative numbers are large ones without a sign. */
DTC_GPU_FN uint64_t dtc_gpu_page_number(const struct dtc_gpu_pages_params *p,
					uint32_t entry)
{
	return p->wide ? dtc_gpu_load8(p->table + (uint64_t)entry * 8)
		       : dtc_gpu_load4(p->table + (uint64_t)entry * 4);
}

DTC_GPU_FN uint64_t dtc_gpu_page_address(const struct dtc_gpu_pages_params *p,
					 const struct dtc_gpu_page_unit *unit,
					 uint64_t number)
{
	return p->pool + number * p->stride + unit->layer * (uint64_t)p->layer_stride +
	       unit->part * (uint64_t)p->part_stride;
}

/* Whether page @number exists. If not, one thread reports it: that of the first unit of its page that is moved. */
DTC_GPU_FN int dtc_gpu_page_exists(const struct dtc_gpu_pages_params *p,
				   const struct dtc_gpu_page_unit *unit, uint64_t number,
				   int first)
{
	if (number < p->limit)
		return 1;
	if (p->fault && (first || !unit->index))
		dtc_gpu_lower(p->fault, unit->entry);
	return 0;
}

/* ---- aligned pages ------------------------------------------------------------------------------ */

/* A thread's whole words. All loads are in flight before the first store. */
DTC_GPU_FN void dtc_gpu_move_page_words(const struct dtc_gpu_pages_params *p,
					const struct dtc_gpu_page_unit *start,
					uint64_t number, uint32_t thread)
{
	uint64_t user[DTC_GPU_PAGE_PIECES], packed[DTC_GPU_PAGE_PIECES];
	struct dtc_gpu_bytes16 value[DTC_GPU_PAGE_PIECES];
	uint32_t moved = 0;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		if (k >= p->each || number + ahead >= p->last)
			continue;
		struct dtc_gpu_page_unit unit = dtc_gpu_page_unit_ahead(p, *start, ahead);
		uint64_t page = dtc_gpu_page_number(p, unit.entry);
		uint64_t inside = (uint64_t)unit.index * DTC_GPU_PIECE;
		uint64_t at = unit.entry * p->page_bytes + inside;
		uint64_t position = dtc_gpu_plane_position(p, &unit) + at;

		user[k] = dtc_gpu_page_address(p, &unit, page) + inside;
		packed[k] = p->packed + position;
		if (dtc_gpu_page_exists(p, &unit, page, number + ahead == p->first) &&
		    at + DTC_GPU_PIECE <= p->plane_bytes && position >= p->begin &&
		    position + DTC_GPU_PIECE <= p->end)
			moved |= 1u << k;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
		if (moved >> k & 1)
			dtc_gpu_load16(p->direction == DTC_GPU_PACK ? user[k] : packed[k],
				       &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PAGE_PIECES; k++)
		if (moved >> k & 1)
			dtc_gpu_store16(p->direction == DTC_GPU_PACK ? packed[k]
								     : user[k],
					&value[k]);
}

/* ---- any pages ---------------------------------------------------------------------------------- */

/*
 * The unit's piece: pieces are aligned words of the side that is stored to, so that the first and the last one of a page
 * are parts of words.
 */
DTC_GPU_FN void dtc_gpu_move_page_piece(const struct dtc_gpu_pages_params *p,
					const struct dtc_gpu_page_unit *unit,
					uint64_t page)
{
	uint64_t plane = dtc_gpu_plane_position(p, unit);
	uint64_t position = plane + unit->entry * p->page_bytes;
	uint64_t user = dtc_gpu_page_address(p, unit, page);
	uint64_t packed = p->packed + position;
	uint64_t to = p->direction == DTC_GPU_PACK ? packed : user;
	uint64_t from = p->direction == DTC_GPU_PACK ? user : packed;
	/* Positions in the stream. */
	uint64_t low = position + (uint64_t)unit->index * DTC_GPU_PIECE;
	uint64_t high = low + DTC_GPU_PIECE - (to & (DTC_GPU_PIECE - 1));

	low = unit->index ? high - DTC_GPU_PIECE : low;
	low = low < p->begin ? p->begin : low;
	high = high > position + p->page_bytes ? position + p->page_bytes : high;
	high = high > plane + p->plane_bytes ? plane + p->plane_bytes : high;
	high = high > p->end ? p->end : high;
	if (low < high)
		dtc_gpu_scatter(to + (low - position),
				dtc_gpu_gather(from + (low - position),
					       (uint32_t)(high - low)),
				(uint32_t)(high - low));
}

DTC_GPU_FN void dtc_gpu_move_page_pieces(const struct dtc_gpu_pages_params *p,
					 const struct dtc_gpu_page_unit *start,
					 uint64_t number, uint32_t thread)
{
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < p->each; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		if (number + ahead >= p->last)
			return;
		struct dtc_gpu_page_unit unit = dtc_gpu_page_unit_ahead(p, *start, ahead);
		uint64_t page = dtc_gpu_page_number(p, unit.entry);
		if (dtc_gpu_page_exists(p, &unit, page, number + ahead == p->first))
			dtc_gpu_move_page_piece(p, &unit, page);
	}
}

DTC_GPU_FN void dtc_gpu_pages_phase(const struct dtc_gpu_pages_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	uint64_t number = p->first + (uint64_t)at.block * (p->each * DTC_GPU_BLOCK);
	struct dtc_gpu_page_unit start = dtc_gpu_page_unit_at(p, number);

	(void)shared;
	if (p->aligned && !(p->ragged && (!at.block || at.block + 1 == at.blocks)))
		dtc_gpu_move_page_words(p, &start, number, at.thread);
	else
		dtc_gpu_move_page_pieces(p, &start, number, at.thread);
}

#endif
