/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class indexed, unlike blocks. Tiles are equal stretches of the table's packed bytes, whose first
 * entries the image lists, so that no block searches the table. A short table that is repeated is
 * kept whole, and tiles go on over its end. Long runs of words are moved as gpu_runs.cu.h does.
 */
#ifndef DTC_KERNELS_GPU_INDEXED_CU_H
#define DTC_KERNELS_GPU_INDEXED_CU_H

/* First the entries. */
DTC_GPU_FN void dtc_gpu_indexed_list(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_indexed_tile tile;

	if (p->by_run)
		return;
	dtc_gpu_open_tile(p, word, shared, at.block, &tile);
	struct dtc_gpu_touched touched = dtc_gpu_touch(p, tile.offset);
	dtc_gpu_list_entries(p, &touched, &tile.entries, at.thread);
}

/* Then which of them holds each unit. */
DTC_GPU_FN void dtc_gpu_indexed_hold(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	if (p->by_run)
		return;
	struct dtc_gpu_entries entries = dtc_gpu_entries_in(p, word, shared);
	dtc_gpu_list_holders(&entries, word, at.thread);
}

/* Bytes of the stretch's ends that are no whole words, in whichever tile they are. */
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
	dtc_gpu_indexed_spans(tile, word, 1, &ahead, &span);
	dtc_gpu_move_byte(span.address + inside, nest->packed + position, direction);
}

DTC_GPU_FN void dtc_gpu_indexed_words(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      uint32_t thread, int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	uint64_t packed = tile->p->nest.packed + tile->origin + (uint64_t)(thread * word);
	/* Whole words of the tile that are to be moved: from @low on, @count of them. */
	uint32_t low = (uint32_t)((tile->begin - tile->origin + word - 1) / word);
	uint32_t high = tile->end > tile->origin ? (uint32_t)((tile->end - tile->origin) / word)
						 : 0;
	uint32_t count = high > low ? high - low : 0;
	struct dtc_gpu_bytes16 value[8];
	struct dtc_gpu_span span[8];
	uint32_t ahead[8];

	if (!count)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		uint32_t number = thread + k * DTC_GPU_BLOCK;

		ahead[k] = (number - low < count ? number : low) * word;
	}
	dtc_gpu_indexed_spans(tile, word, words, ahead, span);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (thread + k * DTC_GPU_BLOCK - low < count)
			dtc_gpu_load_word(direction == DTC_GPU_PACK
						  ? span[k].address
						  : packed + k * DTC_GPU_BLOCK * word,
					  word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (thread + k * DTC_GPU_BLOCK - low < count)
			dtc_gpu_store_word(direction == DTC_GPU_PACK
						   ? packed + k * DTC_GPU_BLOCK * word
						   : span[k].address,
					   word, &value[k]);
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

	dtc_gpu_open_tile(p, word, shared, at.block, &tile);
	if (word == 1) {
		dtc_gpu_indexed_pieces(&tile, at.thread, direction);
		return;
	}
	if (p->by_run) {
		dtc_gpu_move_runs(&tile, word, at.thread, direction);
		return;
	}
	dtc_gpu_indexed_edge(&tile, word, at.thread, direction);
	dtc_gpu_indexed_words(&tile, word, at.thread, direction);
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
