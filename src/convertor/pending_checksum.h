/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum of packed bytes that may be in device memory. A device sums the bytes that it can access,
 * stream-ordered behind the move. The host sums ordinary host memory.
 */
#ifndef DTC_PENDING_CHECKSUM_H
#define DTC_PENDING_CHECKSUM_H

#include "convertor/checksum.h"
#include "convertor/move.h"

/*
 * The checksum of one move. It is kept apart from the convertor's until the move has ended well: that of a failed move
 * is left out. Without an event backend, all ranges are in the sum.
 */
struct dtc_pending_checksum {
	struct dtc_checksum sum;
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

/* The event has completed: add its result to the sum. */
void dtc_pending_checksum_finish(struct dtc_pending_checksum *pending);

#endif
