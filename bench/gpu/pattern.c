/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the runs of a layout through dtconv_convertor_iov, then looks for the simplest rule that gives
 * them all. Every run is checked, so a rule is never a guess.
 */
#include "config.h"

#include "bench/gpu/pattern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <dtconv/dtconv.h>

#include "bench/layouts/layout.h"

#define MOST_RUNS ((size_t)1 << 25)
#define BATCH     256
#define MOST_WORD 16

/* ---- reading the runs ------------------------------------------------------------------ */

static bool make_room(struct pattern *p, size_t *room)
{
	size_t larger = *room ? 2 * *room : 4 * BATCH;
	struct pattern_run *runs;

	if (p->run_count + BATCH <= *room)
		return true;
	runs = realloc(p->runs, larger * sizeof(*runs));
	if (!runs)
		return false;
	p->runs = runs;
	*room = larger;
	return true;
}

static void append(struct pattern *p, const struct iovec *iov, size_t count,
		   const unsigned char *origin)
{
	for (size_t i = 0; i < count; i++) {
		p->runs[p->run_count++] = (struct pattern_run){
			.disp = (const unsigned char *)iov[i].iov_base - origin,
			.packed = p->bytes,
			.bytes = iov[i].iov_len
		};
		p->bytes += iov[i].iov_len;
	}
}

static const char *read_all(struct pattern *p, struct dtconv_convertor *convertor,
			    const unsigned char *origin)
{
	struct iovec iov[BATCH];
	size_t room = 0, count = 0, moved;

	do {
		if (p->run_count > MOST_RUNS)
			return "the layout has too many runs for a table";
		if (!make_room(p, &room))
			return "cannot allocate a table of its runs";
		if (dtconv_convertor_iov(convertor, iov, BATCH, SIZE_MAX, &count, &moved))
			return "the runs cannot be exported";
		append(p, iov, count, origin);
	} while (count);
	return p->run_count ? NULL : "the layout has no bytes";
}

static const char *read_runs(const struct bench_case *c, const void *user,
			     struct pattern *p)
{
	struct dtconv_convertor *convertor;
	const char *problem;

	if (dtconv_convertor_create_pack(c->type, c->count, user, &convertor))
		return "cannot create a convertor";
	problem = read_all(p, convertor, user);
	dtconv_convertor_destroy(convertor);
	return problem;
}

/* ---- rules ----------------------------------------------------------------------------- */

static bool is_record(const struct pattern *p, size_t runs, int64_t step)
{
	for (size_t i = runs; i < p->run_count; i++)
		if (p->runs[i].bytes != p->runs[i - runs].bytes ||
		    p->runs[i].disp - p->runs[i - runs].disp != step)
			return false;
	return true;
}

static bool find_record(struct pattern *p)
{
	for (size_t runs = 1; runs <= PATTERN_RECORD_RUNS && runs < p->run_count;
	     runs++) {
		int64_t step = p->runs[runs].disp - p->runs[0].disp;

		if (p->run_count % runs || !is_record(p, runs, step))
			continue;
		p->kind = PATTERN_RECORD;
		p->record_runs = runs;
		p->record_step = step;
		return true;
	}
	return false;
}

/* Where the first step between neighbours is left for another one. */
static uint64_t first_row(const struct pattern *p, int64_t step)
{
	uint64_t rows = 1;

	while (rows < p->run_count && p->runs[rows].disp - p->runs[rows - 1].disp == step)
		rows++;
	return rows;
}

static bool find_grid(struct pattern *p)
{
	int64_t step = p->run_count > 1 ? p->runs[1].disp - p->runs[0].disp : 0;
	uint64_t rows = first_row(p, step);
	int64_t plane = rows < p->run_count ? p->runs[rows].disp - p->runs[0].disp : 0;

	for (size_t i = 0; i < p->run_count; i++)
		if (p->runs[i].bytes != p->runs[0].bytes ||
		    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a row. */
		    p->runs[i].disp != p->runs[0].disp + (int64_t)(i % rows) * step +
					       (int64_t)(i / rows) * plane)
			return false;
	p->kind = PATTERN_GRID;
	p->block = p->runs[0].bytes;
	p->rows = rows;
	p->row_step = step;
	p->plane_step = plane;
	return true;
}

/* The largest power of two up to MOST_WORD that divides all numbers that were or-ed together. */
static size_t word_of(uint64_t all)
{
	size_t word = MOST_WORD;

	while (all % word)
		word /= 2;
	return word;
}

static void find_word(struct pattern *p)
{
	uint64_t all = (uint64_t)p->first;

	for (size_t i = 0; i < p->run_count; i++)
		all |= (uint64_t)(p->runs[i].disp - p->first) | p->runs[i].bytes;
	if (p->kind == PATTERN_RECORD)
		all |= (uint64_t)p->record_step;
	p->word = word_of(all);
}

/* ---- the whole ------------------------------------------------------------------------- */

/* The case says that it is a vector: its runs need not be read. */
static bool is_vector(const struct bench_case *c, struct pattern *p)
{
	if (!c->block)
		return false;
	p->kind = PATTERN_GRID;
	p->bytes = c->bytes;
	p->block = c->block;
	p->rows = c->bytes / c->block;
	p->row_step = (int64_t)c->pitch;
	p->word = word_of(c->block | c->pitch);
	return true;
}

int pattern_find(const struct bench_case *c, const void *user, struct pattern *p,
		 const char **why)
{
	memset(p, 0, sizeof(*p));
	if (is_vector(c, p))
		return 0;
	*why = read_runs(c, user, p);
	if (*why)
		return -1;
	p->first = p->runs[0].disp;
	p->kind = PATTERN_LIST;
	if (!find_grid(p))
		find_record(p);
	find_word(p);
	return 0;
}

void pattern_release(struct pattern *p)
{
	free(p->runs);
	p->runs = NULL;
}

/* ---- places ---------------------------------------------------------------------------- */

static int64_t place_in_record(const struct pattern *p, uint64_t packed)
{
	const struct pattern_run *last = &p->runs[p->record_runs - 1];
	uint64_t bytes = last->packed + last->bytes;
	uint64_t at = packed % bytes;
	size_t run = 0;

	while (at >= p->runs[run].packed + p->runs[run].bytes)
		run++;
	return p->runs[run].disp + (int64_t)(at - p->runs[run].packed) +
	       (int64_t)(packed / bytes) * p->record_step;
}

static int64_t place_in_list(const struct pattern *p, uint64_t packed)
{
	size_t low = 0, high = p->run_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (p->runs[middle].packed <= packed)
			low = middle;
		else
			high = middle;
	}
	return p->runs[low].disp + (int64_t)(packed - p->runs[low].packed);
}

int64_t pattern_place(const struct pattern *p, uint64_t packed)
{
	uint64_t block = p->block ? packed / p->block : 0;

	switch (p->kind) {
	case PATTERN_GRID:
		return p->first + (int64_t)(packed % p->block) +
		       (int64_t)(block % p->rows) * p->row_step +
		       (int64_t)(block / p->rows) * p->plane_step;
	case PATTERN_RECORD:
		return place_in_record(p, packed);
	default:
		return place_in_list(p, packed);
	}
}
