/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves that may involve device memory: classify the memory of each side, cut where the kind changes, and
 * submit the jobs through the planner. Moves of ordinary host memory bypass this file.
 */
#ifndef DTC_DEVICE_MOVE_H
#define DTC_DEVICE_MOVE_H

#include "convertor/move.h"

/* Classify the user's memory: how many of the cursor's next @bytes lie in one kind, and in which. */
uint64_t dtc_device_find_user(const struct dtc_move *move, uint64_t bytes,
			      struct dtc_memory *memory);

/* The same for @bytes bytes at @packed. */
uint64_t dtc_device_find_packed(const struct dtc_move *move, const char *packed,
				uint64_t bytes, struct dtc_memory *memory);

/* Fail if a side of the job is not mapped, or if no device has access to it. */
int dtc_device_check(const struct dtc_job *job);

/*
 * Classify both sides from byte @done of the move on: how many bytes lie in one kind of memory on each
 * side, and in which. The cursor has to be at that byte.
 */
uint64_t dtc_device_find_both(const struct dtc_move *move, size_t done,
			      struct dtc_memory *user, struct dtc_memory *packed);

/*
 * Start a move. If its last job is still in flight, @event has a backend. @moved is the number of bytes
 * started, valid even if the call fails.
 */
int dtc_device_start(const struct dtc_move *move, struct dtc_event *event, size_t *moved);

/* Start a move and wait for it. */
int dtc_device_move(const struct dtc_move *move, size_t *moved);

/* Wait for an event, which may have completed already. */
int dtc_device_wait(struct dtc_event *event);

/*
 * Copy contiguous bytes between packed memory of any kind and a host buffer: to the packed memory if
 * @direction is DTC_PACK. Placement and caller are those of @move. Blocks.
 */
int dtc_device_copy_contiguous(const struct dtc_move *move, enum dtc_direction direction,
			       char *packed, char *buffer, size_t bytes);

/*
 * Allocate a host buffer through which @bytes packed bytes are copied in pieces of @room bytes. The
 * caller frees it. NULL, with the error text of NOMEM, if the allocator has no memory.
 */
char *dtc_device_bounce_buffer(const struct dtc_move *move, uint64_t bytes, size_t *room);

#endif
