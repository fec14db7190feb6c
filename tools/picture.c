/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the runs of a layout by exporting them as an iovec over memory that does not exist, and
 * counts what falls into each column when they are too many to draw. It does not draw.
 */
#include "config.h"

#include "picture.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * The middle of the address space: no displacement leads out of it. Nothing is touched.
 */
#define FAKE_BASE (UINTPTR_MAX / 2 + 1)

/* Entries asked for at a time. */
#define BATCH 128

/* Runs that are looked at one by one; beyond it they are sampled. */
#define MAX_COUNTED 1000000

/* A sample: this many places in the packed stream, and this many runs from each on. */
#define SAMPLE_PLACES 65536
#define SAMPLE_RUNS   16

ptrdiff_t picture_ub(const struct picture *picture)
{
	return picture->attr.lb + picture->attr.extent;
}

ptrdiff_t picture_true_ub(const struct picture *picture)
{
	return picture->attr.true_lb + picture->attr.true_extent;
}

static ptrdiff_t lowest(ptrdiff_t a, ptrdiff_t b)
{
	return a < b ? a : b;
}

static ptrdiff_t highest(ptrdiff_t a, ptrdiff_t b)
{
	return a > b ? a : b;
}

bool picture_is_crowded(const struct picture *picture, size_t distinct_runs)
{
	return picture->summarised || picture->run_count > distinct_runs;
}

/* ---- walking the runs -------------------------------------------------------------- */

/* Visit at most one batch of runs from the convertor's position, which it advances. */
static int visit_batch(struct dtconv_convertor *convertor, size_t most, size_t *packed,
		       picture_visit_fn visit, void *arg, bool *more)
{
	struct iovec iov[BATCH];
	size_t entries = 0;
	size_t moved = 0;
	int status =
		dtconv_convertor_iov(convertor, iov, most, SIZE_MAX, &entries, &moved);

	*more = status == 0 && entries > 0;
	for (size_t i = 0; i < entries && *more; i++) {
		struct run run = {
			.disp = (ptrdiff_t)((uintptr_t)iov[i].iov_base - FAKE_BASE),
			.bytes = iov[i].iov_len,
			.packed = *packed,
		};

		*packed += run.bytes;
		*more = visit(arg, &run);
	}
	return status;
}

static int create_convertor(const struct picture *picture,
			    struct dtconv_convertor **convertor)
{
	return dtconv_convertor_create_pack(picture->type, 1, (const void *)FAKE_BASE,
					    convertor);
}

int picture_visit(const struct picture *picture, picture_visit_fn visit, void *arg)
{
	struct dtconv_convertor *convertor;
	size_t packed = 0;
	bool more = true;
	int status = create_convertor(picture, &convertor);

	if (status)
		return status;
	while (status == 0 && more)
		status = visit_batch(convertor, BATCH, &packed, visit, arg, &more);
	dtconv_convertor_destroy(convertor);
	return status;
}

/* A number that looks random, the same in every run of the program. */
static size_t scramble(size_t n)
{
	return (size_t)((uint64_t)n * 0x9e3779b97f4a7c15u >> 32);
}

/* Visit a few runs from each of many places in the packed stream, spread evenly. */
static int visit_sample(const struct picture *picture, picture_visit_fn visit, void *arg)
{
	struct dtconv_convertor *convertor;
	size_t stride = picture->attr.size / SAMPLE_PLACES; /* > 0: there are more runs */
	int status = create_convertor(picture, &convertor);

	if (status)
		return status;
	for (size_t place = 0; place < SAMPLE_PLACES && status == 0; place++) {
		/*
		 * anywhere in its share, so that no period of the layout is in step with
		 * it
		 */
		size_t packed = place * stride + scramble(place) % stride;
		bool more;

		status = dtconv_convertor_seek(convertor, packed);
		if (status == 0)
			status = visit_batch(convertor, SAMPLE_RUNS, &packed, visit, arg,
					     &more);
	}
	dtconv_convertor_destroy(convertor);
	return status;
}

/* ---- collecting -------------------------------------------------------------------- */

static bool count_run(void *arg, const struct run *run)
{
	struct picture *picture = arg;

	(void)run;
	picture->runs_are_counted = picture->run_count < MAX_COUNTED;
	if (picture->runs_are_counted)
		picture->run_count++;
	return picture->runs_are_counted;
}

static bool keep_run(void *arg, const struct run *run)
{
	struct picture *picture = arg;

	picture->runs[picture->run_count++] = *run;
	return true;
}

static int collect_runs(struct picture *picture)
{
	int status;

	picture->runs_are_counted = true;
	status = picture_visit(picture, count_run, picture);
	if (status)
		return status;
	picture->summarised = picture->run_count * picture->rows > PICTURE_MAX_RUNS;
	if (picture->summarised || picture->run_count == 0)
		return 0;
	picture->runs = malloc(picture->run_count * sizeof(picture->runs[0]));
	picture->overlaps = malloc(picture->run_count * sizeof(picture->overlaps[0]));
	if (!picture->runs || !picture->overlaps)
		return DTCONV_ERR_NOMEM;
	picture->run_count = 0;
	return picture_visit(picture, keep_run, picture);
}

static int compare_disp(const void *a, const void *b)
{
	const struct run *run_a = a;
	const struct run *run_b = b;

	return (run_a->disp > run_b->disp) - (run_a->disp < run_b->disp);
}

/* Add bytes that are covered twice; they become one with the last ones if they touch. */
static void add_overlap(struct picture *picture, ptrdiff_t start, ptrdiff_t end)
{
	if (picture->overlap_count > 0) {
		struct run *last = &picture->overlaps[picture->overlap_count - 1];

		if (start <= last->disp + (ptrdiff_t)last->bytes) {
			last->bytes =
				(size_t)(highest(end,
						 last->disp + (ptrdiff_t)last->bytes) -
					 last->disp);
			return;
		}
	}
	picture->overlaps[picture->overlap_count++] =
		(struct run){ .disp = start, .bytes = (size_t)(end - start) };
}

/*
 * Find the bytes that several runs cover: sorted by where they start, each run overlaps
 * those before it as far as the furthest of them reaches.
 */
static int find_overlaps(struct picture *picture)
{
	size_t bytes = picture->run_count * sizeof(picture->runs[0]);
	struct run *sorted = malloc(bytes);
	ptrdiff_t reached;

	if (!sorted)
		return DTCONV_ERR_NOMEM;
	memcpy(sorted, picture->runs, bytes);
	qsort(sorted, picture->run_count, sizeof(sorted[0]), compare_disp);
	reached = sorted[0].disp;
	for (size_t i = 0; i < picture->run_count; i++) {
		ptrdiff_t start = sorted[i].disp;
		ptrdiff_t end = start + (ptrdiff_t)sorted[i].bytes;

		if (start < reached)
			add_overlap(picture, start, lowest(end, reached));
		reached = highest(reached, end);
	}
	free(sorted);
	return 0;
}

/* ---- the axis ---------------------------------------------------------------------- */

/* The axis holds the bounds, in either order, and the data. */
static void choose_axis(struct picture *picture)
{
	ptrdiff_t lb = picture->attr.lb;
	ptrdiff_t ub = picture_ub(picture);
	ptrdiff_t left = lowest(lb, ub);
	ptrdiff_t right = highest(lb, ub);

	if (picture->attr.size > 0) {
		left = lowest(left, picture->attr.true_lb);
		right = highest(right, picture_true_ub(picture));
	}
	picture->left = left;
	picture->span = (size_t)right - (size_t)left;
	if (picture->span == 0)
		picture->span = 1;
}

int picture_prepare(struct picture *picture, struct dtconv_type *type, size_t count)
{
	int status;

	*picture = (struct picture){
		.type = type,
		.attr = { .struct_size = sizeof(picture->attr) },
		.count = count,
		.rows = count < PICTURE_MAX_ROWS ? count : PICTURE_MAX_ROWS,
	};
	status = dtconv_type_query(type, &picture->attr);
	if (status)
		return status;
	choose_axis(picture);
	status = collect_runs(picture);
	if (status == 0 && picture->runs)
		status = find_overlaps(picture);
	return status;
}

void picture_release(struct picture *picture)
{
	free(picture->runs);
	free(picture->overlaps);
}

/* ---- densities --------------------------------------------------------------------- */

struct tally {
	const struct picture *picture;
	double column_bytes;
	size_t columns;
	struct density *densities;
	double bytes; /* of all runs seen */
};

/* Distribute a run over the columns it lies in. */
static bool tally_run(void *arg, const struct run *run)
{
	struct tally *tally = arg;
	double width = tally->column_bytes;
	double start = (double)((size_t)run->disp - (size_t)tally->picture->left);
	double end = start + (double)run->bytes;
	double first = start / width;

	tally->bytes += (double)run->bytes;
	for (size_t column = (size_t)first; column < tally->columns; column++) {
		double left = (double)column * width;
		double from = left > start ? left : start;
		double to = left + width < end ? left + width : end;

		if (left >= end)
			break;
		tally->densities[column].bytes += to - from;
		tally->densities[column].packed +=
			(to - from) * ((double)run->packed + (from + to) / 2 - start);
	}
	return true;
}

/* A sample stands for the whole: scale it up to the bytes there are. */
static void scale_up(struct tally *tally)
{
	double factor = (double)tally->picture->attr.size / tally->bytes;

	for (size_t column = 0; column < tally->columns; column++) {
		tally->densities[column].bytes *= factor;
		tally->densities[column].packed *= factor;
	}
}

int picture_density(const struct picture *picture, double column_bytes, size_t columns,
		    struct density *densities)
{
	struct tally tally = { picture, column_bytes, columns, densities, 0 };
	int status;

	memset(densities, 0, columns * sizeof(densities[0]));
	if (picture->runs_are_counted)
		return picture_visit(picture, tally_run, &tally);
	status = visit_sample(picture, tally_run, &tally);
	if (status == 0)
		scale_up(&tally);
	return status;
}
