/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of unlike runs that are long enough for a warp each. A warp takes the part of the
 * table between two starts of the image, reads the addresses of the next few runs and moves
 * them together. It needs no shared memory and no barrier.
 */
#ifndef DTC_KERNELS_GPU_RUNS_CU_H
#define DTC_KERNELS_GPU_RUNS_CU_H

/* Runs that a warp has in flight, and words of each per thread. */
#define DTC_GPU_RUNS_AT_ONCE    4u
#define DTC_GPU_RUN_WORDS(word) ((word) == 16 ? 1u : 2u)

/* A portion: what a warp moves of a run. Both sides have the same alignment. */
struct dtc_gpu_portion {
	uint64_t user;
	uint64_t packed;
	uint32_t bytes;
};

DTC_GPU_FN uint64_t dtc_gpu_from(const struct dtc_gpu_portion *portion, int direction)
{
	return direction == DTC_GPU_PACK ? portion->user : portion->packed;
}

DTC_GPU_FN uint64_t dtc_gpu_to(const struct dtc_gpu_portion *portion, int direction)
{
	return direction == DTC_GPU_PACK ? portion->packed : portion->user;
}

/* Move any number of whole words. */
DTC_GPU_FN void dtc_gpu_move_run_words(uint64_t from, uint64_t to, uint32_t bytes,
				       uint32_t word, uint32_t lane)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	const uint32_t step = DTC_GPU_LANES * word;
	struct dtc_gpu_bytes16 value[8];

	DTC_GPU_NO_UNROLL
	for (uint32_t at = lane * word; at < bytes; at += words * step) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (at + k * step < bytes)
				dtc_gpu_load_word(from + at + k * step, word, &value[k]);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (at + k * step < bytes)
				dtc_gpu_store_word(to + at + k * step, word, &value[k]);
	}
}

/* A portion at an end of the stretch, which may be inside a word. */
DTC_GPU_FN void dtc_gpu_move_portion(const struct dtc_gpu_portion *portion, uint32_t word,
				     uint32_t lane, int direction)
{
	uint32_t head = (uint32_t)(0 - portion->packed) & (word - 1);

	head = head < portion->bytes ? head : portion->bytes;
	uint32_t whole = (portion->bytes - head) & ~(word - 1);
	uint32_t tail = portion->bytes - head - whole;
	if (lane < head)
		dtc_gpu_move_byte(portion->user + lane, portion->packed + lane,
				  direction);
	dtc_gpu_move_run_words(dtc_gpu_from(portion, direction) + head,
			       dtc_gpu_to(portion, direction) + head, whole, word, lane);
	if (lane < tail)
		dtc_gpu_move_byte(portion->user + head + whole + lane,
				  portion->packed + head + whole + lane, direction);
}

/* Short portions of whole words: all are loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_move_short(const struct dtc_gpu_portion portion[], uint32_t word,
				   uint32_t lane, int direction)
{
	const uint32_t words = DTC_GPU_RUN_WORDS(word);
	struct dtc_gpu_bytes16 value[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE * words; k++) {
		const struct dtc_gpu_portion *one = &portion[k / words];
		uint32_t at = (lane + k % words * DTC_GPU_LANES) * word;

		if (at < one->bytes)
			dtc_gpu_load_word(dtc_gpu_from(one, direction) + at, word,
					  &value[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE * words; k++) {
		const struct dtc_gpu_portion *one = &portion[k / words];
		uint32_t at = (lane + k % words * DTC_GPU_LANES) * word;

		if (at < one->bytes)
			dtc_gpu_store_word(dtc_gpu_to(one, direction) + at, word,
					   &value[k]);
	}
}

/* A warp's share of a tile: bytes [from, to) of the table. */
struct dtc_gpu_share_of_tile {
	uint64_t from;
	uint64_t to;
	uint64_t entry;  /* the entry that holds the first byte, or an earlier one */
	uint64_t packed; /* packed address of byte 0 of the table */
};

DTC_GPU_FN void dtc_gpu_find_share(const struct dtc_gpu_indexed_tile *tile,
				   uint32_t thread, struct dtc_gpu_share_of_tile *share)
{
	uint64_t ahead = tile->origin - tile->offset;
	uint64_t from = tile->offset + thread / DTC_GPU_LANES * DTC_GPU_RUN_SHARE;
	uint64_t to = from + DTC_GPU_RUN_SHARE;
	uint64_t starts = tile->p->starts + from / DTC_GPU_START_BYTES * 4;

	share->packed = tile->p->nest.packed + ahead;
	share->from = from + ahead > tile->begin ? from : tile->begin - ahead;
	share->to = to + ahead < tile->end ? to : tile->end - ahead;
	share->entry = share->from < share->to ? dtc_gpu_load4(starts) : 0;
}

/*
 * The part of the next entries that belongs to the share; empty if there are no more. Returns
 * where the last one ends.
 */
DTC_GPU_FN uint64_t dtc_gpu_find_portions(const struct dtc_gpu_indexed_tile *tile,
					  const struct dtc_gpu_share_of_tile *share,
					  struct dtc_gpu_portion portion[])
{
	const struct dtc_gpu_indexed_params *p = tile->p;
	uint64_t begin[DTC_GPU_RUNS_AT_ONCE + 1], disp[DTC_GPU_RUNS_AT_ONCE];
	uint64_t entry[DTC_GPU_RUNS_AT_ONCE + 1];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k <= DTC_GPU_RUNS_AT_ONCE; k++) {
		entry[k] = share->entry + k < p->count ? share->entry + k : p->count;
		begin[k] = dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift,
					  entry[k]);
		entry[k] -= entry[k] == p->count ? 1 : 0;
	}
	dtc_gpu_listed_disps(p->disps, p->disp_wide, p->disp_shift, DTC_GPU_RUNS_AT_ONCE,
			     entry, disp);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++) {
		uint64_t low = begin[k] > share->from ? begin[k] : share->from;
		uint64_t high = begin[k + 1] < share->to ? begin[k + 1] : share->to;

		portion[k].user = tile->address + disp[k] + (low - begin[k]);
		portion[k].packed = share->packed + low;
		portion[k].bytes = high > low ? (uint32_t)(high - low) : 0;
	}
	return begin[DTC_GPU_RUNS_AT_ONCE];
}

/* Whether all portions are short and consist of whole words. */
DTC_GPU_FN uint32_t dtc_gpu_are_short(const struct dtc_gpu_portion portion[],
				      uint32_t word)
{
	uint32_t most = 0, odd = 0;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++) {
		most = portion[k].bytes > most ? portion[k].bytes : most;
		odd |= portion[k].bytes ? (uint32_t)portion[k].packed | portion[k].bytes
					: 0;
	}
	return most <= DTC_GPU_RUN_WORDS(word) * DTC_GPU_LANES * word &&
	       !(odd & (word - 1));
}

/* Move a warp's share of a tile. The table is not kept whole. */
DTC_GPU_FN void dtc_gpu_move_runs(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				  uint32_t thread, int direction)
{
	struct dtc_gpu_portion portion[DTC_GPU_RUNS_AT_ONCE];
	struct dtc_gpu_share_of_tile share;
	uint32_t lane = thread % DTC_GPU_LANES;
	uint64_t end;

	if (tile->begin >= tile->end)
		return;
	dtc_gpu_find_share(tile, thread, &share);
	if (share.from >= share.to)
		return;
	do {
		end = dtc_gpu_find_portions(tile, &share, portion);
		if (dtc_gpu_are_short(portion, word)) {
			dtc_gpu_move_short(portion, word, lane, direction);
		} else {
			DTC_GPU_UNROLL
			for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++)
				dtc_gpu_move_portion(&portion[k], word, lane, direction);
		}
		share.entry += DTC_GPU_RUNS_AT_ONCE;
	} while (end < share.to);
}

#endif
