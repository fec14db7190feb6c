/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a program. Between two pieces the cursor is either inside a leaf or between two
 * iterations of a loop, so that one piece can cover any number of whole iterations.
 */
#include "config.h"

#include "cursor.h"

#include <string.h>

#include "base/base.h"

void dtc_cursor_init(struct dtc_cursor *cursor, const struct dtc_layout *layout,
		     uint64_t count)
{
	cursor->layout = layout;
	cursor->count = count;
	cursor->size = layout->size * count;
	cursor->position = 0;
	cursor->begun = false;
}

/* Move to the first iteration of the loop over all instances. */
static void stand_at_root(struct dtc_cursor *cursor)
{
	cursor->op = DTC_CURSOR_ROOT;
	cursor->depth = 0;
	cursor->base = 0;
	cursor->offset = 0;
	cursor->iteration = 0;
	cursor->entry = 0;
}

static void begin(struct dtc_cursor *cursor)
{
	cursor->begun = true;
	cursor->program = cursor->layout->program;
	cursor->root = dtc_layout_root(cursor->layout, cursor->count);
	stand_at_root(cursor);
}

const struct dtc_op *dtc_cursor_root(struct dtc_cursor *cursor)
{
	if (!cursor->begun)
		begin(cursor);
	return &cursor->root;
}

void dtc_cursor_copy(struct dtc_cursor *copy, const struct dtc_cursor *cursor)
{
	if (!cursor->begun) {
		memcpy(copy, cursor, offsetof(struct dtc_cursor, program));
		return;
	}
	memcpy(copy, cursor, offsetof(struct dtc_cursor, frames));
	memcpy(copy->frames, cursor->frames, cursor->depth * sizeof(cursor->frames[0]));
}

static const struct dtc_op *op_at(const struct dtc_cursor *cursor, uint32_t index)
{
	return index == DTC_CURSOR_ROOT ? &cursor->root : &cursor->program->ops[index];
}

/*
 * Index of the first operation in the body of the loop @index. The root's index wraps around to
 * 0.
 */
static uint32_t first_of_body(uint32_t index)
{
	return index + 1;
}

/* The displacement of the current iteration relative to the loop; advances @entry to it. */
static int64_t iteration_disp(const struct dtc_cursor *cursor, const struct dtc_op *loop,
			      uint64_t iteration, uint64_t *entry)
{
	if (loop->kind == DTC_OP_LOOP)
		return (int64_t)iteration * loop->stride;
	const struct dtc_table *table = dtc_program_table(cursor->program, loop);
	if (table->uniform)
		return dtc_table_disp(table, iteration);
	if (iteration >= dtc_table_prefix(table, *entry + 1))
		++*entry;
	uint64_t inside = iteration - dtc_table_prefix(table, *entry);
	return dtc_table_disp(table, *entry) + (int64_t)inside * loop->stride;
}

/* From a position before an iteration, enter the first operation inside it. */
static void enter_loop(struct dtc_cursor *cursor, const struct dtc_op *loop)
{
	int64_t disp = iteration_disp(cursor, loop, cursor->iteration, &cursor->entry);

	cursor->frames[cursor->depth++] = (struct dtc_frame){
		cursor->op, cursor->iteration, cursor->entry, cursor->base};
	cursor->base += loop->disp + disp;
	cursor->op = first_of_body(cursor->op);
	cursor->offset = 0;
	cursor->iteration = 0;
	cursor->entry = 0;
}

/* From the end of an operation, go to its next sibling, or to the enclosing loop. */
static void leave_op(struct dtc_cursor *cursor, const struct dtc_op *op)
{
	const struct dtc_frame *frame = &cursor->frames[cursor->depth - 1];
	const struct dtc_op *loop = op_at(cursor, frame->op);

	cursor->op += op->body + 1;
	cursor->offset = 0;
	cursor->iteration = 0;
	cursor->entry = 0;
	if (cursor->op != first_of_body(frame->op) + loop->body)
		return;
	cursor->op = frame->op;
	cursor->iteration = frame->iteration + 1;
	cursor->entry = frame->entry;
	cursor->base = frame->base;
	cursor->depth--;
}

static bool is_finished(const struct dtc_cursor *cursor, const struct dtc_op *op)
{
	if (dtc_op_is_loop(op))
		return cursor->iteration == op->count;
	return cursor->offset == op->bytes;
}

/* Fragments usually follow each other, so search from the previous entry on. */
static uint64_t find_entry(struct dtc_cursor *cursor, const struct dtc_op *op)
{
	if (op->kind == DTC_OP_TABLE)
		cursor->entry = dtc_table_find(dtc_program_table(cursor->program, op),
					       cursor->offset, cursor->entry);
	return cursor->entry;
}

bool dtc_cursor_next(struct dtc_cursor *cursor, uint64_t limit, bool whole_loops,
		     struct dtc_piece *piece)
{
	const struct dtc_op *op;

	if (cursor->position == cursor->size)
		return false;
	if (!cursor->begun)
		begin(cursor);
	for (;;) {
		op = op_at(cursor, cursor->op);
		if (is_finished(cursor, op)) {
			leave_op(cursor, op);
			continue;
		}
		if (!dtc_op_is_loop(op) ||
		    (op->flat && whole_loops && op->kind == DTC_OP_LOOP &&
		     limit >= op->unit_bytes))
			break;
		enter_loop(cursor, op);
	}
	piece->op = op;
	piece->body = &cursor->program->ops[first_of_body(cursor->op)];
	piece->base = cursor->base;
	piece->offset = cursor->offset;
	piece->iteration = cursor->iteration;
	if (dtc_op_is_loop(op)) {
		uint64_t iterations =
			DTC_MIN(op->count - cursor->iteration, limit / op->unit_bytes);

		piece->bytes = iterations * op->unit_bytes;
		cursor->iteration += iterations;
	} else {
		piece->bytes = DTC_MIN(op->bytes - cursor->offset, limit);
		piece->entry = find_entry(cursor, op);
		cursor->offset += piece->bytes;
	}
	cursor->position += piece->bytes;
	return true;
}

/*
 * Set iteration and entry to those that hold byte @offset of the loop; return the offset in the
 * iteration.
 */
static uint64_t seek_iteration(struct dtc_cursor *cursor, const struct dtc_op *loop,
			       uint64_t offset)
{
	cursor->iteration = offset / loop->unit_bytes;
	cursor->entry = 0;
	if (loop->kind == DTC_OP_TABLE_LOOP && cursor->iteration < loop->count)
		cursor->entry = dtc_table_find(dtc_program_table(cursor->program, loop),
					       cursor->iteration, 0);
	return offset % loop->unit_bytes;
}

/* Find the operation of the body that holds byte @offset. */
static uint64_t seek_sibling(struct dtc_cursor *cursor, uint64_t offset)
{
	const struct dtc_op *op = op_at(cursor, cursor->op);

	while (offset >= op->bytes_before + op->bytes) {
		cursor->op += op->body + 1;
		op = op_at(cursor, cursor->op);
	}
	return offset - op->bytes_before;
}

void dtc_cursor_seek(struct dtc_cursor *cursor, uint64_t position)
{
	uint64_t offset = position;

	cursor->position = position;
	if (!cursor->begun) {
		if (position == 0 || cursor->size == 0)
			return;
		begin(cursor);
	}
	stand_at_root(cursor);
	for (;;) {
		const struct dtc_op *op = op_at(cursor, cursor->op);

		if (!dtc_op_is_loop(op)) {
			cursor->offset = offset;
			return;
		}
		offset = seek_iteration(cursor, op, offset);
		if (offset == 0)
			return;
		enter_loop(cursor, op);
		offset = seek_sibling(cursor, offset);
	}
}
