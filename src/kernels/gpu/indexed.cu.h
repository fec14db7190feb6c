/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class indexed, unlike blocks. Tiles are equal stretches of the table's packed bytes. The
 * image lists the first entry of each tile, so no block searches the table. A short table that
 * is repeated is kept whole in shared memory, and tiles wrap around its end. runs.cu.h moves
 * long runs of words.
 */
#ifndef DTC_KERNELS_GPU_INDEXED_CU_H
#define DTC_KERNELS_GPU_INDEXED_CU_H

/* First the entries. */
DTC_GPU_FN void dtc_gpu_indexed_list(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	const uint32_t threads = DTC_GPU_INDEXED_THREADS(word);
	const uint32_t thread = at.thread % threads;
	struct dtc_gpu_indexed_tile tile;

	if (p->by_run)
		return;
	dtc_gpu_open_tile(p, word, shared, at, &tile);
	if (tile.begin >= tile.end) {
		if (thread == 0)
			*tile.entries.count = 0;
		return;
	}
	if (word > 1)
		dtc_gpu_clear_windows(&tile.entries, word, thread);
	struct dtc_gpu_touched touched = dtc_gpu_touch(p, tile.offset);
	dtc_gpu_list_entries(p, &touched, tile.address, &tile.entries, thread, threads);
}

/* Then the entry that holds each unit. */
DTC_GPU_FN void dtc_gpu_indexed_hold(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	if (p->by_run)
		return;
	struct dtc_gpu_entries entries = dtc_gpu_entries_in(p, word, shared, at.thread);
	if (p->nest.expects && !p->whole)
		dtc_gpu_expect_entries(&entries, p->tile_bytes,
				       at.thread % DTC_GPU_INDEXED_THREADS(word),
				       DTC_GPU_INDEXED_THREADS(word));
	if (word > 1)
		dtc_gpu_mark_windows(&entries, word, at.thread % DTC_GPU_LANES);
	else
		dtc_gpu_list_holder(&entries, at.thread);
}

/*
 * The bytes at the ends of the stretch that are no whole words, in the tiles that contain them.
 */
DTC_GPU_FN void dtc_gpu_indexed_edge(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				     uint32_t thread, int direction)
{
	const struct dtc_gpu_nest *nest = &tile->p->nest;
	struct dtc_gpu_span span;
	uint32_t live;
	uint64_t position = dtc_gpu_edge(nest, word, thread, &live);

	if (!live || position < tile->begin || position >= tile->end)
		return;
	uint32_t inside = (uint32_t)position & (word - 1);
	uint32_t ahead = (uint32_t)(position - inside - tile->origin);
	dtc_gpu_indexed_spans(tile, word, (int)tile->p->whole, 1, &ahead, &span);
	dtc_gpu_move_byte(span.address + inside, nest->packed + position, direction);
}

/* Words of one warp, from word @first of the tile on. */
DTC_GPU_FN void dtc_gpu_indexed_words(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      int whole, uint32_t first, int direction)
{
	const uint32_t words = DTC_GPU_INDEXED_AT_ONCE(word, whole);
	const uint32_t step = DTC_GPU_LANES * word;
	uint64_t packed = tile->p->nest.packed + tile->origin + (uint64_t)(first * word);
	/* The whole words of the tile that are to be moved: @count of them, from @low on. */
	uint32_t low = (uint32_t)((tile->begin - tile->origin + word - 1) / word);
	uint32_t high = (uint32_t)((tile->end - tile->origin) / word);
	uint32_t count = high > low ? high - low : 0;
	struct dtc_gpu_bytes16 value[8];
	struct dtc_gpu_span span[8];
	uint32_t ahead[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = first * word + k * step;
	dtc_gpu_indexed_spans(tile, word, whole, words, ahead, span);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (first + k * DTC_GPU_LANES - low < count)
			dtc_gpu_load_word(direction == DTC_GPU_PACK ? span[k].address
								    : packed + k * step,
					  word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (first + k * DTC_GPU_LANES - low < count)
			dtc_gpu_store_word(direction == DTC_GPU_PACK ? packed + k * step
								     : span[k].address,
					   word, &value[k]);
}

DTC_GPU_FN void dtc_gpu_indexed_rounds(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				       int whole, uint32_t lane, int direction)
{
	const uint32_t words = DTC_GPU_INDEXED_AT_ONCE(word, whole) * DTC_GPU_LANES;

	DTC_GPU_NO_UNROLL
	for (uint32_t first = lane; first < DTC_GPU_INDEXED_TILE(word) / word; first += words)
		dtc_gpu_indexed_words(tile, word, whole, first, direction);
}

DTC_GPU_FN void dtc_gpu_indexed_pieces(const struct dtc_gpu_indexed_tile *tile, uint32_t thread,
				       int direction)
{
	struct dtc_gpu_stretch stretch;
	struct dtc_gpu_source source;

	if (tile->begin >= tile->end)
		return;
	stretch.packed = tile->p->nest.packed;
	stretch.begin = tile->begin;
	stretch.end = tile->end;
	struct dtc_gpu_tile pieces = dtc_gpu_tile_at(&stretch, 0);
	source.by = DTC_GPU_BY_ENTRY;
	source.indexed = tile;
	source.origin = tile->begin - tile->origin;
	dtc_gpu_move_pieces(&source, &pieces, thread, direction);
}

DTC_GPU_FN void dtc_gpu_indexed_move(const struct dtc_gpu_indexed_params *p, void *shared,
				     uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_indexed_tile tile;

	const uint32_t lane = at.thread % DTC_GPU_LANES;

	dtc_gpu_open_tile(p, word, shared, at, &tile);
	if (tile.begin >= tile.end)
		return;
	if (word == 1) {
		dtc_gpu_indexed_pieces(&tile, at.thread, direction);
		return;
	}
	if (p->by_run) {
		dtc_gpu_move_runs(&tile, word, at.thread, direction);
		return;
	}
	if ((tile.begin | tile.end) & (word - 1))
		dtc_gpu_indexed_edge(&tile, word, lane, direction);
	if (p->whole)
		dtc_gpu_indexed_rounds(&tile, word, 1, lane, direction);
	else
		dtc_gpu_indexed_rounds(&tile, word, 0, lane, direction);
}

#define DTC_GPU_INDEXED_LISTS(word)                                                        \
	DTC_GPU_FN void dtc_gpu_indexed_list_##word(const struct dtc_gpu_indexed_params *p, \
						    void *shared, struct dtc_gpu_at at)    \
	{                                                                                  \
		dtc_gpu_indexed_list(p, word, shared, at);                                 \
	}                                                                                  \
	DTC_GPU_FN void dtc_gpu_indexed_hold_##word(const struct dtc_gpu_indexed_params *p, \
						    void *shared, struct dtc_gpu_at at)    \
	{                                                                                  \
		dtc_gpu_indexed_hold(p, word, shared, at);                                 \
	}

DTC_GPU_INDEXED_LISTS(16)
DTC_GPU_INDEXED_LISTS(8)
DTC_GPU_INDEXED_LISTS(4)
DTC_GPU_INDEXED_LISTS(1)

#define DTC_GPU_INDEXED(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_indexed_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		dtc_gpu_indexed_move(p, shared, word, at, direction);                  \
	}

DTC_GPU_INDEXED(dtc_gpu_indexed_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
