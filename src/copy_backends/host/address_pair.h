/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A place to copy at: an address on the user's side and one on the packed side.
 */
#ifndef DTC_ADDRESS_PAIR_H
#define DTC_ADDRESS_PAIR_H

#include "kernels/cpu.h"

/* A place to copy at: where the user's side and the packed side of one piece begin. */
struct address_pair {
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

static inline struct address_pair pair_at(const struct address_pair *pair,
					  int64_t user_disp, uint64_t packed_disp)
{
	return (struct address_pair){ pair->cpu, pair->stream,
				      displaced(pair->user, user_disp),
				      pair->packed + packed_disp, pair->direction };
}

#endif
