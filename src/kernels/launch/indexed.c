/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the class indexed: a leaf that is a table of runs, alone or in loops.
 */
#include "config.h"

#include "classes.h"

#include "base/base.h"
#include "magic.h"
#include "nest.h"

static const struct dtc_table *table_of(const struct dtc_gpu_job *job,
					const struct dtc_gpu_shape *shape)
{
	return dtc_program_table(job->layout->program, shape->ops);
}

/* Locate the table's displacements on the device. */
static uint64_t disps_on_device(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape)
{
	return job->image + dtc_gpu_image_tables(job->layout->program) + shape->ops->table +
	       sizeof(struct dtc_table);
}

/* Columns are divided by a power of two. */
static uint64_t scale(uint8_t shift)
{
	return UINT64_C(1) << shift;
}

/*
 * Unlike runs of words whose average length is at least this are moved by a warp each (runs of
 * 2 KiB: 0.79 of the device copy, 0.68 by words; of 260 bytes: 0.62, 0.61).
 */
#define RUN_LEAST 512

/* ---- equal blocks ------------------------------------------------------------------------------- */

/* Without outer loops, the table begins with the first entry that is moved. */
static void cut_table(struct dtc_gpu_shape *shape, uint64_t block,
		      struct dtc_gpu_table_params *params)
{
	uint64_t first = shape->begin / block;

	if (shape->loop_count)
		return;
	params->disps += first * (params->wide ? 8 : 4);
	shape->packed += first * block;
	shape->begin -= first * block;
	shape->end -= first * block;
}

static uint64_t plan_equal(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *given,
			   struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_table_params *params = &launch->params.table;
	const struct dtc_table *table = table_of(job, given);
	struct dtc_gpu_nest *nest = &params->nest;
	struct dtc_gpu_shape shape = *given;
	uint64_t block = table->uniform;

	params->disps = disps_on_device(job, &shape);
	params->wide = table->disp_wide;
	params->shift = table->disp_shift;
	cut_table(&shape, block, params);
	uint32_t word = dtc_gpu_alignment(dtc_gpu_shape_bits(&shape) | block |
					  scale(table->disp_shift));
	word = word < 4 ? 1 : word;
	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, block / word, (int64_t)word);
	dtc_gpu_set_level(nest, 1, table->count, 0);
	if (!dtc_gpu_set_loops(&shape, 2, nest, reason) ||
	    !dtc_gpu_set_width(nest, shape.end / word, reason))
		return 0;
	*reason = "a table of 2^31 blocks or more";
	if (table->count > INT32_MAX)
		return 0;
	nest->block = block;
	launch->class = DTC_GPU_CLASS_INDEXED;
	launch->kernel = dtc_gpu_kernel_of_word(DTC_GPU_table_pack_16, word, job->direction);
	launch->word = word;
	launch->run_bytes = block;
	return word > 1 ? dtc_gpu_word_tiles(nest, word)
			: dtc_gpu_piece_tiles(nest->packed, nest->begin, nest->end);
}

/* ---- unlike blocks ------------------------------------------------------------------------------ */

/*
 * Tiles divide the stretch of the stream or, for a table kept whole, each repetition of the
 * table.
 */
static uint64_t set_tiles(const struct dtc_gpu_shape *shape,
			  struct dtc_gpu_indexed_params *params)
{
	uint64_t bytes = params->tile_bytes;
	uint64_t first = shape->begin, last = shape->end - 1;

	if (params->whole) {
		params->first_tile = first / bytes;
		return last / bytes - params->first_tile + 1;
	}
	uint64_t tiles = dtc_divide_up(params->table_bytes, bytes);
	params->tiles = (uint32_t)tiles;
	params->first_tile = first / params->table_bytes * tiles +
			     first % params->table_bytes / bytes;
	return last / params->table_bytes * tiles + last % params->table_bytes / bytes -
	       params->first_tile + 1;
}

static void set_table(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
		      struct dtc_gpu_indexed_params *params)
{
	const struct dtc_table *table = table_of(job, shape);

	params->disps = disps_on_device(job, shape);
	params->prefixes = params->disps - sizeof(*table) + table->prefix_offset;
	params->starts = job->image + dtc_gpu_image_starts(job->layout->program);
	params->count = table->count;
	params->table_bytes = shape->leaf_bytes;
	params->disp_wide = table->disp_wide;
	params->disp_shift = table->disp_shift;
	params->prefix_wide = table->prefix_wide;
	params->prefix_shift = table->prefix_shift;
}

/* Set level 0 and the range of unit numbers. */
static bool set_nest(const struct dtc_gpu_shape *shape, uint32_t word,
		     struct dtc_gpu_indexed_params *params, const char **reason)
{
	struct dtc_gpu_nest *nest = &params->nest;
	uint64_t last = params->whole ? shape->end / word : shape->end / shape->leaf_bytes + 1;

	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, params->whole ? shape->leaf_bytes / word : 1, 0);
	return dtc_gpu_set_loops(shape, 1, nest, reason) &&
	       dtc_gpu_set_width(nest, last, reason);
}

static uint64_t plan_unlike(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			    struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_indexed_params *params = &launch->params.indexed;
	const struct dtc_table *table = table_of(job, shape);
	uint32_t word = dtc_gpu_alignment(dtc_gpu_shape_bits(shape) | shape->leaf_bytes |
					  scale(table->disp_shift) |
					  scale(table->prefix_shift));

	*reason = "several tables of blocks, or one of 2^31 blocks or more";
	if (table->count > INT32_MAX || !dtc_gpu_has_starts(job->layout->program))
		return 0;
	word = word < 4 ? 1 : word;
	set_table(job, shape, params);
	params->tile_bytes = DTC_GPU_INDEXED_TILE(word);
	params->whole = shape->loop_count && params->table_bytes < params->tile_bytes;
	params->by_run = !params->whole && word > 1 &&
			 params->table_bytes / params->count >= RUN_LEAST;
	if (params->by_run)
		params->tile_bytes = DTC_GPU_RUN_TILE;
	if (!set_nest(shape, word, params, reason))
		return 0;
	/* The most entries of a tile: one for each word, and one that began before. */
	params->capacity =
		(uint32_t)DTC_MIN(table->count, params->tile_bytes / word + UINT64_C(1));
	launch->class = DTC_GPU_CLASS_INDEXED;
	launch->kernel = dtc_gpu_kernel_of_word(DTC_GPU_indexed_pack_16, word, job->direction);
	launch->word = word;
	launch->run_bytes = params->table_bytes / params->count;
	uint64_t tiles = set_tiles(shape, params);
	if (params->by_run)
		return tiles;
	launch->shared_bytes = DTC_GPU_INDEXED_TILES(word) *
			       DTC_GPU_INDEXED_SHARED(word, params->capacity);
	return dtc_divide_up(tiles, (uint64_t)DTC_GPU_INDEXED_TILES(word));
}

uint64_t dtc_gpu_plan_indexed(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			      struct dtc_gpu_launch *launch, const char **reason)
{
	*reason = "not a single table of blocks";
	if (shape->leaf != DTC_GPU_LEAF_TABLE)
		return 0;
	if (!job->image) {
		*reason = "the layout program is not on the device";
		return 0;
	}
	return table_of(job, shape)->uniform ? plan_equal(job, shape, launch, reason)
					     : plan_unlike(job, shape, launch, reason);
}
