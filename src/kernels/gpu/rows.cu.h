/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simple case of class strided in as little code as possible: aligned blocks in at most two
 * loops, whole words at both ends, unit numbers of 32 bits. A launch fetches its code from the
 * L2 cache, so a long kernel adds time to every job.
 */
#ifndef DTC_KERNELS_GPU_ROWS_CU_H
#define DTC_KERNELS_GPU_ROWS_CU_H

/* The address of a unit's block, and the unit's index in it. */
struct dtc_gpu_row_unit {
	uint64_t block;
	uint32_t index;
};

/* The address of a block. */
DTC_GPU_FN uint64_t dtc_gpu_find_row(const struct dtc_gpu_nest *nest, uint32_t row)
{
	uint64_t block = nest->user;

	if (nest->dim_count > 2) {
		uint32_t plane = dtc_gpu_divide(row, nest->dims[1].magic, nest->shift[1]);

		row -= plane * nest->dims[1].count;
		block += (uint64_t)((int64_t)plane * nest->dims[2].stride);
	}
	return block + (uint64_t)((int64_t)row * nest->dims[1].stride);
}

/* The outermost level is not divided by, so its count is not a part of the shape. */
DTC_GPU_FN struct dtc_gpu_row_unit dtc_gpu_find_row_unit(const struct dtc_gpu_nest *nest,
							 uint32_t unit)
{
	struct dtc_gpu_row_unit at_row = { nest->user, unit };

	if (nest->dim_count > 1) {
		uint32_t row = dtc_gpu_divide(unit, nest->dims[0].magic, nest->shift[0]);

		at_row.index -= row * nest->dims[0].count;
		at_row.block = dtc_gpu_find_row(nest, row);
	}
	return at_row;
}

/*
 * Move so many units per thread, a constant: all are located and loaded before any is stored.
 */
DTC_GPU_FN void dtc_gpu_move_row_units(const struct dtc_gpu_nest *nest, uint32_t word,
				       uint32_t words, struct dtc_gpu_at at,
				       int direction)
{
	uint32_t end = (uint32_t)(nest->end / word);
	uint32_t unit = (uint32_t)(nest->begin / word) +
			at.block * (words * DTC_GPU_BLOCK) + at.thread;
	uint32_t left = end > unit ? end - unit : 0;
	struct dtc_gpu_row_unit at_row[8];
	uint64_t user[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		at_row[k] = dtc_gpu_find_row_unit(nest, unit + k * DTC_GPU_BLOCK);
		user[k] = at_row[k].block + (uint64_t)(at_row[k].index * word);
	}
	if (direction == DTC_GPU_UNPACK && word > 2 && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect(user[k], at_row[k].block,
					       at_row[k].block + nest->block);
	}
	dtc_gpu_transfer(user, nest->packed + (uint64_t)unit * word, word, words, left,
			 direction);
}

DTC_GPU_FN void dtc_gpu_move_rows(const struct dtc_gpu_rows_params *p, uint32_t word,
				  struct dtc_gpu_at at, int direction)
{
	const uint32_t words = DTC_GPU_ROWS_WORDS(word), few = DTC_GPU_ROWS_FEW(word);

	if (few == words || p->words == words)
		dtc_gpu_move_row_units(&p->nest, word, words, at, direction);
	else
		dtc_gpu_move_row_units(&p->nest, word, few, at, direction);
}

#define DTC_GPU_ROWS(name, word, direction)                                     \
	DTC_GPU_FN void name(const struct dtc_gpu_rows_params *p, void *shared, \
			     struct dtc_gpu_at at)                              \
	{                                                                       \
		(void)shared;                                                   \
		dtc_gpu_move_rows(p, word, at, direction);                      \
	}

DTC_GPU_ROWS(dtc_gpu_rows_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_2_phase, 2, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
