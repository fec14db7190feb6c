/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves the operations of a loop body, each by the kernel for its kind.
 */
#include "config.h"

#include "loop_body.h"

#include "blocks.h"

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
		else
			move_table(start, dtc_program_table(program, op), 0, op->count);
	}
}
