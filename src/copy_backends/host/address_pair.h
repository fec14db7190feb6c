/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pair of addresses to copy between: one on the user's side, one on the packed side.
 */
#ifndef DTC_ADDRESS_PAIR_H
#define DTC_ADDRESS_PAIR_H

#include "kernels/cpu/kernels.h"

/* The start of one piece on the user's side and on the packed side, and how to copy it. */
struct address_pair {
	const struct dtc_cpu_kernels *cpu;
	enum dtc_stream stream;
	char *user;
	char *packed;
	enum dtc_direction direction;
};

/* Integer arithmetic, because displacements may be absolute addresses over a NULL base. */
static inline char *displaced(const char *base, int64_t disp)
{
	return (char *)((uintptr_t)base + (uintptr_t)disp);
}

static inline struct address_pair pair_at(const struct address_pair *pair,
					  int64_t user_disp, uint64_t packed_disp)
{
	return (struct address_pair){ pair->cpu, pair->stream,
				      displaced(pair->user, user_disp),
				      pair->packed + packed_disp, pair->direction };
}

#endif
