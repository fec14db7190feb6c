/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periods of bytes whose sides share no alignment. A block copies a tile of whole periods into
 * shared memory in 16-byte words, then assembles aligned 4-byte words of the target from it by
 * byte permutations. A map in shared memory, one entry for each target word of a super-period,
 * names the staged words and the selectors.
 *
 * User displacements are compressed: multiples of 16 bytes are taken out of long gaps, so that
 * gaps are not staged and all bytes keep their alignment. Source and target are the compressed
 * user side and the packed side, whichever way round.
 */
#ifndef DTC_KERNELS_GPU_STAGED_CU_H
#define DTC_KERNELS_GPU_STAGED_CU_H

/* ---- tiles -------------------------------------------------------------------------------- */

/* The address of a period in loops round the row. */
DTC_GPU_CALLED uint64_t dtc_gpu_find_period(const struct dtc_gpu_nest *nest, uint64_t period)
{
	struct dtc_gpu_start start;

	dtc_gpu_split(nest, period * nest->block, DTC_GPU_PLAIN, &start);
	return dtc_gpu_locate(nest, &start, 0, DTC_GPU_PLAIN).address;
}

/* The address of period number @period. */
DTC_GPU_FN uint64_t dtc_gpu_period_address(const struct dtc_gpu_nest *nest, uint64_t period)
{
	if (nest->dim_count == 2)
		return nest->user + period * (uint64_t)nest->dims[1].stride;
	return dtc_gpu_find_period(nest, period);
}

DTC_GPU_FN struct dtc_gpu_staged_tile
dtc_gpu_staged_tile_at(const struct dtc_gpu_staged_params *p, uint32_t block)
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

/* The last run that begins at byte @at of a target period or before. */
DTC_GPU_FN const struct dtc_gpu_staged_run *
dtc_gpu_staged_run_at(const struct dtc_gpu_staged_params *p, uint32_t at)
{
	uint32_t low = 0;
	uint32_t n = p->run_count;

	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		low += p->runs[low + half].target <= at ? half : 0;
		n -= half;
	}
	return &p->runs[low];
}

/* What of the user's period is left out before the byte at compressed displacement @at. */
DTC_GPU_FN uint32_t dtc_gpu_staged_skipped(const struct dtc_gpu_staged_params *p, uint32_t at)
{
	uint32_t low = 0;
	uint32_t n = p->segment_count;

	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		low += p->segments[low + half].begin <= at ? half : 0;
		n -= half;
	}
	return p->segments[low].skipped;
}

/* ---- the periods that the stretch cuts ---------------------------------------------------- */

/* Threads move a byte of the target each; @period is the number of a period. */
DTC_GPU_FN void dtc_gpu_staged_move_cut(const struct dtc_gpu_staged_params *p, uint64_t period,
					uint32_t thread, int direction)
{
	uint32_t bytes = direction == DTC_GPU_PACK ? (uint32_t)p->nest.block : p->extent;
	uint64_t first = period * p->nest.block;
	uint64_t user = dtc_gpu_period_address(&p->nest, period);

	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < bytes; i += DTC_GPU_BLOCK) {
		const struct dtc_gpu_staged_run *run = dtc_gpu_staged_run_at(p, i);
		uint32_t source = run->source + (i - run->target);
		uint32_t disp = direction == DTC_GPU_PACK ? source : i;
		uint64_t position = first + (direction == DTC_GPU_PACK ? i : source);

		if (i - run->target < run->bytes && position >= p->nest.begin &&
		    position < p->nest.end)
			dtc_gpu_move_byte(user + disp + dtc_gpu_staged_skipped(p, disp),
					  p->nest.packed + position, direction);
	}
}

/* The first block moves what is before the first whole period, the last block what is behind the last. */
DTC_GPU_FN void dtc_gpu_staged_move_ends(const struct dtc_gpu_staged_params *p,
					 struct dtc_gpu_at at, int direction)
{
	uint64_t first = p->first_period * p->nest.block;
	uint64_t end = p->end_period * p->nest.block;

	if (at.block == 0 && first > p->nest.begin)
		dtc_gpu_staged_move_cut(p, p->first_period - 1, at.thread, direction);
	if (at.block == at.blocks - 1 && end < p->nest.end)
		dtc_gpu_staged_move_cut(p, p->end_period, at.thread, direction);
}

/* ---- staging ------------------------------------------------------------------------------ */

/* Shared memory: the tile, the map's parts, the staged bytes. */
DTC_GPU_FN struct dtc_gpu_staged_word *dtc_gpu_staged_words(void *shared)
{
	return (struct dtc_gpu_staged_word *)((struct dtc_gpu_staged_tile *)shared + 1);
}

DTC_GPU_FN struct dtc_gpu_staged_word *
dtc_gpu_staged_more(const struct dtc_gpu_staged_params *p, void *shared)
{
	return dtc_gpu_staged_words(shared) + p->map_words;
}

DTC_GPU_FN uint32_t *dtc_gpu_staged_places(const struct dtc_gpu_staged_params *p, void *shared)
{
	return (uint32_t *)(dtc_gpu_staged_words(shared) + 2 * p->map_words);
}

DTC_GPU_FN uint8_t *dtc_gpu_staged_bytes(const struct dtc_gpu_staged_params *p, void *shared)
{
	return (uint8_t *)shared + p->staged_offset;
}

/* Consecutive 16-byte words of memory that hold bytes [address, address + bytes). */
DTC_GPU_FN void dtc_gpu_stage_run(uint8_t *to, uint64_t address, uint32_t bytes, uint32_t thread)
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
		uint32_t low = 0;

		last -= period * p->extent;
		DTC_GPU_NO_UNROLL
		for (uint32_t n = p->segment_count; n > 1;) {
			uint32_t half = n / 2;

			low += p->segments[low + half].begin <= last ? half : 0;
			n -= half;
		}
		if (last < p->segments[low].end + 15)
			dtc_gpu_copy_in(to + i,
					tile->user + period * stride + last +
						p->segments[low].skipped - 15,
					16);
	}
}

DTC_GPU_FN void dtc_gpu_stage(const struct dtc_gpu_staged_params *p,
			      const struct dtc_gpu_staged_tile *tile, uint8_t *to,
			      uint32_t thread, int direction)
{
	uint32_t between = tile->periods - 1;

	if (direction == DTC_GPU_UNPACK)
		dtc_gpu_stage_run(to, tile->packed, tile->periods * (uint32_t)p->nest.block,
				  thread);
	else if (p->dense)
		dtc_gpu_stage_run(to, tile->user, between * p->extent + p->span, thread);
	else
		dtc_gpu_stage_periods(p, tile, to, thread);
}

/* ---- the map ------------------------------------------------------------------------------ */

/* Both sides of a super-period: bytes of one period and of all, addresses modulo a word. */
struct dtc_gpu_staged_sides {
	uint32_t target_period, source_period;
	uint32_t target_bytes, source_bytes;
	uint32_t target_skew; /* of 4 bytes */
	uint32_t source_skew; /* of 16 */
};

DTC_GPU_FN struct dtc_gpu_staged_sides
dtc_gpu_staged_sides_of(const struct dtc_gpu_staged_params *p,
			const struct dtc_gpu_staged_tile *tile, int direction)
{
	struct dtc_gpu_staged_sides sides;
	uint32_t block = (uint32_t)p->nest.block;

	sides.target_period = direction == DTC_GPU_PACK ? block : p->extent;
	sides.source_period = direction == DTC_GPU_PACK ? p->extent : block;
	sides.target_bytes = sides.target_period * p->repeats;
	sides.source_bytes = sides.source_period * p->repeats;
	sides.target_skew = (uint32_t)(direction == DTC_GPU_PACK ? tile->packed : tile->user) & 3;
	sides.source_skew = (uint32_t)(direction == DTC_GPU_PACK ? tile->user : tile->packed) & 15;
	return sides;
}

#define DTC_GPU_STAGED_NONE 0xffffffffu

/*
 * Where byte @at of the target's super-period is in the source, DTC_GPU_STAGED_NONE if in a gap. Sources are counted
 * from the super-period before, to which a word at the beginning may belong in part.
 */
DTC_GPU_FN uint32_t dtc_gpu_staged_source(const struct dtc_gpu_staged_params *p,
					  const struct dtc_gpu_staged_sides *sides, int32_t at)
{
	uint32_t source = at < 0 ? 0 : sides->source_bytes;
	uint32_t target = at < 0 ? (uint32_t)at + sides->target_bytes : (uint32_t)at;

	DTC_GPU_NO_UNROLL
	while (target >= sides->target_period) {
		target -= sides->target_period;
		source += sides->source_period;
	}
	const struct dtc_gpu_staged_run *run = dtc_gpu_staged_run_at(p, target);
	uint32_t inside = target - run->target;

	return inside < run->bytes ? source + run->source + inside : DTC_GPU_STAGED_NONE;
}

/* A target word while it is put together: up to four staged words that have its bytes. */
struct dtc_gpu_staged_making {
	uint32_t words[4];
	uint32_t selectors[4]; /* the first is of no use */
	uint32_t count;
	uint32_t mask;
};

/* Byte @index of the target word is at @source of the staged bytes. */
DTC_GPU_FN void dtc_gpu_staged_add(struct dtc_gpu_staged_making *making, uint32_t index,
				   uint32_t source)
{
	uint32_t word = source / 4, place = making->count;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < 4; k++)
		place = k < making->count && making->words[k] == word ? k : place;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < 4; k++)
		making->words[k] = place == k ? word : making->words[k];
	making->count += place == making->count;
	making->mask |= 1u << index;
	/* The first two words are permuted together, each other one with what there is. */
	uint32_t digit = (place ? 4 : 0) + source % 4;
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < 4; k++)
		if (place == k || (k == 1 && place == 0))
			making->selectors[k] = (making->selectors[k] & ~(0xfu << 4 * index)) |
					       digit << 4 * index;
}

DTC_GPU_FN struct dtc_gpu_staged_making
dtc_gpu_staged_make(const struct dtc_gpu_staged_params *p,
		    const struct dtc_gpu_staged_sides *sides, uint32_t number)
{
	struct dtc_gpu_staged_making making = { { 0, 0, 0, 0 },
						{ 0, 0x3210, 0x3210, 0x3210 },
						0,
						0 };
	int32_t first = (int32_t)(4 * number) - (int32_t)sides->target_skew;

	DTC_GPU_NO_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t source = dtc_gpu_staged_source(p, sides, first + (int32_t)i);

		if (source != DTC_GPU_STAGED_NONE)
			dtc_gpu_staged_add(&making, i, source + sides->source_skew);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < 4; k++)
		making.words[k] = making.count > k ? making.words[k] : making.words[0];
	return making;
}

/*
 * Where a target word of the user's side is, from the word that holds the tile's first byte; its bytes are of one
 * segment, and so each of them tells.
 */
DTC_GPU_FN uint32_t dtc_gpu_staged_place(const struct dtc_gpu_staged_params *p,
					 const struct dtc_gpu_staged_sides *sides, uint32_t number,
					 uint32_t mask)
{
	uint32_t stride = (uint32_t)p->nest.dims[1].stride;
	uint32_t at = 4 * number, place = 0;

	DTC_GPU_NO_UNROLL
	while (mask && !(mask & 1)) {
		mask >>= 1;
		at++;
	}
	if (at < sides->target_skew)
		return 0;
	place = 4 * number - at + sides->target_skew;
	at -= sides->target_skew;
	DTC_GPU_NO_UNROLL
	while (at >= sides->target_period) {
		at -= sides->target_period;
		place += stride;
	}
	return place + at + dtc_gpu_staged_skipped(p, at);
}

DTC_GPU_FN void dtc_gpu_staged_map(const struct dtc_gpu_staged_params *p,
				   const struct dtc_gpu_staged_sides *sides, void *shared,
				   uint32_t thread, int direction)
{
	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < p->map_words; i += DTC_GPU_BLOCK) {
		struct dtc_gpu_staged_making making = dtc_gpu_staged_make(p, sides, i);
		struct dtc_gpu_staged_word *word = &dtc_gpu_staged_words(shared)[i];
		struct dtc_gpu_staged_word *more = &dtc_gpu_staged_more(p, shared)[i];

		word->words = making.words[0] | making.words[1] << 16;
		word->selectors = making.selectors[1] | making.mask << 16 |
				  (making.count > 2 ? DTC_GPU_STAGED_MORE : 0);
		more->words = making.words[2] | making.words[3] << 16;
		more->selectors = making.selectors[2] | making.selectors[3] << 16;
		if (direction == DTC_GPU_UNPACK)
			dtc_gpu_staged_places(p, shared)[i] =
				dtc_gpu_staged_place(p, sides, i, making.mask);
	}
}

/* ---- sectors that will be stored in part -------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_staged_expect(const struct dtc_gpu_staged_params *p,
				      const struct dtc_gpu_staged_tile *tile, uint32_t thread)
{
	uint32_t bytes = (tile->periods - 1) * p->extent + p->span;
	uint32_t skew = (uint32_t)tile->user & (DTC_GPU_SECTOR - 1);

	/* Short runs: all sectors. */
	if (p->asks == DTC_GPU_STAGED_SECTORS) {
		DTC_GPU_NO_UNROLL
		for (uint32_t i = thread * DTC_GPU_SECTOR; i < skew + bytes;
		     i += DTC_GPU_BLOCK * DTC_GPU_SECTOR)
			dtc_gpu_ask_for(tile->user + (i > skew ? i - skew : 0));
		return;
	}
	DTC_GPU_NO_UNROLL
	for (uint32_t i = thread; i < tile->periods * p->run_count; i += DTC_GPU_BLOCK) {
		uint32_t period = i / p->run_count;
		const struct dtc_gpu_staged_run *run = &p->runs[i - period * p->run_count];
		uint64_t low = tile->user + period * (uint64_t)p->nest.dims[1].stride +
			       run->target + dtc_gpu_staged_skipped(p, run->target);

		dtc_gpu_expect(low, low, low + run->bytes);
		dtc_gpu_expect(low + run->bytes - 1, low, low + run->bytes);
	}
}

/* ---- phases ------------------------------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_staged_load(const struct dtc_gpu_staged_params *p, void *shared,
				    struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_staged_tile tile = dtc_gpu_staged_tile_at(p, at.block);

	if (at.thread == 0)
		*(struct dtc_gpu_staged_tile *)shared = tile;
	if (tile.periods) {
		struct dtc_gpu_staged_sides sides = dtc_gpu_staged_sides_of(p, &tile, direction);

		dtc_gpu_stage(p, &tile, dtc_gpu_staged_bytes(p, shared), at.thread, direction);
		if (direction == DTC_GPU_UNPACK && p->asks)
			dtc_gpu_staged_expect(p, &tile, at.thread);
		dtc_gpu_staged_map(p, &sides, shared, at.thread, direction);
	}
	dtc_gpu_staged_move_ends(p, at, direction);
	dtc_gpu_await_copies();
}

/* The target word of an entry, whose super-period's bytes are staged from word @base on. */
DTC_GPU_FN uint32_t dtc_gpu_staged_value(const uint32_t *staged, struct dtc_gpu_staged_word word,
					 const struct dtc_gpu_staged_word *more, uint32_t base)
{
	uint32_t value = dtc_gpu_permute(staged[base + (word.words & 0xffff)],
					 staged[base + (word.words >> 16)],
					 word.selectors & 0xffff);

	if (word.selectors & DTC_GPU_STAGED_MORE) {
		word = *more;
		value = dtc_gpu_permute(value, staged[base + (word.words & 0xffff)],
					word.selectors & 0xffff);
		value = dtc_gpu_permute(value, staged[base + (word.words >> 16)],
					word.selectors >> 16);
	}
	return value;
}

/* The same for a word that is not all the tile's, byte by byte: those of @clip. */
DTC_GPU_FN uint32_t dtc_gpu_staged_value_of(const struct dtc_gpu_staged_params *p,
					    const struct dtc_gpu_staged_sides *sides,
					    const uint8_t *staged, uint32_t number, uint32_t base,
					    uint32_t clip)
{
	uint32_t value = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		int32_t at = (int32_t)(4 * number + i) - (int32_t)sides->target_skew;

		if (clip >> i & 1)
			value |= (uint32_t)staged[base * 4 + sides->source_skew +
						  dtc_gpu_staged_source(p, sides, at)]
				 << 8 * i;
	}
	return value;
}

/* Of an aligned word the bytes of @mask. */
DTC_GPU_FN void dtc_gpu_store_masked(uint64_t address, uint32_t value, uint32_t mask)
{
	if (mask == 0xf) {
		dtc_gpu_store4(address, value);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i += 2) {
		uint32_t two = value >> 8 * i;

		if ((mask >> i & 3) == 3)
			dtc_gpu_store2(address + i, two & 0xffff);
		else if (mask >> i & 1)
			dtc_gpu_store1(address + i, two & 0xff);
		else if (mask >> i & 2)
			dtc_gpu_store1(address + i + 1, two >> 8 & 0xff);
	}
}

/* Which bytes of the target word that begins at @at are in [0, limit). */
DTC_GPU_FN uint32_t dtc_gpu_staged_clip(int32_t at, int32_t limit)
{
	uint32_t clip = at < 0 ? 0xfu << -at & 0xf : 0xf;

	return at + 4 > limit ? clip & (at < limit ? 0xfu >> (at + 4 - limit) : 0) : clip;
}

/* Where a thread is among the target words of its tile, DTC_GPU_BLOCK apart. */
struct dtc_gpu_staged_cursor {
	uint32_t word;
	uint32_t repeat; /* super-period */
	uint32_t number; /* in it */
};

/* Warps begin at lines of the target, whose first word is at @target. */
DTC_GPU_FN struct dtc_gpu_staged_cursor
dtc_gpu_staged_begin(const struct dtc_gpu_staged_params *p, uint64_t target, uint32_t thread)
{
	uint32_t lead = (uint32_t)(target >> 2) & (DTC_GPU_LANES - 1);
	uint32_t word = thread >= lead ? thread - lead : thread - lead + DTC_GPU_BLOCK;
	uint32_t repeat = word / p->map_words;
	struct dtc_gpu_staged_cursor cursor = { word, repeat, word - repeat * p->map_words };

	return cursor;
}

DTC_GPU_FN void dtc_gpu_staged_store(const struct dtc_gpu_staged_params *p, void *shared,
				     struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_staged_tile tile = *(const struct dtc_gpu_staged_tile *)shared;
	const void *staged = dtc_gpu_staged_bytes(p, shared);

	if (!tile.periods)
		return;
	struct dtc_gpu_staged_sides sides = dtc_gpu_staged_sides_of(p, &tile, direction);
	uint64_t target =
		(direction == DTC_GPU_PACK ? tile.packed : tile.user) - sides.target_skew;
	uint64_t stride = (uint64_t)p->nest.dims[1].stride * p->repeats;
	int32_t limit = (int32_t)(tile.periods * sides.target_period);
	uint32_t repeats = DTC_GPU_BLOCK / p->map_words;
	uint32_t numbers = DTC_GPU_BLOCK - repeats * p->map_words;
	struct dtc_gpu_staged_cursor to = dtc_gpu_staged_begin(p, target, at.thread);

	DTC_GPU_NO_UNROLL
	for (;; to.word += DTC_GPU_BLOCK, to.repeat += repeats, to.number += numbers) {
		if (to.number >= p->map_words) {
			to.number -= p->map_words;
			to.repeat++;
		}
		int32_t from = (int32_t)(to.word * 4) - (int32_t)sides.target_skew;
		if (from >= limit)
			break;
		struct dtc_gpu_staged_word word = dtc_gpu_staged_words(shared)[to.number];
		uint32_t mask = word.selectors >> 16 & 0xf;
		uint32_t clip = mask;
		/* The map counts from the super-period before. */
		uint32_t base = (to.repeat - 1) * (sides.source_bytes / 4);
		uint64_t address = target + to.word * 4;
		uint32_t value;

		if (from < 0 || from + 4 > limit)
			clip &= dtc_gpu_staged_clip(from, limit);
		if (direction == DTC_GPU_UNPACK && !clip)
			continue;
		if (clip == mask)
			value = dtc_gpu_staged_value(
				(const uint32_t *)staged, word,
				&dtc_gpu_staged_more(p, shared)[to.number], base);
		else
			value = dtc_gpu_staged_value_of(p, &sides, (const uint8_t *)staged,
							to.number, base, clip);
		if (direction == DTC_GPU_UNPACK)
			address = target + to.repeat * stride +
				  dtc_gpu_staged_places(p, shared)[to.number];
		dtc_gpu_store_masked(address, value, clip);
	}
}

#define DTC_GPU_STAGED(name, phase, direction)                                            \
	DTC_GPU_FN void name(const struct dtc_gpu_staged_params *p, void *shared,         \
			     struct dtc_gpu_at at)                                        \
	{                                                                                 \
		phase(p, shared, at, direction);                                          \
	}

DTC_GPU_STAGED(dtc_gpu_staged_pack_load, dtc_gpu_staged_load, DTC_GPU_PACK)
DTC_GPU_STAGED(dtc_gpu_staged_pack_store, dtc_gpu_staged_store, DTC_GPU_PACK)
DTC_GPU_STAGED(dtc_gpu_staged_unpack_load, dtc_gpu_staged_load, DTC_GPU_UNPACK)
DTC_GPU_STAGED(dtc_gpu_staged_unpack_store, dtc_gpu_staged_store, DTC_GPU_UNPACK)

#endif
