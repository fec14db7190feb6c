/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of words and of runs, made of the runs of one record or list.
 */
#include "config.h"

#include "bench/gpu/roof_tables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/pattern.h"

#define SECTOR 32

/* ---- numbers of either width ----------------------------------------------------------- */

struct numbers {
	struct roof_table table;
	size_t count;
	bool far;
};

static struct numbers new_numbers(const struct pattern *p, uint64_t count)
{
	size_t bytes = count * (p->far ? sizeof(int64_t) : sizeof(int32_t));

	return (struct numbers){ .table = { .memory = malloc(bytes), .bytes = bytes },
				 .far = p->far };
}

static void append(struct numbers *n, int64_t value)
{
	if (n->far)
		((int64_t *)n->table.memory)[n->count++] = value;
	else
		((int32_t *)n->table.memory)[n->count++] = (int32_t)value;
}

static int64_t place_of(const struct pattern *p, const struct pattern_run *run)
{
	return (run->disp - p->first) / (int64_t)p->word;
}

/* ---- packed order ---------------------------------------------------------------------- */

struct roof_table roof_make_places(const struct pattern *p)
{
	struct numbers n = new_numbers(p, pattern_record_words(p));

	for (size_t i = 0; n.table.memory && i < p->record_runs; i++)
		for (uint64_t k = 0; k < p->runs[i].bytes / p->word; k++)
			append(&n, place_of(p, &p->runs[i]) + (int64_t)k);
	return n.table;
}

struct roof_table roof_make_runs(const struct pattern *p)
{
	struct numbers n = new_numbers(p, 3 * p->record_runs);

	for (size_t i = 0; n.table.memory && i < p->record_runs; i++) {
		append(&n, place_of(p, &p->runs[i]));
		append(&n, (int64_t)(p->runs[i].packed / p->word));
		append(&n, (int64_t)(p->runs[i].bytes / p->word));
	}
	return n.table;
}

/* ---- the order of places --------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct pattern_run *one = a, *other = b;

	return (one->disp > other->disp) - (one->disp < other->disp);
}

static bool ascend(const struct pattern_run *runs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (runs[i].disp < runs[i - 1].disp)
			return false;
	return true;
}

static struct pattern_run *sorted_runs(const struct pattern *p)
{
	size_t bytes = p->record_runs * sizeof(*p->runs);
	struct pattern_run *runs = malloc(bytes);

	if (!runs)
		return NULL;
	memcpy(runs, p->runs, bytes);
	if (!ascend(runs, p->record_runs))
		qsort(runs, p->record_runs, sizeof(*runs), by_place);
	return runs;
}

/* Where the walk over sorted words is: in which sector, and how many bytes from there on are written. */
struct sector {
	uint64_t number;
	uint64_t bytes;
};

static uint64_t sector_of(const struct pattern *p, uint64_t first, int64_t disp)
{
	return (first + (uint64_t)(disp - p->first)) / SECTOR;
}

/* Bytes that runs from @i on write into the sector that @disp, in that run, lies in. */
static uint64_t filled_from(const struct pattern *p, const struct pattern_run *runs,
			    size_t i, int64_t disp, uint64_t first)
{
	uint64_t sector = sector_of(p, first, disp), bytes = 0;

	for (; i < p->record_runs; i++) {
		int64_t end = runs[i].disp + (int64_t)runs[i].bytes;

		if (runs[i].disp > disp)
			disp = runs[i].disp;
		for (; disp < end && sector_of(p, first, disp) == sector;
		     disp += (int64_t)p->word)
			bytes += p->word;
		if (disp < end)
			break;
	}
	return bytes;
}

/* Whether the word at @disp is to be fetched before it is written. */
static bool is_partly_written(const struct pattern *p, const struct pattern_run *runs,
			      size_t i, int64_t disp, uint64_t first, struct sector *last)
{
	/* Instances that begin elsewhere in a sector fill others. */
	if (pattern_records(p) > 1 && p->record_step % SECTOR)
		return true;
	if (last->bytes && last->number == sector_of(p, first, disp))
		return false;
	last->number = sector_of(p, first, disp);
	last->bytes = filled_from(p, runs, i, disp, first);
	return last->bytes < SECTOR;
}

struct roof_table roof_make_pairs(const struct pattern *p, uint64_t first)
{
	struct numbers n = new_numbers(p, 2 * pattern_record_words(p));
	struct pattern_run *runs = sorted_runs(p);
	struct sector last = { 0, 0 };

	for (size_t i = 0; n.table.memory && runs && i < p->record_runs; i++) {
		int64_t packed = (int64_t)(runs[i].packed / p->word);

		for (uint64_t at = 0; at < runs[i].bytes; at += p->word, packed++) {
			int64_t disp = runs[i].disp + (int64_t)at;

			append(&n, (disp - p->first) / (int64_t)p->word);
			append(&n, is_partly_written(p, runs, i, disp, first, &last)
					   ? ~packed
					   : packed);
		}
	}
	if (!runs) {
		free(n.table.memory);
		n.table.memory = NULL;
	}
	free(runs);
	return n.table;
}
