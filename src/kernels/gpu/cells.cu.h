/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of any kind, length and alignment, moved by cells: in a nest, or in identical
 * periods.
 */
#ifndef DTC_KERNELS_GPU_CELLS_CU_H
#define DTC_KERNELS_GPU_CELLS_CU_H

/* ---- cells ------------------------------------------------------------------------------------------- */

/* As dtc_gpu_encode_number and dtc_gpu_decode_number, for at most 8 bytes. */
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

/*
 * The aligned words that contain a cell. Fetching and use are separate, so that loads overlap.
 */
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

/* The bytes behind the cell are arbitrary. */
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

/* Aligned, in two aligned halves, or byte by byte. */
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

/* Find the row that contains cell @number of a period. */
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

/* Locate cell @position in the nest. @periods is the number of periods before the tile. */
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

/*
 * A tile of cells; @direction is a constant. A thread that has no cell left takes its first one
 * again.
 */
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

#endif
