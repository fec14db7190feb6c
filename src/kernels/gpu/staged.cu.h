/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long streams of short runs whose sides share no alignment. A block copies a tile of whole periods
 * into shared memory in 16-byte words. Packing, its threads then assemble aligned 4-byte words by
 * byte permutations. A map in shared memory, one entry for each word of a super-period, names the
 * staged words and the selectors. Unpacking, threads store single bytes: a warp's neighbours meet in
 * one sector, which costs less than its words and parts of words one after the other.
 *
 * User displacements are compressed: multiples of 16 bytes are taken out of long gaps, so that
 * gaps are not staged and all bytes keep their alignment.
 */
#ifndef DTC_KERNELS_GPU_STAGED_CU_H
#define DTC_KERNELS_GPU_STAGED_CU_H

/* ---- tiles -------------------------------------------------------------------------------- */

/* The address of a period in loops round the row. */
DTC_GPU_CALLED uint64_t dtc_gpu_find_period(const struct dtc_gpu_nest *nest,
					    uint64_t period)
{
	struct dtc_gpu_start start;

	dtc_gpu_split(nest, period * nest->block, DTC_GPU_PLAIN, &start);
	return dtc_gpu_locate(nest, &start, 0, DTC_GPU_PLAIN).address;
}

/* The address of period number @period. */
DTC_GPU_FN uint64_t dtc_gpu_period_address(const struct dtc_gpu_nest *nest,
					   uint64_t period)
{
	if (nest->dim_count == 2)
		return nest->user + period * (uint64_t)nest->dims[1].stride;
	return dtc_gpu_find_period(nest, period);
}

DTC_GPU_FN struct dtc_gpu_staged_tile dtc_gpu_staged_tile_at(
	const struct dtc_gpu_staged_params *p, uint32_t block)
{
	uint64_t number = p->first_tile + block;
	uint64_t row = p->tiles ? dtc_gpu_quotient(number, p->tiles) : 0;
	uint64_t begin = (number - row * p->tiles) * p->tile_periods;
	uint64_t end = begin + p->tile_periods;
	struct dtc_gpu_staged_tile tile = { 0, 0, 0, { 0, 0, 0 } };

	if (p->tiles && end > p->nest.dims[1].count)
		end = p->nest.dims[1].count;
	begin += row * p->nest.dims[1].count;
	end += row * p->nest.dims[1].count;
	begin = begin > p->first_period ? begin : p->first_period;
	end = end < p->end_period ? end : p->end_period;
	if (begin >= end)
		return tile;
	tile.periods = (uint32_t)(end - begin);
	tile.packed = p->nest.packed + begin * p->nest.block;
	tile.user = dtc_gpu_period_address(&p->nest, begin);
	return tile;
}

/* ---- places ------------------------------------------------------------------------------- */

/* Of @n entries of so many words each, in the order of their first words: the last one that begins at @at or before. */
DTC_GPU_FN uint32_t dtc_gpu_staged_entry_at(const uint32_t *entries, uint32_t words,
					    uint32_t n, uint32_t at)
{
	uint32_t low = 0;

	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		low += entries[(low + half) * words] <= at ? half : 0;
		n -= half;
	}
	return low;
}

/* The last run that begins at packed byte @at of a period or before. */
DTC_GPU_FN const struct dtc_gpu_staged_run *dtc_gpu_staged_run_at(
	const struct dtc_gpu_staged_params *p, uint32_t at)
{
	return &p->runs[dtc_gpu_staged_entry_at(
		(const uint32_t *)p->runs, sizeof(p->runs[0]) / 4, p->run_count, at)];
}

/* The segment that begins at compressed displacement @at or before. */
DTC_GPU_FN const struct dtc_gpu_staged_segment *dtc_gpu_staged_segment_at(
	const struct dtc_gpu_staged_params *p, uint32_t at)
{
	return &p->segments[dtc_gpu_staged_entry_at((const uint32_t *)p->segments,
						    sizeof(p->segments[0]) / 4,
						    p->segment_count, at)];
}

/* The compressed displacement of packed byte @at of a period, and the user's. */
DTC_GPU_FN uint32_t dtc_gpu_staged_compressed(const struct dtc_gpu_staged_params *p,
					      uint32_t at)
{
	const struct dtc_gpu_staged_run *run = dtc_gpu_staged_run_at(p, at);

	return run->disp + (at - run->packed);
}

DTC_GPU_FN uint32_t dtc_gpu_staged_disp(const struct dtc_gpu_staged_params *p,
					uint32_t at)
{
	uint32_t compressed = dtc_gpu_staged_compressed(p, at);

	return compressed + dtc_gpu_staged_segment_at(p, compressed)->skipped;
}

/* ---- the periods that the stretch cuts ---------------------------------------------------- */

/* What the stretch has of a period, a byte for each thread. */
DTC_GPU_FN void dtc_gpu_staged_move_cut(const struct dtc_gpu_staged_params *p,
					uint64_t period, uint32_t thread, int direction)
{
	uint64_t first = period * p->nest.block;
	uint64_t user = dtc_gpu_period_address(&p->nest, period);

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < p->nest.block; i += DTC_GPU_BLOCK)
		if (first + i >= p->nest.begin && first + i < p->nest.end)
			dtc_gpu_move_byte(user + dtc_gpu_staged_disp(p, i),
					  p->nest.packed + first + i, direction);
}

/* The first block moves what is before the first whole period, the last block what is behind the last. */
DTC_GPU_FN void dtc_gpu_staged_move_ends(const struct dtc_gpu_staged_params *p,
					 struct dtc_gpu_at at, int direction)
{
	if (at.block == 0 && p->first_period * p->nest.block > p->nest.begin)
		dtc_gpu_staged_move_cut(p, p->first_period - 1, at.thread, direction);
	if (at.block == at.blocks - 1 && p->end_period * p->nest.block < p->nest.end)
		dtc_gpu_staged_move_cut(p, p->end_period, at.thread, direction);
}

/* ---- staging ------------------------------------------------------------------------------ */

DTC_GPU_FN uint8_t *dtc_gpu_staged_bytes(const struct dtc_gpu_staged_params *p,
					 void *shared)
{
	return (uint8_t *)shared + p->staged_offset;
}

/* Consecutive 16-byte words of memory that hold bytes [address, address + bytes). */
DTC_GPU_FN void dtc_gpu_stage_run(uint8_t *to, uint64_t address, uint32_t bytes,
				  uint32_t thread)
{
	uint32_t offset = (uint32_t)address & 15;

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread * 16; i < offset + bytes; i += DTC_GPU_BLOCK * 16)
		dtc_gpu_copy_in(to + i, address - offset + i, 16);
}

/* The same for compressed periods: words that hold no byte of a run are not loaded. */
DTC_GPU_FN void dtc_gpu_stage_periods(const struct dtc_gpu_staged_params *p,
				      const struct dtc_gpu_staged_tile *tile, uint8_t *to,
				      uint32_t thread)
{
	uint32_t offset = (uint32_t)tile->user & 15;
	uint32_t bytes = offset + (tile->periods - 1) * p->extent + p->span;
	uint64_t stride = (uint64_t)p->nest.dims[1].stride;

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread * 16; i < bytes; i += DTC_GPU_BLOCK * 16) {
		/* Where the word's last byte is. */
		uint32_t last = i + 15 - offset;
		uint32_t period = dtc_gpu_divide(last, p->extent_magic, p->extent_shift);

		last -= period * p->extent;
		const struct dtc_gpu_staged_segment *segment =
			dtc_gpu_staged_segment_at(p, last);
		if (last < segment->end + 15)
			dtc_gpu_copy_in(to + i,
					tile->user + period * stride + last +
						segment->skipped - 15,
					16);
	}
}

/* Open the block's tile, for all phases. */
DTC_GPU_FN struct dtc_gpu_staged_tile dtc_gpu_staged_open(
	const struct dtc_gpu_staged_params *p, void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_staged_tile tile = dtc_gpu_staged_tile_at(p, at.block);

	if (at.thread == 0)
		*(struct dtc_gpu_staged_tile *)shared = tile;
	return tile;
}

/* What is behind the tile in shared memory. */
DTC_GPU_FN void *dtc_gpu_staged_maps(void *shared)
{
	return (struct dtc_gpu_staged_tile *)shared + 1;
}

/* ---- packing: the map --------------------------------------------------------------------- */

/* Of a super-period: its entries, what more there is of each, and where each packed byte is staged. */
struct dtc_gpu_staged_map {
	struct dtc_gpu_staged_word *words;
	struct dtc_gpu_staged_word *more;
	uint16_t *bytes;
};

DTC_GPU_FN struct dtc_gpu_staged_map dtc_gpu_staged_map_in(
	const struct dtc_gpu_staged_params *p, void *shared)
{
	struct dtc_gpu_staged_word *words =
		(struct dtc_gpu_staged_word *)dtc_gpu_staged_maps(shared);
	struct dtc_gpu_staged_map map = { words, words + p->map_words,
					  (uint16_t *)(words + 2 * p->map_words) };

	return map;
}

DTC_GPU_FN void dtc_gpu_staged_list_bytes(const struct dtc_gpu_staged_params *p,
					  void *shared, uint32_t thread)
{
	struct dtc_gpu_staged_map map = dtc_gpu_staged_map_in(p, shared);
	uint32_t block = (uint32_t)p->nest.block;

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < 4 * p->map_words; i += DTC_GPU_BLOCK) {
		uint32_t at = i, before = 0;

		DTC_GPU_NO_UNROLL
		while (at >= block) {
			at -= block;
			before += p->extent;
		}
		map.bytes[i] = (uint16_t)(before + dtc_gpu_staged_compressed(p, at));
	}
}

/* A word while it is put together: up to four staged words that have its bytes. */
struct dtc_gpu_staged_making {
	uint32_t words[4];
	uint32_t selectors[4]; /* the first is of no use */
	uint32_t count;
};

/* Byte @index of the word is at @source of the staged bytes. */
DTC_GPU_FN void dtc_gpu_staged_add(struct dtc_gpu_staged_making *making, uint32_t index,
				   uint32_t source)
{
	uint32_t word = source & ~3u, place = making->count;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < 4; k++)
		place = k < making->count && making->words[k] == word ? k : place;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < 4; k++)
		making->words[k] = place == k ? word : making->words[k];
	making->count += place == making->count;
	/* The first two words are permuted together, each other one with what there is. */
	uint32_t digit = (place ? 4 : 0) + source % 4;
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < 4; k++)
		if (place == k || (k == 1 && place == 0))
			making->selectors[k] =
				(making->selectors[k] & ~(0xfu << 4 * index)) |
				digit << 4 * index;
}

/*
 * Entry @number. Bytes are counted from the super-period before, of which the first word may hold some if the packed
 * side is not aligned.
 */
DTC_GPU_FN struct dtc_gpu_staged_making dtc_gpu_staged_make(
	const struct dtc_gpu_staged_params *p, const struct dtc_gpu_staged_tile *tile,
	const struct dtc_gpu_staged_map *map, uint32_t number)
{
	struct dtc_gpu_staged_making making = { { 0, 0, 0, 0 },
						{ 0, 0x3210, 0x3210, 0x3210 },
						0 };
	int32_t first = (int32_t)(4 * number) - (int32_t)(tile->packed & 3);

	DTC_GPU_UNROLL
	for (int32_t i = 0; i < 4; i++) {
		uint32_t source = (uint32_t)tile->user & 15;

		if (first + i < 0)
			source += map->bytes[4 * p->map_words - (uint32_t)(-first - i)];
		else
			source += map->bytes[first + i] + p->repeats * p->extent;
		dtc_gpu_staged_add(&making, (uint32_t)i, source);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < 4; k++)
		making.words[k] = making.count > k ? making.words[k] : making.words[0];
	return making;
}

DTC_GPU_FN void dtc_gpu_staged_list_words(const struct dtc_gpu_staged_params *p,
					  const struct dtc_gpu_staged_tile *tile,
					  void *shared, uint32_t thread)
{
	struct dtc_gpu_staged_map map = dtc_gpu_staged_map_in(p, shared);

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < p->map_words; i += DTC_GPU_BLOCK) {
		struct dtc_gpu_staged_making making =
			dtc_gpu_staged_make(p, tile, &map, i);

		map.words[i].words = making.words[0] | making.words[1] << 16;
		map.words[i].selectors = making.selectors[1] |
					 (making.count > 2 ? DTC_GPU_STAGED_MORE : 0);
		map.more[i].words = making.words[2] | making.words[3] << 16;
		map.more[i].selectors = making.selectors[2] | making.selectors[3] << 16;
	}
}

/* ---- packing: words ----------------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_staged_load4(const uint8_t *staged, uint32_t at)
{
	const void *word = staged + at;

	return *(const uint32_t *)word;
}

/* The packed word of entry @number, whose super-period's bytes are staged from @base on. */
DTC_GPU_FN uint32_t dtc_gpu_staged_value(const uint8_t *staged,
					 const struct dtc_gpu_staged_map *map,
					 uint32_t number, uint32_t base)
{
	struct dtc_gpu_staged_word word = map->words[number];
	uint32_t value = dtc_gpu_permute(
		dtc_gpu_staged_load4(staged, base + (word.words & 0xffff)),
		dtc_gpu_staged_load4(staged, base + (word.words >> 16)), word.selectors);

	if (word.selectors & DTC_GPU_STAGED_MORE) {
		word = map->more[number];
		value = dtc_gpu_permute(
			value, dtc_gpu_staged_load4(staged, base + (word.words & 0xffff)),
			word.selectors);
		value = dtc_gpu_permute(
			value, dtc_gpu_staged_load4(staged, base + (word.words >> 16)),
			word.selectors >> 16);
	}
	return value;
}

/* The bytes at both ends of a tile that fill no word: threads below 8 have one each. */
DTC_GPU_FN void dtc_gpu_staged_store_rim(const struct dtc_gpu_staged_params *p,
					 const struct dtc_gpu_staged_tile *tile,
					 void *shared, uint32_t thread)
{
	struct dtc_gpu_staged_map map = dtc_gpu_staged_map_in(p, shared);
	uint32_t bytes = tile->periods * (uint32_t)p->nest.block;
	uint32_t head = (uint32_t)(0 - tile->packed) & 3;
	uint32_t tail = ((uint32_t)tile->packed + bytes) & 3;
	uint32_t at = thread < 4 ? thread : bytes - 1 - (thread - 4);

	if (thread >= 8 || at >= bytes ||
	    (thread < 4 ? thread >= head : thread - 4 >= tail))
		return;
	uint32_t repeat = at / (4 * p->map_words);
	uint32_t source = ((uint32_t)tile->user & 15) +
			  repeat * (p->repeats * p->extent) +
			  map.bytes[at - repeat * (4 * p->map_words)];
	dtc_gpu_store1(tile->packed + at, dtc_gpu_staged_bytes(p, shared)[source]);
}

/* Whole words of a tile, DTC_GPU_BLOCK apart; warps begin at lines of the packed side. */
DTC_GPU_FN void dtc_gpu_staged_store_words(const struct dtc_gpu_staged_params *p,
					   const struct dtc_gpu_staged_tile *tile,
					   void *shared, uint32_t thread)
{
	struct dtc_gpu_staged_map map = dtc_gpu_staged_map_in(p, shared);
	const uint8_t *staged = dtc_gpu_staged_bytes(p, shared);
	uint32_t skew = (uint32_t)tile->packed & 3;
	uint64_t first = tile->packed - skew;
	uint32_t end = (skew + tile->periods * (uint32_t)p->nest.block) / 4;
	uint32_t lead = (uint32_t)(first >> 2) & (DTC_GPU_LANES - 1);
	uint32_t word = thread >= lead ? thread - lead : thread - lead + DTC_GPU_BLOCK;
	uint32_t repeat = word / p->map_words;
	uint32_t number = word - repeat * p->map_words;
	uint32_t repeats = DTC_GPU_BLOCK / p->map_words;
	uint32_t numbers = DTC_GPU_BLOCK - repeats * p->map_words;
	uint32_t stride = p->repeats * p->extent;

	/* The first word is no whole one if the tile begins in it. */
	DTC_GPU_NO_UNROLL
	for (; word < end; word += DTC_GPU_BLOCK) {
		/* The map counts from the super-period before. */
		if (word || !skew)
			dtc_gpu_store4(first + word * 4,
				       dtc_gpu_staged_value(staged, &map, number,
							    (repeat - 1) * stride));
		repeat += repeats;
		number += numbers;
		if (number >= p->map_words) {
			number -= p->map_words;
			repeat++;
		}
	}
}

/* ---- unpacking: bytes --------------------------------------------------------------------- */

/* Where each byte of a packed period goes. */
DTC_GPU_FN void dtc_gpu_staged_list_disps(const struct dtc_gpu_staged_params *p,
					  void *shared, uint32_t thread)
{
	uint32_t *disps = (uint32_t *)dtc_gpu_staged_maps(shared);

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < p->nest.block; i += DTC_GPU_BLOCK)
		disps[i] = dtc_gpu_staged_disp(p, i);
}

/* Sectors that will be stored in part: all of the tile's. */
DTC_GPU_FN void dtc_gpu_staged_expect(const struct dtc_gpu_staged_params *p,
				      const struct dtc_gpu_staged_tile *tile,
				      uint32_t thread)
{
	uint32_t bytes = (tile->periods - 1) * p->extent + p->span;
	uint32_t skew = (uint32_t)tile->user & (DTC_GPU_SECTOR - 1);

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread * DTC_GPU_SECTOR; i < skew + bytes;
	     i += DTC_GPU_BLOCK * DTC_GPU_SECTOR)
		dtc_gpu_ask_for(tile->user + (i > skew ? i - skew : 0));
}

DTC_GPU_FN void dtc_gpu_staged_store_bytes(const struct dtc_gpu_staged_params *p,
					   const struct dtc_gpu_staged_tile *tile,
					   void *shared, uint32_t thread)
{
	const uint32_t *disps = (const uint32_t *)dtc_gpu_staged_maps(shared);
	const uint8_t *staged = dtc_gpu_staged_bytes(p, shared) + (tile->packed & 15);
	uint32_t block = (uint32_t)p->nest.block;
	uint32_t bytes = tile->periods * block;
	uint32_t period = thread / block, number = thread - period * block;
	uint32_t periods = DTC_GPU_BLOCK / block,
		 numbers = DTC_GPU_BLOCK - periods * block;
	uint64_t stride = (uint64_t)p->nest.dims[1].stride;

	DTC_GPU_UNROLL_BY(4)
	for (uint32_t i = thread; i < bytes; i += DTC_GPU_BLOCK) {
		dtc_gpu_store1(tile->user + period * stride + disps[number], staged[i]);
		period += periods;
		number += numbers;
		if (number >= block) {
			number -= block;
			period++;
		}
	}
}

/* ---- phases ------------------------------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_staged_pack_load(const struct dtc_gpu_staged_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_staged_tile tile = dtc_gpu_staged_open(p, shared, at);
	uint8_t *to = dtc_gpu_staged_bytes(p, shared);

	if (tile.periods && p->dense)
		dtc_gpu_stage_run(to, tile.user, (tile.periods - 1) * p->extent + p->span,
				  at.thread);
	else if (tile.periods)
		dtc_gpu_stage_periods(p, &tile, to, at.thread);
	dtc_gpu_staged_list_bytes(p, shared, at.thread);
}

DTC_GPU_FN void dtc_gpu_staged_pack_map(const struct dtc_gpu_staged_params *p,
					void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_staged_list_words(p, (const struct dtc_gpu_staged_tile *)shared, shared,
				  at.thread);
	dtc_gpu_staged_move_ends(p, at, DTC_GPU_PACK);
	dtc_gpu_await_copies();
}

DTC_GPU_FN void dtc_gpu_staged_pack_store(const struct dtc_gpu_staged_params *p,
					  void *shared, struct dtc_gpu_at at)
{
	const struct dtc_gpu_staged_tile tile =
		*(const struct dtc_gpu_staged_tile *)shared;

	if (!tile.periods)
		return;
	dtc_gpu_staged_store_words(p, &tile, shared, at.thread);
	dtc_gpu_staged_store_rim(p, &tile, shared, at.thread);
}

DTC_GPU_FN void dtc_gpu_staged_unpack_load(const struct dtc_gpu_staged_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_staged_tile tile = dtc_gpu_staged_open(p, shared, at);

	if (tile.periods)
		dtc_gpu_stage_run(dtc_gpu_staged_bytes(p, shared), tile.packed,
				  tile.periods * (uint32_t)p->nest.block, at.thread);
	if (tile.periods && p->asks)
		dtc_gpu_staged_expect(p, &tile, at.thread);
	dtc_gpu_staged_list_disps(p, shared, at.thread);
	dtc_gpu_staged_move_ends(p, at, DTC_GPU_UNPACK);
	dtc_gpu_await_copies();
}

DTC_GPU_FN void dtc_gpu_staged_unpack_store(const struct dtc_gpu_staged_params *p,
					    void *shared, struct dtc_gpu_at at)
{
	const struct dtc_gpu_staged_tile tile =
		*(const struct dtc_gpu_staged_tile *)shared;

	if (tile.periods)
		dtc_gpu_staged_store_bytes(p, &tile, shared, at.thread);
}

#endif
