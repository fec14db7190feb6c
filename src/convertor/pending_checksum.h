/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum of packed bytes that may be in device memory. A device sums the bytes that it can access,
 * stream-ordered behind the move. The host sums ordinary host memory.
 */
#ifndef DTC_PENDING_CHECKSUM_H
#define DTC_PENDING_CHECKSUM_H

#include "convertor/checksum.h"
#include "convertor/move.h"

/* A checksum in flight. Without an event backend, it has been taken in. */
struct dtc_pending_checksum {
	struct dtc_checksum *checksum; /* NULL: the convertor keeps none */
	struct dtc_checksum before;    /* restored if the move fails */
	struct dtc_event event;
	uint64_t position;
	uint64_t packed; /* as the device addresses it */
	uint64_t bytes;
};

/*
 * Start the checksum of @bytes bytes at @packed, which are at @position of the stream, ordered behind
 * @moving. If the bytes are in several kinds of memory, only the last one's checksum may be in flight
 * when this returns. For ordinary host memory this waits for @moving.
 */
int dtc_pending_checksum_start(struct dtc_pending_checksum *pending,
			       const struct dtc_move *move, char *packed,
			       uint64_t position, size_t bytes, struct dtc_event *moving);

/* The event has completed: take in its result. */
void dtc_pending_checksum_finish(struct dtc_pending_checksum *pending);

/* The move failed: wait for the event and restore the checksum. */
void dtc_pending_checksum_undo(struct dtc_pending_checksum *pending);

#endif
