/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a table of unlike runs the entries that a tile touches, and which of them holds each of
 * its units: both are computed once and kept in shared memory, so that no word needs a search.
 * Words have windows, in which entries mark where they begin: the holder is counted.
 */
#ifndef DTC_KERNELS_GPU_ENTRIES_CU_H
#define DTC_KERNELS_GPU_ENTRIES_CU_H

/* As many units as a word has bits. */
struct dtc_gpu_window {
	uint32_t begun; /* a bit for each unit that an entry begins with, but the first */
	uint32_t first; /* holds the first unit */
};

/* The lists of a tile. Numbers of bytes are from the tile's first, or from the whole table's. */
struct dtc_gpu_entries {
	uint32_t *count;
	struct dtc_gpu_window *windows; /* words: of every DTC_GPU_LANES units */
	uint16_t *holders; /* pieces: of every unit the entry that holds its first byte */
	uint64_t *bases;   /* of every entry: a byte is at this and its number */
	uint16_t *begins;  /* of every entry and the end of the last; the first is 0 */
};

DTC_GPU_FN struct dtc_gpu_entries dtc_gpu_entries_in(const struct dtc_gpu_indexed_params *p,
						     uint32_t word, void *shared,
						     uint32_t thread)
{
	uint32_t number = word > 1 ? thread / DTC_GPU_LANES : 0;
	unsigned char *tile = (unsigned char *)shared +
			      number * DTC_GPU_INDEXED_SHARED(word, p->capacity);
	unsigned char *finders = tile + DTC_GPU_INDEXED_HEAD;
	struct dtc_gpu_entries entries;

	entries.count = (uint32_t *)tile;
	entries.windows = (struct dtc_gpu_window *)finders;
	entries.holders = (uint16_t *)finders;
	entries.bases = (uint64_t *)(finders + DTC_GPU_INDEXED_FINDERS(word));
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

/*
 * Where the entries lie from @address on, so many threads together. What begins behind all tiles is not told
 * apart. Both loads are under way before either is looked at.
 */
DTC_GPU_FN void dtc_gpu_list_entries(const struct dtc_gpu_indexed_params *p,
				     const struct dtc_gpu_touched *touched, uint64_t address,
				     const struct dtc_gpu_entries *entries, uint32_t thread,
				     uint32_t threads)
{
	if (thread == 0)
		*entries->count = touched->count;
	for (uint32_t i = thread; i <= touched->count; i += threads) {
		uint64_t entry = touched->first + i;
		uint64_t begin = dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift, entry) -
				 touched->offset;
		uint64_t disp = dtc_gpu_listed_disp(p->disps, p->disp_wide, p->disp_shift,
						    i < touched->count ? entry : touched->first);

		/* The first entry may have begun before the tile. */
		if (i < touched->count)
			entries->bases[i] = address + disp - begin;
		begin = i ? begin : 0;
		entries->begins[i] = begin < 0xffff ? (uint16_t)begin : (uint16_t)0xffff;
	}
}

/* The sectors at both ends of what the tile has of its entries, which it will store to. */
DTC_GPU_FN void dtc_gpu_expect_entries(const struct dtc_gpu_entries *entries, uint32_t bytes,
				       uint32_t thread, uint32_t threads)
{
	for (uint32_t i = thread; i < *entries->count; i += threads) {
		uint32_t end = entries->begins[i + 1] < bytes ? entries->begins[i + 1] : bytes;
		uint64_t low = entries->bases[i] + entries->begins[i];
		uint64_t high = entries->bases[i] + end;

		if (low >= high)
			continue;
		dtc_gpu_expect(low, low, high);
		dtc_gpu_expect(high - 1, low, high);
	}
}

/* ---- words: windows ------------------------------------------------------------------------ */

/* A warp's windows, before entries mark them. */
DTC_GPU_FN void dtc_gpu_clear_windows(const struct dtc_gpu_entries *entries, uint32_t word,
				      uint32_t lane)
{
	struct dtc_gpu_window none = { 0, 0 };

	if (lane < DTC_GPU_INDEXED_UNITS(word))
		entries->windows[lane] = none;
}

/* Each entry marks the unit that it begins with, and is the first of the windows that begin in it. */
DTC_GPU_FN void dtc_gpu_mark_windows(const struct dtc_gpu_entries *entries, uint32_t word,
				     uint32_t lane)
{
	const uint32_t windows = DTC_GPU_INDEXED_UNITS(word);

	for (uint32_t i = lane; i < *entries->count; i += DTC_GPU_LANES) {
		uint32_t from = entries->begins[i] / word;
		uint32_t to = entries->begins[i + 1] / word;
		uint32_t window = from / DTC_GPU_LANES;

		if (from % DTC_GPU_LANES) {
			if (window < windows)
				dtc_gpu_set_bits(&entries->windows[window].begun,
						 1u << from % DTC_GPU_LANES);
			window++;
		}
		DTC_GPU_NO_UNROLL
		for (; window < windows && window * DTC_GPU_LANES < to; window++)
			entries->windows[window].first = i;
	}
}

DTC_GPU_FN uint32_t dtc_gpu_window_holder(const struct dtc_gpu_entries *entries, uint32_t unit)
{
	struct dtc_gpu_window window = entries->windows[unit / DTC_GPU_LANES];
	uint32_t so_far = (2u << unit % DTC_GPU_LANES) - 1;

	return window.first + dtc_gpu_count_bits(window.begun & so_far);
}

/* ---- pieces: holders ----------------------------------------------------------------------- */

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

/* The holder of a thread's unit. */
DTC_GPU_FN void dtc_gpu_list_holder(const struct dtc_gpu_entries *entries, uint32_t thread)
{
	uint32_t begin = thread * DTC_GPU_PIECE;

	entries->holders[thread] = (uint16_t)dtc_gpu_search_entries(entries, begin);
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* Bytes [begin, end) of the stream, which are found from @origin on; none where there are no more tiles. */
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

/* Which tile a thread is for. */
DTC_GPU_FN uint64_t dtc_gpu_tile_number(const struct dtc_gpu_indexed_params *p, uint32_t word,
					struct dtc_gpu_at at)
{
	if (word == 1 || p->by_run)
		return p->first_tile + at.block;
	return p->first_tile + (uint64_t)at.block * DTC_GPU_INDEXED_TILES(word) +
	       at.thread / DTC_GPU_LANES;
}

DTC_GPU_FN void dtc_gpu_open_tile(const struct dtc_gpu_indexed_params *p, uint32_t word,
				  void *shared, struct dtc_gpu_at at,
				  struct dtc_gpu_indexed_tile *tile)
{
	uint64_t number = dtc_gpu_tile_number(p, word, at);
	uint64_t bytes = p->tile_bytes;

	tile->p = p;
	if (!p->by_run)
		tile->entries = dtc_gpu_entries_in(p, word, shared, at.thread);
	tile->offset = 0;
	if (p->whole) {
		tile->origin = number * p->tile_bytes;
		dtc_gpu_split(&p->nest, tile->origin / p->nest.word, DTC_GPU_PLAIN,
			      &tile->start);
		tile->address = 0;
	} else if (p->nest.dim_count == 1) {
		tile->offset = number * p->tile_bytes;
		tile->origin = tile->offset;
		tile->address = p->nest.user;
		if (bytes > p->table_bytes - tile->offset)
			bytes = p->table_bytes - tile->offset;
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
 * the first ones of words. If @whole, whether the table is kept whole, is a constant, too, registers are for one
 * way only.
 */
DTC_GPU_FN void dtc_gpu_indexed_spans(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      int whole, uint32_t count, const uint32_t ahead[],
				      struct dtc_gpu_span span[])
{
	const struct dtc_gpu_indexed_params *p = tile->p;
	const struct dtc_gpu_entries *entries = &tile->entries;
	struct dtc_gpu_place place[8];
	uint32_t offset[8] = { 0 };

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		place[k].address = 0;
		offset[k] = ahead[k];
	}
	if (whole) {
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
		uint32_t near;

		/* A word is in one entry; a piece may begin in one and go on in others. */
		if (word > 1)
			near = dtc_gpu_window_holder(entries, offset[k] / word);
		else
			near = dtc_gpu_advance(entries,
					       entries->holders[offset[k] / DTC_GPU_PIECE],
					       offset[k]);
		span[k].address = place[k].address + entries->bases[near] + offset[k];
		span[k].bytes = entries->begins[near + 1] - offset[k];
	}
}

#endif
