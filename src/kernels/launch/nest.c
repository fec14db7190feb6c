/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans nests: their levels, the width of their numbers, and the words they are moved in.
 */
#include "config.h"

#include "nest.h"

#include "base/base.h"
#include "magic.h"

/* Limit of unit numbers that are divided, including all units of a tile. */
#define UNITS_MOST ((UINT64_C(1) << 31) - 65536)

/*
 * A longer single run at unequal alignments is split into a level of blocks, so that its words
 * can be numbered.
 */
#define LONG_RUN (UINT64_C(1) << 30)
#define LONG_RUN_BLOCK (UINT64_C(1) << 20)

uint64_t dtc_gpu_piece_tiles(uint64_t packed, uint64_t begin, uint64_t end)
{
	uint64_t skipped = (packed + begin) % DTC_GPU_PIECE;

	return dtc_divide_up(skipped + (end - begin), DTC_GPU_TILE_PIECES * DTC_GPU_PIECE);
}

uint64_t dtc_gpu_shape_bits(const struct dtc_gpu_shape *shape)
{
	uint64_t bits = shape->user | shape->packed;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		bits |= (uint64_t)shape->loops[i].stride;
	return bits;
}

void dtc_gpu_set_level(struct dtc_gpu_nest *nest, uint32_t level, uint64_t count, int64_t stride)
{
	struct dtc_gpu_dim *dim = &nest->dims[level];

	dim->stride = stride;
	nest->dim_count = (uint8_t)(level + 1);
	if (level == DTC_GPU_DIMS - 1 || count > UNITS_MOST)
		return;
	dim->count = (uint32_t)count;
	dim->magic = dtc_gpu_magic(dim->count, &nest->shift[level]);
}

/* Whether blocks may begin or end inside sectors. A single run does so only at its two ends. */
static bool has_parts(const struct dtc_gpu_shape *shape)
{
	uint64_t bits = shape->user | shape->leaf_bytes;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		bits |= (uint64_t)shape->loops[i].stride;
	return shape->leaf != DTC_GPU_LEAF_BLOCK ||
	       (shape->loop_count && bits % DTC_GPU_SECTOR != 0);
}

bool dtc_gpu_set_loops(const struct dtc_gpu_shape *shape, uint32_t first,
		       struct dtc_gpu_nest *nest, const char **reason)
{
	if (shape->loop_count > DTC_GPU_DIMS - first) {
		*reason = "more loop levels than the kernels support";
		return false;
	}
	for (uint32_t i = 0; i < shape->loop_count; i++)
		dtc_gpu_set_level(nest, first + i, shape->loops[i].count,
				  shape->loops[i].stride);
	nest->user = shape->user;
	nest->packed = shape->packed;
	nest->begin = shape->begin;
	nest->end = shape->end;
	nest->block = shape->leaf_bytes;
	nest->expects = shape->expects && has_parts(shape);
	return true;
}

bool dtc_gpu_set_width(struct dtc_gpu_nest *nest, uint64_t units, const char **reason)
{
	nest->wide = units > UNITS_MOST;
	for (uint32_t i = 0; nest->wide && i + 1u < nest->dim_count; i++)
		if (nest->dims[i].count == 0) {
			*reason = "an inner level of 2^31 units or more";
			return false;
		}
	return true;
}

/*
 * 16, 8, 4: words that are aligned on both sides; 1: unequal alignments. Words of 4 are faster
 * than 16-byte words that are shifted, at any block length (packing 16 MiB on an H200, relative
 * to a plain kernel of 4-byte words: 128 of 260 bytes 0.91, 256 of 516 0.88, 4 KiB of 8196
 * 0.75).
 */
static uint32_t word_of(const struct dtc_gpu_shape *shape)
{
	uint32_t word = dtc_gpu_alignment(dtc_gpu_shape_bits(shape) |
					  (shape->loop_count ? shape->leaf_bytes : 0));

	return word < 4 ? 1 : word;
}

/* The number of user words that a block may touch, at the worst alignment. */
static uint64_t owned_words(const struct dtc_gpu_shape *shape)
{
	uint64_t strides = 0;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		strides |= (uint64_t)shape->loops[i].stride;
	uint32_t step = dtc_gpu_alignment(strides);
	/* Blocks begin at the first one's alignment modulo @step; assume the worst of these. */
	uint64_t worst = shape->user % step + 16 - step;
	return dtc_divide_up(worst + shape->leaf_bytes, 16);
}

static uint64_t units_in_block(const struct dtc_gpu_shape *shape, uint32_t word,
			       enum dtc_direction direction)
{
	if (word > 1)
		return DTC_MAX(shape->leaf_bytes / word, UINT64_C(1));
	return direction == DTC_PACK ? shape->leaf_bytes : owned_words(shape);
}

/* Split a single run that is too long for 32-bit word numbers into adjacent blocks. */
static void split_long_run(struct dtc_gpu_shape *shape)
{
	shape->loops[0].count = dtc_divide_up(shape->leaf_bytes, LONG_RUN_BLOCK);
	shape->loops[0].stride = (int64_t)LONG_RUN_BLOCK;
	shape->loop_count = 1;
	shape->leaf_bytes = LONG_RUN_BLOCK;
}

static uint64_t last_unit(const struct dtc_gpu_nest *nest, uint64_t units, uint32_t word,
			  enum dtc_direction direction)
{
	if (word > 1 || direction == DTC_PACK)
		return nest->end / word;
	return dtc_divide_up(nest->end, nest->block) * units;
}

static bool set_nest(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
		     uint32_t word, uint64_t units, struct dtc_gpu_nest *nest,
		     const char **reason)
{
	*nest = (struct dtc_gpu_nest){ .word = (uint8_t)word };
	dtc_gpu_set_level(nest, 0, units, (int64_t)word);
	return dtc_gpu_set_loops(shape, 1, nest, reason) &&
	       dtc_gpu_set_width(nest, last_unit(nest, units, word, direction), reason);
}

bool dtc_gpu_make_nest(const struct dtc_gpu_shape *given, enum dtc_direction direction,
		       struct dtc_gpu_nest *nest, const char **reason)
{
	struct dtc_gpu_shape shape = *given;

	if (shape.leaf != DTC_GPU_LEAF_BLOCK) {
		*reason = "not loops over one block";
		return false;
	}
	uint32_t word = word_of(&shape);
	if (word == 1 && shape.loop_count == 0 && shape.leaf_bytes > LONG_RUN)
		split_long_run(&shape);
	return set_nest(&shape, direction, word, units_in_block(&shape, word, direction),
			nest, reason);
}

/* ---- the compact kernels -------------------------------------------------------------------- */

/*
 * Unpacking blocks that are aligned to 1 or 2 bytes, up to this length, byte by byte or in
 * twos: neighbours in a warp share a sector, and no partial words have to be assembled (16 MiB
 * on an H200, relative to the device copy, shifted words and so: 8 of 17 bytes 0.15, 0.38; 128
 * of 257 0.30, 0.37; 512 of 1025 0.49, 0.39; 1024 of 2050 0.56, 0.62).
 */
#define BYTEWISE_BLOCK 256
#define TWOWISE_BLOCK  4096

/*
 * What fits in the L2 cache is done in one wave of thread blocks if threads have many words in
 * flight. For longer streams threads have few, so that concurrent stores are close to each
 * other (256 MiB, unpacking 64 of 128 bytes by 1 and 4 words of 16: 0.78, 0.71; a box by 2 and
 * 4 words of 8: 0.93, 0.88). Short streams are one wave anyway, and end sooner on more multiprocessors
 * (unpacking 64 of 128 bytes by 1 and 4 words of 16, us: 64 KiB 3.4, 3.8; 1 MiB 3.7, 4.0).
 */
#define SHORT_STREAM (UINT64_C(4) << 20)
#define LONG_STREAM  (UINT64_C(32) << 20)

static uint32_t rows_word(const struct dtc_gpu_shape *shape, enum dtc_direction direction)
{
	uint32_t word = word_of(shape);

	if (word > 1)
		return word;
	if (direction == DTC_PACK || !shape->loop_count)
		return 0;
	word = dtc_gpu_alignment(dtc_gpu_shape_bits(shape) | shape->leaf_bytes);
	return shape->leaf_bytes <= (word == 2 ? TWOWISE_BLOCK : BYTEWISE_BLOCK) ? word : 0;
}

static bool is_plain(const struct dtc_gpu_nest *nest)
{
	return !nest->wide && nest->dim_count <= 3 &&
	       (nest->begin | nest->end) % nest->word == 0;
}

static uint32_t rows_words(const struct dtc_gpu_shape *shape, uint32_t word)
{
	uint64_t bytes = shape->end - shape->begin;
	bool is_short = bytes < SHORT_STREAM && !shape->one_block;

	return is_short || bytes > LONG_STREAM ? DTC_GPU_ROWS_FEW(word)
					       : DTC_GPU_ROWS_WORDS(word);
}

uint64_t dtc_gpu_make_rows(const struct dtc_gpu_shape *shape, enum dtc_direction direction,
			   struct dtc_gpu_rows_params *rows)
{
	uint32_t word = rows_word(shape, direction);
	uint64_t bytes = shape->end - shape->begin;
	const char *reason;

	if (!word ||
	    !set_nest(shape, DTC_PACK, word, DTC_MAX(shape->leaf_bytes / word, UINT64_C(1)),
		      &rows->nest, &reason) ||
	    !is_plain(&rows->nest))
		return 0;
	rows->words = rows_words(shape, word);
	return dtc_divide_up(bytes / word, (uint64_t)rows->words * DTC_GPU_BLOCK);
}

/* ---- tiles ---------------------------------------------------------------------------------- */

uint64_t dtc_gpu_word_tiles(const struct dtc_gpu_nest *nest, uint32_t word)
{
	uint64_t first = dtc_divide_up(nest->begin, word);
	uint64_t last = nest->end / word;
	uint64_t tile = DTC_GPU_WORDS(word) * DTC_GPU_BLOCK;

	return first < last ? dtc_divide_up(last - first, tile) : 1;
}

uint64_t dtc_gpu_nest_tiles(const struct dtc_gpu_nest *nest, enum dtc_direction direction)
{
	if (nest->word > 1)
		return dtc_gpu_word_tiles(nest, nest->word);
	if (direction == DTC_PACK)
		return dtc_gpu_piece_tiles(nest->packed, nest->begin, nest->end);
	uint64_t blocks = dtc_divide_up(nest->end, nest->block) - nest->begin / nest->block;
	return dtc_divide_up(blocks * nest->dims[0].count, DTC_GPU_TILE_PIECES);
}
