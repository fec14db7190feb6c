/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sides that are not aligned to each other, and runs of any length. Packing: a thread owns
 * aligned 16-byte pieces of the packed side and gathers them from the runs that they span.
 * Unpacking: it scatters pieces; or, if blocks are equal, it owns aligned words of the user's
 * side, so that stores are whole words where possible.
 */
#ifndef DTC_KERNELS_GPU_PIECES_CU_H
#define DTC_KERNELS_GPU_PIECES_CU_H

/* How to locate the bytes of a stream. */
#define DTC_GPU_BY_NEST   0 /* in a nest of blocks */
#define DTC_GPU_BY_PERIOD 1 /* in a nest of periods */
#define DTC_GPU_BY_ENTRY  2 /* in a table of unlike runs */
#define DTC_GPU_BY_WALK   3

struct dtc_gpu_source {
	int by; /* a constant */
	const struct dtc_gpu_nest *nest;
	struct dtc_gpu_levels levels;
	struct dtc_gpu_start start;
	const uint16_t *ends; /* DTC_GPU_BY_PERIOD: the end of each byte's run */
	const struct dtc_gpu_indexed_tile *indexed; /* DTC_GPU_BY_ENTRY */
	const struct dtc_gpu_walk *walk;            /* DTC_GPU_BY_WALK */
	uint64_t origin; /* the tile's begin: in the stream (walk), or in @indexed */
};

/* Prepare for a tile that begins at @position. */
DTC_GPU_FN void dtc_gpu_begin_source(struct dtc_gpu_source *source, uint64_t position)
{
	source->origin = source->by == DTC_GPU_BY_WALK ? position : 0;
	if (source->by != DTC_GPU_BY_WALK)
		dtc_gpu_split(source->nest, position, source->levels.form, &source->start);
}

/* The rest of the run that holds the byte @place of a nest. */
DTC_GPU_FN struct dtc_gpu_span dtc_gpu_span_at(const struct dtc_gpu_source *source,
					       const struct dtc_gpu_place *place)
{
	struct dtc_gpu_span span = { dtc_gpu_unit_address(&source->levels, place, 1), 0 };

	if (source->by == DTC_GPU_BY_PERIOD)
		span.bytes = source->ends[place->index] - place->index;
	else
		span.bytes = source->nest->block - place->index;
	return span;
}

/*
 * The rest of the runs that hold @count bytes (a constant), which are @ahead of the tile's
 * first.
 */
DTC_GPU_FN void dtc_gpu_find_all(const struct dtc_gpu_source *source, uint32_t count,
				 const uint32_t ahead[], struct dtc_gpu_span span[])
{
	struct dtc_gpu_place place[DTC_GPU_PIECES];
	uint32_t offset[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		offset[k] = (uint32_t)source->origin + ahead[k];
	if (source->by == DTC_GPU_BY_ENTRY) {
		if (source->indexed->p->whole)
			dtc_gpu_indexed_spans(source->indexed, 1, 1, count, offset, span);
		else
			dtc_gpu_indexed_spans(source->indexed, 1, 0, count, offset, span);
		return;
	}
	if (source->by == DTC_GPU_BY_WALK) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			span[k] = dtc_gpu_walk_to(source->walk, source->origin + ahead[k]);
		return;
	}
	dtc_gpu_locate_all(source->nest, &source->start, source->levels.form, count, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		span[k] = dtc_gpu_span_at(source, &place[k]);
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_find(const struct dtc_gpu_source *source, uint32_t ahead)
{
	struct dtc_gpu_span span;

	dtc_gpu_find_all(source, 1, &ahead, &span);
	return span;
}

/* The part of a packed piece that is to be moved. */
struct dtc_gpu_piece {
	uint64_t packed; /* address */
	uint32_t ahead;  /* relative to the tile's begin */
	uint32_t bytes;
};

/* The packed stream of a job. Byte 0 is at @packed; bytes [begin, end) are moved. */
struct dtc_gpu_stretch {
	uint64_t packed;
	uint64_t begin;
	uint64_t end;
};

/* A tile of pieces: the address of the first one, and the bytes to be moved. */
struct dtc_gpu_tile {
	uint64_t address;
	uint64_t position; /* of the first byte to be moved */
	uint32_t skipped;  /* bytes of the first piece before that */
	uint32_t bytes;    /* to be moved, from the position on */
};

DTC_GPU_FN struct dtc_gpu_tile dtc_gpu_tile_at(const struct dtc_gpu_stretch *stretch,
					       uint32_t number)
{
	const uint32_t tile_bytes = DTC_GPU_TILE_PIECES * DTC_GPU_PIECE;
	uint64_t first = stretch->packed + stretch->begin;
	uint32_t skipped = (uint32_t)first & (DTC_GPU_PIECE - 1);
	struct dtc_gpu_tile tile;

	tile.address = first - skipped + (uint64_t)number * tile_bytes;
	tile.skipped = number ? 0 : skipped;
	tile.position = tile.address + tile.skipped - stretch->packed;
	uint64_t left = tile.position < stretch->end ? stretch->end - tile.position : 0;
	tile.bytes = left < tile_bytes - tile.skipped ? (uint32_t)left
						       : tile_bytes - tile.skipped;
	return tile;
}

DTC_GPU_FN struct dtc_gpu_piece dtc_gpu_piece_at(const struct dtc_gpu_tile *tile, uint32_t number)
{
	uint32_t from = number * DTC_GPU_PIECE;
	uint32_t low = from > tile->skipped ? from : tile->skipped;
	uint32_t high = tile->skipped + tile->bytes;
	struct dtc_gpu_piece piece;

	if (high > from + DTC_GPU_PIECE)
		high = from + DTC_GPU_PIECE;
	piece.packed = tile->address + low;
	piece.ahead = low - tile->skipped;
	piece.bytes = high > low ? high - low : 0;
	return piece;
}

DTC_GPU_FN uint32_t dtc_gpu_lesser(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Begin to load the run behind @done bytes of every piece. Complete pieces have none. */
DTC_GPU_FN void dtc_gpu_fetch_runs(const struct dtc_gpu_source *source,
				   const struct dtc_gpu_piece piece[], const uint32_t done[],
				   struct dtc_gpu_fetched fetched[])
{
	struct dtc_gpu_span span[DTC_GPU_PIECES];
	uint32_t ahead[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		ahead[k] = done[k] < piece[k].bytes ? piece[k].ahead + done[k] : 0;
	dtc_gpu_find_all(source, DTC_GPU_PIECES, ahead, span);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_fetch(span[k].address,
			      dtc_gpu_lesser(span[k].bytes, piece[k].bytes - done[k]),
			      &fetched[k]);
}

/* Gather what follows the first @done bytes of a piece, and store it. */
DTC_GPU_FN void dtc_gpu_pack_rest(const struct dtc_gpu_source *source,
				  const struct dtc_gpu_piece *piece,
				  struct dtc_gpu_bytes16 value, uint32_t done)
{
	while (done < piece->bytes) {
		struct dtc_gpu_span span = dtc_gpu_find(source, piece->ahead + done);
		uint32_t bytes = dtc_gpu_lesser(span.bytes, piece->bytes - done);
		struct dtc_gpu_bytes16 more = dtc_gpu_gather(span.address, bytes);

		more = dtc_gpu_shift_up(&more, done);
		dtc_gpu_merge(&value, &more);
		done += bytes;
	}
	dtc_gpu_scatter(piece->packed, value, piece->bytes);
}

DTC_GPU_FN void dtc_gpu_pack_runs(const struct dtc_gpu_source *source,
				  const struct dtc_gpu_piece *piece)
{
	struct dtc_gpu_bytes16 none = { { 0, 0, 0, 0 } };

	dtc_gpu_pack_rest(source, piece, none, 0);
}

/* Most pieces span at most two runs, so load these for all pieces before storing any. */
DTC_GPU_FN void dtc_gpu_pack_pieces(const struct dtc_gpu_source *source,
				    const struct dtc_gpu_piece piece[])
{
	struct dtc_gpu_fetched first[DTC_GPU_PIECES], second[DTC_GPU_PIECES];
	uint32_t done[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		done[k] = 0;
	dtc_gpu_fetch_runs(source, piece, done, first);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		done[k] = first[k].bytes;
	dtc_gpu_fetch_runs(source, piece, done, second);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		struct dtc_gpu_bytes16 value = dtc_gpu_fetched_value(&first[k]);

		if (second[k].bytes) {
			struct dtc_gpu_bytes16 more = dtc_gpu_fetched_value(&second[k]);

			more = dtc_gpu_shift_up(&more, done[k]);
			dtc_gpu_merge(&value, &more);
		}
		dtc_gpu_pack_rest(source, &piece[k], value, done[k] + second[k].bytes);
	}
}

DTC_GPU_FN void dtc_gpu_unpack_piece(const struct dtc_gpu_source *source,
				     const struct dtc_gpu_piece *piece,
				     struct dtc_gpu_bytes16 value)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	for (uint32_t done = 0; done < piece->bytes;) {
		struct dtc_gpu_span span = dtc_gpu_find(source, piece->ahead + done);
		uint32_t bytes = dtc_gpu_lesser(span.bytes, piece->bytes - done);

		dtc_gpu_scatter(span.address, value, bytes);
		done += bytes;
		if (done < piece->bytes)
			value = dtc_gpu_shift_down(&value, &zero, bytes);
	}
}

DTC_GPU_FN void dtc_gpu_unpack_pieces(const struct dtc_gpu_source *source,
				      const struct dtc_gpu_piece piece[])
{
	struct dtc_gpu_fetched fetched[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_fetch(piece[k].packed, piece[k].bytes, &fetched[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_unpack_piece(source, &piece[k], dtc_gpu_fetched_value(&fetched[k]));
}

/* Move one tile. The source has been prepared for its position. */
DTC_GPU_FN void dtc_gpu_move_pieces(const struct dtc_gpu_source *source,
				    const struct dtc_gpu_tile *tile, uint32_t thread,
				    int direction)
{
	struct dtc_gpu_piece piece[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		piece[k] = dtc_gpu_piece_at(tile, thread + k * DTC_GPU_BLOCK);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_pieces(source, piece);
	else
		dtc_gpu_unpack_pieces(source, piece);
}

/* ---- words of the user's side, for unpacking -------------------------------------------------- */

/* The bytes of a block that are to be moved, and the packed address of its first byte. */
struct dtc_gpu_extent {
	uint64_t low;
	uint64_t high;
	uint64_t packed; /* a byte is packed at its address plus this */
};

/* Set up block @block, which is at @address. */
DTC_GPU_FN struct dtc_gpu_extent dtc_gpu_extent_of(const struct dtc_gpu_nest *nest,
						   uint64_t address, uint64_t block)
{
	uint64_t position = block * nest->block;
	uint64_t cut = nest->begin > position ? nest->begin - position : 0;
	uint64_t end = nest->end - position < nest->block ? nest->end - position : nest->block;
	struct dtc_gpu_extent extent = { address + cut, address + end,
					 nest->packed + position - address };

	return extent;
}

/*
 * A tile of words of the user's side. Level 0 of the nest counts the words that a block may
 * touch.
 */
struct dtc_gpu_owned {
	const struct dtc_gpu_nest *nest;
	struct dtc_gpu_start start;
	uint32_t words;   /* of a block */
	uint32_t skipped; /* of the first block: words before the tile */
	uint32_t count;   /* in the tile */
};

DTC_GPU_FN void dtc_gpu_own_tile(const struct dtc_gpu_nest *nest, uint32_t tile,
				 struct dtc_gpu_owned *owned)
{
	uint64_t words = nest->dims[0].count;
	uint64_t unit = dtc_gpu_quotient(nest->begin, nest->block) * words +
			(uint64_t)tile * DTC_GPU_TILE_PIECES;
	uint64_t last = (dtc_gpu_quotient(nest->end - 1, nest->block) + 1) * words;
	uint64_t left = last > unit ? last - unit : 0;

	owned->nest = nest;
	owned->words = (uint32_t)words;
	owned->skipped = (uint32_t)(unit - dtc_gpu_quotient(unit, words) * words);
	owned->count = left < DTC_GPU_TILE_PIECES ? (uint32_t)left : DTC_GPU_TILE_PIECES;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &owned->start);
}

/*
 * Locate the block of the word that is @ahead of the tile's first; @index becomes the word's
 * index in it.
 */
DTC_GPU_FN struct dtc_gpu_extent dtc_gpu_owned_block(const struct dtc_gpu_owned *owned,
						     uint32_t ahead, uint32_t *index,
						     uint64_t *address)
{
	struct dtc_gpu_place place =
		dtc_gpu_locate(owned->nest, &owned->start, ahead, DTC_GPU_PLAIN);

	*index = place.index;
	*address = place.address;
	return dtc_gpu_extent_of(owned->nest, place.address,
				 owned->start.carried + place.carried);
}

/*
 * In shorter blocks, partial words outnumber whole ones; then the rim is stored word by word as
 * well.
 */
#define DTC_GPU_RIM_BLOCK 64u

/* The bytes of a word that belong to the block. For long blocks: the whole word or nothing. */
DTC_GPU_FN uint32_t dtc_gpu_owned_bytes(const struct dtc_gpu_extent *extent,
					uint64_t block, uint64_t *word)
{
	uint64_t low = *word > extent->low ? *word : extent->low;
	uint64_t high = *word + 16 < extent->high ? *word + 16 : extent->high;
	uint32_t bytes = high > low ? (uint32_t)(high - low) : 0;

	*word = low;
	return bytes == 16 || block < DTC_GPU_RIM_BLOCK ? bytes : 0;
}

DTC_GPU_FN void dtc_gpu_unpack_words(const struct dtc_gpu_owned *owned, uint32_t thread)
{
	struct dtc_gpu_fetched fetched[DTC_GPU_PIECES];
	uint64_t word[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		fetched[k].bytes = 0;
		if (ahead < owned->count) {
			uint32_t index;
			uint64_t address;
			struct dtc_gpu_extent extent =
				dtc_gpu_owned_block(owned, ahead, &index, &address);

			word[k] = (address & ~(uint64_t)15) + (uint64_t)index * 16;
			if (owned->nest->expects && word[k] < extent.high &&
			    word[k] + 16 > extent.low)
				dtc_gpu_expect(word[k] > extent.low ? word[k] : extent.low,
					       extent.low, extent.high);
			uint32_t bytes = dtc_gpu_owned_bytes(&extent, owned->nest->block,
							     &word[k]);
			dtc_gpu_fetch(extent.packed + word[k], bytes, &fetched[k]);
		}
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		if (fetched[k].bytes)
			dtc_gpu_scatter(word[k],
					dtc_gpu_shift_down(&fetched[k].low,
							   &fetched[k].high,
							   fetched[k].offset),
					fetched[k].bytes);
}

/*
 * The address of byte @number of the rim, 16 bytes before and 16 behind the whole words, of
 * which some do not exist.
 */
DTC_GPU_FN void dtc_gpu_unpack_rim(const struct dtc_gpu_extent *extent, uint32_t number)
{
	uint64_t up = (extent->low + 15) & ~(uint64_t)15;
	uint64_t down = extent->high & ~(uint64_t)15;
	uint64_t head_end = up < extent->high ? up : extent->high;
	uint64_t tail = down > head_end ? down : head_end;
	uint64_t byte = number < 16 ? extent->low + number : tail + number - 16;

	if (byte < (number < 16 ? head_end : extent->high))
		dtc_gpu_store1(byte, dtc_gpu_load1(extent->packed + byte));
}

/*
 * One tile of user words. The threads of a warp store the partial words at the ends of a long
 * block, a byte each, so that they reach the memory as one transaction instead of up to four.
 */
DTC_GPU_FN void dtc_gpu_unpack_owned(const struct dtc_gpu_nest *nest, uint32_t tile,
				     uint32_t thread)
{
	struct dtc_gpu_owned owned;

	dtc_gpu_own_tile(nest, tile, &owned);
	dtc_gpu_unpack_words(&owned, thread);
	if (nest->block < DTC_GPU_RIM_BLOCK)
		return;
	uint32_t first = owned.skipped ? owned.words - owned.skipped : 0;
	DTC_GPU_NO_UNROLL
	for (uint32_t ahead = first + thread / DTC_GPU_LANES * owned.words;
	     ahead < owned.count; ahead += DTC_GPU_BLOCK / DTC_GPU_LANES * owned.words) {
		uint32_t index;
		uint64_t address;
		struct dtc_gpu_extent extent =
			dtc_gpu_owned_block(&owned, ahead, &index, &address);

		dtc_gpu_unpack_rim(&extent, thread % DTC_GPU_LANES);
	}
}

#endif
