/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of the pipeline bench.
 */
#ifndef BENCH_PIPELINE_ROWS_H
#define BENCH_PIPELINE_ROWS_H

#include "bench/harness/options.h"
#include "bench/pipeline/contest.h"

struct pipeline_row {
	enum contest_kind kind;
	bool on_device;
	char name[BENCH_NAME_ROOM];
	const struct bench_layout *layout; /* NULL: lists of blocks of @block bytes */
	size_t block;
	size_t bytes;    /* of a message */
	size_t fragment; /* 0: as the context plans */
};

#define PIPELINE_MOST_ROWS 128

/* All rows that the options choose, those of a device first; returns their number. */
size_t pipeline_rows(const struct bench_options *options,
		     struct pipeline_row rows[PIPELINE_MOST_ROWS]);

#endif
