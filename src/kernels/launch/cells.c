/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans numbers of any kind at any alignment, as cells: of a nest of one kind, or of periods.
 * The runs of the user's memory and the stream's nodes together divide a period into cells.
 */
#include "config.h"

#include <string.h>

#include "base/base.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"
#include "typed.h"

_Static_assert(sizeof(struct dtc_gpu_cells_params) <= DTC_GPU_PARAMS_BYTES, "too long");

static bool is_short(const struct dtc_gpu_number *number)
{
	return number->native_bytes <= DTC_GPU_CELL_BYTES &&
	       number->wire_bytes <= DTC_GPU_CELL_BYTES;
}

/* ---- one kind in a nest ------------------------------------------------------------------------- */

static bool plan_nest(const struct dtc_gpu_typed_job *job,
		      const struct dtc_gpu_shape *shape,
		      struct dtc_gpu_cells_params *params)
{
	const struct dtc_gpu_number *number = &job->units->nodes[0].number;
	struct dtc_gpu_nest *nest = &params->nest;
	uint32_t bytes = number->native_bytes;
	const char *reason;

	if (shape->leaf_bytes % bytes || !is_short(number))
		return false;
	dtc_gpu_set_level(nest, 0, shape->leaf_bytes / bytes, bytes);
	if (!dtc_gpu_set_loops(shape, 1, nest, &reason))
		return false;
	nest->begin = shape->begin / bytes;
	nest->end = shape->end / bytes;
	nest->packed = job->job.packed - nest->begin * number->wire_bytes;
	params->wire_bytes = number->wire_bytes;
	params->rows[0].number = *number;
	return dtc_gpu_set_width(nest, nest->end, &reason);
}

/* ---- periods ------------------------------------------------------------------------------------- */

/* A period under construction, and where it begins in both streams. */
struct period {
	const struct dtc_gpu_typed_job *job;
	const struct dtc_gpu_shape *shape;
	struct dtc_gpu_cells_params *params;
	struct dtc_gpu_unit_place start;
	bool whole; /* cells may hold several numbers */
};

static bool goes_on(const struct dtc_gpu_cell *last, uint64_t count, int64_t disp,
		    uint64_t wire, const struct dtc_gpu_number *number)
{
	return !memcmp(&last->number, number, sizeof(*number)) &&
	       disp == last->disp + (int64_t)(count * number->native_bytes) &&
	       wire == last->wire + count * number->wire_bytes;
}

/* Append a row of @count numbers. @counts has numbers per row, not cells. */
static bool add_row(struct dtc_gpu_cells_params *params, uint32_t counts[], int64_t disp,
		    uint64_t wire, const struct dtc_gpu_number *number, uint64_t count)
{
	struct dtc_gpu_cell *row = &params->rows[params->row_count];

	if (params->row_count &&
	    goes_on(row - 1, counts[params->row_count - 1], disp, wire, number)) {
		counts[params->row_count - 1] += (uint32_t)count;
		return true;
	}
	if (params->row_count == DTC_GPU_CELL_ROWS || wire > UINT16_MAX ||
	    disp != (int32_t)disp || !is_short(number))
		return false;
	*row = (struct dtc_gpu_cell){ .disp = (int32_t)disp,
				      .wire = (uint16_t)wire,
				      .number = *number };
	counts[params->row_count++] = (uint32_t)count;
	return true;
}

/*
 * Append the numbers of a run of user memory: @bytes bytes from @packed on in the native
 * period.
 */
static bool add_run(const struct period *period, uint32_t counts[], int64_t disp,
		    uint64_t packed, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes;) {
		struct dtc_gpu_number_run run;

		dtc_gpu_units_run_at(period->job->units,
				     period->start.native + packed + done, &run);
		uint64_t count =
			DTC_MIN(run.count, (bytes - done) / run.number->native_bytes);

		if (!count ||
		    !add_row(period->params, counts, disp + (int64_t)done,
			     run.place.wire - period->start.wire, run.number, count))
			return false;
		done += count * run.number->native_bytes;
	}
	return true;
}

static bool add_runs(const struct period *period, uint32_t counts[])
{
	struct dtc_gpu_periodic_params runs;

	if (period->shape->leaf == DTC_GPU_LEAF_BLOCK)
		return add_run(period, counts, 0, 0, period->shape->leaf_bytes);
	runs.run_count = 0;
	if (!dtc_gpu_list_runs(&runs, period->job->job.layout->program, period->shape))
		return false;
	for (uint32_t i = 0; i < runs.run_count; i++) {
		uint64_t end = i + 1 < runs.run_count ? runs.runs[i + 1].packed
						      : period->shape->leaf_bytes;

		if (!add_run(period, counts, runs.runs[i].disp, runs.runs[i].packed,
			     end - runs.runs[i].packed))
			return false;
	}
	return true;
}

/* The bytes of a cell: as many numbers as the alignment of both sides allows everywhere. */
static uint32_t cell_bytes(const struct period *period, const struct dtc_gpu_cell *row,
			   uint32_t count)
{
	const struct dtc_gpu_cells_params *params = period->params;
	uint64_t bits = (period->shape->user + (uint64_t)(int64_t)row->disp) |
			(params->nest.packed + row->wire) | params->wire_bytes |
			(uint64_t)count * row->number.native_bytes;

	for (uint32_t i = 0; i < period->shape->loop_count; i++)
		bits |= (uint64_t)period->shape->loops[i].stride;
	uint32_t bytes = DTC_MIN(dtc_gpu_alignment(bits), DTC_GPU_CELL_BYTES);

	if (!period->whole || row->number.native_bytes != row->number.wire_bytes)
		return row->number.native_bytes;
	return DTC_MAX(bytes, (uint32_t)row->number.native_bytes);
}

/* Turn rows of numbers into rows of cells; returns the number of cells. */
static uint64_t make_cells(const struct period *period, const uint32_t counts[])
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < period->params->row_count; i++) {
		struct dtc_gpu_cell *row = &period->params->rows[i];
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): every row has its count. */
		uint32_t bytes = cell_bytes(period, row, counts[i]);
		uint32_t numbers = bytes / row->number.native_bytes;

		row->first = (uint16_t)DTC_MIN(cells, (uint64_t)UINT16_MAX);
		row->number.native_bytes = (uint8_t)bytes;
		row->number.wire_bytes = (uint8_t)(numbers * row->number.wire_bytes);
		cells += counts[i] / numbers;
	}
	return cells;
}

/* The cell that begins at byte @wire of the packed period; false if it is inside of one. */
static bool find_cell(const struct dtc_gpu_cells_params *params, uint64_t wire,
		      uint64_t *cell)
{
	const struct dtc_gpu_cell *row = &params->rows[params->row_count - 1];

	while (row->wire > wire)
		row--;
	*cell = row->first + (wire - row->wire) / row->number.wire_bytes;
	return (wire - row->wire) % row->number.wire_bytes == 0;
}

/* The number of the cell that begins at @place, in the shape's stream. */
static bool number_cell(const struct period *period,
			const struct dtc_gpu_unit_place *place, uint64_t cells,
			uint64_t *number)
{
	uint64_t wire = place->wire - period->start.wire;
	uint64_t periods = wire / period->params->wire_bytes;
	uint64_t cell;

	if (!find_cell(period->params, wire % period->params->wire_bytes, &cell))
		return false;
	*number = periods * cells + cell;
	return true;
}

static bool set_nest(const struct period *period, uint64_t cells)
{
	struct dtc_gpu_nest *nest = &period->params->nest;
	uint64_t packed = nest->packed;
	const char *reason;

	dtc_gpu_set_level(nest, 0, cells, 0);
	if (!dtc_gpu_set_loops(period->shape, 1, nest, &reason))
		return false;
	nest->packed = packed;
	return number_cell(period, &period->job->begin, cells, &nest->begin) &&
	       number_cell(period, &period->job->end, cells, &nest->end) &&
	       dtc_gpu_set_width(nest, nest->end, &reason);
}

static bool make_period(const struct period *period)
{
	uint32_t counts[DTC_GPU_CELL_ROWS];

	period->params->row_count = 0;
	if (!add_runs(period, counts))
		return false;
	uint64_t cells = make_cells(period, counts);
	return cells <= DTC_GPU_PERIOD_CELLS && set_nest(period, cells);
}

/* ---- words that are turned ------------------------------------------------------------------------ */

/* The longest word that all rows are multiples of, on both sides; 0: numbers change their length. */
static uint32_t turned_word(const struct period *period)
{
	const struct dtc_gpu_cells_params *params = period->params;
	const struct dtc_gpu_shape *shape = period->shape;
	uint64_t bits = shape->user | params->nest.packed | shape->begin | shape->end |
			shape->leaf_bytes;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		bits |= (uint64_t)shape->loops[i].stride;
	for (uint32_t i = 0; i < params->row_count; i++) {
		const struct dtc_gpu_cell *row = &params->rows[i];

		if (row->number.native_bytes != row->number.wire_bytes)
			return 0;
		bits |= (uint64_t)(int64_t)row->disp | row->wire;
	}
	return dtc_gpu_alignment(bits);
}

static bool set_words(const struct period *period, uint32_t word,
		      struct dtc_gpu_nest *nest)
{
	uint64_t packed = period->params->nest.packed;
	const char *reason;

	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, period->shape->leaf_bytes / word, 0);
	if (!dtc_gpu_set_loops(period->shape, 1, nest, &reason))
		return false;
	nest->packed = packed;
	return dtc_gpu_set_width(nest, nest->end / word, &reason);
}

/* Rows become runs of words; false if words are too short or too many. */
static bool make_turned(const struct period *period, struct dtc_gpu_period_params *turned)
{
	const struct dtc_gpu_cells_params *params = period->params;
	uint32_t counts[DTC_GPU_CELL_ROWS];

	if (period->job->units->combination != DTC_GPU_REPLACE ||
	    !add_runs(period, counts))
		return false;
	uint32_t word = turned_word(period);
	if (word < 4 || params->row_count > DTC_GPU_RUNS ||
	    period->shape->leaf_bytes / word > DTC_GPU_PERIOD_UNITS ||
	    !set_words(period, word, &turned->numbers.nest))
		return false;
	turned->turned = 1;
	turned->run_count = params->row_count;
	for (uint32_t i = 0; i < params->row_count; i++)
		turned->runs[i] = (struct dtc_gpu_turned_run){
			.disp = params->rows[i].disp,
			.packed = params->rows[i].wire,
			.swap = params->rows[i].number.swap
		};
	return true;
}

/* ---- records --------------------------------------------------------------------------------------- */

/* Whether all of the user's side is aligned to 8, beginning at @disp. */
static uint16_t record_word(const struct dtc_gpu_shape *shape, int32_t disp)
{
	uint64_t bits = shape->user + (uint64_t)(int64_t)disp;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		bits |= (uint64_t)shape->loops[i].stride;
	return bits % 8 ? 4 : 8;
}

/* Rows of equal cells become a row for each. */
static void spread_rows(struct dtc_gpu_cells_params *params, uint32_t cells)
{
	for (uint32_t i = cells, row = params->row_count; i-- > 0;) {
		row -= params->rows[row - 1].first > i;
		struct dtc_gpu_cell cell = params->rows[row - 1];
		uint32_t ahead = i - cell.first;

		cell.disp += (int32_t)(ahead * cell.number.native_bytes);
		cell.wire = (uint16_t)(cell.wire + ahead * cell.number.wire_bytes);
		cell.first = (uint16_t)i;
		params->rows[i] = cell;
	}
	params->row_count = cells;
}

/* The rows are a record's; false if that is too long. */
static bool set_record(const struct period *period, uint64_t cells)
{
	struct dtc_gpu_cells_params *params = period->params;

	if (cells > DTC_GPU_RECORD_CELLS || !set_words(period, 4, &params->nest))
		return false;
	spread_rows(params, (uint32_t)cells);
	params->cells = (uint32_t)cells;
	params->warps = cells > 8 ? 4 : cells > 4 ? 2 : 1;
	for (uint32_t i = 0; i < params->row_count; i++)
		params->rows[i].word = record_word(period->shape, params->rows[i].disp);
	return true;
}

/* Rows of numbers become cells of a record; false if it would be too long, or no records. */
static bool make_record(const struct period *period)
{
	struct dtc_gpu_cells_params *params = period->params;
	uint32_t counts[DTC_GPU_CELL_ROWS];

	params->row_count = 0;
	if (period->job->units->combination == DTC_GPU_REPLACE ||
	    !add_runs(period, counts) || turned_word(period) < 4)
		return false;
	return set_record(period, make_cells(period, counts));
}

/* Returns the number of tiles. */
static uint64_t finish_records(const struct dtc_gpu_typed_job *job,
			       struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_cells_params *params = &launch->params.cells;
	const struct dtc_gpu_nest *nest = &params->nest;
	uint64_t bytes = 4 * (uint64_t)nest->dims[0].count;
	uint64_t records = DTC_GPU_BLOCK / params->warps;

	params->combination = job->units->combination;
	launch->word = 4;
	launch->kernel = DTC_GPU_records_unpack;
	launch->shared_bytes = (uint32_t)(records * bytes);
	return dtc_divide_up(dtc_divide_up(nest->end, bytes) - nest->begin / bytes,
			     records);
}

/* ---- planning -------------------------------------------------------------------------------------- */

/*
 * A block is a loop round one trip of its units, if it begins with one. All of a stretch in a single
 * block may begin anywhere, as long as the trip's beginning counts.
 */
static void split_block(struct dtc_gpu_shape *shape, uint64_t trip, uint64_t before)
{
	if (shape->loop_count == 0) {
		shape->user -= before;
		shape->begin += before;
		shape->end += before;
		shape->leaf_bytes =
			dtc_divide_up(shape->leaf_bytes + before, trip) * trip;
	} else if (before || shape->leaf_bytes % trip ||
		   shape->loop_count == DTC_ARRAY_LENGTH(shape->loops)) {
		return;
	}
	memmove(&shape->loops[1], &shape->loops[0],
		shape->loop_count * sizeof(shape->loops[0]));
	shape->loops[0] =
		(struct dtc_gpu_loop){ shape->leaf_bytes / trip, (int64_t)trip };
	shape->loop_count++;
	shape->leaf_bytes = trip;
}

/* Periods of the layout that are periods of the units too; false if there are none. */
static bool find_period(const struct dtc_gpu_typed_job *job, struct dtc_gpu_shape *shape)
{
	uint64_t first = job->begin.native - shape->begin, start;
	uint64_t trip = dtc_gpu_units_trip(job->units, first, job->end.native, &start);

	if (trip && shape->leaf == DTC_GPU_LEAF_BLOCK)
		split_block(shape, trip, first - start);
	return (trip && shape->leaf_bytes % trip == 0) || shape->end <= shape->leaf_bytes;
}

/* Returns the number of tiles. */
static uint64_t finish_cells(const struct dtc_gpu_typed_job *job,
			     struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_cells_params *params = &launch->params.cells;
	const struct dtc_gpu_nest *nest = &params->nest;

	params->fault = job->fault;
	params->combination = job->units->combination;
	launch->word = 1;
	launch->kernel = job->job.direction == DTC_PACK ? DTC_GPU_cells_pack
							: DTC_GPU_cells_unpack;
	if (params->row_count)
		launch->shared_bytes =
			nest->dims[0].count * (uint32_t)sizeof(struct dtc_gpu_cell);
	return dtc_divide_up(nest->end - nest->begin,
			     DTC_GPU_THREAD_CELLS * DTC_GPU_BLOCK);
}

static uint64_t plan_periods(const struct dtc_gpu_typed_job *job,
			     struct dtc_gpu_shape *shape, struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_units *units = job->units;
	struct dtc_gpu_cells_params *params = &launch->params.cells;
	struct dtc_gpu_period_params turned = { .run_count = 0 };

	if (!find_period(job, shape) ||
	    shape->leaf_bytes > DTC_GPU_PERIOD_CELLS * DTC_GPU_CELL_BYTES)
		return 0;
	uint64_t first = job->begin.native - shape->begin;
	struct period period = { .job = job,
				 .shape = shape,
				 .params = params,
				 .start = dtc_gpu_units_at_native(units, first),
				 .whole = true };

	params->wire_bytes =
		dtc_gpu_units_at_native(units, first + shape->leaf_bytes).wire -
		period.start.wire;
	params->nest.packed = job->job.packed - (job->begin.wire - period.start.wire);
	if (make_turned(&period, &turned)) {
		launch->params.period = turned;
		return dtc_gpu_finish_period(job, launch);
	}
	if (make_record(&period))
		return finish_records(job, launch);
	if (make_period(&period))
		return finish_cells(job, launch);
	/* The stretch may begin or end inside of a cell of several numbers. */
	period.whole = false;
	return make_period(&period) ? finish_cells(job, launch) : 0;
}

uint64_t dtc_gpu_plan_cells(const struct dtc_gpu_typed_job *job,
			    struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_cells_params *params = &launch->params.cells;
	struct dtc_gpu_shape shape;

	if (job->units->couples)
		return 0;
	memset(params, 0, sizeof(*params));
	dtc_gpu_shape_of_job(&job->job, &shape);
	if (job->units->node_count == 1 && shape.leaf == DTC_GPU_LEAF_BLOCK &&
	    plan_nest(job, &shape, params))
		return finish_cells(job, launch);
	return plan_periods(job, &shape, launch);
}
