/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning the class copy: which word divides both sides, and how each side numbers its words.
 */
#include "config.h"

#include "layout_copy.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"
#include "shape.h"

/*
 * Longer blocks whose places only single bytes divide are packed by shifted words and unpacked by aligned ones,
 * which takes about as long as one copy by bytes does (H200, of the device copy: 0.75 and 0.49 in turn, 0.3 together,
 * for blocks of 1 KiB; bytes alone 0.37).
 */
#define BYTEWISE_BLOCK 1024

/*
 * In longer streams threads have few words of 16 bytes under way, as in nest.c (H200, strided to strided: 16 MiB are
 * fastest by 4 words a thread, 256 MiB by 1; words of 8 bytes do not differ).
 */
#define LONG_STREAM (UINT64_C(32) << 20)

/* Levels of the compact kernels: two loops and the block inside. */
#define DIMS_COMPACT 3

/* ---- sides -------------------------------------------------------------------------------------- */

struct side {
	struct dtc_gpu_job job;
	struct dtc_gpu_shape shape;
	const struct dtc_table *table; /* of equal blocks, or NULL */
};

static const struct dtc_table *equal_blocks(const struct dtc_layout *layout,
					    const struct dtc_gpu_shape *shape)
{
	if (shape->leaf != DTC_GPU_LEAF_TABLE)
		return NULL;
	const struct dtc_table *table = dtc_program_table(layout->program, shape->ops);

	return table->uniform && table->count <= INT32_MAX ? table : NULL;
}

/* Its packed side is nowhere, so it is aligned to anything. */
static void open_side(struct side *side, const struct dtc_gpu_copy_job *job,
		      const struct dtc_gpu_copy_end *end, enum dtc_direction direction)
{
	side->job = (struct dtc_gpu_job){ .layout = end->layout,
					  .count = end->count,
					  .user = end->user,
					  .end = job->bytes,
					  .direction = direction,
					  .image = end->image };
	dtc_gpu_shape_of_job(&side->job, &side->shape);
	side->table = equal_blocks(end->layout, &side->shape);
}

bool dtc_gpu_copy_takes_image(const struct dtc_layout *layout)
{
	const struct dtc_gpu_job job = { .layout = layout, .count = 1, .end = layout->size };
	struct dtc_gpu_shape shape;

	if (!layout->size)
		return false;
	dtc_gpu_shape_of_job(&job, &shape);
	return equal_blocks(layout, &shape);
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Bytes of the block that words are numbered in. */
static uint64_t block_of(const struct side *side)
{
	return side->table ? side->table->uniform : side->shape.leaf_bytes;
}

static uint64_t bits_of(const struct side *side)
{
	uint64_t bits = dtc_gpu_shape_bits(&side->shape) | block_of(side);

	return side->table ? bits | UINT64_C(1) << side->table->disp_shift : bits;
}

static bool is_copied(const struct side *side, const char **reason)
{
	if (side->shape.leaf == DTC_GPU_LEAF_BLOCK)
		return true;
	if (side->table && side->job.image)
		return true;
	*reason = "a layout is neither loops over one block nor a table of equal blocks";
	return false;
}

/* Elements that lie across the stream's order are turned through shared memory, by packing or unpacking. */
static bool is_transposing(const struct side *side, struct dtc_gpu_launch *scratch)
{
	const char *reason;

	return dtc_gpu_plan_transposing(&side->job, &side->shape, scratch, &reason);
}

static bool is_worth(const struct side *source, const struct side *target, uint32_t word,
		     struct dtc_gpu_launch *scratch, const char **reason)
{
	if (is_transposing(source, scratch) || is_transposing(target, scratch)) {
		*reason = "a layout is transposed against the stream";
		return false;
	}
	if (word == 1 && DTC_MIN(block_of(source), block_of(target)) > BYTEWISE_BLOCK) {
		*reason = "long blocks at odd addresses";
		return false;
	}
	return true;
}

/* ---- nests -------------------------------------------------------------------------------------- */

static void list_blocks(const struct side *side, struct dtc_gpu_copy_side *made)
{
	made->disps = side->job.image +
		      dtc_gpu_image_tables(side->job.layout->program) +
		      side->shape.ops->table + sizeof(struct dtc_table);
	made->form = DTC_GPU_LISTED;
	made->wide = side->table->disp_wide;
	made->shift = side->table->disp_shift;
	dtc_gpu_set_level(&made->nest, 1, side->table->count, 0);
}

static bool make_side(const struct side *side, uint32_t word, struct dtc_gpu_copy_side *made,
		      const char **reason)
{
	struct dtc_gpu_nest *nest = &made->nest;

	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, block_of(side) / word, (int64_t)word);
	if (side->table)
		list_blocks(side, made);
	if (!dtc_gpu_set_loops(&side->shape, side->table ? 2 : 1, nest, reason) ||
	    !dtc_gpu_set_width(nest, side->shape.end / word, reason))
		return false;
	nest->block = block_of(side);
	return true;
}

static bool is_compact(const struct dtc_gpu_copy_side *side)
{
	return side->form != DTC_GPU_LISTED && !side->nest.wide &&
	       side->nest.dim_count <= DIMS_COMPACT;
}

/* ---- the launch --------------------------------------------------------------------------------- */

static enum dtc_gpu_kernel kernel_of(const struct dtc_gpu_copy_params *params, uint32_t word)
{
	static const uint8_t place[] = { [16] = 0, [8] = 1, [4] = 2, [2] = 3, [1] = 4 };
	bool compact = is_compact(&params->source) && is_compact(&params->target);

	return (enum dtc_gpu_kernel)(place[word] +
				     (compact ? DTC_GPU_copy_rows_16 : DTC_GPU_copy_units_16));
}

/* What was planned before is cleared; of the parameters all that the kernel reads. */
static void clear(struct dtc_gpu_launch *launch)
{
	memset(launch, 0,
	       offsetof(struct dtc_gpu_launch, params) + sizeof(launch->params.copy));
}

static int set_launch(struct dtc_gpu_launch *launch, const struct side *source,
		      const struct side *target, uint32_t word, const char **reason)
{
	struct dtc_gpu_copy_params *params = &launch->params.copy;
	uint64_t bytes = source->job.end;

	params->units = bytes / word;
	params->words = bytes > LONG_STREAM ? DTC_GPU_COPY_FEW(word) : DTC_GPU_COPY_WORDS;
	uint64_t tiles =
		dtc_divide_up(params->units, (uint64_t)params->words * DTC_GPU_BLOCK);

	*reason = "more tiles than one launch can have";
	if (tiles > DTC_GPU_GRID_MOST)
		return DTCONV_ERR_UNSUPPORTED;
	launch->class = DTC_GPU_CLASS_COPY;
	launch->kernel = kernel_of(params, word);
	launch->grid = (uint32_t)tiles;
	launch->params_bytes = sizeof(*params);
	launch->word = word;
	launch->bytes = bytes;
	launch->run_bytes = DTC_MIN(block_of(source), block_of(target));
	return 0;
}

int dtc_gpu_plan_copy(const struct dtc_gpu_copy_job *job, struct dtc_gpu_launch *launch,
		      const char **reason)
{
	struct dtc_gpu_copy_params *params = &launch->params.copy;
	struct side source, target;

	open_side(&source, job, &job->source, DTC_PACK);
	open_side(&target, job, &job->target, DTC_UNPACK);
	if (!is_copied(&source, reason) || !is_copied(&target, reason))
		return DTCONV_ERR_UNSUPPORTED;
	uint32_t word = dtc_gpu_alignment(bits_of(&source) | bits_of(&target));
	if (!is_worth(&source, &target, word, launch, reason))
		return DTCONV_ERR_UNSUPPORTED;
	clear(launch);
	if (!make_side(&source, word, &params->source, reason) ||
	    !make_side(&target, word, &params->target, reason))
		return DTCONV_ERR_UNSUPPORTED;
	assert(job->bytes % word == 0);
	return set_launch(launch, &source, &target, word, reason);
}
