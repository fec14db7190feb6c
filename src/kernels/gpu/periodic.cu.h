/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class periodic: a short list of runs, repeated in loops. First the threads of a block store
 * the displacement of each unit of a period in shared memory. After that, a period costs no
 * more than a block.
 */
#ifndef DTC_KERNELS_GPU_PERIODIC_CU_H
#define DTC_KERNELS_GPU_PERIODIC_CU_H

/* A specialised kernel has its runs in constant memory. */
#ifdef DTC_GPU_RUN_LIST
DTC_GPU_CONSTANT struct dtc_gpu_run dtc_gpu_runs[] = DTC_GPU_RUN_LIST;
#define DTC_GPU_RUNS_OF(p) dtc_gpu_runs
#else
#define DTC_GPU_RUNS_OF(p) (p)->runs
#endif

/* Find the run that holds byte @place of the packed period, or share @place. */
DTC_GPU_FN uint32_t dtc_gpu_run_of(const struct dtc_gpu_periodic_params *p, uint32_t place)
{
	uint32_t low = 0;
	uint32_t n = p->run_count;

	while (n > 1) {
		uint32_t half = n / 2;
		uint32_t first = p->share_word ? DTC_GPU_RUNS_OF(p)[low + half].share
					       : DTC_GPU_RUNS_OF(p)[low + half].packed;

		low += first <= place ? half : 0;
		n -= half;
	}
	return low;
}

DTC_GPU_FN uint32_t dtc_gpu_run_end(const struct dtc_gpu_periodic_params *p, uint32_t run)
{
	return run + 1 < p->run_count ? DTC_GPU_RUNS_OF(p)[run + 1].packed : p->period;
}

/*
 * ---- shares: the part of a run in one aligned word of the user's side
 * -----------------------------
 */

struct dtc_gpu_share {
	int32_t disp;
	uint16_t packed;
	uint16_t bytes;
};

DTC_GPU_FN struct dtc_gpu_share dtc_gpu_share_at(const struct dtc_gpu_periodic_params *p,
						 uint32_t number)
{
	uint32_t run = dtc_gpu_run_of(p, number);
	uint32_t length = dtc_gpu_run_end(p, run) - DTC_GPU_RUNS_OF(p)[run].packed;
	uint32_t skipped =
		((uint32_t)p->nest.user + (uint32_t)DTC_GPU_RUNS_OF(p)[run].disp) &
		(p->share_word - 1);
	uint32_t end =
		(number - DTC_GPU_RUNS_OF(p)[run].share + 1) * p->share_word - skipped;
	uint32_t begin = end > p->share_word ? end - p->share_word : 0;
	struct dtc_gpu_share share;

	share.disp = DTC_GPU_RUNS_OF(p)[run].disp + (int32_t)begin;
	share.packed = (uint16_t)(DTC_GPU_RUNS_OF(p)[run].packed + begin);
	share.bytes = (uint16_t)((end < length ? end : length) - begin);
	return share;
}

/* The packed bytes of a share. Loading and use are separate. */
struct dtc_gpu_shared_load {
	uint64_t user;
	uint64_t low, high; /* aligned words */
	uint32_t offset;    /* of the first byte */
	uint32_t bytes;
};

/* The share at @place, cut to the stretch. */
DTC_GPU_FN void dtc_gpu_fetch_share(const struct dtc_gpu_periodic_params *p,
				    const struct dtc_gpu_share *share, uint64_t period,
				    uint64_t address, struct dtc_gpu_shared_load *load)
{
	uint64_t position = period * p->period + share->packed;
	uint64_t begin = position > p->nest.begin ? position : p->nest.begin;
	uint64_t end = position + share->bytes < p->nest.end ? position + share->bytes
							     : p->nest.end;
	uint64_t packed = p->nest.packed + begin;

	load->user = address + (uint64_t)(int64_t)share->disp + (begin - position);
	load->offset = (uint32_t)packed & 7;
	load->bytes = end > begin ? (uint32_t)(end - begin) : 0;
	load->low = 0;
	load->high = 0;
	if (load->bytes)
		load->low = dtc_gpu_load8(packed - load->offset);
	if (load->bytes && load->offset + load->bytes > 8)
		load->high = dtc_gpu_load8(packed - load->offset + 8);
}

DTC_GPU_FN void dtc_gpu_store_share(const struct dtc_gpu_shared_load *load)
{
	uint32_t bits = 8 * load->offset;
	uint64_t all = bits ? load->low >> bits | load->high << (64 - bits) : load->low;
	struct dtc_gpu_bytes16 value = { { (uint32_t)all, (uint32_t)(all >> 32), 0, 0 } };

	dtc_gpu_scatter_most(load->user, value, load->bytes, 8);
}

/* One tile of shares. */
DTC_GPU_FN void dtc_gpu_unpack_shares(const struct dtc_gpu_periodic_params *p,
				      const struct dtc_gpu_share *shares, uint32_t tile,
				      uint32_t thread)
{
	uint64_t each = p->nest.dims[0].count;
	uint64_t first = dtc_gpu_quotient(p->nest.begin, p->period) * each +
			 (uint64_t)tile * (DTC_GPU_SHARES * DTC_GPU_BLOCK);
	uint64_t last = (dtc_gpu_quotient(p->nest.end - 1, p->period) + 1) * each;
	uint64_t left = last - first;
	struct dtc_gpu_shared_load load[DTC_GPU_SHARES];
	struct dtc_gpu_place place[DTC_GPU_SHARES];
	uint32_t ahead[DTC_GPU_SHARES];
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++) {
		ahead[k] = thread + k * DTC_GPU_BLOCK;
		ahead[k] = ahead[k] < left ? ahead[k] : 0;
	}
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_SHARES, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++) {
		dtc_gpu_fetch_share(p, &shares[place[k].index],
				    start.carried + place[k].carried, place[k].address,
				    &load[k]);
		if (thread + k * DTC_GPU_BLOCK >= left)
			load[k].bytes = 0;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++)
		dtc_gpu_store_share(&load[k]);
}

/* ---- units ---------------------------------------------------------------------------------------- */

/*
 * In shared memory: the displacement of each unit and, if units are bytes, the end of its run.
 */
DTC_GPU_FN uint16_t *dtc_gpu_period_ends(const struct dtc_gpu_periodic_params *p, void *shared)
{
	return (uint16_t *)((int32_t *)shared + p->period);
}

DTC_GPU_FN void dtc_gpu_periodic_map(const struct dtc_gpu_periodic_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	int32_t *map = (int32_t *)shared;
	uint32_t word = p->nest.word;
	uint32_t units = p->period / word;

	if (p->share_word) {
		for (uint32_t i = at.thread; i < p->nest.dims[0].count; i += DTC_GPU_BLOCK)
			((struct dtc_gpu_share *)shared)[i] = dtc_gpu_share_at(p, i);
		return;
	}
	for (uint32_t i = at.thread; i < units; i += DTC_GPU_BLOCK) {
		uint32_t run = dtc_gpu_run_of(p, i * word);
		uint32_t end = dtc_gpu_run_end(p, run);

		map[i] = DTC_GPU_RUNS_OF(p)[run].disp +
			 (int32_t)(i * word - DTC_GPU_RUNS_OF(p)[run].packed);
		if (word == 1)
			dtc_gpu_period_ends(p, shared)[i] = (uint16_t)end;
	}
}

DTC_GPU_FN void dtc_gpu_periodic_move(const struct dtc_gpu_periodic_params *p, void *shared,
				      uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	dtc_gpu_plain_levels(&source.levels);
	source.levels.form = DTC_GPU_MAPPED;
	source.levels.map = (const int32_t *)shared;
	if (word > 1) {
		dtc_gpu_move_words(&p->nest, &source.levels, word, at.block, at.thread,
				   direction);
		return;
	}
	if (direction == DTC_GPU_UNPACK && p->share_word) {
		dtc_gpu_unpack_shares(p, (const struct dtc_gpu_share *)shared, at.block,
				      at.thread);
		return;
	}
	stretch.packed = p->nest.packed;
	stretch.begin = p->nest.begin;
	stretch.end = p->nest.end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, at.block);
	source.by = DTC_GPU_BY_PERIOD;
	source.nest = &p->nest;
	source.ends = dtc_gpu_period_ends(p, shared);
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, at.thread, direction);
}

#define DTC_GPU_PERIODIC(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_periodic_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                      \
	{                                                                               \
		dtc_gpu_periodic_move(p, shared, word, at, direction);                  \
	}

DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
