/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves that may involve a device's memory: found out what lies where, cut where that changes, and
 * handed to the planner. Moves of ordinary host memory never come here.
 */
#ifndef DTC_DEVICE_MOVE_H
#define DTC_DEVICE_MOVE_H

#include "convertor/move.h"

/* Of the cursor's next @bytes, how many lie in one kind of the user's memory, and in which. */
uint64_t dtc_device_find_user(const struct dtc_move *move, uint64_t bytes,
			      struct dtc_memory *memory);

/* The same of as many bytes at @packed. */
uint64_t dtc_device_find_packed(const struct dtc_move *move, const char *packed,
				uint64_t bytes, struct dtc_memory *memory);

/* Fail if nothing is mapped on a side of the job, or nobody may reach it. */
int dtc_device_check(const struct dtc_job *job);

/*
 * Of what is left behind the first @done bytes, how many lie in one kind of memory on each side, and in
 * which. The cursor stands behind these bytes.
 */
uint64_t dtc_device_find_both(const struct dtc_move *move, size_t done,
			      struct dtc_memory *user, struct dtc_memory *packed);

/*
 * Start a move. The last of its jobs may be in flight after: then @event has a backend. @moved is
 * what has been started, exact also on failure.
 */
int dtc_device_start(const struct dtc_move *move, struct dtc_event *event, size_t *moved);

/* Start a move and wait for it. */
int dtc_device_move(const struct dtc_move *move, size_t *moved);

/* Wait for an event, which may have ended already. */
int dtc_device_wait(struct dtc_event *event);

/*
 * Copy bytes in a row between packed memory, whoever's, and a buffer of the host: to the packed memory
 * if @direction is to pack. Placement and caller are @move's. Blocks.
 */
int dtc_device_copy_contiguous(const struct dtc_move *move, enum dtc_direction direction,
			       char *packed, char *buffer, size_t bytes);

/*
 * A buffer for so many packed bytes to come to the host in, in pieces of @room; the caller frees it. NULL
 * with the sentence of NOMEM.
 */
char *dtc_device_bounce_buffer(const struct dtc_move *move, uint64_t bytes, size_t *room);

#endif
