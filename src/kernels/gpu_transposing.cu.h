/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class transposing: neighbours in the packed stream are far apart in the user's memory, and the
 * other way round. Square tiles go through shared memory, so that both sides are read and written
 * along their own neighbours.
 */
#ifndef DTC_KERNELS_GPU_TRANSPOSING_CU_H
#define DTC_KERNELS_GPU_TRANSPOSING_CU_H

/* A block's tile: its first element, and how many there are along each level. */
struct dtc_gpu_square {
	uint64_t user;
	uint64_t position; /* in the stream */
	uint32_t inner;
	uint32_t outer;
};

DTC_GPU_FN void dtc_gpu_find_square(const struct dtc_gpu_transpose_params *p, uint32_t block,
				    struct dtc_gpu_square *square)
{
	square->user = p->nest.user;
	square->position = 0;
	square->inner = 0;
	square->outer = 0;
	DTC_GPU_UNROLL
	for (uint32_t d = 1; d < DTC_GPU_DIMS; d++) {
		if (d >= p->nest.dim_count)
			break;
		uint32_t next = block / p->tiles[d];
		uint32_t index = block - next * p->tiles[d];

		block = next;
		if (d == 1 || d == p->outer) {
			index <<= p->side_log;
			uint32_t left = p->counts[d] - index;
			uint32_t side = 1u << p->side_log;
			uint32_t elements = left < side ? left : side;

			if (d == 1)
				square->inner = elements;
			else
				square->outer = elements;
		}
		square->user += (uint64_t)((int64_t)index * p->nest.dims[d].stride);
		square->position += index * p->packed_strides[d];
	}
}

/* A word of a tile: of element (@inner, @outer), the @part-th. */
struct dtc_gpu_cell {
	uint64_t user;
	uint64_t packed;
	uint32_t shared; /* index in shared memory */
	uint32_t live;
};

DTC_GPU_FN struct dtc_gpu_cell dtc_gpu_cell_at(const struct dtc_gpu_transpose_params *p,
					       const struct dtc_gpu_square *square, uint32_t word,
					       uint32_t inner, uint32_t outer, uint32_t part)
{
	uint64_t position = square->position + outer * p->packed_strides[p->outer] +
			    (uint64_t)((inner * p->words + part) * word);
	struct dtc_gpu_cell cell;

	cell.user = square->user + (uint64_t)((int64_t)inner * p->nest.dims[1].stride) +
		    (uint64_t)((int64_t)outer * p->outer_stride) + part * word;
	cell.packed = p->nest.packed + position;
	cell.shared = outer * p->pitch + inner * p->words + part;
	cell.live = inner < square->inner && outer < square->outer &&
		    position >= p->nest.begin && position + word <= p->nest.end;
	return cell;
}

/*
 * Word @number of a thread, along the user's side or along the packed one. Thirty-two threads go
 * along a side, eight such rows at once; the rows of a tile are a power of two.
 */
DTC_GPU_FN struct dtc_gpu_cell dtc_gpu_cell_of(const struct dtc_gpu_transpose_params *p,
					       const struct dtc_gpu_square *square, uint32_t word,
					       uint32_t thread, uint32_t number, int along_user)
{
	uint32_t rows_log = p->side_log - 3;
	uint32_t row = thread / 32 + ((number & ((1u << rows_log) - 1)) << 3);
	uint32_t column = thread % 32 + ((number >> rows_log) << 5);
	uint32_t element = p->words > 1 ? column / p->words : column;
	uint32_t part = column - element * p->words;

	if (along_user)
		return dtc_gpu_cell_at(p, square, word, row, element, part);
	return dtc_gpu_cell_at(p, square, word, element, row, part);
}

/* Words in flight of one thread. */
#define DTC_GPU_CELLS 4

/* Words of shared memory, which is as aligned as they are. */
DTC_GPU_FN void dtc_gpu_keep(void *shared, uint32_t index, uint32_t word,
			     const struct dtc_gpu_bytes16 *value)
{
	if (word == 16)
		((struct dtc_gpu_bytes16 *)shared)[index] = *value;
	else if (word == 8)
		((uint64_t *)shared)[index] = (uint64_t)value->w[1] << 32 | value->w[0];
	else if (word == 4)
		((uint32_t *)shared)[index] = value->w[0];
	else if (word == 2)
		((uint16_t *)shared)[index] = (uint16_t)value->w[0];
	else
		((uint8_t *)shared)[index] = (uint8_t)value->w[0];
}

DTC_GPU_FN void dtc_gpu_recall(const void *shared, uint32_t index, uint32_t word,
			       struct dtc_gpu_bytes16 *value)
{
	if (word == 16) {
		*value = ((const struct dtc_gpu_bytes16 *)shared)[index];
	} else if (word == 8) {
		uint64_t both = ((const uint64_t *)shared)[index];

		value->w[0] = (uint32_t)both;
		value->w[1] = (uint32_t)(both >> 32);
	} else if (word == 4) {
		value->w[0] = ((const uint32_t *)shared)[index];
	} else if (word == 2) {
		value->w[0] = ((const uint16_t *)shared)[index];
	} else {
		value->w[0] = ((const uint8_t *)shared)[index];
	}
}

/* From the side that is read into shared memory. */
DTC_GPU_FN void dtc_gpu_transpose_load(const struct dtc_gpu_transpose_params *p, void *shared,
				       uint32_t word, struct dtc_gpu_at at, int direction)
{
	uint32_t numbers = ((1u << p->side_log) / 8) * (((p->words << p->side_log) + 31) / 32);
	struct dtc_gpu_cell cell[DTC_GPU_CELLS];
	struct dtc_gpu_bytes16 value[DTC_GPU_CELLS];
	struct dtc_gpu_square square;

	dtc_gpu_find_square(p, at.block, &square);
	DTC_GPU_NO_UNROLL
	for (uint32_t number = 0; number < numbers; number += DTC_GPU_CELLS) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CELLS; k++) {
			cell[k] = dtc_gpu_cell_of(p, &square, word, at.thread, number + k,
						  direction == DTC_GPU_PACK);
			if (cell[k].live)
				dtc_gpu_load_word(direction == DTC_GPU_PACK ? cell[k].user
									    : cell[k].packed,
						  word, &value[k]);
		}
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CELLS; k++)
			if (cell[k].live)
				dtc_gpu_keep(shared, cell[k].shared, word, &value[k]);
	}
}

/* From shared memory to the side that is written. */
DTC_GPU_FN void dtc_gpu_transpose_store(const struct dtc_gpu_transpose_params *p, void *shared,
					uint32_t word, struct dtc_gpu_at at, int direction)
{
	uint32_t numbers = ((1u << p->side_log) / 8) * (((p->words << p->side_log) + 31) / 32);
	struct dtc_gpu_levels levels;
	struct dtc_gpu_square square;

	dtc_gpu_plain_levels(&levels);
	if (at.block == 0 && word > 1)
		dtc_gpu_move_edges(&p->nest, &levels, word, at.thread, direction);
	dtc_gpu_find_square(p, at.block, &square);
	DTC_GPU_UNROLL_BY(4)
	for (uint32_t number = 0; number < numbers; number++) {
		struct dtc_gpu_cell cell = dtc_gpu_cell_of(p, &square, word, at.thread, number,
							   direction == DTC_GPU_UNPACK);
		struct dtc_gpu_bytes16 value;

		if (!cell.live)
			continue;
		dtc_gpu_recall(shared, cell.shared, word, &value);
		dtc_gpu_store_word(direction == DTC_GPU_PACK ? cell.packed : cell.user, word,
				   &value);
	}
}

#define DTC_GPU_TRANSPOSING(name, word, direction)                                          \
	DTC_GPU_FN void name##_load(const struct dtc_gpu_transpose_params *p, void *shared, \
				    struct dtc_gpu_at at)                                   \
	{                                                                                   \
		dtc_gpu_transpose_load(p, shared, word, at, direction);                     \
	}                                                                                   \
	DTC_GPU_FN void name##_store(const struct dtc_gpu_transpose_params *p,              \
				     void *shared, struct dtc_gpu_at at)                    \
	{                                                                                   \
		dtc_gpu_transpose_store(p, shared, word, at, direction);                    \
	}

DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_16, 16, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_8, 8, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_4, 4, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_2, 2, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_1, 1, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_16, 16, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_8, 8, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_4, 4, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_2, 2, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_1, 1, DTC_GPU_UNPACK)

#endif
