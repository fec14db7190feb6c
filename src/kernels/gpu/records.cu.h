/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on records, which are short periods of unlike numbers. The packed words of a tile
 * are staged in shared memory. There a lane has the numbers of one record, so a warp does not
 * diverge by the kinds of numbers. Then the results are stored word by word, as for any period.
 */
#ifndef DTC_KERNELS_GPU_RECORDS_CU_H
#define DTC_KERNELS_GPU_RECORDS_CU_H

/* Words of a thread in flight. */
#define DTC_GPU_RECORD_LOADS  8u
#define DTC_GPU_RECORD_STORES 2u

/* The records of a block, in words of the nest. */
struct dtc_gpu_record_tile {
	int32_t *disps;     /* of a record's words */
	uint32_t *words;    /* packed words, replaced by the combined ones */
	uint32_t *there;    /* the user's */
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

	tile->disps = (int32_t *)shared;
	tile->words = (uint32_t *)shared + DTC_GPU_RECORD_WORDS;
	tile->there = tile->words + records * each;
	tile->first = (dtc_gpu_quotient(begin, each) + (uint64_t)block * records) * each;
	tile->count = records * each;
	tile->low = dtc_gpu_bound(begin, tile->first, tile->count);
	tile->high = dtc_gpu_bound(end, tile->first, tile->count);
}

/* A number of 4 or 8 bytes in shared memory. */
DTC_GPU_FN uint64_t dtc_gpu_recall_cell(const uint32_t *words, uint32_t bytes)
{
	return bytes == 8 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

DTC_GPU_FN void dtc_gpu_keep_cell(uint32_t *words, uint32_t bytes, uint64_t value)
{
	words[0] = (uint32_t)value;
	if (bytes == 8)
		words[1] = (uint32_t)(value >> 32);
}

/* A thread's cells of a record: consecutive ones. */
struct dtc_gpu_record_part {
	uint32_t record; /* of the tile */
	uint32_t cell;
	uint32_t live; /* one bit for each cell with bytes to be moved */
};

/* The threads of a warp have the same cells, of different records. */
DTC_GPU_FN struct dtc_gpu_record_part dtc_gpu_record_part_of(
	const struct dtc_gpu_cells_params *p, const struct dtc_gpu_record_tile *tile,
	uint32_t thread)
{
	uint32_t warp = thread / DTC_GPU_LANES, each = p->nest.dims[0].count;
	struct dtc_gpu_record_part part;

	part.record = warp / p->warps * DTC_GPU_LANES + thread % DTC_GPU_LANES;
	part.cell = (warp & (p->warps - 1)) * DTC_GPU_THREAD_CELLS;
	part.live = 0;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];
		uint32_t at = part.record * each + cell->wire / 4;

		if (part.cell + k < p->cells && at < tile->high &&
		    at + cell->number.wire_bytes / 4 > tile->low)
			part.live |= 1u << k;
	}
	return part;
}

/*
 * ---- phase 1: fetch both sides
 * --------------------------------------------------------------------
 */

DTC_GPU_FN void dtc_gpu_record_map(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_record_tile *tile,
				   uint32_t thread)
{
	if (thread >= p->cells)
		return;
	for (uint32_t at = 0; at < p->rows[thread].number.wire_bytes; at += 4)
		tile->disps[(p->rows[thread].wire + at) / 4] =
			p->rows[thread].disp + (int32_t)at;
}

DTC_GPU_FN void dtc_gpu_fetch_record(const struct dtc_gpu_cells_params *p,
				     const struct dtc_gpu_record_tile *tile,
				     const struct dtc_gpu_record_part *part,
				     uint64_t there[])
{
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, tile->first, DTC_GPU_PLAIN, &start);
	uint64_t user = dtc_gpu_locate(&p->nest, &start,
				       part->record * p->nest.dims[0].count,
				       DTC_GPU_PLAIN)
				.address;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part->cell + k];

		there[k] = 0;
		if (part->live >> k & 1)
			there[k] = dtc_gpu_load_part(user + (uint64_t)(int64_t)cell->disp,
						     cell->number.native_bytes,
						     cell->word);
	}
}

DTC_GPU_FN void dtc_gpu_records_fetch(const struct dtc_gpu_cells_params *p, void *shared,
				      struct dtc_gpu_at at)
{
	uint32_t word[DTC_GPU_RECORD_LOADS] = { 0 };
	uint64_t there[DTC_GPU_THREAD_CELLS];
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	const struct dtc_gpu_record_part part =
		dtc_gpu_record_part_of(p, &tile, at.thread);
	uint64_t packed = p->nest.packed + 4 * tile.first;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++) {
		uint32_t i = at.thread + k * DTC_GPU_BLOCK;

		if (i >= tile.low && i < tile.high)
			word[k] = dtc_gpu_load4(packed + 4 * i);
	}
	dtc_gpu_fetch_record(p, &tile, &part, there);
	dtc_gpu_record_map(p, &tile, at.thread);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++)
		if (at.thread + k * DTC_GPU_BLOCK < tile.count)
			tile.words[at.thread + k * DTC_GPU_BLOCK] = word[k];
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];

		if (part.live >> k & 1)
			dtc_gpu_keep_cell(tile.there +
						  part.record * p->nest.dims[0].count +
						  cell->wire / 4,
					  cell->number.native_bytes, there[k]);
	}
}

/*
 * ---- phase 2: combine the records
 * ----------------------------------------------------------------
 */

DTC_GPU_FN void dtc_gpu_combine_record(const struct dtc_gpu_cells_params *p,
				       const struct dtc_gpu_record_tile *tile,
				       const struct dtc_gpu_record_part *part)
{
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part->cell + k];
		uint32_t bytes = cell->number.native_bytes;
		uint32_t at = part->record * p->nest.dims[0].count + cell->wire / 4;

		if (!(part->live >> k & 1))
			continue;
		uint64_t arrived = dtc_gpu_swapped(
			dtc_gpu_recall_cell(tile->words + at, bytes), cell->number.swap);
		dtc_gpu_keep_cell(tile->words + at, bytes,
				  dtc_gpu_combine_short(
					  p->combination, cell->number.kind, arrived,
					  dtc_gpu_recall_cell(tile->there + at, bytes)));
	}
}

DTC_GPU_FN void dtc_gpu_records_combine(const struct dtc_gpu_cells_params *p,
					void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	const struct dtc_gpu_record_part part =
		dtc_gpu_record_part_of(p, &tile, at.thread);
	dtc_gpu_combine_record(p, &tile, &part);
}

/*
 * ---- phase 3: store the results
 * -------------------------------------------------------------------
 */

DTC_GPU_FN void dtc_gpu_records_store(const struct dtc_gpu_cells_params *p, void *shared,
				      struct dtc_gpu_at at)
{
	struct dtc_gpu_record_tile tile;
	struct dtc_gpu_start start;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	dtc_gpu_split(&p->nest, tile.first, DTC_GPU_PLAIN, &start);
	DTC_GPU_NO_UNROLL
	for (uint32_t i = at.thread; i < tile.high;
	     i += DTC_GPU_RECORD_STORES * DTC_GPU_BLOCK) {
		struct dtc_gpu_place place[8];
		uint32_t ahead[8];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_RECORD_STORES; k++)
			ahead[k] = i + k * DTC_GPU_BLOCK;
		dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_RECORD_STORES,
				   ahead, place);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_RECORD_STORES; k++)
			if (ahead[k] >= tile.low && ahead[k] < tile.high)
				dtc_gpu_store4(place[k].address +
						       (uint64_t)(int64_t)
							       tile.disps[place[k].index],
					       tile.words[ahead[k]]);
	}
}

#endif
