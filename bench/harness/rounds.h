/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times several engines in interleaved rounds, and summarises.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/engine.h"

struct timing {
	double ns; /* median of one call; 0 if the engine failed */
	double ns_p10;
	double ns_p90;
	size_t rounds;
	size_t calls; /* in each round */
};

/*
 * Time `count` prepared engines for about `budget_ns`. In every round each engine makes enough
 * calls for a clock reading not to matter, in a new random order. An engine that fails is left
 * out from then on, and its problem gives the reason.
 */
void rounds_time(struct engine *const *engines, size_t count, enum bench_op op,
		 double budget_ns, uint64_t seed, struct timing *timings);

/* Median and deciles; sorts the values. */
void timing_sum_up(struct timing *timing, double *values, size_t count);

#endif
