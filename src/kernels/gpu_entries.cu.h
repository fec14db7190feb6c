/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a table of unlike runs the entries that a tile touches, and which of them holds each of its units:
 * a block writes both down in shared memory once, so that no word is searched for.
 */
#ifndef DTC_KERNELS_GPU_ENTRIES_CU_H
#define DTC_KERNELS_GPU_ENTRIES_CU_H

/* The lists of a block. Numbers of bytes are from the tile's first, or from the whole table's. */
struct dtc_gpu_entries {
	uint32_t *count;
	uint16_t *holders; /* of every unit the entry that holds its first byte */
	uint64_t *bases;   /* of every entry: a byte is at this and its number */
	uint16_t *begins;  /* of every entry and the end of the last; the first is 0 */
};

DTC_GPU_FN struct dtc_gpu_entries dtc_gpu_entries_in(const struct dtc_gpu_indexed_params *p,
						     uint32_t word, void *shared)
{
	struct dtc_gpu_entries entries;

	entries.count = (uint32_t *)shared;
	entries.holders = (uint16_t *)((unsigned char *)shared + DTC_GPU_INDEXED_HEAD);
	entries.bases =
		(uint64_t *)(entries.holders + DTC_GPU_INDEXED_UNITS(word) * DTC_GPU_BLOCK);
	entries.begins = (uint16_t *)(entries.bases + p->capacity);
	return entries;
}

/* ---- writing down -------------------------------------------------------------------------- */

/* Where a tile begins in the table, and the entries that it touches. */
struct dtc_gpu_touched {
	uint64_t offset;
	uint64_t first;
	uint32_t count;
};

DTC_GPU_FN struct dtc_gpu_touched dtc_gpu_touch(const struct dtc_gpu_indexed_params *p,
						uint64_t offset)
{
	struct dtc_gpu_touched touched = { offset, 0, 0 };
	uint64_t last = p->count - 1;

	if (!p->whole) {
		uint64_t start = p->starts + offset / DTC_GPU_START_BYTES * 4;

		touched.first = dtc_gpu_load4(start);
		if (offset + p->tile_bytes < p->table_bytes)
			last = dtc_gpu_load4(start + p->tile_bytes / DTC_GPU_START_BYTES * 4);
	}
	touched.count = (uint32_t)(last - touched.first) + 1;
	return touched;
}

/* Where the entries lie, all threads together. What begins behind all tiles is not told apart. */
DTC_GPU_FN void dtc_gpu_list_entries(const struct dtc_gpu_indexed_params *p,
				     const struct dtc_gpu_touched *touched,
				     const struct dtc_gpu_entries *entries, uint32_t thread)
{
	if (thread == 0)
		*entries->count = touched->count;
	for (uint32_t i = thread; i <= touched->count; i += DTC_GPU_BLOCK) {
		uint64_t entry = touched->first + i;
		uint64_t begin = dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift, entry) -
				 touched->offset;

		/* The first entry may have begun before the tile. */
		if (i < touched->count)
			entries->bases[i] = dtc_gpu_listed_disp(p->disps, p->disp_wide,
								p->disp_shift, entry) -
					    begin;
		begin = i ? begin : 0;
		entries->begins[i] = begin < 0xffff ? (uint16_t)begin : (uint16_t)0xffff;
	}
}

/* The entry that holds byte @offset. */
DTC_GPU_FN uint32_t dtc_gpu_search_entries(const struct dtc_gpu_entries *entries, uint32_t offset)
{
	uint32_t n = *entries->count;
	uint32_t near = 0;

	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		near += entries->begins[near + half] <= offset ? half : 0;
		n -= half;
	}
	return near;
}

/* The first entry from @near on that holds byte @offset. */
DTC_GPU_FN uint32_t dtc_gpu_advance(const struct dtc_gpu_entries *entries, uint32_t near,
				    uint32_t offset)
{
	while (near + 1 < *entries->count && entries->begins[near + 1] <= offset)
		near++;
	return near;
}

/* The holders of a thread's neighbouring units: one search for all. */
DTC_GPU_FN void dtc_gpu_list_holders(const struct dtc_gpu_entries *entries, uint32_t word,
				     uint32_t thread)
{
	const uint32_t units = DTC_GPU_INDEXED_UNITS(word);
	const uint32_t unit = DTC_GPU_INDEXED_UNIT(word);
	uint32_t near = dtc_gpu_search_entries(entries, thread * units * unit);
	struct dtc_gpu_bytes16 holders = { { 0, 0, 0, 0 } };

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < units; k++) {
		near = dtc_gpu_advance(entries, near, (thread * units + k) * unit);
		holders.w[k / 2] |= near << (k % 2 * 16);
	}
	dtc_gpu_keep(entries->holders, thread, 2 * units, &holders);
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* A block's tile: bytes [begin, end) of the stream, which are found from @origin on. */
struct dtc_gpu_indexed_tile {
	const struct dtc_gpu_indexed_params *p;
	struct dtc_gpu_entries entries;
	struct dtc_gpu_start start;
	uint64_t offset; /* in the table */
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

DTC_GPU_FN void dtc_gpu_open_tile(const struct dtc_gpu_indexed_params *p, uint32_t word,
				  void *shared, uint32_t block,
				  struct dtc_gpu_indexed_tile *tile)
{
	uint64_t number = p->first_tile + block;
	uint64_t bytes = p->tile_bytes;

	tile->p = p;
	if (!p->by_run)
		tile->entries = dtc_gpu_entries_in(p, word, shared);
	tile->offset = 0;
	if (p->whole) {
		tile->origin = number * p->tile_bytes;
		dtc_gpu_split(&p->nest, tile->origin / p->nest.word, DTC_GPU_PLAIN,
			      &tile->start);
		tile->address = 0;
	} else {
		uint64_t repetition = dtc_gpu_quotient(number, p->tiles);

		tile->offset = (number - repetition * p->tiles) * p->tile_bytes;
		tile->origin = repetition * p->table_bytes + tile->offset;
		dtc_gpu_split(&p->nest, repetition, DTC_GPU_PLAIN, &tile->start);
		tile->address = dtc_gpu_locate(&p->nest, &tile->start, 0, DTC_GPU_PLAIN).address;
		if (bytes > p->table_bytes - tile->offset)
			bytes = p->table_bytes - tile->offset;
	}
	dtc_gpu_cut_tile(&p->nest, bytes, tile);
}

/*
 * The rest of the runs that hold the @count bytes, a constant, that are @ahead of the tile's origin and
 * the first ones of words.
 */
DTC_GPU_FN void dtc_gpu_indexed_spans(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      uint32_t count, const uint32_t ahead[],
				      struct dtc_gpu_span span[])
{
	const struct dtc_gpu_indexed_params *p = tile->p;
	const struct dtc_gpu_entries *entries = &tile->entries;
	struct dtc_gpu_place place[8];
	uint32_t offset[8];

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
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		uint32_t near = entries->holders[offset[k] / DTC_GPU_INDEXED_UNIT(word)];

		/* A word is in one entry; a piece may begin in one and go on in others. */
		if (word == 1)
			near = dtc_gpu_advance(entries, near, offset[k]);
		span[k].address = place[k].address + entries->bases[near] + offset[k];
		span[k].bytes = entries->begins[near + 1] - offset[k];
	}
}

#endif
