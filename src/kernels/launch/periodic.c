/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the class periodic: a leaf that is a short list of runs.
 */
#include "config.h"

#include "classes.h"

#include "base/base.h"
#include "magic.h"
#include "nest.h"

/*
 * Append a run; merge it with the previous one if they touch. False if there are too many runs,
 * or the displacement is too large.
 */
static bool add_run(struct dtc_gpu_periodic_params *params, int64_t disp, uint64_t packed,
		    uint64_t *end)
{
	const struct dtc_gpu_run *last = &params->runs[params->run_count - (params->run_count > 0)];
	bool touches = params->run_count && *end == (uint64_t)disp &&
		       disp - last->disp == (int64_t)(packed - last->packed);

	if (touches)
		return true;
	if (params->run_count == DTC_GPU_RUNS || disp != (int32_t)disp)
		return false;
	params->runs[params->run_count++] =
		(struct dtc_gpu_run){ (int32_t)disp, (uint32_t)packed, 0 };
	return true;
}

static bool add_runs_of(struct dtc_gpu_periodic_params *params, const struct dtc_program *program,
			const struct dtc_op *op, uint64_t *end)
{
	const struct dtc_table *table =
		op->kind == DTC_OP_TABLE ? dtc_program_table(program, op) : NULL;
	uint64_t count = op->kind == DTC_OP_RUN ? 1 : table ? table->count : op->count;

	if (op->kind > DTC_OP_TABLE || count > DTC_GPU_RUNS)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = table ? dtc_table_prefix(table, i) : i * op->unit_bytes;
		uint64_t after = table ? dtc_table_prefix(table, i + 1)
				       : before + op->bytes / count;
		int64_t disp = op->disp + (table ? dtc_table_disp(table, i)
						 : (int64_t)(i * (uint64_t)op->stride));

		if (!add_run(params, disp, op->bytes_before + before, end))
			return false;
		*end = (uint64_t)disp + (after - before);
	}
	return true;
}

bool dtc_gpu_list_runs(struct dtc_gpu_periodic_params *params,
		       const struct dtc_program *program,
		       const struct dtc_gpu_shape *shape)
{
	uint64_t end = 0;

	if (shape->leaf == DTC_GPU_LEAF_TABLE) {
		struct dtc_op op = *shape->ops;
		const char *tables = dtc_program_tables(program);
		const struct dtc_table *table =
			(const struct dtc_table *)(const void *)(tables + op.table);

		if (table->count > DTC_GPU_RUNS)
			return false;
		op.disp = 0;
		op.bytes_before = 0;
		return add_runs_of(params, program, &op, &end);
	}
	for (uint32_t i = 0; i < shape->op_count; i++)
		if (!add_runs_of(params, program, &shape->ops[i], &end))
			return false;
	return true;
}

static uint32_t word_of(const struct dtc_gpu_periodic_params *params,
			const struct dtc_gpu_shape *shape)
{
	uint64_t bits = dtc_gpu_shape_bits(shape) | shape->leaf_bytes;

	for (uint32_t i = 0; i < params->run_count; i++)
		bits |= (uint64_t)(int64_t)params->runs[i].disp | params->runs[i].packed;
	uint32_t word = dtc_gpu_alignment(bits);
	return word < 4 ? 1 : word;
}

/* ---- shares ------------------------------------------------------------------------------------- */

/* Words of the user's side that are at the same offset in every period. */
static uint32_t share_word_of(const struct dtc_gpu_shape *shape)
{
	uint64_t strides = 0;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		strides |= (uint64_t)shape->loops[i].stride;
	uint32_t word = DTC_MIN(dtc_gpu_alignment(strides), 8u);
	return word < 4 ? 0 : word;
}

/* Number the shares of all runs; returns their number. */
static uint64_t number_shares(struct dtc_gpu_periodic_params *params,
			      const struct dtc_gpu_shape *shape, uint32_t word)
{
	uint64_t shares = 0;

	for (uint32_t i = 0; i < params->run_count; i++) {
		struct dtc_gpu_run *run = &params->runs[i];
		uint64_t end = i + 1 < params->run_count ? run[1].packed : shape->leaf_bytes;
		uint64_t first = shape->user + (uint64_t)(int64_t)run->disp;

		run->share = (uint32_t)shares;
		shares += (first % word + (end - run->packed) + word - 1) / word;
	}
	return shares;
}

/*
 * Unpacking runs of odd length, each thread owns the part of one run in one user word (a
 * share). A run has no more shares than bytes, so their numbers need no more bits. Returns the
 * number of shares in a period, or 0.
 */
static uint64_t plan_shares(struct dtc_gpu_periodic_params *params,
			    const struct dtc_gpu_shape *shape)
{
	uint32_t word = share_word_of(shape);
	uint64_t shares = word ? number_shares(params, shape, word) : 0;

	if (!shares || shares > DTC_GPU_PERIOD_UNITS)
		return 0;
	params->share_word = word;
	return shares;
}

static uint64_t share_tiles(const struct dtc_gpu_shape *shape, uint64_t shares)
{
	uint64_t periods = (shape->end - 1) / shape->leaf_bytes -
			   shape->begin / shape->leaf_bytes + 1;

	return (periods * shares - 1) / (DTC_GPU_SHARES * DTC_GPU_BLOCK) + 1;
}

uint64_t dtc_gpu_plan_periodic(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			       struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_periodic_params *params = &launch->params.periodic;
	struct dtc_gpu_nest *nest = &params->nest;

	*reason = "the period has too many runs, or too long ones";
	if (shape->leaf == DTC_GPU_LEAF_BLOCK ||
	    shape->leaf_bytes > DTC_GPU_PERIOD_UNITS * DTC_GPU_PIECE ||
	    !dtc_gpu_list_runs(params, job->layout->program, shape))
		return 0;
	uint32_t word = word_of(params, shape);
	uint64_t units = shape->leaf_bytes / word;
	if (units > DTC_GPU_PERIOD_UNITS)
		return 0;
	nest->word = (uint8_t)word;
	uint64_t shares =
		word == 1 && job->direction == DTC_UNPACK ? plan_shares(params, shape) : 0;
	dtc_gpu_set_level(nest, 0, shares ? shares : units, 0);
	if (!dtc_gpu_set_loops(shape, 1, nest, reason) ||
	    !dtc_gpu_set_width(nest, shape->end / word, reason))
		return 0;
	params->period = (uint32_t)shape->leaf_bytes;
	launch->class = DTC_GPU_CLASS_PERIODIC;
	launch->kernel =
		dtc_gpu_kernel_of_word(DTC_GPU_periodic_pack_16, word, job->direction);
	launch->word = word;
	launch->run_bytes = shape->leaf_bytes / params->run_count;
	launch->shared_bytes = (uint32_t)(shares ? shares * 8 : units * (word > 1 ? 4 : 6));
	if (shares)
		return share_tiles(shape, shares);
	return word > 1 ? dtc_gpu_word_tiles(nest, word)
			: dtc_gpu_piece_tiles(nest->packed, nest->begin, nest->end);
}
