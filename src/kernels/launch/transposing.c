/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the class transposing: a nest in which an outer loop, not the innermost one, has the
 * smallest stride.
 */
#include "config.h"

#include "classes.h"

#include "base/base.h"
#include "base/checked.h"
#include "magic.h"
#include "nest.h"

/* Longer blocks fill the sectors of both sides by themselves. */
#define BLOCK_MOST 24

/* The word of an element; unequal alignments allow only short ones. */
#define WORDS_MOST 8

/* The largest stride of the outer loop: the size of a memory transaction. */
#define STRIDE_MOST 64

/* With fewer elements along either loop, staging in shared memory does not pay. */
#define SIDE_LEAST 8

/* The loop with the smallest stride, if it is not the innermost one; 0 if there is none. */
static uint32_t outer_loop(const struct dtc_gpu_shape *shape)
{
	uint64_t least = dtc_magnitude(shape->loops[0].stride);
	uint32_t found = 0;

	for (uint32_t i = 1; i < shape->loop_count; i++) {
		uint64_t stride = dtc_magnitude(shape->loops[i].stride);

		if (stride < least && stride >= shape->leaf_bytes) {
			least = stride;
			found = i;
		}
	}
	return least <= STRIDE_MOST ? found : 0;
}

static bool pays(const struct dtc_gpu_shape *shape, uint32_t outer, uint32_t words)
{
	return outer && words <= WORDS_MOST && shape->loops[0].count >= SIDE_LEAST &&
	       shape->loops[outer].count >= SIDE_LEAST;
}

static bool counts_fit(const struct dtc_gpu_shape *shape)
{
	for (uint32_t i = 0; i < shape->loop_count; i++)
		if (shape->loops[i].count > INT32_MAX)
			return false;
	return shape->loop_count < DTC_GPU_DIMS;
}

static uint64_t set_tiles(const struct dtc_gpu_shape *shape, uint32_t outer,
			  struct dtc_gpu_transpose_params *params)
{
	uint32_t side = 1u << params->side_log;
	uint64_t packed = shape->leaf_bytes;
	uint64_t all = 1;

	for (uint32_t i = 0; i < shape->loop_count; i++) {
		uint32_t count = (uint32_t)shape->loops[i].count;
		bool tiled = i == 0 || i == outer;

		params->counts[i + 1] = count;
		params->packed_strides[i + 1] = packed;
		params->tiles[i + 1] = tiled ? (count - 1) / side + 1 : count;
		params->magics[i + 1] =
			dtc_gpu_magic(params->tiles[i + 1], &params->shifts[i + 1]);
		packed *= count;
		if (__builtin_mul_overflow(all, params->tiles[i + 1], &all))
			return UINT64_MAX;
	}
	return all;
}

static enum dtc_gpu_kernel kernel_of(uint32_t word, enum dtc_direction direction)
{
	static const enum dtc_gpu_kernel kernels[2][17] = {
		[DTC_PACK] = { [16] = DTC_GPU_transposing_pack_16,
			       [8] = DTC_GPU_transposing_pack_8,
			       [4] = DTC_GPU_transposing_pack_4,
			       [2] = DTC_GPU_transposing_pack_2,
			       [1] = DTC_GPU_transposing_pack_1 },
		[DTC_UNPACK] = { [16] = DTC_GPU_transposing_unpack_16,
				 [8] = DTC_GPU_transposing_unpack_8,
				 [4] = DTC_GPU_transposing_unpack_4,
				 [2] = DTC_GPU_transposing_unpack_2,
				 [1] = DTC_GPU_transposing_unpack_1 },
	};

	return kernels[direction][word];
}

uint64_t dtc_gpu_plan_transposing(const struct dtc_gpu_job *job,
				  const struct dtc_gpu_shape *shape,
				  struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_transpose_params *params = &launch->params.transpose;
	struct dtc_gpu_nest *nest = &params->nest;

	*reason = "no outer loop is contiguous in memory";
	if (shape->leaf != DTC_GPU_LEAF_BLOCK || shape->loop_count < 2 ||
	    shape->leaf_bytes > BLOCK_MOST)
		return 0;
	uint32_t word = dtc_gpu_alignment(dtc_gpu_shape_bits(shape) | shape->leaf_bytes);
	uint32_t words = (uint32_t)shape->leaf_bytes / word;
	uint32_t outer = outer_loop(shape);
	if (!pays(shape, outer, words) || !counts_fit(shape))
		return 0;
	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, words, (int64_t)word);
	if (!dtc_gpu_set_loops(shape, 1, nest, reason) ||
	    !dtc_gpu_set_width(nest, shape->end / word, reason))
		return 0;
	params->outer = outer + 1;
	params->outer_stride = shape->loops[outer].stride;
	params->words = (uint8_t)words;
	params->side_log = words == 1 && word <= 8 ? 6 : 5;
	params->pitch = (words << params->side_log) + 1;
	launch->class = DTC_GPU_CLASS_TRANSPOSING;
	launch->kernel = kernel_of(word, job->direction);
	launch->word = word;
	launch->run_bytes = shape->leaf_bytes;
	launch->shared_bytes = (params->pitch << params->side_log) * word;
	uint64_t tiles = set_tiles(shape, outer, params);
	params->outer_packed = params->packed_strides[outer + 1];
	return tiles;
}
