/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cursor: a position in the packed stream of some instances of a layout. Pack, unpack,
 * iov and seek are all its clients; it is the only code that walks programs. It touches no
 * user memory.
 */
#ifndef DTC_CURSOR_H
#define DTC_CURSOR_H

#include "datatype/layout.h"

struct dtc_frame {
	uint32_t op;        /* the loop */
	uint64_t iteration; /* under way */
	uint64_t entry;     /* table loops: the entry of that iteration */
	int64_t base;       /* displacement round the loop */
};

/*
 * Where it stands: at operation @op. In a run, strip or table it has passed @offset packed
 * bytes, and in a table the entry that holds the next one is not before @entry; at a loop it is
 * between iterations, before @iteration. The loop that is all
 * instances has the index before 0. At the end only @position counts.
 */
struct dtc_cursor {
	const struct dtc_layout *layout;
	uint64_t count;    /* of instances */
	uint64_t size;     /* of the whole stream */
	uint64_t position; /* bytes passed */
	bool begun;        /* what follows is set: whole streams mostly move without it */
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
 * A stretch of the stream inside one operation: bytes [offset, offset + bytes) of a run, strip
 * or table, or whole iterations from @iteration on of a loop without loops inside.
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

/* Go to the end, where nothing is handed out and only seek leads on. */
static inline void dtc_cursor_finish(struct dtc_cursor *cursor)
{
	cursor->position = cursor->size;
}

/* The operation that is all instances of a stream that is not empty; begins the walk if need be. */
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
