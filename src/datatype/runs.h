/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs of a stretch of the packed stream, one by one, for callers that process each block
 * of memory separately.
 */
#ifndef DTC_RUNS_H
#define DTC_RUNS_H

#include "datatype/cursor.h"

struct dtc_runs {
	struct dtc_cursor *cursor; /* runs ahead of the runs handed out */
	uint64_t left;             /* bytes of the stretch behind the piece */
	struct dtc_piece piece;
	uint64_t offset; /* of the next run in the piece's operation */
	uint64_t end;
	uint64_t entry;
};

/* A run of bytes, or what the stretch's ends leave of it. */
struct dtc_run {
	int64_t disp;
	uint64_t bytes;
};

/* Begin at the cursor's position; the stretch is @bytes long or ends with the stream. */
void dtc_runs_init(struct dtc_runs *runs, struct dtc_cursor *cursor, uint64_t bytes);

/* The next run; false at the end, where the cursor is behind the stretch. */
bool dtc_runs_next(struct dtc_runs *runs, struct dtc_run *run);

#endif
