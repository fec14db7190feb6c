/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of the short runs of a loop body.
 */
#include "config.h"

#include "short_runs.h"

static uint64_t runs_of(const struct dtc_op *op)
{
	return op->kind == DTC_OP_RUN ? 1 : op->count;
}

/* A register holds no two runs of a strip whose stride exceeds its width. */
static bool fits_pattern(const struct dtc_op *op)
{
	return op->kind == DTC_OP_RUN ||
	       (op->kind == DTC_OP_STRIP && dtc_magnitude(op->stride) <= PATTERN_STRIDE);
}

uint64_t dtc_runs_of_body(const struct dtc_op body[], uint32_t op_count)
{
	uint64_t runs = 0;

	for (uint32_t i = 0; i < op_count && runs <= PATTERN_RUNS; i++)
		runs += fits_pattern(&body[i]) ? runs_of(&body[i]) : PATTERN_RUNS + 1;
	return runs;
}

bool dtc_list_runs(struct dtc_short_run runs[], const struct dtc_op body[],
		   uint32_t op_count)
{
	size_t n = 0;

	for (uint32_t i = 0; i < op_count; i++) {
		const struct dtc_op *op = &body[i];
		uint64_t count = runs_of(op);
		int64_t disp = op->disp;

		for (uint64_t j = 0; j < count; j++, disp += op->stride) {
			if (disp != (int32_t)disp)
				return false;
			runs[n++] =
				(struct dtc_short_run){ (int32_t)disp,
							(uint32_t)(op->bytes / count) };
		}
	}
	return true;
}
