/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a table of unlike runs the entries that a tile touches: where they begin is kept in shared
 * memory, in bytes from the tile's first, so that a run is found in a few steps there.
 */
#ifndef DTC_KERNELS_GPU_ENTRIES_CU_H
#define DTC_KERNELS_GPU_ENTRIES_CU_H

/* A tile of a table's packed bytes, or the whole table. */
struct dtc_gpu_entries {
	const struct dtc_gpu_indexed_params *p;
	const uint32_t *begins; /* of @count entries and the end of the last; the first is 0 */
	uint64_t first;         /* entry */
	uint64_t skipped;       /* bytes of it before the tile */
	uint64_t offset;        /* of the tile in the table's bytes */
	uint32_t count;
};

DTC_GPU_FN uint64_t dtc_gpu_table_prefix(const struct dtc_gpu_indexed_params *p, uint64_t entry)
{
	return dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift, entry);
}

/* The entries of the tile from byte @offset of the table on. */
DTC_GPU_FN void dtc_gpu_open_entries(const struct dtc_gpu_indexed_params *p, void *shared,
				     uint64_t offset, struct dtc_gpu_entries *entries)
{
	uint64_t last = p->count - 1;

	entries->p = p;
	entries->begins = (const uint32_t *)shared;
	entries->offset = offset;
	entries->first = 0;
	if (!p->whole) {
		uint64_t start = p->starts + offset / DTC_GPU_START_BYTES * 4;

		entries->first = dtc_gpu_load4(start);
		if (offset + p->tile_bytes < p->table_bytes)
			last = dtc_gpu_load4(start + p->tile_bytes / DTC_GPU_START_BYTES * 4);
	}
	entries->count = (uint32_t)(last - entries->first) + 1;
	entries->skipped = offset - dtc_gpu_table_prefix(p, entries->first);
}

/* Write down where they begin, all threads together. */
DTC_GPU_FN void dtc_gpu_list_entries(const struct dtc_gpu_entries *entries, void *shared,
				     uint32_t thread)
{
	uint32_t *begins = (uint32_t *)shared;

	for (uint32_t i = thread; i <= entries->count; i += DTC_GPU_BLOCK) {
		uint64_t prefix = dtc_gpu_table_prefix(entries->p, entries->first + i);
		uint64_t begin = prefix > entries->offset ? prefix - entries->offset : 0;

		begins[i] = begin < 0xffffffffu ? (uint32_t)begin : 0xffffffffu;
	}
}

/*
 * The entries that hold @count bytes, a constant, at @offset of the tile. They are searched for
 * together, because every step waits for shared memory.
 */
DTC_GPU_FN void dtc_gpu_search_entries(const struct dtc_gpu_entries *entries, uint32_t count,
				       const uint32_t offset[], uint32_t near[])
{
	uint32_t n = entries->count;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		near[k] = 0;
	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			near[k] += entries->begins[near[k] + half] <= offset[k] ? half : 0;
		n -= half;
	}
}

/* The rest of the runs that hold @count bytes, a constant; places are where displacement 0 is. */
DTC_GPU_FN void dtc_gpu_entry_spans(const struct dtc_gpu_entries *entries, uint32_t count,
				    const struct dtc_gpu_place place[], const uint32_t offset[],
				    const uint32_t near[], struct dtc_gpu_span span[])
{
	const struct dtc_gpu_indexed_params *p = entries->p;
	uint64_t entry[8], disp[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		entry[k] = entries->first + near[k];
	dtc_gpu_listed_disps(p->disps, p->disp_wide, p->disp_shift, count, entry, disp);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		span[k].address = place[k].address + (offset[k] - entries->begins[near[k]]) +
				  (near[k] ? 0 : entries->skipped) + disp[k];
		span[k].bytes = entries->begins[near[k] + 1] - offset[k];
	}
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* A block's tile: bytes [begin, end) of the stream, which are found from @origin on. */
struct dtc_gpu_indexed_tile {
	struct dtc_gpu_entries entries;
	struct dtc_gpu_start start;
	uint64_t origin;
	uint64_t begin;
	uint64_t end;
	uint64_t address; /* of displacement 0, unless the table is kept whole */
};

DTC_GPU_FN void dtc_gpu_cut_tile(const struct dtc_gpu_nest *nest, uint64_t bytes,
				 struct dtc_gpu_indexed_tile *tile)
{
	uint64_t end = tile->origin + bytes;

	tile->begin = tile->origin > nest->begin ? tile->origin : nest->begin;
	tile->end = end < nest->end ? end : nest->end;
}

DTC_GPU_FN void dtc_gpu_open_tile(const struct dtc_gpu_indexed_params *p, void *shared,
				  uint32_t block, struct dtc_gpu_indexed_tile *tile)
{
	uint64_t number = p->first_tile + block;
	uint64_t offset = 0;
	uint64_t bytes = p->tile_bytes;

	if (p->whole) {
		tile->origin = number * p->tile_bytes;
		dtc_gpu_split(&p->nest, tile->origin / p->nest.word, DTC_GPU_PLAIN,
			      &tile->start);
		tile->address = 0;
	} else {
		uint64_t repetition = dtc_gpu_quotient(number, p->tiles);

		offset = (number - repetition * p->tiles) * p->tile_bytes;
		tile->origin = repetition * p->table_bytes + offset;
		dtc_gpu_split(&p->nest, repetition, DTC_GPU_PLAIN, &tile->start);
		tile->address = dtc_gpu_locate(&p->nest, &tile->start, 0, DTC_GPU_PLAIN).address;
		if (bytes > p->table_bytes - offset)
			bytes = p->table_bytes - offset;
	}
	dtc_gpu_cut_tile(&p->nest, bytes, tile);
	dtc_gpu_open_entries(p, shared, offset, &tile->entries);
}

/*
 * The rest of the runs that hold the @count bytes, a constant, that are @ahead of the tile's origin and
 * the first ones of units.
 */
DTC_GPU_FN void dtc_gpu_indexed_spans(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      uint32_t count, const uint32_t ahead[],
				      struct dtc_gpu_span span[])
{
	const struct dtc_gpu_indexed_params *p = tile->entries.p;
	struct dtc_gpu_place place[8];
	uint32_t offset[8], near[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		place[k].address = tile->address;
		offset[k] = ahead[k];
	}
	if (p->whole) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			offset[k] = ahead[k] / word;
		dtc_gpu_locate_all(&p->nest, &tile->start, DTC_GPU_PLAIN, count, offset, place);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			offset[k] = place[k].index * word;
	}
	dtc_gpu_search_entries(&tile->entries, count, offset, near);
	dtc_gpu_entry_spans(&tile->entries, count, place, offset, near, span);
}

#endif
