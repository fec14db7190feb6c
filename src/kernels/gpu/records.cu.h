/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on records, which are short periods of unlike numbers. The packed words of a tile
 * are staged in shared memory. A lane has the numbers of one record, so a warp does not diverge by
 * the kinds of numbers; it combines them with the user's and stores the results itself.
 */
#ifndef DTC_KERNELS_GPU_RECORDS_CU_H
#define DTC_KERNELS_GPU_RECORDS_CU_H

/* Words of a thread in flight. */
#define DTC_GPU_RECORD_LOADS 8u

/* The records of a block, in words of the nest. */
struct dtc_gpu_record_tile {
	uint32_t *words;    /* packed */
	uint64_t first;     /* index of the first record's first word */
	uint32_t count;     /* words */
	uint32_t low, high; /* the words of them to be moved */
};

DTC_GPU_FN uint32_t dtc_gpu_bound(uint64_t x, uint64_t first, uint32_t most)
{
	return x <= first ? 0 : x - first < most ? (uint32_t)(x - first) : most;
}

DTC_GPU_FN void dtc_gpu_record_tile_at(const struct dtc_gpu_cells_params *p, void *shared,
				       uint32_t block, struct dtc_gpu_record_tile *tile)
{
	uint32_t each = p->nest.dims[0].count;
	uint32_t records = DTC_GPU_BLOCK / p->warps;
	uint64_t begin = p->nest.begin / 4, end = p->nest.end / 4;

	tile->words = (uint32_t *)shared;
	tile->first = (dtc_gpu_quotient(begin, each) + (uint64_t)block * records) * each;
	tile->count = records * each;
	tile->low = dtc_gpu_bound(begin, tile->first, tile->count);
	tile->high = dtc_gpu_bound(end, tile->first, tile->count);
}

/* ---- first, the packed words are staged ----------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_records_stage(const struct dtc_gpu_cells_params *p, void *shared,
				      struct dtc_gpu_at at)
{
	uint32_t word[DTC_GPU_RECORD_LOADS] = { 0 };
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	uint64_t packed = p->nest.packed + 4 * tile.first;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++) {
		uint32_t i = at.thread + k * DTC_GPU_BLOCK;

		if (i >= tile.low && i < tile.high)
			word[k] = dtc_gpu_load4(packed + 4 * i);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++)
		if (at.thread + k * DTC_GPU_BLOCK < tile.count)
			tile.words[at.thread + k * DTC_GPU_BLOCK] = word[k];
}

/* ---- then each thread combines its cells ---------------------------------------------------------- */

/* A thread's cells of a record: consecutive ones from the first on. */
struct dtc_gpu_record_part {
	uint64_t user; /* address of the record */
	uint32_t word; /* of the tile, the first of the record */
	uint32_t cell; /* the first */
	uint32_t live; /* a bit for each cell with a word to be moved */
};

/* All threads of a warp have the same cells, each of another record. */
DTC_GPU_FN struct dtc_gpu_record_part dtc_gpu_record_part_of(
	const struct dtc_gpu_cells_params *p, const struct dtc_gpu_record_tile *tile,
	uint32_t thread)
{
	uint32_t warp = thread / DTC_GPU_LANES, each = p->nest.dims[0].count;
	uint32_t record = warp / p->warps * DTC_GPU_LANES + thread % DTC_GPU_LANES;
	struct dtc_gpu_record_part part;
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, tile->first, DTC_GPU_PLAIN, &start);
	part.user =
		dtc_gpu_locate(&p->nest, &start, record * each, DTC_GPU_PLAIN).address;
	part.word = record * each;
	part.cell = (warp & (p->warps - 1)) * DTC_GPU_THREAD_CELLS;
	part.live = 0;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];
		uint32_t first = part.word + cell->wire / 4;

		if (part.cell + k < p->cells && first < tile->high &&
		    first + cell->number.wire_bytes / 4 > tile->low)
			part.live |= 1u << k;
	}
	return part;
}

/* A number of 4 or 8 bytes in shared memory. */
DTC_GPU_FN uint64_t dtc_gpu_recall_cell(const uint32_t *words, uint32_t bytes)
{
	return bytes == 8 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

/* Stores a cell that begins with the tile's word @first. One that the stretch cuts is stored word by word. */
DTC_GPU_FN void dtc_gpu_store_record_cell(const struct dtc_gpu_record_tile *tile,
					  const struct dtc_gpu_cell *cell,
					  uint64_t address, uint32_t first,
					  uint64_t value)
{
	uint32_t bytes = cell->number.native_bytes;

	if (first >= tile->low && first + bytes / 4 <= tile->high)
		dtc_gpu_store_part(address, bytes, cell->word, value);
	else if (first >= tile->low)
		dtc_gpu_store4(address, (uint32_t)value);
	else
		dtc_gpu_store4(address + 4, (uint32_t)(value >> 32));
}

/* What the user's memory holds of the cells is loaded before the first of them is combined. */
DTC_GPU_FN void dtc_gpu_records_combine(const struct dtc_gpu_cells_params *p,
					void *shared, struct dtc_gpu_at at)
{
	uint64_t there[DTC_GPU_THREAD_CELLS];
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	const struct dtc_gpu_record_part part =
		dtc_gpu_record_part_of(p, &tile, at.thread);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];

		there[k] = 0;
		if (part.live >> k & 1)
			there[k] = dtc_gpu_load_part(
				part.user + (uint64_t)(int64_t)cell->disp,
				cell->number.native_bytes, cell->word);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];
		uint32_t first = part.word + cell->wire / 4;

		if (!(part.live >> k & 1))
			continue;
		uint64_t arrived =
			dtc_gpu_swapped(dtc_gpu_recall_cell(tile.words + first,
							    cell->number.native_bytes),
					cell->number.swap);
		dtc_gpu_store_record_cell(
			&tile, cell, part.user + (uint64_t)(int64_t)cell->disp, first,
			dtc_gpu_combine_short(p->combination, cell->number.kind, arrived,
					      there[k]));
	}
}

#endif
