/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the runs of a layout through dtconv_convertor_iov, then looks for the simplest rule that gives
 * them all. Every run is checked, so a rule is never a guess; instances of a type are at its extent.
 */
#include "config.h"

#include "bench/gpu/pattern.h"

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

static const char *read_runs(const struct bench_case *c, size_t instances,
			     const void *user, struct pattern *p)
{
	struct dtconv_convertor *convertor;
	const char *problem;

	pattern_release(p);
	p->bytes = 0;
	if (dtconv_convertor_create_pack(c->type, instances, user, &convertor))
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

/* The runs that were read are those of one instance of several. */
static const char *repeat_instance(const struct bench_case *c, struct pattern *p)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	if (dtconv_type_query(c->type, &attr))
		return "the type has no extent";
	p->kind = p->run_count <= PATTERN_RECORD_RUNS ? PATTERN_RECORD : PATTERN_LIST;
	p->record_runs = p->run_count;
	p->record_step = attr.extent;
	p->bytes = c->bytes;
	return NULL;
}

/* All instances together are a grid at most if one is. */
static const char *find_of_several(const struct bench_case *c, const void *user,
				   struct pattern *p)
{
	const char *problem;

	if (find_grid(p) && p->run_count * c->count <= MOST_RUNS) {
		problem = read_runs(c, c->count, user, p);
		if (problem || find_grid(p))
			return problem;
		problem = read_runs(c, 1, user, p);
		if (problem)
			return problem;
	}
	return repeat_instance(c, p);
}

static const char *find_rule(const struct bench_case *c, const void *user,
			     struct pattern *p)
{
	const char *problem = read_runs(c, 1, user, p);

	if (problem)
		return problem;
	if (c->count > 1)
		return find_of_several(c, user, p);
	if (!find_grid(p) && !find_record(p)) {
		p->kind = PATTERN_LIST;
		p->record_runs = p->run_count;
	}
	return NULL;
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
	if (p->kind != PATTERN_GRID)
		all |= (uint64_t)p->record_step;
	p->word = word_of(all);
	if (p->kind == PATTERN_RECORD && pattern_record_words(p) > PATTERN_RECORD_WORDS)
		p->kind = PATTERN_LIST;
}

static void find_far(struct pattern *p)
{
	int64_t most = (int64_t)INT32_MAX * (int64_t)p->word;

	for (size_t i = 0; i < p->record_runs; i++) {
		int64_t place = p->runs[i].disp - p->first;

		if (place < -most || place + (int64_t)p->runs[i].bytes > most)
			p->far = true;
	}
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
	*why = find_rule(c, user, p);
	if (*why)
		return -1;
	p->first = p->runs[0].disp;
	find_word(p);
	find_far(p);
	return 0;
}

void pattern_release(struct pattern *p)
{
	free(p->runs);
	p->runs = NULL;
	p->run_count = 0;
}

/* ---- places ---------------------------------------------------------------------------- */

/* The run of a record that its packed byte @at lies in. */
static const struct pattern_run *run_of(const struct pattern *p, uint64_t at)
{
	size_t low = 0, high = p->record_runs;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (p->runs[middle].packed <= at)
			low = middle;
		else
			high = middle;
	}
	return &p->runs[low];
}

static int64_t place_in_record(const struct pattern *p, uint64_t packed)
{
	uint64_t bytes = pattern_record_words(p) * p->word;
	const struct pattern_run *run = run_of(p, packed % bytes);

	return run->disp + (int64_t)(packed % bytes - run->packed) +
	       (int64_t)(packed / bytes) * p->record_step;
}

int64_t pattern_place(const struct pattern *p, uint64_t packed)
{
	uint64_t block;

	if (p->kind != PATTERN_GRID)
		return place_in_record(p, packed);
	block = packed / p->block;
	return p->first + (int64_t)(packed % p->block) +
	       (int64_t)(block % p->rows) * p->row_step +
	       (int64_t)(block / p->rows) * p->plane_step;
}
