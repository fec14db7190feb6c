/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning the class periodic: a leaf that is a short list of runs.
 */
#include "config.h"

#include "gpu_classes.h"

#include "base.h"
#include "gpu_nest.h"

/* Append a run; runs that touch are one. False if there are too many or it is too far away. */
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
		(struct dtc_gpu_run){ (int32_t)disp, (uint32_t)packed };
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

/* The leaf's runs; a single table's displacement is in the shape already. */
static bool list_runs(struct dtc_gpu_periodic_params *params, const struct dtc_program *program,
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

uint64_t dtc_gpu_plan_periodic(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			       struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_periodic_params *params = &launch->params.periodic;
	struct dtc_gpu_nest *nest = &params->nest;

	*reason = "more runs, or longer ones, than a period may have";
	if (shape->leaf == DTC_GPU_LEAF_BLOCK ||
	    shape->leaf_bytes > DTC_GPU_PERIOD_UNITS * DTC_GPU_PIECE ||
	    !list_runs(params, job->layout->program, shape))
		return 0;
	uint32_t word = word_of(params, shape);
	uint64_t units = shape->leaf_bytes / word;
	if (units > DTC_GPU_PERIOD_UNITS)
		return 0;
	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, units, 0);
	if (!dtc_gpu_set_loops(shape, 1, nest, reason) ||
	    !dtc_gpu_set_width(nest, shape->end / word, reason))
		return 0;
	params->period = (uint32_t)shape->leaf_bytes;
	launch->class = DTC_GPU_CLASS_PERIODIC;
	launch->kernel =
		dtc_gpu_kernel_of_word(DTC_GPU_periodic_pack_16, word, job->direction);
	launch->word = word;
	launch->run_bytes = shape->leaf_bytes / params->run_count;
	launch->shared_bytes = (uint32_t)(units * (word > 1 ? 4 : 6));
	return word > 1 ? dtc_gpu_word_tiles(nest, word)
			: dtc_gpu_piece_tiles(nest->packed, nest->begin, nest->end);
}
