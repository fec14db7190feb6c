/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves the operations of a loop body, each by the kernel for its kind.
 */
#include "config.h"

#include "loop_body.h"

#include "blocks.h"

void dtc_move_tables(const struct address_pair *pair, const struct dtc_program *program,
		     const struct dtc_op *loop, const struct dtc_op *op, uint64_t count)
{
	const struct dtc_table *table = dtc_program_table(program, op);

	for (uint64_t i = 0; i < count; i++) {
		struct address_pair start =
			pair_at(pair, (int64_t)i * loop->stride + op->disp,
				i * loop->unit_bytes + op->bytes_before);

		move_table(start, table, 0, table->count);
	}
}

void dtc_move_body(const struct address_pair *pair, const struct dtc_program *program,
		   const struct dtc_op *body, uint32_t op_count)
{
	for (uint32_t i = 0; i < op_count; i++) {
		const struct dtc_op *op = &body[i];
		struct address_pair start = pair_at(pair, op->disp, op->bytes_before);

		if (op->kind == DTC_OP_RUN)
			move_run(start, op->bytes);
		else if (op->kind == DTC_OP_STRIP)
			move_strip(start, op, 0, op->count);
		else if (op->kind == DTC_OP_LOOP)
			dtc_move_tables(&start, program, op, &body[++i], op->count);
		else
			move_table(start, dtc_program_table(program, op), 0, op->count);
	}
}
