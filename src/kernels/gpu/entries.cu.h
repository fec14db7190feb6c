/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of a table of unlike runs that a tile touches, and the entry that holds each
 * unit. Both are computed once per tile and kept in shared memory, so no word needs a search.
 * For words, entries mark their first units in bit masks (windows), and the holder is found by
 * counting bits.
 */
#ifndef DTC_KERNELS_GPU_ENTRIES_CU_H
#define DTC_KERNELS_GPU_ENTRIES_CU_H

/* Units of a window: the bits of a word. */
struct dtc_gpu_window {
	uint32_t begun; /* a bit for each unit at which an entry begins, but the first */
	uint32_t first; /* the entry that holds the first unit */
};

/*
 * The lists of a tile. Byte offsets count from the tile's first byte, or from the start of the
 * whole table.
 */
struct dtc_gpu_entries {
	uint32_t *count;
	struct dtc_gpu_window *windows; /* words: one for every DTC_GPU_LANES units */
	uint16_t *holders; /* pieces: the entry that holds the unit's first byte */
	uint64_t *bases;   /* of every entry: a byte's address is this plus its offset */
	uint16_t *begins;  /* of every entry, and the end of the last; the first is 0 */
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

/*
 * ---- building the lists --------------------------------------------------------------------
 */

/* Where a tile begins in the table, and the range of entries that it touches. */
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
 * Compute the addresses of the entries, relative to @address, with @threads threads. Entries
 * behind the tile get clamped offsets. Both loads are in flight before either is used.
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

/*
 * Prefetch the sectors at both ends of the tile's part of an entry, because stores to them will
 * be partial.
 */
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

/* Clear a warp's windows, before entries set their bits. */
DTC_GPU_FN void dtc_gpu_clear_windows(const struct dtc_gpu_entries *entries, uint32_t word,
				      uint32_t lane)
{
	struct dtc_gpu_window none = { 0, 0 };

	if (lane < DTC_GPU_INDEXED_UNITS(word))
		entries->windows[lane] = none;
}

/*
 * Each entry sets the bit of the unit at which it begins, and is the holder for windows that
 * begin inside it.
 */
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

/* Find the entry that holds byte @offset. */
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

/* Find the entry that holds byte @offset, from entry @near on. */
DTC_GPU_FN uint32_t dtc_gpu_advance(const struct dtc_gpu_entries *entries, uint32_t near,
				    uint32_t offset)
{
	while (near + 1 < *entries->count && entries->begins[near + 1] <= offset)
		near++;
	return near;
}

/* Find the holder of a thread's unit. */
DTC_GPU_FN void dtc_gpu_list_holder(const struct dtc_gpu_entries *entries, uint32_t thread)
{
	uint32_t begin = thread * DTC_GPU_PIECE;

	entries->holders[thread] = (uint16_t)dtc_gpu_search_entries(entries, begin);
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* Bytes [begin, end) of the stream, relative to @origin; empty if there are no more tiles. */
struct dtc_gpu_indexed_tile {
	const struct dtc_gpu_indexed_params *p;
	struct dtc_gpu_entries entries;
	struct dtc_gpu_start start;
	uint64_t offset; /* in the table */
	uint64_t origin;
	uint64_t begin;
	uint64_t end;
	uint64_t address; /* of displacement 0; not used if the whole table is kept */
};

DTC_GPU_FN void dtc_gpu_cut_tile(const struct dtc_gpu_nest *nest, uint64_t bytes,
				 struct dtc_gpu_indexed_tile *tile)
{
	uint64_t end = tile->origin + bytes;

	tile->begin = tile->origin > nest->begin ? tile->origin : nest->begin;
	tile->end = end < nest->end ? end : nest->end;
}

/* Which tile a thread belongs to. */
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
 * The rest of the runs that hold @count bytes (a constant), which are @ahead of the tile's
 * origin and begin words. If @whole (the whole table is kept) is a constant too, only one of
 * the two ways takes registers.
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

		/* A word lies in one entry; a piece may continue in others. */
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
