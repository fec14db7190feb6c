/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes that may lie in a device's memory: a device computes those that it sees, in the
 * order of the move and without waiting; the processor those in its own memory.
 */
#ifndef DTC_PENDING_CHECKSUM_H
#define DTC_PENDING_CHECKSUM_H

#include "convertor/checksum.h"
#include "convertor/move.h"

/* A checksum under way. Without an event: what there was has been taken in. */
struct dtc_pending_checksum {
	struct dtc_checksum *checksum; /* NULL: none is asked for */
	struct dtc_checksum before;    /* as it was, should the move fail */
	struct dtc_event event;
	uint64_t position;
	uint64_t packed; /* device's address */
	uint64_t bytes;
};

/*
 * Start the checksum of @bytes bytes at @packed, which stand at @position of the stream, behind @moving. All
 * but the last kind of memory is waited for, and ordinary host memory, for which @moving is too.
 */
int dtc_pending_checksum_start(struct dtc_pending_checksum *pending,
			       const struct dtc_move *move, char *packed,
			       uint64_t position, size_t bytes, struct dtc_event *moving);

/* The event has ended well: take its answer in. */
void dtc_pending_checksum_finish(struct dtc_pending_checksum *pending);

/* The move has failed: as it was before, once nothing is in flight. */
void dtc_pending_checksum_undo(struct dtc_pending_checksum *pending);

#endif
