/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes movers: finds out at commit whether a layout is a nest, a list of runs or a pattern, and
 * whether several instances are one, too.
 */
#include "config.h"

#include "copy_backends/mover.h"

#include <stdalign.h>
#include <string.h>

#include "address_pair.h"
#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "loop_body.h"
#include "short_runs.h"

/*
 * The least runs for which a pattern with known steps is faster: than a nest if the runs are equal, than
 * single runs if they differ.
 */
#define PATTERN_LEAST_EQUAL 256
#define PATTERN_LEAST_UNLIKE 16

/* The least bytes of a row for which laying out steps for each row is faster. */
#define PATTERN_ROW_BYTES 1024

/* The most runs of a list and their largest average length: longer runs gain from wide words. */
#define FEW_RUNS 64
#define FEW_RUN_BYTES 64

/* The most blocks that are moved one by one; for more, a cursor is faster. */
#define FEW_BLOCKS 32

/* ---- moving ---------------------------------------------------------------------------------- */

/* A mover begins with its nest. */
static const struct dtc_mover *mover_of(const struct dtc_nest *nest)
{
	return (const struct dtc_mover *)nest;
}

void dtc_mover_move_periods(const struct dtc_mover *mover, size_t periods, char *user,
			    char *packed, enum dtc_direction direction,
			    enum dtc_stream stream)
{
	struct dtc_pattern pattern = mover->pattern.of[direction];

	pattern.periods = periods;
	pattern.stream = stream;
	pattern.user = displaced(user, mover->pattern.disp);
	pattern.packed = packed;
	mover->layout->program->context->cpu->pattern(&pattern);
}

static void pack_pattern(const struct dtc_nest *nest, char *user, char *packed)
{
	const struct dtc_mover *mover = mover_of(nest);

	dtc_mover_move_periods(mover, mover->pattern.periods, user, packed, DTC_PACK,
			       DTC_STREAM_NONE);
}

static void unpack_pattern(const struct dtc_nest *nest, char *user, char *packed)
{
	const struct dtc_mover *mover = mover_of(nest);

	dtc_mover_move_periods(mover, mover->pattern.periods, user, packed, DTC_UNPACK,
			       DTC_STREAM_NONE);
}

static void pack_runs(const struct dtc_nest *nest, char *user, char *packed)
{
	const struct dtc_mover *mover = mover_of(nest);

	dtc_cpu_pack_runs(mover->runs, mover->run_count, user, packed);
}

static void unpack_runs(const struct dtc_nest *nest, char *user, char *packed)
{
	const struct dtc_mover *mover = mover_of(nest);

	dtc_cpu_unpack_runs(mover->runs, mover->run_count, user, packed);
}

static void move_program(const struct dtc_mover *mover, char *user, char *packed,
			 enum dtc_direction direction)
{
	const struct dtc_program *program = mover->layout->program;
	const struct address_pair pair = { program->context->cpu, DTC_STREAM_NONE, user,
					   packed, direction };

	dtc_move_body(&pair, program, program->ops, program->op_count);
}

static void pack_program(const struct dtc_nest *nest, char *user, char *packed)
{
	move_program(mover_of(nest), user, packed, DTC_PACK);
}

static void unpack_program(const struct dtc_nest *nest, char *user, char *packed)
{
	move_program(mover_of(nest), user, packed, DTC_UNPACK);
}

/* Whether one instance is a run or a strip, so that several are a nest. */
static bool is_row(const struct dtc_mover *mover)
{
	return mover->nested[DTC_PACK] && mover->nest.outer == 1;
}

/* Whether instances are closer than the runs of one: transposing kernels move those. */
static bool transposes(const struct dtc_mover *mover)
{
	return mover->nest.inner > 1 &&
	       dtc_magnitude(mover->layout->extent) < dtc_magnitude(mover->nest.inner_stride);
}

static void move_rows(const struct dtc_mover *mover, size_t count, char *user, char *packed,
		      enum dtc_direction direction)
{
	struct dtc_nest nest = mover->nest;

	if (nest.inner == 1) {
		nest.inner = count;
		nest.inner_stride = (ptrdiff_t)mover->layout->extent;
	} else {
		nest.outer = count;
		nest.outer_stride = (ptrdiff_t)mover->layout->extent;
	}
	mover->nested[direction](&nest, user, packed);
}

static bool move_few(const struct dtc_mover *mover, size_t count, char *user, char *packed,
		     enum dtc_direction direction)
{
	if (count * mover->layout->program->op_count > FEW_BLOCKS)
		return false;
	for (size_t i = 0; i < count; i++)
		dtc_mover_move(mover, displaced(user, (int64_t)i * mover->layout->extent),
			       packed + i * mover->bytes, direction);
	return true;
}

static bool is_worth_pattern(const struct dtc_mover *mover, size_t count)
{
	size_t runs = count * mover->pattern.repeats * mover->pattern.of[DTC_PACK].run_count;

	return runs >= (mover->nested[DTC_PACK] ? PATTERN_LEAST_EQUAL : PATTERN_LEAST_UNLIKE);
}

bool dtc_mover_move_many(const struct dtc_mover *mover, size_t count, char *user, char *packed,
			 enum dtc_direction direction)
{
	if (is_worth_pattern(mover, count)) {
		dtc_mover_move_periods(mover, count * mover->pattern.repeats, user, packed,
				       direction, DTC_STREAM_NONE);
		return true;
	}
	if (!is_row(mover))
		return move_few(mover, count, user, packed, direction);
	if (transposes(mover))
		return false;
	move_rows(mover, count, user, packed, direction);
	return true;
}

/* ---- nests ----------------------------------------------------------------------------------- */

/* A run, a strip, or a loop over one of them that does not transpose. */
static bool is_nest(const struct dtc_program *program, struct dtc_nest *nest)
{
	const struct dtc_op *op = program->ops;

	*nest = (struct dtc_nest){ .disp = (ptrdiff_t)op->disp, .outer = 1, .inner = 1 };
	if (program->op_count == 2 && op->kind == DTC_OP_LOOP) {
		nest->outer = (size_t)op->count;
		nest->outer_stride = (ptrdiff_t)op->stride;
		op++;
	} else if (program->op_count != 1) {
		return false;
	}
	if (op->kind > DTC_OP_STRIP)
		return false;
	nest->block = (size_t)op->unit_bytes;
	if (op->kind == DTC_OP_STRIP) {
		nest->inner = (size_t)op->count;
		nest->inner_stride = (ptrdiff_t)op->stride;
	}
	return nest->outer == 1 ||
	       dtc_magnitude(nest->outer_stride) >= dtc_magnitude(nest->inner_stride);
}

/* Whether each row of a nest is worth a pattern: the cursor moves those. */
static bool has_pattern_rows(const struct dtc_cpu_kernels *cpu, const struct dtc_nest *nest)
{
	return nest->outer > 1 && nest->inner * nest->block >= PATTERN_ROW_BYTES &&
	       looks_like_pattern(cpu, 1, nest->block, nest->inner_stride);
}

static void draft_nest(struct dtc_mover *mover, const struct dtc_cpu_kernels *cpu)
{
	struct dtc_nest nest;

	if (!is_nest(mover->layout->program, &nest) || has_pattern_rows(cpu, &nest))
		return;
	mover->nest = nest;
	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++)
		mover->move[direction] = mover->nested[direction] =
			cpu->nest(nest.block, (enum dtc_direction)direction);
	if (nest.outer * nest.inner == 1) {
		mover->move[DTC_PACK] = cpu->block[DTC_PACK];
		mover->move[DTC_UNPACK] = cpu->block[DTC_UNPACK];
	}
}

/* ---- few runs -------------------------------------------------------------------------------- */

static uint64_t runs_of(const struct dtc_program *program, const struct dtc_op *op)
{
	if (op->kind == DTC_OP_TABLE)
		return dtc_program_table(program, op)->count;
	return op->kind == DTC_OP_RUN ? 1 : op->count;
}

/* Set @run to run @i of an operation. False if its displacement or length needs more than 32 bits. */
static bool set_run(struct dtc_short_run *run, const struct dtc_program *program,
		    const struct dtc_op *op, uint64_t i)
{
	int64_t disp = op->disp;
	uint64_t bytes = op->unit_bytes;

	if (op->kind == DTC_OP_TABLE) {
		const struct dtc_table *table = dtc_program_table(program, op);

		disp = dtc_disp_plus(disp, dtc_table_disp(table, i));
		bytes = dtc_table_prefix(table, i + 1) - dtc_table_prefix(table, i);
	} else {
		disp = dtc_disp_plus(disp, dtc_disp_steps(i, op->stride));
	}
	*run = (struct dtc_short_run){ (int32_t)disp, (uint32_t)bytes };
	return disp == run->disp && bytes == run->bytes;
}

/* Whether dtc_move_body moves a program: it has no loops, but for loops over one table. */
static bool is_body(const struct dtc_program *program)
{
	for (uint32_t i = 0; i < program->op_count; i++) {
		const struct dtc_op *op = &program->ops[i];

		if (!dtc_op_is_loop(op))
			continue;
		if (op->kind != DTC_OP_LOOP || op->body != 1 ||
		    program->ops[++i].kind != DTC_OP_TABLE)
			return false;
	}
	return true;
}

/*
 * List the runs of a program. Returns their number, or 0 if a list is not the fastest way, or there are loops.
 */
static size_t list_program(struct dtc_short_run runs[], const struct dtc_program *program)
{
	size_t n = 0;

	if (program->depth)
		return 0;
	for (uint32_t i = 0; i < program->op_count; i++) {
		const struct dtc_op *op = &program->ops[i];
		uint64_t count = runs_of(program, op);

		if (n + count > FEW_RUNS)
			return 0;
		for (uint64_t j = 0; j < count; j++)
			if (!set_run(&runs[n++], program, op, j))
				return 0;
	}
	return program->bytes <= FEW_RUN_BYTES * n ? n : 0;
}

/* As a list of runs if that is short, else operation by operation. */
static void draft_program(struct dtc_mover *mover, struct dtc_short_run runs[])
{
	mover->runs = runs;
	mover->run_count = list_program(runs, mover->layout->program);
	mover->move[DTC_PACK] = mover->run_count ? pack_runs : pack_program;
	mover->move[DTC_UNPACK] = mover->run_count ? unpack_runs : unpack_program;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* The operations of one period of a pattern. */
struct period {
	const struct dtc_op *ops;
	uint32_t op_count;
	ptrdiff_t disp;
	uint64_t bytes;
	int64_t step;
};

/* The bytes of the steps of both directions, found by laying them out; 0 if the runs are no pattern. */
static DTC_NOINLINE size_t measure_steps(const struct dtc_cpu_kernels *cpu,
					 const struct dtc_pattern of[])
{
	alignas(max_align_t) char steps[DTC_STEPS_MAX];
	const size_t pack = cpu->lay_out(&of[DTC_PACK], steps);
	const size_t unpack = pack ? cpu->lay_out(&of[DTC_UNPACK], steps) : 0;

	return unpack ? pack + unpack : 0;
}

/* List the runs of a period and draft its pattern. Returns the bytes of its steps. */
static size_t draft_period(struct dtc_mover_pattern *drafted, struct dtc_short_run runs[],
			   const struct dtc_cpu_kernels *cpu, const struct period *period)
{
	uint64_t n = dtc_runs_of_body(period->ops, period->op_count);

	if (!looks_like_pattern(cpu, n, period->bytes, period->step) ||
	    !dtc_list_runs(runs, period->ops, period->op_count))
		return 0;
	drafted->disp = period->disp;
	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++)
		drafted->of[direction] = (struct dtc_pattern){
			.runs = runs,
			.run_count = (size_t)n,
			.periods = SIZE_MAX,
			.user_step = (ptrdiff_t)period->step,
			.packed_step = (size_t)period->bytes,
			.direction = (enum dtc_direction)direction,
		};
	return measure_steps(cpu, drafted->of);
}

/* A strip: each run is a period. */
static size_t draft_strip(struct dtc_mover_pattern *drafted, struct dtc_short_run runs[],
			  const struct dtc_layout *layout, const struct dtc_cpu_kernels *cpu)
{
	const struct dtc_op *op = layout->program->ops;
	const struct dtc_op run = { .kind = DTC_OP_RUN, .bytes = op->unit_bytes };
	const struct period period = { &run, 1, (ptrdiff_t)op->disp, op->unit_bytes,
				       op->stride };
	size_t bytes = draft_period(drafted, runs, cpu, &period);

	drafted->periods = op->count >= PATTERN_LEAST_EQUAL ? (size_t)op->count : 0;
	if (dtc_is_product(layout->extent, op->count, op->stride))
		drafted->repeats = (size_t)op->count;
	return drafted->periods || drafted->repeats ? bytes : 0;
}

/* A loop over unlike runs: each iteration is a period. */
static size_t draft_loop(struct dtc_mover_pattern *drafted, struct dtc_short_run runs[],
			 const struct dtc_layout *layout, const struct dtc_cpu_kernels *cpu)
{
	const struct dtc_op *loop = layout->program->ops;
	const struct period period = { loop + 1, loop->body, (ptrdiff_t)loop->disp,
				       loop->unit_bytes, loop->stride };

	drafted->periods = (size_t)loop->count;
	if (loop->count * dtc_runs_of_body(period.ops, period.op_count) < PATTERN_LEAST_UNLIKE)
		return 0;
	return draft_period(drafted, runs, cpu, &period);
}

/* Each instance is a period. */
static size_t draft_instances(struct dtc_mover_pattern *drafted, struct dtc_short_run runs[],
			      const struct dtc_layout *layout, const struct dtc_cpu_kernels *cpu)
{
	const struct dtc_program *program = layout->program;
	const struct period period = { program->ops, program->op_count, 0, program->bytes,
				       layout->extent };

	drafted->repeats = 1;
	return draft_period(drafted, runs, cpu, &period);
}

/* Draft the pattern of one instance or of several. Returns the bytes of its steps, 0 if there is none. */
static size_t draft_pattern(struct dtc_mover *mover, struct dtc_short_run runs[],
			    const struct dtc_cpu_kernels *cpu)
{
	const struct dtc_layout *layout = mover->layout;
	const struct dtc_program *program = layout->program;
	size_t bytes = 0;

	if (!cpu->pattern)
		return 0;
	if (program->op_count == 1 && program->ops->kind == DTC_OP_STRIP)
		bytes = draft_strip(&mover->pattern, runs, layout, cpu);
	else if (program->op_count == program->ops->body + 1 && program->ops->flat &&
		 program->ops->kind == DTC_OP_LOOP)
		bytes = draft_loop(&mover->pattern, runs, layout, cpu);
	if (bytes)
		return bytes;
	mover->pattern = (struct dtc_mover_pattern){ .periods = 0 };
	if (program->depth == 0)
		bytes = draft_instances(&mover->pattern, runs, layout, cpu);
	if (!bytes)
		mover->pattern = (struct dtc_mover_pattern){ .periods = 0 };
	return bytes;
}

/* ---- making ---------------------------------------------------------------------------------- */

/*
 * Whether instances are short enough for one thread and for the caches. Each move of a larger one has
 * the time to choose anew.
 */
static bool is_short(const struct dtc_layout *layout)
{
	const struct dtconv_context *context = layout->program->context;

	return layout->size && layout->size < context->tuning.stream_bytes &&
	       layout->size / 2 < context->threads.share_bytes;
}

/* Copy the draft with its runs to the heap and lay out its steps there. */
static int keep(const struct dtc_mover *draft, const struct dtc_cpu_kernels *cpu,
		size_t step_bytes, struct dtc_mover **kept_mover)
{
	const struct dtc_pattern *pattern = &draft->pattern.of[DTC_PACK];
	size_t period_bytes = step_bytes ? pattern->run_count * sizeof(*pattern->runs) : 0;
	size_t run_bytes = draft->run_count * sizeof(*draft->runs);
	struct dtc_mover *mover =
		dtc_alloc(draft->layout->program->context,
			  sizeof(*mover) + step_bytes + period_bytes + run_bytes);

	if (!mover)
		return DTCONV_ERR_NOMEM;
	char *after = (char *)(mover + 1);

	*mover = *draft;
	struct dtc_short_run *runs = (struct dtc_short_run *)(after + step_bytes);
	mover->runs = memcpy(runs, draft->runs, run_bytes);
	*kept_mover = mover;
	if (!step_bytes)
		return 0;
	runs = memcpy(runs + draft->run_count, pattern->runs, period_bytes);
	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++) {
		struct dtc_pattern *kept = &mover->pattern.of[direction];

		kept->runs = runs;
		kept->steps = after;
		after += cpu->lay_out(kept, after);
	}
	return 0;
}

int dtc_mover_create(const struct dtc_layout *layout, struct dtc_mover **mover)
{
	const struct dtc_cpu_kernels *cpu = layout->program->context->cpu;
	struct dtc_short_run runs[FEW_RUNS], period[PATTERN_RUNS];
	struct dtc_mover draft = { .layout = layout,
				   .bytes = (size_t)layout->size,
				   .runs = runs };

	*mover = NULL;
	if (!is_short(layout))
		return 0;
	draft_nest(&draft, cpu);
	if (!draft.move[DTC_PACK] && is_body(layout->program))
		draft_program(&draft, runs);
	size_t step_bytes = draft_pattern(&draft, period, cpu);
	if (draft.pattern.periods) {
		draft.move[DTC_PACK] = pack_pattern;
		draft.move[DTC_UNPACK] = unpack_pattern;
	}
	return draft.move[DTC_PACK] ? keep(&draft, cpu, step_bytes, mover) : 0;
}
