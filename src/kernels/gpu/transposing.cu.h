/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class transposing: neighbours in the packed stream are far apart in the user's memory, and
 * vice versa. Square tiles are staged in shared memory, so that both sides are accessed along
 * their own contiguous direction.
 */
#ifndef DTC_KERNELS_GPU_TRANSPOSING_CU_H
#define DTC_KERNELS_GPU_TRANSPOSING_CU_H

/* The tile of a block: its first element, and its size along each level. */
struct dtc_gpu_square {
	uint64_t user;
	uint64_t position; /* in the stream */
	uint32_t inner;
	uint32_t outer;
	uint32_t within; /* 1: all of its words are in the stretch */
};

/* Only few tiles contain an end of the stretch; only these check every word. */
DTC_GPU_FN uint32_t dtc_gpu_is_within(const struct dtc_gpu_transpose_params *p,
				      const struct dtc_gpu_square *square, uint32_t word)
{
	uint64_t last = square->position + (square->outer - 1) * p->outer_packed +
			(uint64_t)(square->inner * p->words * word);

	return square->position >= p->nest.begin && last <= p->nest.end;
}

DTC_GPU_FN void dtc_gpu_find_square(const struct dtc_gpu_transpose_params *p, uint32_t word,
				    uint32_t block, struct dtc_gpu_square *square)
{
	const uint32_t side = 1u << p->side_log;

	square->user = p->nest.user;
	square->position = 0;
	square->inner = 0;
	square->outer = 0;
	DTC_GPU_UNROLL
	for (uint32_t d = 1; d < DTC_GPU_DIMS; d++) {
		if (d >= p->nest.dim_count)
			break;
		uint32_t next = dtc_gpu_divide(block, p->magics[d], p->shifts[d]);
		uint32_t index = block - next * p->tiles[d];

		block = next;
		if (d == 1 || d == p->outer) {
			index <<= p->side_log;
			uint32_t left = p->counts[d] - index;
			uint32_t elements = left < side ? left : side;

			if (d == 1)
				square->inner = elements;
			else
				square->outer = elements;
		}
		square->user += (uint64_t)((int64_t)index * p->nest.dims[d].stride);
		square->position += index * p->packed_strides[d];
	}
	square->within = dtc_gpu_is_within(p, square, word);
}

/* The step to the next element along a side of the tile. */
struct dtc_gpu_axis {
	uint64_t user;
	uint64_t packed;
	uint32_t shared; /* words */
	uint32_t count;  /* elements */
};

/*
 * The order in which threads traverse a tile, along the user's side or the packed side:
 * thirty-two threads along a row, eight rows at a time.
 */
struct dtc_gpu_grid {
	struct dtc_gpu_axis rows;
	struct dtc_gpu_axis columns;
};

DTC_GPU_FN struct dtc_gpu_grid dtc_gpu_grid_of(const struct dtc_gpu_transpose_params *p,
					       const struct dtc_gpu_square *square, uint32_t word,
					       int along_user)
{
	struct dtc_gpu_axis inner = { (uint64_t)p->nest.dims[1].stride,
				      (uint64_t)(p->words * word), p->words, square->inner };
	struct dtc_gpu_axis outer = { (uint64_t)p->outer_stride, p->outer_packed, p->pitch,
				      square->outer };
	struct dtc_gpu_grid grid;

	grid.rows = along_user ? inner : outer;
	grid.columns = along_user ? outer : inner;
	return grid;
}

/* A thread's words in flight, eight rows apart. */
#define DTC_GPU_CELLS(word) ((word) == 16 ? 4u : 8u)

/* A column of a thread's words. Those outside the tile or the stretch are not live. */
struct dtc_gpu_column {
	uint64_t user; /* of row 0 */
	uint64_t position;
	uint32_t shared;
	uint32_t rows; /* rows of the tile; 0 if the column is outside */
};

DTC_GPU_FN struct dtc_gpu_column dtc_gpu_column_at(const struct dtc_gpu_transpose_params *p,
						   const struct dtc_gpu_square *square,
						   const struct dtc_gpu_grid *grid, uint32_t word,
						   uint32_t number)
{
	uint32_t element = p->words > 1 ? number / p->words : number;
	uint32_t part = number - element * p->words;
	struct dtc_gpu_column column;

	column.user = square->user + element * grid->columns.user + part * word;
	column.position = square->position + element * grid->columns.packed + part * word;
	column.shared = element * grid->columns.shared + part;
	column.rows = element < grid->columns.count ? grid->rows.count : 0;
	return column;
}

/* The same column from row @row on. */
DTC_GPU_FN void dtc_gpu_go_down(const struct dtc_gpu_grid *grid, uint32_t row,
				struct dtc_gpu_column *column)
{
	column->user += row * grid->rows.user;
	column->position += row * grid->rows.packed;
	column->shared += row * grid->rows.shared;
	column->rows = column->rows > row ? column->rows - row : 0;
}

/* One bit for each of the next rows, eight apart, in which the thread has a word. */
DTC_GPU_FN uint32_t dtc_gpu_live_cells(const struct dtc_gpu_transpose_params *p,
				       const struct dtc_gpu_square *square,
				       const struct dtc_gpu_grid *grid,
				       const struct dtc_gpu_column *column, uint32_t word)
{
	uint32_t live = 0;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		live |= (8 * k < column->rows ? 1u : 0u) << k;
	if (square->within)
		return live;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++) {
		uint64_t position = column->position + 8 * k * grid->rows.packed;

		if (position < p->nest.begin || position + word > p->nest.end)
			live &= ~(1u << k);
	}
	return live;
}

/*
 * Load a thread's words of a column into shared memory. Asynchronous copies are used if the
 * device supports them for the word, so that a whole tile is in flight.
 */
DTC_GPU_FN void dtc_gpu_copy_cells(uint64_t from, uint64_t step, uint32_t live,
				   void *shared, uint32_t index, uint32_t index_step,
				   uint32_t word)
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_copy_in((unsigned char *)shared +
						(index + k * index_step) * word,
					from + k * step, word);
}

DTC_GPU_FN void dtc_gpu_load_cells(const struct dtc_gpu_transpose_params *p,
				   const struct dtc_gpu_grid *grid,
				   const struct dtc_gpu_column *column, uint32_t live,
				   void *shared, uint32_t word, int direction)
{
	uint64_t from = direction == DTC_GPU_PACK ? column->user
						  : p->nest.packed + column->position;
	uint64_t step = 8 * (direction == DTC_GPU_PACK ? grid->rows.user : grid->rows.packed);
	struct dtc_gpu_bytes16 value[8];

	if (word == 4 || word == 8) {
		dtc_gpu_copy_cells(from, step, live, shared, column->shared,
				   8 * grid->rows.shared, word);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_load_word(from + k * step, word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_keep(shared, column->shared + 8 * k * grid->rows.shared, word,
				     &value[k]);
}

/* Store from shared memory to the target. */
DTC_GPU_FN void dtc_gpu_store_cells(const struct dtc_gpu_transpose_params *p,
				    const struct dtc_gpu_grid *grid,
				    const struct dtc_gpu_column *column, uint32_t live,
				    void *shared, uint32_t word, int direction)
{
	uint64_t to = direction == DTC_GPU_PACK ? p->nest.packed + column->position
						: column->user;
	uint64_t step = 8 * (direction == DTC_GPU_PACK ? grid->rows.packed : grid->rows.user);
	struct dtc_gpu_bytes16 value;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1) {
			dtc_gpu_recall(shared, column->shared + 8 * k * grid->rows.shared, word,
				       &value);
			dtc_gpu_store_word(to + k * step, word, &value);
		}
}

/* Into shared memory, or out of it. */
#define DTC_GPU_IN  0
#define DTC_GPU_OUT 1

DTC_GPU_FN void dtc_gpu_move_square(const struct dtc_gpu_transpose_params *p, void *shared,
				    uint32_t word, struct dtc_gpu_at at, int direction, int way)
{
	const uint32_t side = 1u << p->side_log;
	struct dtc_gpu_square square;

	dtc_gpu_find_square(p, word, at.block, &square);
	struct dtc_gpu_grid grid =
		dtc_gpu_grid_of(p, &square, word, (direction == DTC_GPU_PACK) == (way == DTC_GPU_IN));

	DTC_GPU_NO_UNROLL
	for (uint32_t number = at.thread % 32; number < side * p->words; number += 32) {
		struct dtc_gpu_column column =
			dtc_gpu_column_at(p, &square, &grid, word, number);

		dtc_gpu_go_down(&grid, at.thread / 32, &column);
		DTC_GPU_NO_UNROLL
		for (uint32_t row = 0; row < side; row += 8 * DTC_GPU_CELLS(word)) {
			uint32_t live = dtc_gpu_live_cells(p, &square, &grid, &column, word);

			if (way == DTC_GPU_IN)
				dtc_gpu_load_cells(p, &grid, &column, live, shared, word,
						   direction);
			else
				dtc_gpu_store_cells(p, &grid, &column, live, shared, word,
						    direction);
			dtc_gpu_go_down(&grid, 8 * DTC_GPU_CELLS(word), &column);
		}
	}
}

DTC_GPU_FN void dtc_gpu_transpose_load(const struct dtc_gpu_transpose_params *p, void *shared,
				       uint32_t word, struct dtc_gpu_at at, int direction)
{
	dtc_gpu_move_square(p, shared, word, at, direction, DTC_GPU_IN);
	dtc_gpu_await_copies();
}

DTC_GPU_FN void dtc_gpu_transpose_store(const struct dtc_gpu_transpose_params *p, void *shared,
					uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	if (at.block == 0 && word > 1)
		dtc_gpu_move_edges(&p->nest, &levels, word, at.thread, direction);
	dtc_gpu_move_square(p, shared, word, at, direction, DTC_GPU_OUT);
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
