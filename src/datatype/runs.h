/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterates over the runs of a range of the packed stream, for callers that process each block
 * of memory separately.
 */
#ifndef DTC_RUNS_H
#define DTC_RUNS_H

#include "datatype/cursor.h"

struct dtc_runs {
	struct dtc_cursor *cursor; /* may be ahead of the current run */
	uint64_t left;             /* bytes of the range behind the current piece */
	struct dtc_piece piece;
	uint64_t offset; /* offset of the next run in the piece's operation */
	uint64_t end;
	uint64_t entry;
};

/* A run, cut to the range. */
struct dtc_run {
	int64_t disp;
	uint64_t bytes;
};

/* Begin at the cursor's position. The range is @bytes long, or ends with the stream. */
void dtc_runs_init(struct dtc_runs *runs, struct dtc_cursor *cursor, uint64_t bytes);

/* The next run. False at the end; then the cursor is behind the range. */
bool dtc_runs_next(struct dtc_runs *runs, struct dtc_run *run);

#endif
