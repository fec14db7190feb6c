/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layout as the author of a plain hand-written kernel would describe it: equal blocks on a
 * grid, a short record that repeats, or a list of runs. Host arithmetic only.
 */
#ifndef BENCH_GPU_PATTERN_H
#define BENCH_GPU_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_case;

enum pattern_kind {
	PATTERN_GRID,   /* rows of equal blocks, planes of rows */
	PATTERN_RECORD, /* a few runs at a fixed step */
	PATTERN_LIST /* the runs of one instance, which follow no rule, at a fixed step */
};

/* A run of contiguous user bytes, in packed order. */
struct pattern_run {
	int64_t disp;    /* of its first byte, from displacement 0 */
	uint64_t packed; /* packed bytes before it */
	uint64_t bytes;
};

/* A record has at most so many; else it is a list. */
#define PATTERN_RECORD_RUNS  8
#define PATTERN_RECORD_WORDS 2048

struct pattern {
	enum pattern_kind kind;
	uint64_t bytes; /* packed */
	int64_t first;  /* displacement of the first block or record */
	/* Of a grid: block (plane * rows + row) begins at first + row * row_step + plane * plane_step. */
	uint64_t block, rows;
	int64_t row_step, plane_step;
	/* Of a record or a list: record_runs runs, the same ones again every record_step bytes. */
	size_t record_runs;
	int64_t record_step;
	/* At least those of one record or one list; NULL for a grid that the case itself describes. */
	struct pattern_run *runs;
	size_t run_count;
	/* Whether places in one record or list, in words from @first, need more than 32 bits. */
	bool far;
	/* A power of two up to 16 that divides every length and every displacement. */
	size_t word;
};

/*
 * Find the pattern of a case whose displacement 0 is at @user; no byte there is touched. Returns 0, or -1
 * with a reason in @why: no memory, or more runs than are worth a table. The caller releases it in either
 * event.
 */
int pattern_find(const struct bench_case *c, const void *user, struct pattern *pattern,
		 const char **why);
void pattern_release(struct pattern *pattern);

/* Packed words of all, and of one record or list; how many of these there are. */
static inline uint64_t pattern_words(const struct pattern *p)
{
	return p->bytes / p->word;
}

static inline uint64_t pattern_record_words(const struct pattern *p)
{
	const struct pattern_run *last = &p->runs[p->record_runs - 1];

	return (last->packed + last->bytes) / p->word;
}

static inline uint64_t pattern_records(const struct pattern *p)
{
	return pattern_words(p) / pattern_record_words(p);
}

/* The user's displacement of a packed byte; slow, for tests. */
int64_t pattern_place(const struct pattern *pattern, uint64_t packed);

#endif
