/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning the class copy: which word divides both sides, and how each side numbers its words.
 */
#include "config.h"

#include "layout_copy.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "base/checked.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"
#include "shape.h"

/*
 * Longer blocks whose places only single bytes divide are packed by shifted words and unpacked by aligned ones, if they
 * are not copied by shifted words. The limit is an estimate from the rates of such kernels (H200, of the device copy:
 * packing and unpacking 0.75 and 0.49 for blocks of 1 KiB, 0.3 in turn, and more for longer ones; storing single bytes
 * 0.37). Words of 2 bytes are always faster.
 */
#define BYTEWISE_BLOCK 1024

/*
 * Equal blocks are copied by shifted words from these lengths on (16 MiB on an H200, us: single bytes, shifted words of 4
 * and of 16, blocks of 32 bytes 45, 47, 62; 128 bytes 40, 33, 40; 512 bytes 37, 22, 19; 8 KiB 35, 19, 14. Twos, shifted
 * words of 16, blocks of 256 bytes 28, 28; 512 bytes 27, 23; 2 KiB 28, 20. Words of 4 gain nothing.)
 * A link carries the shorter words that end a block as packets of their own (the same to a peer, blocks of 128 bytes 94,
 * 122 by words of 4; 512 bytes 93, 79 by words of 16; twos, 512 bytes 87, 76).
 */
#define SHIFTED_BLOCK 32
#define LONG_BLOCK    256
#define TWOWISE_BLOCK 512

/*
 * In longer streams threads have few words of 16 bytes of short runs under way, as in nest.c (H200, strided to strided:
 * 16 MiB are fastest by 4 words a thread; 256 MiB by 1 where runs have 16 or 64 bytes, 4 % faster, but by 4 where they
 * have 256 and more, 10 to 15 %; words of 8 bytes do not differ).
 */
#define LONG_STREAM (UINT64_C(32) << 20)
#define LONG_RUN    256

/* Levels of the compact kernels: two loops and the block inside. */
#define DIMS_COMPACT 3

/* Units of a period that are mapped: a map of more takes the host longer than many copies. */
#define MAP_UNITS_MOST (UINT64_C(1) << 18)

/* Maps of shorter units are longer than what they describe. */
#define MAP_WORD_LEAST 4

/* ---- sides -------------------------------------------------------------------------------------- */

struct side {
	const struct dtc_gpu_copy_end *end;
	struct dtc_gpu_job job;
	struct dtc_gpu_shape shape;
	const struct dtc_table *table; /* listed */
	uint32_t form;
};

#define NO_FORM UINT32_MAX

static const struct dtc_table *equal_blocks(const struct side *side)
{
	if (side->shape.leaf != DTC_GPU_LEAF_TABLE)
		return NULL;
	const struct dtc_table *table =
		dtc_program_table(side->job.layout->program, side->shape.ops);

	return table->uniform && table->count <= INT32_MAX ? table : NULL;
}

static bool is_short(const struct dtc_layout *layout)
{
	return dtc_gpu_map_period(layout) / dtc_gpu_map_unit(layout) <= MAP_UNITS_MOST;
}

static uint32_t form_of(const struct side *side)
{
	if (side->shape.leaf == DTC_GPU_LEAF_BLOCK &&
	    side->shape.loop_count < DTC_GPU_DIMS)
		return DTC_GPU_PLAIN;
	if (dtc_gpu_map_unit(side->job.layout) >= MAP_WORD_LEAST &&
	    is_short(side->job.layout))
		return DTC_GPU_MAPPED;
	return side->table ? DTC_GPU_LISTED : NO_FORM;
}

/* Its packed side is nowhere, so it is aligned to anything. */
static void open_side(struct side *side, const struct dtc_gpu_copy_end *end,
		      const struct dtc_gpu_copy_job *job, enum dtc_direction direction)
{
	side->end = end;
	side->job = (struct dtc_gpu_job){ .layout = end->layout,
					  .count = end->count,
					  .user = end->user,
					  .packed = job->begin,
					  .begin = job->begin,
					  .end = job->end,
					  .direction = direction };
	dtc_gpu_shape_of_job(&side->job, &side->shape);
	side->table = equal_blocks(side);
	side->form = form_of(side);
}

/* ---- alike sides -------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct dtc_gpu_shape *shape)
{
	uint64_t bytes = shape->leaf_bytes;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		bytes *= shape->loops[i].count;
	return bytes;
}

/* Whether both are the same loops round the same block, all of which is copied: then any order of the loops will do. */
static bool are_alike(const struct side *source, const struct side *target)
{
	const struct dtc_gpu_shape *a = &source->shape, *b = &target->shape;
	bool alike = source->form == DTC_GPU_PLAIN && target->form == DTC_GPU_PLAIN &&
		     a->leaf_bytes == b->leaf_bytes && a->loop_count == b->loop_count &&
		     a->begin == 0 && a->end == bytes_of(a);

	for (uint32_t i = 0; alike && i < a->loop_count; i++)
		alike = a->loops[i].count == b->loops[i].count;
	return alike;
}

static void swap_loops(struct dtc_gpu_shape *shape, uint32_t i)
{
	struct dtc_gpu_loop kept = shape->loops[i];

	shape->loops[i] = shape->loops[i + 1];
	shape->loops[i + 1] = kept;
}

/* The loop that goes along the source's memory becomes the innermost one. */
static void sort_loops(struct dtc_gpu_shape *source, struct dtc_gpu_shape *target)
{
	for (uint32_t end = source->loop_count; end > 1; end--)
		for (uint32_t i = 0; i + 1 < end; i++)
			if (dtc_magnitude(source->loops[i].stride) >
			    dtc_magnitude(source->loops[i + 1].stride)) {
				swap_loops(source, i);
				swap_loops(target, i);
			}
}

static bool touches(const struct dtc_gpu_shape *shape)
{
	return shape->loop_count && shape->loops[0].stride == (int64_t)shape->leaf_bytes;
}

static void lengthen_block(struct dtc_gpu_shape *shape)
{
	shape->leaf_bytes *= shape->loops[0].count;
	shape->loop_count--;
	memmove(&shape->loops[0], &shape->loops[1],
		shape->loop_count * sizeof(shape->loops[0]));
}

/* A layout is often copied to another of the same type, whose stream need not go along the memory. */
static void go_along_memory(struct side *source, struct side *target)
{
	if (!are_alike(source, target))
		return;
	sort_loops(&source->shape, &target->shape);
	while (touches(&source->shape) && touches(&target->shape)) {
		lengthen_block(&source->shape);
		lengthen_block(&target->shape);
	}
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Bytes of the block that words are numbered in. */
static uint64_t block_of(const struct side *side)
{
	if (side->form == DTC_GPU_MAPPED)
		return dtc_gpu_map_unit(side->job.layout);
	return side->form == DTC_GPU_LISTED ? side->table->uniform
					    : side->shape.leaf_bytes;
}

static uint64_t bits_of(const struct side *side)
{
	uint64_t bits = side->end->user | block_of(side) | side->job.begin |
			side->job.end;

	if (side->form == DTC_GPU_MAPPED)
		return bits;
	if (side->form == DTC_GPU_LISTED)
		bits |= UINT64_C(1) << side->table->disp_shift;
	return bits | dtc_gpu_shape_bits(&side->shape);
}

/* The stretch in the stream that the side's words are numbered in. */
static uint64_t begin_of(const struct side *side)
{
	return side->form == DTC_GPU_MAPPED ? side->job.begin : side->shape.begin;
}

static uint64_t end_of(const struct side *side)
{
	return side->form == DTC_GPU_MAPPED ? side->job.end : side->shape.end;
}

/* ---- shifted words ------------------------------------------------------------------------------ */

/* The most aligned words that a block may touch. */
static uint64_t words_touched(uint64_t block, uint32_t word)
{
	return (block + word - 2) / word + 1;
}

static bool has_whole_blocks(const struct side *side)
{
	const struct dtc_gpu_shape *shape = &side->shape;

	return side->form == DTC_GPU_PLAIN && shape->loop_count < DIMS_COMPACT &&
	       shape->begin % shape->leaf_bytes == 0 &&
	       shape->end % shape->leaf_bytes == 0;
}

static uint32_t shifted_word_of(uint64_t block, uint32_t word, bool is_between)
{
	if (word > 2 || block < (word == 2 ? TWOWISE_BLOCK : SHIFTED_BLOCK) ||
	    block > INT32_MAX || (is_between && block < LONG_BLOCK))
		return 0;
	return block < LONG_BLOCK ? 4 : 16;
}

/* The length of the words if equal blocks, whose places @word divides, are copied so, or 0. */
static uint32_t shifted_word(const struct side *source, const struct side *target,
			     uint32_t word, bool is_between)
{
	const uint64_t block = source->shape.leaf_bytes;
	const uint32_t shifted = shifted_word_of(block, word, is_between);

	if (!shifted || block != target->shape.leaf_bytes || !has_whole_blocks(source) ||
	    !has_whole_blocks(target))
		return 0;
	const uint64_t blocks = DTC_MAX(source->shape.end, target->shape.end) / block;
	return blocks * words_touched(block, shifted) <= INT32_MAX ? shifted : 0;
}

/* ---- whether ------------------------------------------------------------------------------------ */

/* Elements that lie across the stream's order are turned through shared memory, by packing or unpacking. */
static bool is_transposing(const struct side *side, struct dtc_gpu_launch *scratch)
{
	const char *reason;

	return dtc_gpu_plan_transposing(&side->job, &side->shape, scratch, &reason);
}

static bool is_mapped(const struct side *source, const struct side *target)
{
	return source->form == DTC_GPU_MAPPED || target->form == DTC_GPU_MAPPED;
}

/* Blocks of this length are shifted across a link, too. */
static bool is_worth(const struct side *source, const struct side *target, uint32_t word,
		     const char **reason)
{
	*reason = "long blocks at odd addresses";
	if (word == 1 && DTC_MIN(block_of(source), block_of(target)) > BYTEWISE_BLOCK &&
	    !shifted_word(source, target, word, false))
		return false;
	*reason = "an irregular layout is not aligned to 4 bytes";
	return word >= MAP_WORD_LEAST || !is_mapped(source, target);
}

/* ---- what it needs ------------------------------------------------------------------------------ */

static enum dtc_gpu_copy_need need_of(const struct side *side)
{
	if (side->form == DTC_GPU_MAPPED && !side->end->has_map)
		return DTC_GPU_COPY_NEEDS_MAP;
	if (side->form == DTC_GPU_LISTED && !side->end->image)
		return DTC_GPU_COPY_NEEDS_IMAGE;
	return DTC_GPU_COPY_NEEDS_NOTHING;
}

static bool has_map(const struct side *side)
{
	return side->form != DTC_GPU_MAPPED || side->end->map.unit;
}

static int check_needs(const struct side *source, const struct side *target,
		       struct dtc_gpu_copy_needs *needs, const char **reason)
{
	needs->source = need_of(source);
	needs->target = need_of(target);
	if (needs->source || needs->target)
		return DTCONV_ERR_AGAIN;
	*reason = "too large for a map";
	return has_map(source) && has_map(target) ? 0 : DTCONV_ERR_UNSUPPORTED;
}

/* ---- nests -------------------------------------------------------------------------------------- */

/* Level 0 is a period, the next one counts periods. */
static void map_words(const struct side *side, struct dtc_gpu_copy_side *made)
{
	const struct dtc_gpu_map *map = &side->end->map;
	uint64_t periods = map->form.periods * side->job.count;

	made->disps = map->memory;
	made->nest.user = side->job.user;
	dtc_gpu_set_level(&made->nest, 0, dtc_gpu_map_units(&map->form, map->unit), 0);
	if (periods > 1)
		dtc_gpu_set_level(&made->nest, 1, periods, map->form.stride);
}

/* Level 1 is the table. */
static void list_blocks(const struct side *side, struct dtc_gpu_copy_side *made)
{
	made->disps = side->end->image + dtc_gpu_image_tables(side->job.layout->program) +
		      side->shape.ops->table + sizeof(struct dtc_table);
	made->wide = side->table->disp_wide;
	made->shift = side->table->disp_shift;
	dtc_gpu_set_level(&made->nest, 1, side->table->count, 0);
}

static bool number_words(const struct side *side, uint32_t word,
			 struct dtc_gpu_copy_side *made, const char **reason)
{
	bool listed = side->form == DTC_GPU_LISTED;

	dtc_gpu_set_level(&made->nest, 0, block_of(side) / word, (int64_t)word);
	if (listed)
		list_blocks(side, made);
	return dtc_gpu_set_loops(&side->shape, listed ? 2 : 1, &made->nest, reason);
}

static bool make_side(const struct side *side, uint32_t word,
		      struct dtc_gpu_copy_side *made, const char **reason)
{
	made->form = side->form;
	made->nest.word = (uint8_t)word;
	if (side->form == DTC_GPU_MAPPED)
		map_words(side, made);
	else if (!number_words(side, word, made, reason))
		return false;
	made->first = begin_of(side) / word;
	return dtc_gpu_set_width(&made->nest, end_of(side) / word, reason);
}

static bool is_compact(const struct dtc_gpu_copy_side *side)
{
	return side->form != DTC_GPU_LISTED && !side->nest.wide &&
	       side->nest.dim_count <= DIMS_COMPACT;
}

/* ---- the launch --------------------------------------------------------------------------------- */

static enum dtc_gpu_kernel kernel_of(const struct dtc_gpu_copy_params *params,
				     uint32_t word)
{
	static const uint8_t place[] = { [16] = 0, [8] = 1, [4] = 2, [2] = 3, [1] = 4 };
	bool compact = is_compact(&params->source) && is_compact(&params->target);

	return (enum dtc_gpu_kernel)(
		place[word] + (compact ? DTC_GPU_copy_rows_16 : DTC_GPU_copy_units_16));
}

/* What was planned before is cleared; of the parameters all that the kernel reads. */
static void clear(struct dtc_gpu_launch *launch)
{
	memset(launch, 0,
	       offsetof(struct dtc_gpu_launch, params) + sizeof(launch->params.copy));
}

static int set_launch(struct dtc_gpu_launch *launch, uint64_t bytes,
		      enum dtc_gpu_kernel kernel, const char **reason)
{
	struct dtc_gpu_copy_params *params = &launch->params.copy;
	uint64_t tiles =
		dtc_divide_up(params->units, (uint64_t)params->words * DTC_GPU_BLOCK);

	*reason = "more tiles than one launch can have";
	if (tiles > DTC_GPU_GRID_MOST)
		return DTCONV_ERR_UNSUPPORTED;
	launch->class = DTC_GPU_CLASS_COPY;
	launch->kernel = kernel;
	launch->grid = (uint32_t)tiles;
	launch->params_bytes = sizeof(*params);
	launch->bytes = bytes;
	return 0;
}

static uint64_t bytes_copied(const struct side *side)
{
	return side->job.end - side->job.begin;
}

/* A side in words of which each block has the same number; by the target's alignment some are empty. */
static void make_shifted_side(const struct side *side, uint32_t word,
			      struct dtc_gpu_copy_side *made)
{
	const struct dtc_gpu_shape *shape = &side->shape;
	const uint64_t words = words_touched(shape->leaf_bytes, word);
	const char *reason;

	made->form = DTC_GPU_PLAIN;
	made->nest.word = (uint8_t)word;
	made->first = shape->begin / shape->leaf_bytes;
	dtc_gpu_set_level(&made->nest, 0, words, (int64_t)word);
	dtc_gpu_set_loops(shape, 1, &made->nest, &reason);
}

static int plan_shifted(const struct side *source, const struct side *target,
			uint32_t word, struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_copy_params *params = &launch->params.copy;
	const uint64_t bytes = bytes_copied(source), block = source->shape.leaf_bytes;

	clear(launch);
	launch->word = word;
	launch->run_bytes = block;
	params->block = (uint32_t)block;
	params->units = bytes / block * words_touched(block, word);
	params->words = 1;
	make_shifted_side(source, word, &params->source);
	make_shifted_side(target, word, &params->target);
	return set_launch(launch, bytes,
			  word == 4 ? DTC_GPU_copy_shifted_4 : DTC_GPU_copy_shifted_16,
			  reason);
}

static int plan_words(const struct side *source, const struct side *target, uint32_t word,
		      struct dtc_gpu_launch *launch, struct dtc_gpu_copy_needs *needs,
		      const char **reason)
{
	struct dtc_gpu_copy_params *params = &launch->params.copy;
	const uint64_t bytes = bytes_copied(source);

	if (!is_worth(source, target, word, reason))
		return DTCONV_ERR_UNSUPPORTED;
	clear(launch);
	launch->word = word;
	launch->run_bytes = DTC_MIN(block_of(source), block_of(target));
	int status = check_needs(source, target, needs, reason);
	if (status)
		return status;
	if (!make_side(source, word, &params->source, reason) ||
	    !make_side(target, word, &params->target, reason))
		return DTCONV_ERR_UNSUPPORTED;
	assert((source->job.begin | source->job.end) % word == 0);
	params->units = bytes / word;
	params->words = bytes > LONG_STREAM && launch->run_bytes < LONG_RUN
				? DTC_GPU_COPY_FEW(word)
				: DTC_GPU_COPY_WORDS;
	return set_launch(launch, bytes, kernel_of(params, word), reason);
}

static int plan(const struct side *source, const struct side *target,
		const struct dtc_gpu_copy_job *job, struct dtc_gpu_launch *launch,
		struct dtc_gpu_copy_needs *needs, const char **reason)
{
	const uint32_t word = dtc_gpu_alignment(bits_of(source) | bits_of(target));
	const uint32_t shifted =
		job->is_part ? 0 : shifted_word(source, target, word, job->is_between);

	*reason = "a layout is transposed against the stream";
	if (is_transposing(source, launch) || is_transposing(target, launch))
		return DTCONV_ERR_UNSUPPORTED;
	return shifted ? plan_shifted(source, target, shifted, launch, reason)
		       : plan_words(source, target, word, launch, needs, reason);
}

int dtc_gpu_plan_copy(const struct dtc_gpu_copy_job *job, struct dtc_gpu_launch *launch,
		      struct dtc_gpu_copy_needs *needs, const char **reason)
{
	struct side source, target;

	open_side(&source, &job->source, job, DTC_PACK);
	open_side(&target, &job->target, job, DTC_UNPACK);
	*reason = "a layout is too irregular for the kernels";
	if (source.form == NO_FORM || target.form == NO_FORM)
		return DTCONV_ERR_UNSUPPORTED;
	go_along_memory(&source, &target);
	return plan(&source, &target, job, launch, needs, reason);
}

/* ---- in advance --------------------------------------------------------------------------------- */

/* Somewhere in the device's memory. */
#define ANYWHERE 16

static void pretend(struct dtc_gpu_copy_end *end, enum dtc_gpu_copy_need need,
		    uint32_t word)
{
	struct dtc_gpu_map *map = &end->map;

	if (need == DTC_GPU_COPY_NEEDS_IMAGE)
		end->image = ANYWHERE;
	end->has_map = need == DTC_GPU_COPY_NEEDS_MAP;
	if (!end->has_map || !dtc_gpu_map_of_layout(end->layout, &map->form) ||
	    !dtc_gpu_map_fits(&map->form, word))
		return;
	map->unit = word;
	map->memory = ANYWHERE;
}

int dtc_gpu_foresee_copy(const struct dtc_gpu_copy_job *job,
			 struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_copy_job answered = *job;
	struct dtc_gpu_copy_needs needs;
	int status = dtc_gpu_plan_copy(job, launch, &needs, reason);

	if (status != DTCONV_ERR_AGAIN)
		return status;
	pretend(&answered.source, needs.source, launch->word);
	pretend(&answered.target, needs.target, launch->word);
	return dtc_gpu_plan_copy(&answered, launch, &needs, reason);
}

/* ---- many copies in one launch ------------------------------------------------------------------ */

_Static_assert(sizeof(struct dtc_gpu_copies_params) <= DTC_GPU_PARAMS_BYTES, "too long");
_Static_assert(sizeof(struct dtc_gpu_copy_part) % 8 == 0 &&
		       sizeof(struct dtc_gpu_copy_part) / 8 <= DTC_GPU_BLOCK,
	       "a block's threads fetch a part, 8 bytes each");

struct dtc_gpu_copy_part dtc_gpu_copy_part_of(const struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_copy_params *params = &launch->params.copy;

	return (struct dtc_gpu_copy_part){ .word = launch->word,
					   .units = params->units,
					   .source = params->source,
					   .target = params->target };
}

/* Their tiles, one part behind the other; the number of all. */
static uint64_t number_tiles(struct dtc_gpu_copy_part parts[], size_t count)
{
	const uint64_t tile = (uint64_t)DTC_GPU_COPY_WORDS * DTC_GPU_BLOCK;
	uint64_t tiles = 0;

	for (size_t i = 0; i < count; i++) {
		parts[i].first_tile = (uint32_t)tiles;
		tiles += dtc_divide_up(parts[i].units, tile);
	}
	return tiles;
}

static uint64_t bytes_of_parts(const struct dtc_gpu_copy_part parts[], size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += parts[i].units * parts[i].word;
	return bytes;
}

int dtc_gpu_plan_copies(struct dtc_gpu_copy_part parts[], size_t count, uint64_t device,
			struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_copies_params *params = &launch->params.copies;
	uint64_t tiles = number_tiles(parts, count);

	if (tiles > DTC_GPU_GRID_MOST || count > UINT32_MAX)
		return DTCONV_ERR_UNSUPPORTED;
	memset(launch, 0, offsetof(struct dtc_gpu_launch, params));
	*params = (struct dtc_gpu_copies_params){ .part_count = (uint32_t)count };
	if (count <= DTC_GPU_INLINE_COPIES)
		memcpy(params->inline_parts, parts, count * sizeof(parts[0]));
	else
		params->parts = device;
	launch->class = DTC_GPU_CLASS_COPY;
	launch->kernel = DTC_GPU_many_copies;
	launch->grid = (uint32_t)tiles;
	launch->shared_bytes = DTC_GPU_COPIES_SHARED_BYTES;
	launch->params_bytes = sizeof(*params);
	launch->word = 1;
	launch->bytes = bytes_of_parts(parts, count);
	launch->run_bytes = launch->bytes / count;
	return 0;
}
