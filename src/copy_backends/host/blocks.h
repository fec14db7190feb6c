/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs, strips, grids, tables and patterns at a pair of addresses, each by its CPU kernel. Inline,
 * because each is a few instructions around a call.
 */
#ifndef DTC_HOST_BLOCKS_H
#define DTC_HOST_BLOCKS_H

#include "address_pair.h"
#include "base/base.h"
#include "datatype/program.h"
#include "short_runs.h"

/* Programs count in 64 bits on every machine; strides in memory fit ptrdiff_t. */
static inline struct dtc_grid_side side(int64_t outer, int64_t inner)
{
	return (struct dtc_grid_side){ (ptrdiff_t)outer, (ptrdiff_t)inner };
}

/* A grid of blocks; the inner blocks of a row are moved one after the other. */
static inline struct dtc_grid grid_of(struct address_pair pair, struct dtc_grid_side user,
				      struct dtc_grid_side packed, uint64_t outer,
				      uint64_t inner, uint64_t block)
{
	struct dtc_grid grid = { .outer = (size_t)outer,
				 .inner = (size_t)inner,
				 .block = (size_t)block,
				 .stream = pair.stream };
	bool pack = pair.direction == DTC_PACK;

	grid.to = pack ? pair.packed : pair.user;
	grid.to_strides = pack ? packed : user;
	grid.from = pack ? pair.user : pair.packed;
	grid.from_strides = pack ? user : packed;
	return grid;
}

static inline void move_grid(struct address_pair pair, struct dtc_grid_side user,
			     struct dtc_grid_side packed, uint64_t outer, uint64_t inner,
			     uint64_t block)
{
	const struct dtc_grid grid = grid_of(pair, user, packed, outer, inner, block);

	pair.cpu->grid(&grid);
}

/* Shorter runs are not streamed past the caches. */
#define STREAM_RUN_BYTES 1024

/* The bytes of the user's side that the stream goes on with are at displacement @next. */
static inline void move_run_before(struct address_pair pair, uint64_t bytes, int64_t next)
{
	if (dtc_passes_caches(pair.stream) && bytes >= STREAM_RUN_BYTES) {
		struct dtc_grid grid = grid_of(pair, side(0, 0), side(0, 0), 1, 1, bytes);

		if (pair.direction == DTC_PACK)
			grid.next = displaced(pair.user, next);
		pair.cpu->grid(&grid);
	} else if (pair.direction == DTC_PACK) {
		dtc_cpu_run(pair.cpu, pair.packed, pair.user, (size_t)bytes);
	} else {
		dtc_cpu_run(pair.cpu, pair.user, pair.packed, (size_t)bytes);
	}
}

static inline void move_run(struct address_pair pair, uint64_t bytes)
{
	move_run_before(pair, bytes, (int64_t)bytes);
}

static inline void move_table(struct address_pair pair, const struct dtc_table *table,
			      uint64_t first, uint64_t count)
{
	const struct dtc_entries entries = { .table = table,
					     .first = first,
					     .count = count,
					     .packed = pair.packed,
					     .user = pair.user,
					     .direction = pair.direction,
					     .stream = pair.stream };

	pair.cpu->table(&entries);
}

/* ---- patterns of short runs -------------------------------------------------------------- */

/* Fewer bytes do not pay for laying out a pattern. */
#define PATTERN_BYTES 1024

/*
 * Whether @count periods of @runs runs and @bytes bytes, @step apart, may pay for laying out a pattern.
 */
static inline bool may_be_pattern(struct address_pair pair, uint64_t count, uint64_t runs,
				  uint64_t bytes, int64_t step)
{
	return count * bytes >= PATTERN_BYTES &&
	       looks_like_pattern(pair.cpu, runs, bytes, step);
}

/* Move @count periods of @runs, of @packed_step bytes each. False if they are no pattern. */
static inline bool move_pattern(struct address_pair pair,
				const struct dtc_short_run runs[], size_t run_count,
				int64_t user_step, uint64_t packed_step, uint64_t count)
{
	const struct dtc_pattern pattern = { .runs = runs,
					     .run_count = run_count,
					     .periods = (size_t)count,
					     .user_step = (ptrdiff_t)user_step,
					     .packed_step = (size_t)packed_step,
					     .user = pair.user,
					     .packed = pair.packed,
					     .direction = pair.direction,
					     .stream = pair.stream };

	return pair.cpu->pattern(&pattern);
}

/* Whole runs [first, first + count) of a strip whose first run is at @pair. */
static inline void move_strip(struct address_pair pair, const struct dtc_op *op,
			      uint64_t first, uint64_t count)
{
	struct address_pair start = pair_at(&pair, (int64_t)first * op->stride, 0);
	const struct dtc_short_run run = { 0, (uint32_t)op->unit_bytes };

	if (may_be_pattern(pair, count, 1, op->unit_bytes, op->stride) &&
	    move_pattern(start, &run, 1, op->stride, op->unit_bytes, count))
		return;
	move_grid(start, side(0, op->stride), side(0, (int64_t)op->unit_bytes), 1, count,
		  op->unit_bytes);
}

#endif
