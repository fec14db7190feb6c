/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the cursor's pieces into runs.
 */
#include "config.h"

#include "runs.h"

#include "base/base.h"

void dtc_runs_init(struct dtc_runs *runs, struct dtc_cursor *cursor, uint64_t bytes)
{
	*runs = (struct dtc_runs){ .cursor = cursor, .left = bytes };
}

static bool next_piece(struct dtc_runs *runs)
{
	if (!runs->left || !dtc_cursor_next(runs->cursor, runs->left, false, &runs->piece))
		return false;
	runs->left -= runs->piece.bytes;
	runs->offset = runs->piece.offset;
	runs->end = runs->piece.offset + runs->piece.bytes;
	runs->entry = runs->piece.entry;
	return true;
}

/* The rest of the strip's run that holds packed byte @offset. */
static struct dtc_run run_of_strip(const struct dtc_op *op, uint64_t offset)
{
	uint64_t number = offset / op->unit_bytes;
	uint64_t inside = offset % op->unit_bytes;

	return (struct dtc_run){ (int64_t)number * op->stride + (int64_t)inside,
				 op->unit_bytes - inside };
}

/* Search a table from the previous run's entry on. */
static struct dtc_run run_of_table(struct dtc_runs *runs)
{
	const struct dtc_table *table =
		dtc_program_table(runs->cursor->program, runs->piece.op);
	uint64_t offset = runs->offset;

	runs->entry = dtc_table_find(table, offset, runs->entry);
	uint64_t inside = offset - dtc_table_prefix(table, runs->entry);
	return (struct dtc_run){ dtc_table_disp(table, runs->entry) + (int64_t)inside,
				 dtc_table_prefix(table, runs->entry + 1) - offset };
}

static struct dtc_run run_of_piece(struct dtc_runs *runs)
{
	const struct dtc_op *op = runs->piece.op;

	if (op->kind == DTC_OP_RUN)
		return (struct dtc_run){ (int64_t)runs->offset, op->bytes - runs->offset };
	if (op->kind == DTC_OP_STRIP)
		return run_of_strip(op, runs->offset);
	return run_of_table(runs);
}

bool dtc_runs_next(struct dtc_runs *runs, struct dtc_run *run)
{
	if (runs->offset == runs->end && !next_piece(runs))
		return false;
	*run = run_of_piece(runs);
	run->disp += runs->piece.base + runs->piece.op->disp;
	run->bytes = DTC_MIN(run->bytes, runs->end - runs->offset);
	runs->offset += run->bytes;
	return true;
}
