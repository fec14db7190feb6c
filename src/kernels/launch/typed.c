/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans launches for stretches of units.
 */
#include "config.h"

#include "typed.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"
#include "shape.h"

_Static_assert(sizeof(struct dtc_gpu_units_params) <= DTC_GPU_PARAMS_BYTES, "too long");
_Static_assert(sizeof(struct dtc_gpu_period_params) <= DTC_GPU_PARAMS_BYTES, "too long");

static bool has_one_kind(const struct dtc_gpu_units *units)
{
	const struct dtc_gpu_number *number = &units->nodes[0].number;

	return units->node_count == 1 && !units->couples &&
	       number->native_bytes == number->wire_bytes;
}

/* The longest word that divides both sides, the strides and the stretch. */
static uint32_t word_of(const struct dtc_gpu_shape *shape)
{
	return dtc_gpu_alignment(dtc_gpu_shape_bits(shape) | shape->begin | shape->end |
				 (shape->loop_count ? shape->leaf_bytes : 0));
}

static bool make_nest(const struct dtc_gpu_shape *shape, uint32_t word,
		      struct dtc_gpu_nest *nest)
{
	const char *reason;

	*nest = (struct dtc_gpu_nest){ .word = (uint8_t)word };
	dtc_gpu_set_level(nest, 0, shape->leaf_bytes / word, (int64_t)word);
	return dtc_gpu_set_loops(shape, 1, nest, &reason) &&
	       dtc_gpu_set_width(nest, shape->end / word, &reason);
}

/* Words of whole numbers in a nest; this needs no program on the device. */
static bool plan_numbers(const struct dtc_gpu_typed_job *job,
			 struct dtc_gpu_launch *launch, uint64_t *tiles)
{
	struct dtc_gpu_numbers_params *params = &launch->params.numbers;
	const struct dtc_gpu_number *number = &job->units->nodes[0].number;
	struct dtc_gpu_shape shape;

	if (!has_one_kind(job->units))
		return false;
	dtc_gpu_shape_of_job(&job->job, &shape);
	uint32_t word = word_of(&shape);
	if (shape.leaf != DTC_GPU_LEAF_BLOCK || word < number->native_bytes ||
	    !make_nest(&shape, word, &params->nest))
		return false;
	params->combination = job->units->combination;
	params->number = *number;
	launch->word = word;
	launch->run_bytes = shape.leaf_bytes;
	launch->kernel = job->job.direction == DTC_PACK ? DTC_GPU_numbers_pack
							: DTC_GPU_numbers_unpack;
	*tiles = dtc_divide_up((shape.end - shape.begin) / word,
			   DTC_GPU_NUMBER_WORDS * DTC_GPU_BLOCK);
	return true;
}

/* The longest word that also divides the runs of a period. */
static uint32_t word_of_runs(const struct dtc_gpu_period_params *params,
			     const struct dtc_gpu_shape *shape)
{
	uint64_t bits = dtc_gpu_shape_bits(shape) | shape->begin | shape->end |
			shape->leaf_bytes;

	for (uint32_t i = 0; i < params->run_count; i++)
		bits |= (uint64_t)(int64_t)params->runs[i].disp | params->runs[i].packed;
	return dtc_gpu_alignment(bits);
}

static bool copy_runs(const struct dtc_program *program,
		      const struct dtc_gpu_shape *shape, uint16_t swap,
		      struct dtc_gpu_period_params *params)
{
	struct dtc_gpu_periodic_params found;

	found.run_count = 0;
	if (!dtc_gpu_list_runs(&found, program, shape))
		return false;
	params->run_count = found.run_count;
	for (uint32_t i = 0; i < found.run_count; i++)
		params->runs[i] = (struct dtc_gpu_turned_run){
			.disp = found.runs[i].disp,
			.packed = (uint16_t)found.runs[i].packed,
			.swap = swap
		};
	return true;
}

uint64_t dtc_gpu_finish_period(const struct dtc_gpu_typed_job *job,
			       struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_period_params *params = &launch->params.period;
	const struct dtc_gpu_nest *nest = &params->numbers.nest;
	uint32_t words = params->turned ? DTC_GPU_WORDS(nest->word)
					: DTC_GPU_NUMBER_WORDS;
	size_t entry = params->turned ? sizeof(struct dtc_gpu_turned_word)
				      : sizeof(int32_t);

	launch->word = nest->word;
	launch->shared_bytes = (uint32_t)(nest->dims[0].count * entry);
	launch->kernel = job->job.direction == DTC_PACK ? DTC_GPU_period_pack
							: DTC_GPU_period_unpack;
	return dtc_divide_up(nest->end / nest->word - nest->begin / nest->word,
			     (uint64_t)words * DTC_GPU_BLOCK);
}

/* Words of whole numbers of one kind in periods. */
static uint64_t plan_period(const struct dtc_gpu_typed_job *job,
			    struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_period_params *params = &launch->params.period;
	const struct dtc_gpu_number *number = &job->units->nodes[0].number;
	struct dtc_gpu_nest *nest = &params->numbers.nest;
	struct dtc_gpu_shape shape;
	const char *reason;

	if (!has_one_kind(job->units))
		return 0;
	dtc_gpu_shape_of_job(&job->job, &shape);
	memset(params, 0, sizeof(*params));
	if (shape.leaf == DTC_GPU_LEAF_BLOCK ||
	    shape.leaf_bytes > DTC_GPU_PERIOD_UNITS * DTC_GPU_PIECE ||
	    !copy_runs(job->job.layout->program, &shape, number->swap, params))
		return 0;
	uint32_t word = word_of_runs(params, &shape);
	if (word < number->native_bytes || shape.leaf_bytes / word > DTC_GPU_PERIOD_UNITS)
		return 0;
	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, shape.leaf_bytes / word, 0);
	if (!dtc_gpu_set_loops(&shape, 1, nest, &reason) ||
	    !dtc_gpu_set_width(nest, shape.end / word, &reason))
		return 0;
	params->numbers.combination = job->units->combination;
	params->numbers.number = *number;
	params->turned = word >= 4 && job->units->combination == DTC_GPU_REPLACE;
	return dtc_gpu_finish_period(job, launch);
}

static bool is_word(const struct dtc_gpu_number *number)
{
	return number->native_bytes == number->wire_bytes &&
	       (number->native_bytes == 4 || number->native_bytes == 8);
}

/* Load numbers of 4 and 8 bytes in the widest words that their alignment allows. False if there are others. */
static bool choose_words(const struct dtc_gpu_typed_job *job,
			 const struct dtc_gpu_shape *shape,
			 struct dtc_gpu_units_params *params)
{
	const struct dtc_gpu_node *couple = &job->units->nodes[0];
	uint64_t user = shape->user;
	/* Whether couples, in a block and in the stream, are as far apart as they are long. */
	uint64_t step = shape->leaf_bytes > couple->native_bytes ? couple->native_bytes
								 : 0;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		user |= (uint64_t)shape->loops[i].stride;
	params->couple_words[0] = (uint8_t)DTC_MIN(dtc_gpu_alignment(user | step), 8u);
	params->couple_words[1] = (uint8_t)DTC_MIN(
		dtc_gpu_alignment(job->job.packed | couple->wire_bytes), 8u);
	return is_word(&couple[0].number) && is_word(&couple[1].number) &&
	       params->couple_words[0] >= 4 && params->couple_words[1] >= 4;
}

/* Consecutive couples in a nest; this needs no program on the device. */
static bool plan_couples(const struct dtc_gpu_typed_job *job,
			 struct dtc_gpu_units_params *params, enum dtc_gpu_kernel *kernel)
{
	const struct dtc_gpu_node *couple = &job->units->nodes[0];
	struct dtc_gpu_nest *nest = &params->nest;
	struct dtc_gpu_shape shape;
	const char *reason;

	dtc_gpu_shape_of_job(&job->job, &shape);
	if (shape.leaf != DTC_GPU_LEAF_BLOCK || shape.leaf_bytes % couple->native_bytes)
		return false;
	params->begin = shape.begin / couple->native_bytes;
	params->end = shape.end / couple->native_bytes;
	params->packed = job->job.packed - params->begin * couple->wire_bytes;
	dtc_gpu_set_level(nest, 0, shape.leaf_bytes / couple->native_bytes,
			  (int64_t)couple->native_bytes);
	if (!dtc_gpu_set_loops(&shape, 1, nest, &reason) ||
	    !dtc_gpu_set_width(nest, params->end, &reason)) {
		nest->dim_count = 0;
		return false;
	}
	if (choose_words(job, &shape, params))
		*kernel = DTC_GPU_word_couples_unpack;
	return true;
}

static bool plan_walk(const struct dtc_gpu_typed_job *job,
		      struct dtc_gpu_units_params *params)
{
	const struct dtc_layout *layout = job->job.layout;

	params->walk = (struct dtc_gpu_walk){ .user = job->job.user,
					      .image = job->job.image,
					      .size = layout->size,
					      .extent = layout->extent,
					      .by_size = dtc_gpu_divisor(layout->size) };
	params->packed = job->job.packed - job->begin.wire;
	params->begin = job->begin.unit;
	params->end = job->end.unit;
	return job->job.image;
}

static bool couples_are_long(const struct dtc_gpu_units *units)
{
	const struct dtc_gpu_number *value = &units->nodes[0].number;
	const struct dtc_gpu_number *index = &units->nodes[1].number;

	return (value->native_bytes | value->wire_bytes | index->native_bytes |
		index->wire_bytes) > DTC_GPU_CELL_BYTES;
}

static int plan_units(const struct dtc_gpu_typed_job *job, struct dtc_gpu_launch *launch,
		      uint64_t *tiles)
{
	struct dtc_gpu_units_params *params = &launch->params.units;
	const struct dtc_gpu_units *units = job->units;

	memset(params, 0, sizeof(*params));
	launch->kernel = units->couples                   ? DTC_GPU_couples_unpack
			 : job->job.direction == DTC_PACK ? DTC_GPU_units_pack
							  : DTC_GPU_units_unpack;
	if (!(units->couples && plan_couples(job, params, &launch->kernel)) &&
	    !plan_walk(job, params))
		return DTCONV_ERR_UNSUPPORTED;
	params->fault = job->fault;
	params->combination = units->combination;
	params->node_count = (uint16_t)units->node_count;
	params->long_couples = units->couples && couples_are_long(units);
	memcpy(params->nodes, units->nodes, sizeof(params->nodes));
	launch->word = 1;
	*tiles =
		dtc_divide_up(params->end - params->begin, DTC_GPU_UNITS * DTC_GPU_BLOCK);
	return 0;
}

int dtc_gpu_plan_typed(const struct dtc_gpu_typed_job *job, struct dtc_gpu_launch *launch)
{
	uint64_t tiles = 0;
	int status = 0;

	memset(launch, 0, sizeof(*launch));
	launch->class = DTC_GPU_CLASS_TYPED;
	launch->bytes = job->end.wire - job->begin.wire;
	if (!plan_numbers(job, launch, &tiles)) {
		tiles = plan_period(job, launch);
		if (!tiles)
			tiles = dtc_gpu_plan_cells(job, launch);
		if (!tiles)
			status = plan_units(job, launch, &tiles);
	}
	if (status || tiles > INT32_MAX)
		return DTCONV_ERR_UNSUPPORTED;
	launch->grid = (uint32_t)tiles;
	launch->params_bytes = (uint32_t)dtc_gpu_kernel_params_bytes(launch->kernel);
	return 0;
}
