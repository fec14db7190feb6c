/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal form. The three ways to combine programs (repeat, blocks, sequence) return a
 * program with these properties:
 *
 * - A loop has at least two iterations, and is not dense.
 * - Adjacent runs are one run, also across the ends of iterations.
 * - Equal runs at equal steps are a strip, however they were listed.
 * - Equal bodies at equal steps are a loop.
 * - At most FEW consecutive unlike runs are single runs; more are a table.
 *
 * The packed order never changes.
 */
#include "config.h"

#include "program.h"

#include <string.h>

#include "assemble.h"
#include "base/base.h"
#include "base/checked.h"
#include "normal_form.h"

#define FEW DTC_FEW_RUNS

/* Bodies of at most this many operations may be duplicated to save a copy per iteration. */
#define SMALL_BODY 16

/* ---- strips and loops ---------------------------------------------------------------- */

static struct dtc_program *repeat_run(const struct dtc_program *program, uint64_t count,
				      int64_t stride)
{
	struct dtc_op op = program->ops[0];
	bool dense = stride == (int64_t)op.bytes;

	op.bytes *= count;
	if (dense) {
		op.unit_bytes = op.bytes;
		return dtc_program_create_op(program->context, &op);
	}
	op.kind = DTC_OP_STRIP;
	op.count = count;
	op.stride = stride;
	return dtc_program_create_op(program->context, &op);
}

static struct dtc_program *copy_with_count(const struct dtc_program *program, uint64_t factor)
{
	struct dtc_program *copy = dtc_program_allocate(program->context, program->op_count,
							program->table_bytes);

	if (!copy)
		return NULL;
	copy->bytes = program->bytes * factor;
	copy->depth = program->depth;
	memcpy(copy->ops, program->ops,
	       program->op_count * sizeof(program->ops[0]) + program->table_bytes);
	copy->ops[0].count *= factor;
	copy->ops[0].bytes *= factor;
	return copy;
}

/* A strip or loop that is repeated at its own step is a longer one. */
static bool continues(const struct dtc_program *program, int64_t stride)
{
	const struct dtc_op *op = &program->ops[0];

	return (op->kind == DTC_OP_STRIP || op->kind == DTC_OP_LOOP) &&
	       dtc_is_product(stride, op->count, op->stride);
}

/* ---- merging across iterations ------------------------------------------------------- */

static uint32_t last_top_level(const struct dtc_program *program)
{
	uint32_t i = 0;

	while (i + program->ops[i].body + 1 < program->op_count)
		i += program->ops[i].body + 1;
	return i;
}

/* Whether the last run of an iteration ends where the first run of the next one begins. */
static bool iterations_touch(const struct dtc_program *program, int64_t stride)
{
	const struct dtc_op *first = &program->ops[0];
	const struct dtc_op *last = &program->ops[last_top_level(program)];

	if (first->kind > DTC_OP_STRIP || last->kind > DTC_OP_STRIP ||
	    program->op_count > SMALL_BODY)
		return false;
	int64_t last_run = dtc_disp_plus(last->disp, dtc_disp_steps(last->count - 1, last->stride));
	int64_t end = dtc_disp_plus(last_run, (int64_t)last->unit_bytes);
	return end == dtc_disp_plus(first->disp, stride);
}

/* The program without its first run. */
static struct dtc_program *without_first_run(const struct dtc_program *program)
{
	struct dtc_assembly assembly;
	const struct dtc_op *first = &program->ops[0];
	struct dtc_program *rest_of_strip = NULL;
	bool good = true;

	dtc_assembly_init(&assembly, program->context);
	if (first->kind == DTC_OP_STRIP) {
		struct dtc_op op = *first;

		op.count--;
		op.bytes -= op.unit_bytes;
		op.disp = dtc_disp_plus(op.disp, op.stride);
		op.kind = op.count == 1 ? DTC_OP_RUN : DTC_OP_STRIP;
		op.stride = op.count == 1 ? 0 : op.stride;
		rest_of_strip = dtc_program_create_op(program->context, &op);
		good = rest_of_strip && dtc_assembly_add_op(&assembly, rest_of_strip, 0, 0);
	}
	for (uint32_t i = 1; good && i < program->op_count; i += program->ops[i].body + 1)
		good = dtc_assembly_add_op(&assembly, program, i, 0);
	dtc_program_unref(rest_of_strip);
	if (good)
		return dtc_assembly_finish(&assembly);
	dtc_assembly_drop(&assembly);
	return NULL;
}

/*
 * If Z touches the A of the next iteration, iterations A M Z become A, then M (Z A) repeated,
 * then M Z. This saves one run in every iteration.
 */
static struct dtc_program *rotate(const struct dtc_program *program, uint64_t count,
				  int64_t stride)
{
	struct dtconv_context *context = program->context;
	const struct dtc_op *op = &program->ops[0];
	struct dtc_program *first = dtc_program_create_run(context, op->disp, op->unit_bytes);
	struct dtc_program *rest = without_first_run(program);
	struct dtc_program *body = NULL, *middle = NULL, *whole = NULL;

	if (first && rest)
		body = dtc_program_create_sequence(
			context, 2,
			(const struct dtc_program_part[]){{rest, 0}, {first, stride}});
	if (body)
		middle = dtc_program_create_repeat(body, count - 1, stride);
	if (middle)
		whole = dtc_program_create_sequence(
			context, 3,
			(const struct dtc_program_part[]){
				{first, 0},
				{middle, 0},
				{rest, dtc_disp_steps(count - 1, stride)}});
	dtc_program_unref(first);
	dtc_program_unref(rest);
	dtc_program_unref(body);
	dtc_program_unref(middle);
	return whole;
}

/* The number of runs of the program; more than FEW if it is not a short list of runs. */
static uint64_t count_few_runs(const struct dtc_program *program)
{
	uint64_t runs = 0;

	for (uint32_t i = 0; i < program->op_count && runs <= FEW; i++)
		runs += program->ops[i].kind <= DTC_OP_STRIP ? program->ops[i].count : FEW + 1;
	return runs;
}

static struct dtc_program *repeat_few_runs(struct dtc_program *program, uint64_t count,
					   int64_t stride)
{
	struct dtc_program_part parts[FEW];

	for (uint64_t i = 0; i < count; i++)
		parts[i] = (struct dtc_program_part){program, dtc_disp_steps(i, stride)};
	return dtc_program_create_sequence(program->context, (size_t)count, parts);
}

struct dtc_program *dtc_program_create_repeat(struct dtc_program *program, uint64_t count,
					      int64_t stride)
{
	const struct dtc_op loop = {.kind = DTC_OP_LOOP, .count = count, .stride = stride};

	if (count == 1 || program->op_count == 0)
		return dtc_program_ref(program);
	if (count == 0)
		return dtc_program_create_empty(program->context);
	bool one_op = program->op_count == program->ops[0].body + 1;
	if (one_op && program->ops[0].kind == DTC_OP_RUN)
		return repeat_run(program, count, stride);
	if (one_op && continues(program, stride))
		return copy_with_count(program, count);
	if (count_few_runs(program) <= FEW / count)
		return repeat_few_runs(program, count, stride);
	if (iterations_touch(program, stride))
		return rotate(program, count, stride);
	return dtc_program_create_loop(program, &loop, 0);
}

/* ---- lists of blocks ----------------------------------------------------------------- */

/* A merged block: byte displacement and instances. */
struct block {
	int64_t disp;
	uint64_t length;
};

/* Reads a block list in order, skipping empty blocks and merging neighbours. */
struct reader {
	const struct dtc_block_list *list;
	uint64_t next;     /* block to fetch */
	uint64_t longest;  /* instances in the longest block so far, before merging */
	struct block open; /* the last one read, which may still grow; length 0: none */
	int64_t disps[DTC_BLOCK_BATCH];
	uint64_t lengths[DTC_BLOCK_BATCH];
	struct block merged[DTC_BLOCK_BATCH];
};

static void reader_init(struct reader *reader, const struct dtc_block_list *list)
{
	reader->list = list;
	reader->next = 0;
	reader->longest = 0;
	reader->open = (struct block){0, 0};
}

/*
 * A block may end one extent behind what its type contains. Then the sum wraps around and
 * equals no displacement, because bounds never span half the address space.
 */
static bool touches(const struct block *block, int64_t disp, int64_t extent)
{
	return (uint64_t)disp == (uint64_t)block->disp + block->length * (uint64_t)extent;
}

/* Merge the @n fetched blocks; returns the number of complete ones in reader->merged. */
static size_t merge_batch(struct reader *reader, uint64_t n)
{
	const struct dtc_block_list *list = reader->list;
	struct block open = reader->open;
	size_t complete = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t length = reader->lengths[i];

		if (length == 0)
			continue;
		int64_t disp = reader->disps[i] * list->unit;
		reader->longest = DTC_MAX(reader->longest, length);
		if (open.length && touches(&open, disp, list->extent)) {
			open.length += length;
			continue;
		}
		if (open.length)
			reader->merged[complete++] = open;
		open = (struct block){disp, length};
	}
	reader->open = open;
	return complete;
}

/* Read on until some blocks are complete; returns their number, 0 at the end. */
static size_t read_batch(struct reader *reader)
{
	const struct dtc_block_list *list = reader->list;
	size_t complete = 0;

	while (complete == 0 && reader->next < list->count) {
		uint64_t n = DTC_MIN(list->count - reader->next, (uint64_t)DTC_BLOCK_BATCH);

		list->fetch(list->source, reader->next, n, reader->disps, reader->lengths);
		reader->next += n;
		complete = merge_batch(reader, n);
	}
	if (complete == 0 && reader->open.length) {
		reader->merged[complete++] = reader->open;
		reader->open.length = 0;
	}
	return complete;
}

/* What one pass over a list finds out; displacements relative to the first block. */
struct survey {
	uint64_t blocks;
	uint64_t instances;
	struct block few[FEW]; /* the first blocks */
	uint64_t longest;      /* instances in the longest block before merging */
	uint64_t shortest;     /* instances in the shortest block after merging */
	int64_t extent;        /* of an instance */
	int64_t end;           /* the highest end of a block */
	uint64_t cut; /* instances in each entry of a table that cuts blocks; 0: it does not */
	bool uniform;          /* all blocks are equally long */
	bool progression;      /* and equally spaced */
	int64_t step;
	int64_t lowest, highest;
	uint64_t disp_bits, length_bits; /* or of all values: shows common powers of two */
};

static void survey_progression(struct survey *survey, const struct block *block, uint64_t index)
{
	int64_t disp = dtc_disp_minus(block->disp, survey->few[0].disp);

	if (index == 1)
		survey->step = disp;
	survey->progression = block->length == survey->few[0].length &&
			      dtc_is_product(disp, index, survey->step);
}

static void survey_batch(struct survey *survey, const struct block *blocks, size_t n)
{
	for (size_t i = 0; i < n && survey->blocks + i < FEW; i++)
		survey->few[survey->blocks + i] = blocks[i];
	for (size_t i = 0; i < n && survey->progression; i++)
		survey_progression(survey, &blocks[i], survey->blocks + i);
	for (size_t i = 0; i < n; i++) {
		int64_t disp = dtc_disp_minus(blocks[i].disp, survey->few[0].disp);

		survey->uniform &= blocks[i].length == survey->few[0].length;
		survey->lowest = DTC_MIN(survey->lowest, disp);
		survey->highest = DTC_MAX(survey->highest, disp);
		survey->disp_bits |= (uint64_t)disp;
		survey->length_bits |= blocks[i].length;
		survey->shortest = DTC_MIN(survey->shortest, blocks[i].length);
		survey->end = DTC_MAX(
			survey->end, dtc_disp_plus(disp, dtc_disp_steps(blocks[i].length,
									survey->extent)));
		survey->instances += blocks[i].length;
	}
	survey->blocks += n;
}

static void survey_list(const struct dtc_block_list *list, struct survey *survey)
{
	struct reader reader;
	size_t n;

	*survey = (struct survey){ .uniform = true,
				   .progression = true,
				   .shortest = UINT64_MAX,
				   .extent = list->extent };
	reader_init(&reader, list);
	while ((n = read_batch(&reader)) > 0)
		survey_batch(survey, reader.merged, n);
	survey->longest = reader.longest;
}

/* ---- splitting ----------------------------------------------------------------------- */

#define SPLIT_RUN_BYTES  32
#define SPLIT_RUN_BLOCKS 4
#define SPLIT_LEAST_RUNS 128

static bool all_are_multiples(const struct dtc_block_list *list, uint64_t length)
{
	struct reader reader;
	size_t n;

	if (length == 1)
		return true;
	reader_init(&reader, list);
	while ((n = read_batch(&reader)) > 0)
		for (size_t i = 0; i < n; i++)
			if (reader.merged[i].length % length)
				return false;
	return true;
}

/*
 * Short blocks of different lengths are better cut to the shortest, too, if they are few multiples of it: few of them, or
 * short by average length and number. (A different length costs a branch misprediction, unless the list is short enough for
 * the branch predictor to learn it.)
 */
static bool is_short_mixture(uint64_t entries, uint64_t blocks, uint64_t bytes)
{
	const bool few = entries - blocks <= blocks / 2;
	const bool runs_are_short = blocks > SPLIT_LEAST_RUNS &&
				    entries <= SPLIT_RUN_BLOCKS * blocks &&
				    entries * bytes <= SPLIT_RUN_BYTES * blocks;

	return bytes <= DTC_SHORT_BLOCK && (few || runs_are_short);
}

/* Whether the list is better cut into blocks of one length: equal ones of which some touch are left equal. */
static bool worth_splitting(const struct dtc_block_list *list, const struct survey *survey,
			    uint64_t unit)
{
	const uint64_t entries = survey->instances / survey->shortest;
	const bool were_equal = survey->shortest == survey->longest;
	const bool pays = were_equal ? dtc_stay_apart(entries, survey->blocks)
				     : is_short_mixture(entries, survey->blocks,
							survey->shortest * unit);

	return !survey->uniform && pays && all_are_multiples(list, survey->shortest);
}

/* Make the survey what it would be of the list cut into its shortest length. */
static void split(struct survey *survey)
{
	const uint64_t bytes = survey->shortest * (uint64_t)survey->extent;

	survey->blocks = survey->instances / survey->shortest;
	survey->uniform = true;
	survey->cut = survey->shortest;
	survey->few[0].length = survey->shortest;
	survey->disp_bits |= bytes;
	/* The last cut of a block may lie beyond the highest block's start. */
	survey->highest = dtc_disp_minus(survey->end, (int64_t)bytes);
}

/* ---- tables -------------------------------------------------------------------------- */

/* The header of the table that the list becomes, with @unit units in every instance. */
static struct dtc_table plan_table(const struct survey *survey, uint64_t unit)
{
	struct dtc_table table = {
		.count = survey->blocks,
		.uniform = survey->uniform ? survey->few[0].length * unit : 0,
		.span = (uint64_t)(survey->highest - survey->lowest),
		.disp_shift = dtc_common_shift(survey->disp_bits),
		.prefix_shift = dtc_common_shift(survey->length_bits * unit),
	};
	int64_t lowest = survey->lowest >> table.disp_shift;
	int64_t highest = survey->highest >> table.disp_shift;
	uint64_t total = survey->instances * unit >> table.prefix_shift;

	table.disp_wide = lowest < INT32_MIN || highest > INT32_MAX;
	table.prefix_wide = total > UINT32_MAX;
	table.prefix_offset =
		sizeof(table) + dtc_column_bytes(table.count, table.disp_wide);
	table.table_bytes = table.prefix_offset;
	if (!table.uniform)
		table.table_bytes += dtc_column_bytes(table.count + 1, table.prefix_wide);
	return table;
}

static void store_disp(struct dtc_table *table, uint64_t entry, int64_t disp)
{
	if (table->disp_wide)
		((int64_t *)(table + 1))[entry] = disp >> table->disp_shift;
	else
		((int32_t *)(table + 1))[entry] = (int32_t)(disp >> table->disp_shift);
}

static void store_prefix(struct dtc_table *table, uint64_t entry, uint64_t units)
{
	void *column = (char *)table + table->prefix_offset;

	if (table->uniform)
		return;
	if (table->prefix_wide)
		((uint64_t *)column)[entry] = units >> table->prefix_shift;
	else
		((uint32_t *)column)[entry] = (uint32_t)(units >> table->prefix_shift);
}

/* Pad odd columns with zeros, because equal tables must be equal byte by byte. */
static void clear_padding(struct dtc_table *table)
{
	if (!table->disp_wide && table->count % 2)
		((int32_t *)(table + 1))[table->count] = 0;
	if (!table->uniform && !table->prefix_wide && table->count % 2 == 0)
		((uint32_t *)((char *)table + table->prefix_offset))[table->count + 1] = 0;
}

/* Most blocks have at most this many pieces. */
#define PIECES_AT_ONCE 4

/*
 * Store the pieces of a block. Always store a few, because their number is unpredictable; the
 * pieces of the next block overwrite the excess. Returns the number stored.
 */
static uint64_t store_pieces_at_once(struct dtc_table *table, uint64_t entry, int64_t disp,
				     int64_t step)
{
	uint32_t *column = (uint32_t *)(table + 1) + entry;
	uint32_t scaled = (uint32_t)(disp >> table->disp_shift);
	uint32_t scaled_step = (uint32_t)(step >> table->disp_shift);

	if (table->disp_wide || table->count - entry < PIECES_AT_ONCE)
		return 0;
	for (uint32_t i = 0; i < PIECES_AT_ONCE; i++)
		column[i] = scaled + i * scaled_step;
	return PIECES_AT_ONCE;
}

static void store_pieces(struct dtc_table *table, uint64_t entry, uint64_t pieces, int64_t disp,
			 int64_t step)
{
	for (uint64_t i = store_pieces_at_once(table, entry, disp, step); i < pieces; i++)
		store_disp(table, entry + i, dtc_disp_plus(disp, dtc_disp_steps(i, step)));
}

/* A uniform table: all blocks in entries of @cut instances. */
static void fill_cut_table(struct dtc_table *table, const struct dtc_block_list *list,
			   uint64_t cut)
{
	const int64_t step = (int64_t)(cut * (uint64_t)list->extent);
	struct reader reader;
	int64_t first = 0;
	uint64_t entry = 0;
	size_t n;

	reader_init(&reader, list);
	while ((n = read_batch(&reader)) > 0) {
		if (entry == 0)
			first = reader.merged[0].disp;
		for (size_t i = 0; i < n; i++) {
			int64_t disp = dtc_disp_minus(reader.merged[i].disp, first);
			uint64_t length = reader.merged[i].length;
			uint64_t pieces = cut == 1 ? length : length / cut;

			store_pieces(table, entry, pieces, disp, step);
			entry += pieces;
		}
	}
}

/* One entry for each block. */
static void fill_table(struct dtc_table *table, const struct dtc_block_list *list,
		       uint64_t unit)
{
	struct reader reader;
	int64_t first = 0;
	uint64_t units = 0, entry = 0;
	size_t n;

	reader_init(&reader, list);
	while ((n = read_batch(&reader)) > 0) {
		if (entry == 0)
			first = reader.merged[0].disp;
		for (size_t i = 0; i < n; i++) {
			store_disp(table, entry, dtc_disp_minus(reader.merged[i].disp, first));
			store_prefix(table, entry++, units);
			units += reader.merged[i].length * unit;
		}
	}
	store_prefix(table, table->count, units);
}

static void store_table(struct dtc_table *table, const struct dtc_block_list *list, uint64_t unit,
			uint64_t cut)
{
	clear_padding(table);
	if (cut)
		fill_cut_table(table, list, cut);
	else
		fill_table(table, list, unit);
}

/* ---- blocks of bytes ----------------------------------------------------------------- */

static struct dtc_program *create_few_runs(struct dtconv_context *context,
					   const struct survey *survey, int64_t disp,
					   uint64_t unit)
{
	struct dtc_program *program =
		dtc_program_allocate(context, (uint32_t)survey->blocks, 0);

	for (uint64_t i = 0; program && i < survey->blocks; i++) {
		uint64_t bytes = survey->few[i].length * unit;

		program->ops[i] = (struct dtc_op){.kind = DTC_OP_RUN,
						  .disp = dtc_disp_plus(survey->few[i].disp, disp),
						  .bytes_before = program->bytes,
						  .bytes = bytes,
						  .count = 1,
						  .unit_bytes = bytes};
		program->bytes += bytes;
	}
	return program;
}

static struct dtc_program *create_table_of_runs(struct dtconv_context *context,
						const struct dtc_block_list *list,
						const struct survey *survey, int64_t disp,
						uint64_t unit)
{
	struct dtc_table table = plan_table(survey, unit);
	struct dtc_program *program =
		dtc_program_allocate(context, 1, (size_t)table.table_bytes);

	if (!program)
		return NULL;
	program->bytes = survey->instances * unit;
	program->ops[0] = (struct dtc_op){.kind = DTC_OP_TABLE,
					  .disp = dtc_disp_plus(survey->few[0].disp, disp),
					  .bytes = program->bytes,
					  .count = survey->blocks,
					  .unit_bytes = table.uniform};
	struct dtc_table *stored = (struct dtc_table *)dtc_program_tables(program);
	*stored = table;
	store_table(stored, list, unit, survey->cut);
	return program;
}

/* Every instance is @unit bytes at @disp, and the instances of a block touch. */
static struct dtc_program *create_runs(struct dtconv_context *context,
				       const struct dtc_block_list *list, int64_t disp,
				       uint64_t unit)
{
	struct survey survey;

	survey_list(list, &survey);
	if (survey.blocks == 0)
		return dtc_program_create_empty(context);
	uint64_t bytes = survey.few[0].length * unit;
	if (survey.progression && survey.blocks > 1) {
		const struct dtc_op strip = {.kind = DTC_OP_STRIP,
					     .disp = dtc_disp_plus(survey.few[0].disp, disp),
					     .bytes = bytes * survey.blocks,
					     .count = survey.blocks,
					     .unit_bytes = bytes,
					     .stride = survey.step};
		return dtc_program_create_op(context, &strip);
	}
	if (survey.blocks <= FEW)
		return create_few_runs(context, &survey, disp, unit);
	if (worth_splitting(list, &survey, unit))
		split(&survey);
	return create_table_of_runs(context, list, &survey, disp, unit);
}

/* ---- blocks of anything -------------------------------------------------------------- */

static struct dtc_program *create_few_blocks(struct dtc_program *program,
					     const struct dtc_block_list *list,
					     const struct survey *survey)
{
	struct dtc_program_part parts[FEW] = {{NULL, 0}};
	struct dtc_program *whole = NULL;
	bool good = true;

	for (uint64_t i = 0; i < survey->blocks; i++) {
		parts[i].disp = survey->few[i].disp;
		parts[i].program = dtc_program_create_repeat(program, survey->few[i].length,
							     list->extent);
		good &= parts[i].program != NULL;
	}
	if (good)
		whole = dtc_program_create_sequence(program->context, (size_t)survey->blocks,
						    parts);
	for (size_t i = 0; i < FEW; i++)
		dtc_program_unref(parts[i].program);
	return whole;
}

static struct dtc_program *create_table_loop(const struct dtc_program *body,
					     const struct dtc_block_list *list,
					     struct survey *survey, bool block_is_body)
{
	/* If a block is the body as a whole, every entry is one iteration. */
	uint64_t iterations = block_is_body ? survey->blocks : survey->instances;
	const struct dtc_op head = {.kind = DTC_OP_TABLE_LOOP,
				    .disp = survey->few[0].disp,
				    .count = iterations,
				    .stride = block_is_body ? 0 : list->extent};
	struct dtc_table table = plan_table(survey, 1);

	if (block_is_body)
		table.uniform = 1;
	struct dtc_program *program =
		dtc_program_create_loop(body, &head, (size_t)table.table_bytes);
	if (!program)
		return NULL;
	struct dtc_table *stored =
		(struct dtc_table *)dtc_program_table(program, &program->ops[0]);
	*stored = table;
	store_table(stored, list, 1, survey->cut);
	return program;
}

/* Blocks of one length: repeat the type first, then place the blocks. */
static struct dtc_program *place_blocks(struct dtc_program *program,
					const struct dtc_block_list *list,
					struct survey *survey)
{
	struct dtc_program *block, *placed;

	block = dtc_program_create_repeat(program, survey->few[0].length, list->extent);
	if (!block)
		return NULL;
	if (survey->progression) {
		struct dtc_program *loop =
			dtc_program_create_repeat(block, survey->blocks, survey->step);
		const struct dtc_program_part part = {loop, survey->few[0].disp};

		placed = loop ? dtc_program_create_sequence(block->context, 1, &part) : NULL;
		dtc_program_unref(loop);
	} else {
		placed = create_table_loop(block, list, survey, true);
	}
	dtc_program_unref(block);
	return placed;
}

struct dtc_program *dtc_program_create_blocks(struct dtc_program *program,
					      const struct dtc_block_list *list)
{
	const struct dtc_op *op = &program->ops[0];
	struct survey survey;

	if (program->op_count == 0)
		return dtc_program_ref(program);
	bool is_run = program->op_count == 1 && op->kind == DTC_OP_RUN;
	if (is_run && list->extent == (int64_t)op->bytes)
		return create_runs(program->context, list, op->disp, op->bytes);
	survey_list(list, &survey);
	if (survey.blocks == 0)
		return dtc_program_create_empty(program->context);
	if (is_run && survey.longest == 1) {
		/*
		 * Then the runs are the blocks: they are adjacent where the runs are, not where
		 * the extents are.
		 */
		struct dtc_block_list runs = *list;

		runs.extent = (int64_t)op->bytes;
		return create_runs(program->context, &runs, op->disp, op->bytes);
	}
	if (survey.progression)
		return place_blocks(program, list, &survey);
	if (survey.blocks <= FEW && program->op_count <= SMALL_BODY && !program->table_bytes)
		return create_few_blocks(program, list, &survey);
	if (survey.uniform)
		return place_blocks(program, list, &survey);
	return create_table_loop(program, list, &survey, false);
}

/* ---- sequences ----------------------------------------------------------------------- */

static void fetch_runs(const void *source, uint64_t first, uint64_t n, int64_t disps[],
		       uint64_t lengths[])
{
	const struct dtc_run *runs = (const struct dtc_run *)source + first;

	for (uint64_t i = 0; i < n; i++) {
		disps[i] = runs[i].disp;
		lengths[i] = runs[i].bytes;
	}
}

/* Choose the form of the pending runs. */
static bool settle_runs(struct dtc_assembly *assembly)
{
	const struct dtc_block_list list = {.count = assembly->run_count,
					    .unit = 1,
					    .extent = 1,
					    .fetch = fetch_runs,
					    .source = assembly->runs};
	bool good = true;

	if (assembly->run_count == 0)
		return true;
	struct dtc_program *settled = create_runs(assembly->context, &list, 0, 1);
	if (!settled)
		return false;
	for (uint32_t i = 0; good && i < settled->op_count; i++)
		good = dtc_assembly_add_op(assembly, settled, i, 0);
	dtc_program_unref(settled);
	assembly->run_count = 0;
	return good;
}

static bool add_strip_as_runs(struct dtc_assembly *assembly, const struct dtc_op *op,
			      int64_t disp)
{
	bool good = true;

	disp = dtc_disp_plus(disp, op->disp);
	for (uint64_t i = 0; good && i < op->count; i++)
		good = dtc_assembly_add_run(assembly,
					    dtc_disp_plus(disp, dtc_disp_steps(i, op->stride)),
					    op->unit_bytes);
	return good;
}

static bool add_program(struct dtc_assembly *assembly, const struct dtc_program *program,
			int64_t disp)
{
	bool good = true;

	for (uint32_t i = 0; good && i < program->op_count; i += program->ops[i].body + 1) {
		const struct dtc_op *op = &program->ops[i];

		if (op->kind <= DTC_OP_STRIP && op->count <= FEW)
			good = add_strip_as_runs(assembly, op, disp);
		else
			good = settle_runs(assembly) &&
			       dtc_assembly_add_op(assembly, program, i, disp);
	}
	return good;
}

struct dtc_program *dtc_program_create_sequence(struct dtconv_context *context, size_t n,
						const struct dtc_program_part parts[])
{
	struct dtc_assembly assembly;
	bool good = true;

	dtc_assembly_init(&assembly, context);
	for (size_t i = 0; good && i < n; i++)
		good = add_program(&assembly, parts[i].program, parts[i].disp);
	if (good && settle_runs(&assembly))
		return dtc_assembly_finish(&assembly);
	dtc_assembly_drop(&assembly);
	return NULL;
}
