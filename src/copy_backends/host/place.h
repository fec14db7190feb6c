/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the host backend and its movers share: places to copy at, and what is worth laying out as a
 * pattern.
 */
#ifndef DTC_HOST_PLACE_H
#define DTC_HOST_PLACE_H

#include "base/checked.h"
#include "datatype/layout.h"
#include "kernels/cpu/kernels.h"

/* A place to copy at: where the user's side and the packed side of one piece begin. */
struct place {
	const struct dtc_cpu_kernels *cpu;
	enum dtc_stream stream;
	char *user;
	char *packed;
	enum dtc_direction direction;
};

/* Displacements may be absolute addresses over a NULL base, so this is integer arithmetic. */
static inline char *displaced(const char *base, int64_t disp)
{
	return (char *)((uintptr_t)base + (uintptr_t)disp);
}

static inline struct place at(const struct place *place, int64_t user_disp, uint64_t packed_disp)
{
	return (struct place){place->cpu, place->stream, displaced(place->user, user_disp),
			      place->packed + packed_disp, place->direction};
}

/* Runs that a pattern may have, and how long they may be on average. */
#define PATTERN_RUNS 64
#define PATTERN_RUN_BYTES 32

/* Stride of a strip's runs, beyond which no two are in one register. */
#define PATTERN_STRIDE 64

/* User bytes for each run, beyond which a register holds too few runs. */
#define PATTERN_SPREAD 32

/* Whether @runs of @bytes together, again and again @step apart, may be worth a pattern. */
static inline bool looks_like_pattern(const struct dtc_cpu_kernels *cpu, uint64_t runs,
				      uint64_t bytes, int64_t step)
{
	return cpu->pattern && runs <= PATTERN_RUNS && bytes <= PATTERN_RUN_BYTES * runs &&
	       dtc_magnitude(step) <= PATTERN_SPREAD * runs;
}

/* How many runs a body has; more than a pattern may have if it is none. */
uint64_t dtc_runs_of_body(const struct dtc_op body[], uint32_t op_count);

/* Write down the runs of a body; false if they are too far apart. */
bool dtc_list_runs(struct dtc_short_run runs[], const struct dtc_op body[], uint32_t op_count);

/* Move one whole iteration of a body without loops. */
void dtc_move_body(struct place place, const struct dtc_program *program,
		   const struct dtc_op *body, uint32_t op_count);

#endif
