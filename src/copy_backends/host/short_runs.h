/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short runs: which bodies of loops have few and short enough runs to be laid out as a pattern.
 */
#ifndef DTC_SHORT_RUNS_H
#define DTC_SHORT_RUNS_H

#include "base/checked.h"
#include "datatype/program.h"
#include "kernels/cpu/kernels.h"

/* The most runs of a pattern and their largest average length. */
#define PATTERN_RUNS      64
#define PATTERN_RUN_BYTES 32

/* The largest stride of a strip: beyond it, no two runs are in one register. */
#define PATTERN_STRIDE 64

/* The most user bytes for each run: beyond it, a register holds too few runs. */
#define PATTERN_SPREAD 32

/* Whether periods of @runs runs and @bytes bytes, @step apart, may be worth a pattern. */
static inline bool looks_like_pattern(const struct dtc_cpu_kernels *cpu, uint64_t runs,
				      uint64_t bytes, int64_t step)
{
	return cpu->pattern && runs <= PATTERN_RUNS &&
	       bytes <= PATTERN_RUN_BYTES * runs &&
	       dtc_magnitude(step) <= PATTERN_SPREAD * runs;
}

/* The number of runs of a body; more than PATTERN_RUNS if it is no pattern. */
uint64_t dtc_runs_of_body(const struct dtc_op body[], uint32_t op_count);

/* List the runs of a body. False if a displacement needs more than 32 bits. */
bool dtc_list_runs(struct dtc_short_run runs[], const struct dtc_op body[],
		   uint32_t op_count);

#endif
