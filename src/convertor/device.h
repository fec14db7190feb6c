/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves that may involve a device's memory: found out what lies where, cut where that changes, and
 * handed to the planner. Moves of ordinary host memory never come here.
 */
#ifndef DTC_DEVICE_H
#define DTC_DEVICE_H

#include "copy_backends/backend.h"
#include "datatype/bounds.h"

/* What the caller has said of memory and order. All zero: nothing. */
struct dtc_placement {
	enum dtconv_memory_kind user;
	enum dtconv_memory_kind packed;
	bool on_stream;
	void *stream;
	uint32_t forbidden; /* backends, see copy_backends/allowed.h */
};

struct dtc_move {
	struct dtconv_context *context;
	struct dtc_cursor *cursor;
	const struct dtc_bounds *bounds; /* of one instance */
	const struct dtconv_type *type;  /* for the log, or NULL */
	char *user;
	char *packed;
	size_t bytes; /* no more than the stream has left */
	size_t row_before; /* bytes of packed memory that earlier moves have filled up to this one */
	enum dtc_direction direction;
	struct dtc_placement placement;
	bool started; /* the caller does not wait for it at once */
	const char *caller;
};

/* Packed memory that is filled in one row when this move has ended. */
static inline uint64_t dtc_move_row(const struct dtc_move *move)
{
	return (uint64_t)move->row_before + move->bytes;
}

/* Whether both sides are surely ordinary host memory. */
static inline bool dtc_device_is_needless(struct dtconv_context *context,
					  const struct dtc_placement *placement,
					  const char *user, const char *packed)
{
	if (placement->user == DTCONV_MEMORY_HOST && placement->packed == DTCONV_MEMORY_HOST)
		return true;
	return placement->user <= DTCONV_MEMORY_HOST &&
	       placement->packed <= DTCONV_MEMORY_HOST &&
	       dtc_memory_is_ordinary(context, user, packed);
}

/* Of the cursor's next @bytes, how many lie in one kind of the user's memory, and in which. */
uint64_t dtc_device_find_user(const struct dtc_move *move, uint64_t bytes,
			      struct dtc_memory *memory);

/* The same of as many bytes at @packed. */
uint64_t dtc_device_find_packed(const struct dtc_move *move, const char *packed, uint64_t bytes,
				struct dtc_memory *memory);

/* Fail if nothing is mapped on a side of the job, or nobody may reach it. */
int dtc_device_check(const struct dtc_job *job);

/*
 * Of what is left behind the first @done bytes, how many lie in one kind of memory on each side, and in
 * which. The cursor stands behind these bytes.
 */
uint64_t dtc_device_look(const struct dtc_move *move, size_t done,
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
int dtc_device_copy_row(const struct dtc_move *move, enum dtc_direction direction,
			char *packed, char *buffer, size_t bytes);

/*
 * A buffer for so many packed bytes to come to the host in, in pieces of @room; the caller frees it. NULL
 * with the sentence of NOMEM.
 */
char *dtc_device_bounce(const struct dtc_move *move, uint64_t bytes, size_t *room);

#endif
