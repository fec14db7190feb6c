/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bodies are short runs that are worth laying out as a pattern.
 */
#ifndef DTC_SHORT_RUNS_H
#define DTC_SHORT_RUNS_H

#include "checked.h"
#include "datatype/program.h"
#include "kernels/cpu.h"

/* Runs that a pattern may have, and how long they may be on average. */
#define PATTERN_RUNS      64
#define PATTERN_RUN_BYTES 32

/* Stride of a strip's runs, beyond which no two are in one register. */
#define PATTERN_STRIDE 64

/* User bytes for each run, beyond which a register holds too few runs. */
#define PATTERN_SPREAD 32

/* Whether @runs of @bytes together, again and again @step apart, may be worth a pattern. */
static inline bool looks_like_pattern(const struct dtc_cpu_kernels *cpu, uint64_t runs,
				      uint64_t bytes, int64_t step)
{
	return cpu->pattern && runs <= PATTERN_RUNS &&
	       bytes <= PATTERN_RUN_BYTES * runs &&
	       dtc_magnitude(step) <= PATTERN_SPREAD * runs;
}

/* How many runs a body has; more than a pattern may have if it is none. */
uint64_t dtc_runs_of_body(const struct dtc_op body[], uint32_t op_count);

/* Write down the runs of a body; false if they are too far apart. */
bool dtc_list_runs(struct dtc_short_run runs[], const struct dtc_op body[],
		   uint32_t op_count);

#endif
