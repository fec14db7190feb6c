/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cursor: a position in the packed stream of some instances of a layout. It is the only
 * code that walks programs; pack, unpack, iov and seek are built on it. It does not access user
 * memory.
 */
#ifndef DTC_CURSOR_H
#define DTC_CURSOR_H

#include "datatype/layout.h"

struct dtc_frame {
	uint32_t op;        /* the loop */
	uint64_t iteration; /* the current one */
	uint64_t entry;     /* table loops: the entry of that iteration */
	int64_t base;       /* displacement of the iteration round the loop */
};

/*
 * A position in the walk.
 *
 * - At a run, strip or table @op, @offset packed bytes of it are behind the cursor. The table
 *   entry that holds the next byte is @entry or a later one.
 * - At a loop, the cursor is between iterations, before @iteration.
 * - The loop over all instances has the index DTC_CURSOR_ROOT.
 * - At the end of the stream, only @position is valid.
 */
struct dtc_cursor {
	const struct dtc_layout *layout;
	uint64_t count;    /* of instances */
	uint64_t size;     /* of the whole stream */
	uint64_t position; /* bytes passed */
	bool begun;        /* the members below are set, for a walk */
	const struct dtc_program *program;
	struct dtc_op root;
	uint32_t op;
	uint32_t depth;
	int64_t base; /* displacement of the enclosing iteration */
	uint64_t offset;
	uint64_t iteration;
	uint64_t entry;
	struct dtc_frame frames[DTC_PROGRAM_DEPTH + 1];
};

#define DTC_CURSOR_ROOT UINT32_MAX

/*
 * A piece of the stream inside one operation: bytes [offset, offset + bytes) of a run, strip or
 * table, or whole iterations, from @iteration on, of a loop without inner loops.
 */
struct dtc_piece {
	const struct dtc_op *op;
	const struct dtc_op *body; /* loops: the first operation inside */
	int64_t base;
	uint64_t offset;
	uint64_t iteration;
	uint64_t entry; /* tables: the one that holds the first byte */
	uint64_t bytes;
};

/* Put the cursor at the beginning of @count instances, whose size does not overflow. */
void dtc_cursor_init(struct dtc_cursor *cursor, const struct dtc_layout *layout,
		     uint64_t count);

/* Set @copy to the position of @cursor. */
void dtc_cursor_copy(struct dtc_cursor *copy, const struct dtc_cursor *cursor);

/* Go to the end. From there only seek returns to the stream. */
static inline void dtc_cursor_finish(struct dtc_cursor *cursor)
{
	cursor->position = cursor->size;
}

/*
 * The operation that stands for all instances of a non-empty stream; begins the walk if
 * necessary.
 */
const struct dtc_op *dtc_cursor_root(struct dtc_cursor *cursor);

/* Go to a byte of the stream, or to its end. */
void dtc_cursor_seek(struct dtc_cursor *cursor, uint64_t position);

/*
 * Advance by at most @limit > 0 bytes and describe them as one piece. False at the end. A piece
 * covers whole loops only if @whole_loops.
 */
bool dtc_cursor_next(struct dtc_cursor *cursor, uint64_t limit, bool whole_loops,
		     struct dtc_piece *piece);

#endif
