/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers: how whole instances of a layout are moved in host memory without cursor or plan, chosen at
 * commit. Layouts whose instances are streamed past the caches, or shared among threads, have none.
 */
#ifndef DTC_MOVER_H
#define DTC_MOVER_H

#include "datatype/layout.h"
#include "kernels/cpu/kernels.h"

/* A pattern and its steps, for both directions; each call gives the addresses. */
struct dtc_mover_pattern {
	struct dtc_pattern of[2];
	ptrdiff_t disp; /* of the first period */
	size_t periods; /* of one instance; 0: a pattern is not the fastest way for one instance */
	size_t repeats; /* periods of each of several instances; 0: several instances are no pattern */
};

struct dtc_mover {
	struct dtc_nest nest;  /* one instance, if it is a nest */
	dtc_nest_fn move[2];   /* move one instance, by direction; called with the nest above */
	size_t bytes;          /* packed, of one instance */
	/* Moves nests of the same block; NULL if the instance is no nest. */
	dtc_nest_fn nested[2];
	const struct dtc_layout *layout;
	const struct dtc_short_run *runs; /* of one instance, if they are few */
	size_t run_count;
	struct dtc_mover_pattern pattern;
};

/* Make the mover of a layout whose other members are set; NULL if it has none. Fails with NOMEM. */
int dtc_mover_create(const struct dtc_layout *layout, struct dtc_mover **mover);

/* Move one instance, displacement 0 at @user. */
static inline void dtc_mover_move(const struct dtc_mover *mover, char *user, char *packed,
				  enum dtc_direction direction)
{
	mover->move[direction](&mover->nest, user, packed);
}

/* Move @count instances. False, with nothing moved, if a cursor is faster. */
bool dtc_mover_move_many(const struct dtc_mover *mover, size_t count, char *user, char *packed,
			 enum dtc_direction direction);

/* Move @periods of the pattern; displacement 0 of the first one is at @user. */
void dtc_mover_move_periods(const struct dtc_mover *mover, size_t periods, char *user,
			    char *packed, enum dtc_direction direction,
			    enum dtc_stream stream);

#endif
